"""The process that takes reports: what it does for an agent, and what none can have of it."""

import errno
import fcntl
import os
import random
import signal
import socket
import struct
import termios
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from attempt_cases import wait_until
from report_cases import Taker, ask, connect, receive, report_of, send

from sow.files import locked_folder
from sow.ids import ProjectId
from sow.paths import AttemptPaths, Workspace
from sow.report_message import HEAD, MARK, MOST_BYTES, Report, pack_report
from sow.state.log_writing import LogEntry
from sow.state.projects import new_project
from sow.state.task_log import append_entry, read_entries
from sow.state.tasks import add_task, change_task, find_task, list_tasks, read_task
from sow.state.workspace_init import init_workspace
from worker.reports import kept
from worker.reports.attempts import MOST_CONNECTIONS, MOST_HELD_BYTES, Attempt, Connection
from worker.reports.server import MOST_FAILURES, Server
from worker.reports.server_messages import Action, Order

pytestmark = pytest.mark.slow


@pytest.fixture
def taker(tmp_path: Path) -> Iterator[Taker]:
    (tmp_path / "home").mkdir()
    root = tmp_path / "repo"
    root.mkdir()
    workspace, now = Workspace(root), time.time()
    init_workspace(root)
    new_project(workspace, name="reports", project_id=ProjectId(str(uuid.uuid4())), now=now)
    for task in ("010", "020"):
        add_task(workspace, name=task, agent="implementer", now=now, task_id=task)
        change_task(workspace, task, lambda _: {"status": "in_progress"}, now=now)
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    made = Taker(workspace, environ)
    yield made
    made.close()


def logged(taker: Taker, task: str = "010") -> list[str]:
    (log,) = taker.workspace.root.glob(f".sow/project/phases/*/tasks/{task}/log.md")
    return [entry.action for entry in read_entries(log) if not entry.event]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def keep(paths: AttemptPaths, number: int, *words: str, name: str = "") -> Path:
    """Keep a report as a client does."""
    return keep_report(paths, number, report_of(*words, name=name))


def keep_report(paths: AttemptPaths, number: int, report: Report) -> Path:
    path = paths.report_folder / f"{number:020d}-{report.id.decode()}.report"
    path.write_bytes(pack_report(report))
    return path


def test_only_reports_that_the_role_may_make_are_carried_out(taker: Taker) -> None:
    worker, reviewer = taker.serve("010", 1), taker.serve("010", 2, "reviewer", reviews=True)
    leader = taker.serve("020", 3, "orchestrator")
    planner = taker.serve("020", 4, "planner")
    refused = [
        (worker, ("agent", "spawn", "implementer", "020")),
        (worker, ("task", "show", "010")),
        (worker, ("review", "accept", "010", "--summary", "fine")),
        (worker, ("task", "add", "more", "--agent", "implementer")),
        (worker, ("trust",)),
        (worker, ("worker",)),
        (worker, ("no", "such", "command")),
        (worker, ("--version",)),
        (worker, ("",)),
        (reviewer, ("task", "set", "status", "completed")),
        (leader, ("agent", "spawn", "implementer", "010")),
        (leader, ("merge", "010")),
        (leader, ("task", "add", "--agent", "implementer", "--from-issue", "1")),
        (planner, ("task", "add", "--agent", "implementer", "--from-issue", "1")),
    ]
    for paths, line in refused:
        answer = ask(paths, *line)
        assert answer.code == 4, (line, answer)
        assert "is not a report" in answer.err
    assert ask(planner, "task", "add", "more", "--agent", "implementer").code == 0
    assert ask(leader, "task", "set", "010", "status", "paused").code == 0
    assert ask(reviewer, "agent", "log", "looked").code == 0


def test_a_report_opens_no_file_that_the_agent_names(taker: Taker) -> None:
    secret = taker.workspace.root.parent / "home/secret"
    secret.write_text("the key")
    change_task(taker.workspace, "010", lambda _: {"status": "needs_review"}, now=time.time())
    paths = taker.serve("020", 1, "reviewer")
    planner = taker.serve("020", 2, "planner")
    for at, line in (
        (paths, ("review", "correct", "010", "--file", str(secret))),
        (planner, ("task", "import", str(secret))),
        (planner, ("task", "add", "x", "--agent", "tester", "--description-file", str(secret))),
    ):
        answer = ask(at, *line)
        assert (answer.code, "a report brings its text along" in answer.err) == (2, True), answer
    given = ask(paths, "review", "correct", "010", "--file", "-", stdin=b"Mend it")
    assert given.code == 0, given
    assert read_task(taker.workspace, "010").feedback


