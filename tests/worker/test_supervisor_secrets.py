"""The supervisor of an agent with secrets, and its relay, run as the processes that they are."""

import json
import mmap
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from attempt_cases import PROJECT, SECONDS, AttemptSite, is_running, wait_until

from sow.blanking import Blanker
from sow.environment import own_process
from sow.jobs.doorbell import is_held
from sow.processes import environment_block
from worker.steps.scan_record import Found
from worker.supervisor.exit_file import leave_cause
from worker.supervisor.quick_look import pack_look
from worker.supervisor.relay import Stream
from worker.supervisor.secret_orders import CAUSE, NoSecret

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc"),
]

KEY = "sk-4711-äöü-0815"
SECRETS = {"API_KEY": KEY}


def start(attempt: AttemptSite, script: str, **orders: Any) -> subprocess.Popen[bytes]:
    attempt.prepare()
    process = attempt.wait_for_orders()
    given = {"secrets": SECRETS, **orders}
    attempt.order(process, attempt.orders("/bin/sh", "-c", script, **given))
    return process


def run(attempt: AttemptSite, script: str, **orders: Any) -> dict[str, Any]:
    assert start(attempt, script, **orders).wait(SECONDS) == 0, attempt.log()
    return attempt.exit()


def relay_pid(attempt: AttemptSite) -> int:
    attempt.agent_pid()
    return int(json.loads(attempt.paths.started.read_text())["relay_pid"])


def written(attempt: AttemptSite) -> list[str]:
    """Which files of the attempt hold the secret."""
    return [
        path.name
        for path in attempt.paths.folder.iterdir()
        if path.is_file() and KEY.encode() in path.read_bytes()
    ]


def python(code: str) -> str:
    return f"exec {sys.executable} -S -c '{code}'"


def test_what_an_agent_prints_has_the_name_in_the_place_of_the_value(attempt: AttemptSite) -> None:
    record = run(attempt, 'echo "it is $API_KEY."; echo "oh: $API_KEY" >&2; exit 3')
    assert record["code"] == 3
    assert attempt.paths.output.read_text() == "it is [API_KEY].\n"
    assert attempt.paths.stderr.read_text() == "oh: [API_KEY]\n"
    assert attempt.paths.blanked.read_text().splitlines() == 2 * [f"{attempt.attempt_id} API_KEY"]
    assert attempt.log() == ""
    assert {attempt.paths.output.stat().st_mode & 0o777} == {0o600}


def test_a_value_is_found_in_pieces_in_json_and_in_a_very_long_line(attempt: AttemptSite) -> None:
    code = """
import json, os, sys, time
key = os.environb[b"API_KEY"]
for byte in key:
    os.write(1, bytes([byte]))
os.write(1, json.dumps({"x": key.decode()}).encode())
os.write(1, json.dumps(json.dumps({"x": key.decode()}), ensure_ascii=False).encode())
half = b"y" * 700001 + key
os.write(1, half * 3)
"""
    run(attempt, python(code.replace("'", '"')))
    text = attempt.paths.output.read_text()
    assert text.startswith('[API_KEY]{"x": "[API_KEY]"}"{\\"x\\": \\"[API_KEY]\\"}"yyy')
    assert text.count("[API_KEY]") == 6
    assert len(text) > 2_100_000
    assert written(attempt) == []


def test_a_value_in_another_code_is_not_found(attempt: AttemptSite) -> None:
    """As docs/trust.md says: it is the value that is looked for, and no form that hides it."""
    run(attempt, 'printf %s "$API_KEY" | base64')
    assert "[API_KEY]" not in attempt.paths.output.read_text()


def test_a_secret_is_what_a_command_prints_less_its_newline(attempt: AttemptSite) -> None:
    commands = {"TOKEN": "echo grumble >&2; pwd; echo $HOME/tok-$SOW_API_KEY"}
    script = 'test "$TOKEN" = "$(pwd)\n$(pwd)/tok-" && echo "got $TOKEN"'
    record = run(attempt, script, secrets=None, commands=commands)
    assert record["code"] == 0, attempt.log()
    assert attempt.paths.output.read_text() == "got [TOKEN]\n"
    assert attempt.log() == ""


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("echo sk-not-to-be-seen; exit 4", "it ended with exit code 4"),
        ("kill -9 $$", "it was killed by signal 9"),
        ("true", "it printed nothing"),
        ("echo short", "it is shorter than 6 bytes: sow could not tell it from other text"),
        ("yes sk-not-to-be-seen", "it printed more than 64 KiB"),
    ],
)
def test_a_command_that_gives_no_secret_ends_the_start(
    attempt: AttemptSite, line: str, how: str
) -> None:
    record = run(attempt, "touch began", secrets=None, commands={"TOKEN": line})
    assert record["code"] == 126
    assert not attempt.file("began").exists()
    result = json.loads(attempt.paths.result.read_text())
    assert (result["attempt"], result["cause"]) == (attempt.attempt_id, "configuration")
    first = result["reason"].splitlines()[0]
    assert first == f"the command of env_commands.TOKEN gives no secret: {how}"
    assert not any(
        b"sk-not" in path.read_bytes() for path in attempt.paths.folder.iterdir() if path.is_file()
    )