def test_a_verdict_that_comes_again_is_one(taker: Taker) -> None:
    change_task(taker.workspace, "010", lambda _: {"status": "needs_review"}, now=time.time())
    paths = taker.serve("020", 1, "reviewer")
    report = report_of("review", "correct", "010", "--file", "-", stdin=b"Mend it")
    for _ in range(2):
        answer = send(paths, pack_report(report))
        assert answer is not None
        assert answer.code == 0, answer
    assert len(read_task(taker.workspace, "010").feedback) == 1


FIELDS = {
    "feedback": ("agent's", ["agent's"], ["mine"]),
    "metadata.where": ("agent's", "agent's", "mine"),
    "depends_on": ("020", ["020"], []),
}
"""A field, what an agent sets it to, how that is kept, and what a person then sets it to."""


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_was_set_is_not_set_again_over_a_persons(taker: Taker, field: str) -> None:
    word, set_to, persons = FIELDS[field]
    paths = taker.serve()
    report = report_of("task", "set", field, word)
    answer = send(paths, pack_report(report))
    assert answer is not None
    assert answer.code == 0, answer

    def value() -> object:
        task = read_task(taker.workspace, "010")
        found = task.metadata if field.startswith("metadata") else {field: getattr(task, field)}
        return found.get(field.removeprefix("metadata."))

    assert value() == set_to
    change_task(taker.workspace, "010", lambda _: {field: persons}, now=time.time())
    kept_one = keep_report(paths, 1, report)
    wait_until(lambda: not kept_one.exists())
    assert value() == persons
    entries = read_entries(find_task(taker.workspace, "010").log)
    assert [entry.action for entry in entries if entry.event == "field"] == [f"Changed: {field}"]


def test_a_report_on_several_tasks_goes_on_where_it_was_killed(taker: Taker) -> None:
    paths = taker.serve("020", 1, "orchestrator")
    report = report_of("task", "set", "010", "name", "first")
    assert send(paths, pack_report(report)) is not None
    both = report_of("task", "set", "010", "020", "name", "both", name=report.id.decode())
    kept_one = keep_report(paths, 1, both)
    wait_until(lambda: not kept_one.exists())
    assert [task.name for task in list_tasks(taker.workspace)] == ["first", "both"]


def test_a_report_is_known_however_much_was_logged_since(taker: Taker) -> None:
    paths = taker.serve()
    report = report_of("agent", "log", "once")
    assert send(paths, pack_report(report)) is not None
    entry = LogEntry("2026-11-29T12:00:00Z", "person", "more", text="x" * 100_000)
    append_entry(find_task(taker.workspace, "010").folder, entry)
    kept_one = keep_report(paths, 1, report)
    wait_until(lambda: not kept_one.exists())
    assert logged(taker) == ["once", "more"]


def test_a_task_is_not_added_twice_where_the_process_was_killed(taker: Taker) -> None:
    paths = taker.serve("020", 1, "planner")
    report = report_of("task", "add", "more", "--agent", "implementer")
    with locked_folder(taker.workspace.project), connect(paths) as client:
        client.sendall(pack_report(report))
        (pid,) = wait_until(lambda: children_of(taker.process.pid))
        os.kill(pid, signal.SIGKILL)
        assert receive(client) is None
    assert ask(paths, "agent", "log", "goes on").code == 0
    assert len(list_tasks(taker.workspace)) == 2


def test_a_kept_report_whose_process_is_killed_is_begun_once_more(taker: Taker) -> None:
    paths = taker.serve()
    with locked_folder(find_task(taker.workspace, "010").folder):
        keep(paths, 1, "agent", "log", "once")
        (emptying,) = wait_until(lambda: children_of(taker.process.pid))
        assert str(Path(f"/proc/{emptying}/fd/0").readlink()) == os.devnull
        (first,) = wait_until(lambda: children_of(emptying))
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: children_of(emptying) not in ([first], []))
    wait_until(lambda: logged(taker))
    assert logged(taker) == ["once"]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        MARK + (MOST_BYTES + 1).to_bytes(4, "big"),
        MARK + b"\xff\xff\xff\xff" + b"x" * 1000,
        MARK + (8).to_bytes(4, "big") + (100).to_bytes(4, "big") + b"abcd",
        pack_report(report_of("agent", b"lo\0g", "x")),
        pack_report(report_of("agent", "log", "x", name="Z" * 32)),
        pack_report(report_of(*["x"] * 5000)),
        pack_report(report_of("agent", "log", "x" * (1 << 20))),
        pack_report(report_of()),
        pack_report(report_of("agent", "log", "x")) + b"more",
    ],
    ids=lambda data: f"{len(data)}-{data[:6].hex()}",
)
def test_nonsense_is_answered_by_silence(taker: Taker, data: bytes) -> None:
    paths = taker.serve()
    with connect(paths) as client, suppress(OSError):
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        assert receive(client) is None
    assert ask(paths, "agent", "log", "goes on").code == 0
    assert logged(taker) == ["goes on"]