def test_an_end_is_heeded_while_a_command_runs(attempt: AttemptSite) -> None:
    line = "echo $$ >.c; mv .c command; sleep 987 & wait"
    process = start(attempt, "touch began", secrets=None, commands={"TOKEN": line})
    pid = attempt.pid_in("command")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert not is_running(pid)
    assert attempt.exit()["by_request"] is True
    assert not attempt.file("began").exists()


WAITING = 'echo "a $API_KEY"; while [ ! -e go ]; do sleep 0.02; done; echo "b $API_KEY"'


def test_agent_and_relay_outlive_their_supervisor(attempt: AttemptSite) -> None:
    process = start(attempt, WAITING)
    agent, relay = attempt.agent_pid(), relay_pid(attempt)
    process.kill()
    process.wait()
    assert is_running(agent)
    assert is_running(relay)
    attempt.file("go").touch()
    wait_until(lambda: not is_running(agent) and not is_running(relay), "both have ended")
    assert attempt.paths.output.read_text() == "a [API_KEY]\nb [API_KEY]\n"
    assert not is_held(attempt.paths.alive_lock)


def test_the_lock_is_held_until_all_is_written(attempt: AttemptSite) -> None:
    process = start(attempt, WAITING)
    agent, relay = attempt.agent_pid(), relay_pid(attempt)
    process.kill()
    process.wait()
    os.kill(relay, signal.SIGSTOP)
    os.kill(agent, signal.SIGKILL)
    wait_until(lambda: not is_running(agent), "the agent is dead")
    wait_until(lambda: not attempt.carriers(), "what it has started is gone")
    assert is_held(attempt.paths.alive_lock)
    os.kill(relay, signal.SIGCONT)
    wait_until(lambda: not is_running(relay), "the relay ends")
    assert not is_held(attempt.paths.alive_lock)


def test_a_relay_that_is_killed_is_replaced(attempt: AttemptSite) -> None:
    process = start(attempt, WAITING)
    relay = relay_pid(attempt)
    wait_until(lambda: attempt.paths.output.exists() and attempt.paths.output.read_text(), "a")
    os.kill(relay, signal.SIGKILL)
    wait_until(lambda: "another one takes its place" in attempt.log(), "it is replaced")
    attempt.file("go").touch()
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 0
    assert attempt.paths.output.read_text() == "a [API_KEY]\nb [API_KEY]\n"


def test_an_agent_that_closes_its_output_has_no_relay_any_more(attempt: AttemptSite) -> None:
    script = 'echo "a $API_KEY"; exec >&- 2>&-; while [ ! -e go ]; do sleep 0.02; done; exit 4'
    process = start(attempt, script)
    relay = relay_pid(attempt)
    wait_until(lambda: not is_running(relay), "nobody can write any more")
    attempt.file("go").touch()
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 4
    assert attempt.paths.output.read_text() == "a [API_KEY]\n"
    assert attempt.log() == ""


def test_a_relay_that_somebody_asks_to_leave_is_replaced(attempt: AttemptSite) -> None:
    process = start(attempt, WAITING)
    os.kill(relay_pid(attempt), signal.SIGTERM)
    wait_until(lambda: "another one takes its place" in attempt.log(), "it is replaced")
    attempt.file("go").touch()
    assert process.wait(SECONDS) == 0
    assert attempt.paths.output.read_text() == "a [API_KEY]\nb [API_KEY]\n"


def test_a_line_that_a_full_disk_has_cut_takes_no_other_one_along() -> None:
    reading, writing = os.pipe()
    full, target = os.pipe()
    os.set_blocking(target, False)
    stream = Stream(reading, target, Blanker({b"API_KEY": KEY.encode()}), mmap.mmap(-1, 1), 0)
    with suppress(BlockingIOError):
        while True:
            os.write(target, b"." * 4096)
    os.write(writing, b"lost\nhalf of")
    stream.take()
    os.read(full, 1 << 20)
    for line in (b" a line\n", b"whole\n"):
        os.write(writing, line)
        stream.take()
    assert os.read(full, 1 << 16) == b"\n a line\nwhole\n"
    for descriptor in (reading, writing, full, target):
        os.close(descriptor)


def test_why_an_agent_was_not_started_is_told_where_no_log_can_be_written(
    attempt: AttemptSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt.prepare()
    lock = os.open(attempt.paths.alive_lock, os.O_RDWR | os.O_CREAT)
    full = Path("/dev/full").open("w", buffering=1)  # noqa: SIM115 - it cannot be closed
    monkeypatch.setattr(sys, "stderr", full)
    error = NoSecret(b"TOKEN", "it printed nothing")
    leave_cause(str(attempt.paths.folder), attempt.attempt_id, CAUSE, error.words, lock)
    monkeypatch.undo()
    with suppress(OSError):
        full.close()
    os.close(lock)
    assert json.loads(attempt.paths.result.read_text())["cause"] == "configuration"


def test_an_agent_whose_relays_are_all_killed_cannot_print(attempt: AttemptSite) -> None:
    script = "trap '' PIPE; touch began; while [ ! -e go ]; do sleep 0.02; done; echo x || exit 9"
    attempt.prepare()
    process = attempt.wait_for_orders(few_relays=True)
    attempt.order(process, attempt.orders("/bin/sh", "-c", script, secrets=SECRETS))
    wait_until(attempt.file("began").exists, "the agent runs")
    for number in (1, 2):
        wait_until(lambda: len(relays_of(process.pid)) == 1, "a relay runs")
        os.kill(relays_of(process.pid)[0], signal.SIGKILL)
        wait_until(lambda n=number: attempt.log().count("was killed;") == n, "it is noticed")  # type: ignore[misc]
    wait_until(lambda: "2 of them were killed" in attempt.log(), "no other one is started")
    attempt.file("go").touch()
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 9


def relays_of(supervisor: int) -> list[int]:
    """Return the children of a supervisor that are its forks."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    ours = Path(f"/proc/{supervisor}/cmdline").read_bytes()
    return [int(pid) for pid in children if Path(f"/proc/{pid}/cmdline").read_bytes() == ours]


def test_no_half_of_a_value_comes_out_where_a_relay_is_killed(attempt: AttemptSite) -> None:
    script = (
        'printf %s "${API_KEY%815}"; touch half; while [ ! -e go ]; do sleep 0.02; done;'
        ' echo "815 and more"; echo next'
    )
    process = start(attempt, script)
    relay = relay_pid(attempt)
    wait_until(attempt.file("half").exists, "half of it is written")
    wait_until(lambda: Path(f"/proc/{relay}/wchan").exists() and _is_asleep(relay), "it was read")
    os.kill(relay, signal.SIGKILL)
    wait_until(lambda: "another one takes its place" in attempt.log(), "it is replaced")
    attempt.file("go").touch()
    assert process.wait(SECONDS) == 0
    assert attempt.paths.output.read_text() == "next\n"
    assert f"{attempt.attempt_id} -" in attempt.paths.blanked.read_text()


def _is_asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S"


def test_the_tree_ends_and_the_relay_takes_what_it_wrote_last(attempt: AttemptSite) -> None:
    script = (
        "trap 'echo bye $API_KEY; exit 7' INT; touch trap;"
        " while true; do sleep 0.02; done & wait; echo no"
    )
    process = start(attempt, "trap : INT; " + script)
    wait_until(attempt.file("trap").exists, "it waits")
    relay = relay_pid(attempt)
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["by_request"] is True
    assert not is_running(relay)
    assert attempt.paths.output.read_text() == "bye [API_KEY]\n"


def test_last_words_of_what_is_ended_are_written(attempt: AttemptSite) -> None:
    """The relay gets none of the signals that end the tree."""
    attempt.script(
        "left",
        "trap 'sleep 0.3 & wait $!; echo \"last $API_KEY\"; exit' TERM; touch trap;"
        " while true; do sleep 0.02 & wait $!; done",
    )
    run(attempt, "sh left.sh & until [ -e trap ]; do sleep 0.02; done")
    assert attempt.paths.output.read_text() == "last [API_KEY]\n"


def test_a_stranger_that_holds_the_pipe_holds_nobody_up(attempt: AttemptSite) -> None:
    """A worker that an agent has started is spared, and may have its output."""
    lock = attempt.workspace.workers / "x.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    code = f"""
import fcntl, os, time
file = open("{lock}", "w")
fcntl.flock(file, fcntl.LOCK_EX)
ticks = open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]
file.write(str(os.getpid()) + " " + ticks)
file.flush()
open("stranger", "w").write(str(os.getpid()))
while not os.path.exists("go"):
    time.sleep(0.02)