def test_words_of_any_bytes_are_logged(taker: Taker) -> None:
    paths = taker.serve()
    assert ask(paths, "agent", "log", b"\xff\xfe caf\xc3\xa9").code == 0
    assert "café" in logged(taker)[0]


def test_hostile_clients_cost_a_bounded_part_and_hold_up_nobody(taker: Taker) -> None:
    hostile, other = taker.serve("010", 1), taker.serve("020", 2)
    held = []
    dice = random.Random(28)
    for number in range(1000):
        try:
            client = connect(hostile)
        except OSError:
            continue
        client.setblocking(False)
        with suppress(OSError):
            if number % 3 == 1:
                client.send(MARK + MOST_BYTES.to_bytes(4, "big") + dice.randbytes(1 << 16))
            elif number % 3 == 2:
                client.send(pack_report(report_of("agent", "log", "half"))[:-2])
        held.append(client)
    assert ask(other, "agent", "log", "of another").code == 0
    assert ask(hostile, "agent", "log", "its own").code == 0
    descriptors = len([*Path(f"/proc/{taker.process.pid}/fd").iterdir()])
    assert descriptors < MOST_CONNECTIONS + 30
    flood(hostile, 1 << 30)
    assert resident(taker) < 100 * (1 << 20) + MOST_HELD_BYTES
    assert ask(other, "agent", "log", "after it").code == 0
    for client in held:
        client.close()
    assert logged(taker) == ["its own"]
    assert logged(taker, "020") == ["of another", "after it"]


def test_reports_that_wait_are_held_within_a_limit(taker: Taker) -> None:
    paths = taker.serve()
    large = pack_report(report_of("agent", "log", "large", stdin=b"x" * (15 << 20)))
    clients: list[socket.socket] = []
    with locked_folder(find_task(taker.workspace, "010").folder):
        for _ in range(MOST_CONNECTIONS):
            client = connect(paths)
            clients.append(client)
            client.settimeout(1)
            try:
                client.sendall(large)
            except TimeoutError:  # nothing more is read
                break
        assert resident(taker) < (100 << 20) + 2 * MOST_HELD_BYTES
    for client in clients:
        client.close()
    assert ask(paths, "agent", "log", "goes on").code == 0


def test_a_client_that_goes_for_another_ones_sake_is_not_read_from(taker: Taker) -> None:
    attempt = Attempt(taker.served("010", 1, "implementer"))
    attempt.listen()
    pairs = [socket.socketpair() for _ in range(2)]
    ours = {end.fileno(): (end, other) for end, other in pairs}
    first, second = [*{*ours}.intersection(ours)]  # as they are read
    for descriptor, size in ((second, MOST_HELD_BYTES), (first, 0)):
        end, other = ours[descriptor]
        head = MARK + MOST_BYTES.to_bytes(4, "big")
        attempt.connections[descriptor] = Connection(end, 0.0, bytearray(head + b"x" * size))
        other.sendall(b"more")
    attempt.take_in({first, second})
    assert [*attempt.connections] == [first]
    attempt.close()
    for _, other in pairs:
        other.close()


def flood(paths: AttemptPaths, size: int) -> None:
    """Send so many bytes, by as many connections as are taken one after another."""
    piece, sent = b"x" * (1 << 20), 0
    while sent < size:
        with connect(paths) as client, suppress(OSError):
            client.sendall(MARK + MOST_BYTES.to_bytes(4, "big"))
            sent += HEAD
            while sent < size:
                sent += client.send(piece)


def resident(taker: Taker) -> int:
    """Return the memory of the process, in bytes."""
    pages = Path(f"/proc/{taker.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def test_whatever_lies_in_the_folder_is_held_to_be_hostile(taker: Taker) -> None:
    outside = taker.workspace.root.parent / "home/outside.report"
    outside.write_bytes(pack_report(report_of("agent", "log", "by a link")))
    served = taker.served("010", 1, "implementer")
    folder = AttemptPaths(Path(served.folder)).report_folder

    def name(number: int) -> Path:
        return folder / f"{number:020d}-{number:032x}.report"

    name(1).symlink_to(outside)
    os.mkfifo(name(2))
    name(3).mkdir()
    (name(3) / "more").mkdir()
    name(4).write_bytes(b"")
    os.truncate(name(4), 1 << 40)
    name(5).write_bytes(os.urandom(5000))
    name(6).touch(mode=0)
    os.link(outside, folder / "hard.report")
    with socket.socket(socket.AF_UNIX) as bound:
        opened = os.open(folder, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{opened}/{name(7).name}")
        os.close(opened)
    for number in range(3000):
        (folder / f"junk-{number}").touch()
    (folder / "socket").mkdir()
    (folder / "socket/full").touch()
    keep(AttemptPaths(Path(served.folder)), 8, "agent", "log", "the last")
    taker.order(Order(action=Action.SERVE, attempt=served.id, served=served))
    wait_until(lambda: "the last" in logged(taker))
    keep(AttemptPaths(Path(served.folder)), 9, "agent", "log", "without a socket")
    wait_until(lambda: "without a socket" in logged(taker))
    words = taker.finish()
    assert any("no socket there" in each for each in words)
    unreadable = "Refused a report that was kept while no worker took any"
    assert logged(taker) == [unreadable, "the last", "without a socket"]
    assert not folder.parent.exists()
    assert outside.exists()


def test_a_long_log_does_not_grow_by_what_is_refused(taker: Taker) -> None:
    paths = taker.serve()
    log = find_task(taker.workspace, "010").log
    log.touch()
    os.truncate(log, 32 << 20)
    kept_one = keep(paths, 1, "task", "set", "020", "status", "completed")
    wait_until(lambda: not kept_one.exists())
    assert log.stat().st_size == 32 << 20


def test_a_full_disk_is_waited_for_at_the_end_of_an_attempt(
    taker: Taker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    served = taker.served("010", 1, "implementer")
    with monkeypatch.context() as patch:
        patch.setattr(kept, "_empty", fill)
        assert kept.empty(served, is_last=True) == kept.PREVENTED
    ours, theirs = socket.socketpair()
    made, attempt = Server.__new__(Server), Attempt(served)
    made._orders, made._attempts, attempt.is_last = theirs, {served.id: attempt}, True
    for _ in range(MOST_FAILURES + 5):
        made._emptied(attempt, kept.PREVENTED)
    assert made._attempts
    made._emptied(attempt, -signal.SIGKILL)
    assert not made._attempts
    ours.close()
    theirs.close()


def test_the_last_reports_of_an_attempt_wait_for_no_other_look(taker: Taker) -> None:
    served = taker.served("010", 1, "implementer")
    made, attempt = Server.__new__(Server), Attempt(served)
    made._attempts, attempt.finish_by = {served.id: attempt}, time.monotonic() + 600
    attempt.is_due = False  # what was kept before its agent began has been looked for
    made._look_at(attempt, set())
    assert attempt.emptying is not None
    os.waitpid(attempt.emptying, 0)


def lies_as_file(beside: Path, _outside: Path) -> None:
    lines = [b"another.1.x OTHER", b"1.1.0 TOKEN", b"1.1.0 -", b"\xff", b"1.1.0 TOKEN" + b"x" * 99]
    beside.write_bytes(b"\n".join(lines) + b"\n")


def lies_as_link(beside: Path, outside: Path) -> None:
    beside.symlink_to(outside)


def lies_as_pipe(beside: Path, _outside: Path) -> None:
    os.mkfifo(beside)


def lies_as_folder(beside: Path, _outside: Path) -> None:
    beside.mkdir()


def is_huge(beside: Path, _outside: Path) -> None:
    beside.write_bytes(b"1.1.0 TOKEN\n")
    os.truncate(beside, 1 << 40)


@pytest.mark.parametrize(
    ("lies", "names"),
    [
        (lies_as_file, ["TOKEN"]),
        (lies_as_link, []),
        (lies_as_pipe, []),
        (lies_as_folder, []),
        (is_huge, ["TOKEN"]),
    ],
)
def test_of_what_is_noted_inside_only_names_of_its_secrets_count(
    taker: Taker, lies: Callable[[Path, Path], None], names: list[str]
) -> None:
    served = taker.served("010", 1, "implementer", secrets=("KEY", "TOKEN"))
    paths = AttemptPaths(Path(served.folder))
    outside = taker.workspace.root.parent / "home/outside"
    outside.write_bytes(b"1.1.0 KEY\n")
    lies(paths.report_folder / "blanked", outside)
    taker.order(Order(action=Action.SERVE, attempt=served.id, served=served))
    taker.finish()
    noted = paths.blanked.read_text().splitlines() if paths.blanked.exists() else []
    assert noted == [f"{served.id} {name}" for name in names]
    assert not paths.reports.exists()


def test_more_than_sow_takes_are_dropped_and_that_is_told(taker: Taker) -> None:
    served = taker.served("010", 1, "implementer")
    paths = AttemptPaths(Path(served.folder))
    for number in range(kept.MOST_KEPT + 5):
        (paths.report_folder / f"{number:020d}-{number:032x}.report").touch()
    taker.serve()
    taker.finish()
    (log,) = taker.workspace.root.glob(".sow/project/phases/*/tasks/010/log.md")
    texts = [entry.text.strip() for entry in read_entries(log) if not entry.event]
    assert sorted(texts) == sorted([kept.UNREADABLE, kept.TOO_MANY])


def test_a_report_that_is_kept_is_carried_out_before_the_next_one(taker: Taker) -> None:
    paths = taker.serve()
    for number in range(5):
        keep(paths, number, "agent", "log", f"kept {number}")
        assert ask(paths, "agent", "log", f"sent {number}").code == 0
    assert logged(taker) == [f"{how} {n}" for n in range(5) for how in ("kept", "sent")]


def carried_out_by(taker: Taker) -> list[int]:
    """Return the processes that carry out what was kept, one report each."""
    found: list[int] = []
    for pid in children_of(taker.process.pid):
        found += children_of(pid)
    return found


def test_what_is_kept_meanwhile_comes_before_what_is_sent_after_it(taker: Taker) -> None:
    """Whoever was dropped, or saw another process die, keeps a report at any moment."""
    paths = taker.serve()
    (folder,) = taker.workspace.root.glob(".sow/project/phases/*/tasks/010")
    with ExitStack() as opened:
        with locked_folder(folder):
            keep(paths, 1, "agent", "log", "kept first")
            wait_until(lambda: carried_out_by(taker))
            keep(paths, 2, "agent", "log", "kept meanwhile")
            client = opened.enter_context(connect(paths))
            client.sendall(pack_report(report_of("agent", "log", "sent")))
            wait_until(lambda: not unread(client))
        answer = receive(client)
    assert answer is not None
    assert answer.code == 0, answer
    assert logged(taker) == ["kept first", "kept meanwhile", "sent"]


def unread(client: socket.socket) -> bool:
    """Whether the other side has not yet read all that was sent."""
    left = fcntl.ioctl(client, termios.TIOCOUTQ, struct.pack("i", 0))
    return bool(struct.unpack("i", left)[0])


def test_all_who_report_at_once_are_answered(taker: Taker) -> None:
    """None is dropped for one that comes later: each has sent a whole report."""
    paths = taker.serve()
    os.kill(taker.process.pid, signal.SIGSTOP)
    clients = []
    try:
        for number in range(3 * MOST_CONNECTIONS):
            clients.append(connect(paths))
            clients[-1].sendall(pack_report(report_of("agent", "log", f"{number}")))
    finally:
        os.kill(taker.process.pid, signal.SIGCONT)
    answers = [receive(client) for client in clients]
    for client in clients:
        client.close()
    assert [answer and answer.code for answer in answers] == [0] * len(clients)
    assert sorted(logged(taker), key=int) == [f"{number}" for number in range(len(clients))]


def test_nothing_is_carried_out_while_another_project_is_checked_out(taker: Taker) -> None:
    paths = taker.serve()
    state = taker.workspace.project_state
    text = state.read_text()
    project = next(line for line in text.splitlines() if line.strip().startswith("id:"))
    state.write_text(text.replace(project, f"  id: {uuid.uuid4()}"))
    answer = ask(paths, "agent", "log", "for another")
    assert (answer.code, "not checked out" in answer.err) == (4, True)
    keep(paths, 1, "agent", "log", "kept for its own")
    taker.finish()
    assert logged(taker) == []
    state.write_text(text)
    again = taker.serve()
    assert again.folder == paths.folder
    taker.finish()
    assert logged(taker) == ["kept for its own"]


def test_it_goes_with_whoever_gives_its_orders(taker: Taker) -> None:
    taker.serve()
    taker.orders.shutdown(socket.SHUT_RDWR)
    assert taker.process.wait(60) == 0