"""
    attempt.file("stranger.py").write_text(code)
    script = f"{sys.executable} -S stranger.py & until [ -s stranger ]; do sleep 0.02; done; echo x"
    assert run(attempt, script)["code"] == 0
    pid = attempt.pid_in("stranger")
    assert is_running(pid)
    attempt.file("go").touch()
    wait_until(lambda: not is_running(pid), "it ends")
    assert attempt.paths.output.read_text() == "x\n"


def test_the_search_gets_the_values_by_a_pipe_alone(attempt: AttemptSite) -> None:
    search = attempt.file("search")
    search.write_text("#!/bin/sh\ncat >given; env >environ; echo $0 $* >argv\n")
    search.chmod(0o755)
    run(attempt, "true", scan=(str(search), "orders"))
    assert attempt.file("given").read_bytes() == f"API_KEY={KEY}\0".encode()
    assert KEY not in attempt.file("environ").read_text()
    assert attempt.file("argv").read_text() == f"{search} orders\n"


@pytest.mark.parametrize("is_left", [False, True])
def test_no_search_is_started_where_the_supervisor_sees_that_nothing_is_there(
    attempt: AttemptSite, is_left: bool
) -> None:
    attempt.prepare()
    search = attempt.file("search")
    search.write_text("#!/bin/sh\ncat >given\n")
    search.chmod(0o755)
    task = attempt.root / "task"
    task.mkdir()
    run_folder, project = str(attempt.workspace.run), str(attempt.workspace.project)
    look = pack_look(str(attempt.root), str(task), run_folder, project, ())
    script = 'echo "$API_KEY" >left' if is_left else "echo nothing >left"
    run(attempt, script, scan=(str(search), "orders"), look=look)
    assert attempt.file("given").exists() == is_left
    assert attempt.paths.found.exists() != is_left
    if not is_left:
        found = msgspec.json.decode(attempt.paths.found.read_bytes(), type=Found)
        assert found == Found(attempt=attempt.attempt_id)


SEARCHING = f"""
import os, sys
sys.path[:0] = [{str(PROJECT)!r}]
from worker.steps import forked
from worker.supervisor import supervise
from worker.supervisor.own_processes import load_tree
def search(*words):
    files = sorted(int(name) for name in os.listdir("/proc/self/fd"))
    with open("searched", "w") as file:
        print(words, sys.stdin.buffer.read(), files, file=file)
    return 0
forked.run_program = search
sys.exit(supervise.main(load_tree(None), forked.start))
"""


def test_a_supervisor_that_has_imported_the_search_forks_it(attempt: AttemptSite) -> None:
    """It gets the values, and of the supervisor's files none: not the lock, nor another pipe."""
    attempt.prepare()
    supervisor = subprocess.Popen(
        [sys.executable, "-P", "-c", SEARCHING],
        env={"SOW_ATTEMPT_ID": "supervisor", **environment_block.PLACEHOLDER},
        stdin=subprocess.PIPE,
    )
    attempt.started.append(supervisor)
    scan = own_process("worker.steps", "scan", "orders")
    attempt.order(supervisor, attempt.orders("/bin/true", secrets=SECRETS, scan=scan))
    assert supervisor.wait(SECONDS) == 0, attempt.log()
    values, files = f"API_KEY={KEY}\0".encode(), [0, 1, 2, 3]  # the last is what lists them
    assert attempt.file("searched").read_text() == f"{('scan', 'orders')} {values} {files}\n"
    assert attempt.log() == ""


def test_an_agent_without_secrets_has_no_relay(attempt: AttemptSite) -> None:
    attempt.run("readlink /proc/self/fd/1")
    assert attempt.paths.output.read_text().strip() == str(attempt.paths.output)
    assert "relay_pid" not in json.loads(attempt.paths.started.read_text())


def test_an_agent_that_cannot_be_run_is_told_as_without_secrets(attempt: AttemptSite) -> None:
    attempt.prepare()
    process = attempt.wait_for_orders()
    attempt.order(process, attempt.orders("/does/not/exist", secrets=SECRETS))
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 127
    wait_until(lambda: not is_held(attempt.paths.alive_lock), "the relay has ended")
