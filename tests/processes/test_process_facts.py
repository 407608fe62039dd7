"""Who a process is and whether it lives, by both back ends (§6)."""

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from capabilities import skip_or_fail

from sow.processes import linux, portable, process_facts, procfs
from sow.processes.life import Life
from sow.schema.job import ProcessIdentity

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
Start = Callable[..., subprocess.Popen[bytes]]

NOBODY = 2**22 + 1
"""A pid above every Linux's highest."""


@pytest.fixture(params=["linux", "portable"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each back end; `SOW_PROCESSES=portable` is the switch."""
    if request.param == "portable":
        monkeypatch.setenv("SOW_PROCESSES", "portable")
    elif sys.platform != "linux":
        skip_or_fail("reads /proc")
    name: str = request.param
    return name


@pytest.fixture
def start() -> Iterator[Start]:
    """Start processes that sleep; they are gone after the test."""
    started = []

    def start_sleeping(*argv: str, **popen: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(argv or ("sleep", "60"), **popen)  # type: ignore[call-overload]
        started.append(process)
        return process  # type: ignore[no-any-return]

    yield start_sleeping
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def unique() -> str:
    """An attempt's id that no other test uses, not even the same one beside this."""
    return f"1.1.{uuid.uuid4().hex}"


def name_of(pid: int) -> str:
    """Return the name of a process; empty once it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def identify(pid: int) -> ProcessIdentity:
    identity = process_facts.identify(pid)
    assert identity is not None
    return identity


@pytest.mark.usefixtures("backend")
def test_a_process_that_runs_is_alive(start: Start) -> None:
    assert process_facts.life_of(identify(os.getpid())) is Life.ALIVE
    assert process_facts.life_of(identify(start().pid)) is Life.ALIVE


@pytest.mark.usefixtures("backend")
def test_the_same_process_is_identified_alike(start: Start) -> None:
    process = start()
    assert identify(process.pid) == identify(process.pid)


@pytest.mark.usefixtures("backend")
def test_a_stopped_process_is_alive(start: Start) -> None:
    process = start()
    identity = identify(process.pid)
    process.send_signal(signal.SIGSTOP)
    assert process_facts.life_of(identity) is Life.ALIVE


@pytest.mark.usefixtures("backend")
def test_a_zombie_is_dead(start: Start) -> None:
    process = start()
    identity = identify(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_facts.life_of(identity) is Life.DEAD


@pytest.mark.usefixtures("backend")
def test_a_process_that_has_gone_is_dead(start: Start) -> None:
    process = start()
    identity = identify(process.pid)
    process.kill()
    process.wait()
    assert process_facts.life_of(identity) is Life.DEAD
    assert process_facts.identify(process.pid) is None


@pytest.mark.usefixtures("backend")
def test_nobody_is_not_identified() -> None:
    assert process_facts.identify(NOBODY) is None


@pytest.mark.usefixtures("backend")
def test_a_reused_pid_is_another_process(start: Start) -> None:
    """§6: "Identity of a process = pid, raw start ticks, …": a pid alone is reused."""
    former = msgspec.structs.replace(identify(start().pid), start_ticks="1")
    assert process_facts.life_of(former) is Life.DEAD


@pytest.mark.usefixtures("backend")
def test_another_boot_has_ended_it(start: Start) -> None:
    """The same pid, another boot: Linux compares its id, elsewhere the start is another time."""
    mine = identify(start().pid)
    by_id = {"boot_id": "another"}
    by_time = {"boot_id": "1000.000000", "start_ticks": "1010.000000"}
    former = msgspec.structs.replace(mine, **(by_time if "." in mine.start_ticks else by_id))
    assert process_facts.life_of(former) is Life.DEAD


@pytest.mark.usefixtures("backend")
def test_another_namespace_is_unverifiable_even_where_nothing_has_the_pid() -> None:
    """§6: "another namespace is `unverifiable`: never called dead, never signalled"."""
    mine = identify(os.getpid())
    elsewhere = msgspec.structs.replace(mine, pid=NOBODY, pid_namespace=f"{mine.pid_namespace}1")
    assert process_facts.life_of(elsewhere) is Life.UNVERIFIABLE


@linux_only
@pytest.mark.parametrize("made_by", ["linux", "portable"])
def test_an_identity_is_judged_by_the_back_end_that_made_it(
    made_by: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker restarted with another switch calls nobody dead who lives."""

    def switch(to: str) -> None:
        monkeypatch.setenv("SOW_PROCESSES", to)

    switch(made_by)
    process = start()
    identity = identify(process.pid)
    switch({"linux": "portable", "portable": "linux"}[made_by])
    assert process_facts.life_of(identity) is Life.ALIVE
    process.kill()
    process.wait()
    assert process_facts.life_of(identity) is Life.DEAD


@linux_only
def test_another_boot_of_another_machine_proves_nothing(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A folder that two hosts see: what the other one has started is never called dead."""
    monkeypatch.setattr(procfs, "machine_id", lambda: "a" * 32)
    monkeypatch.setattr(linux, "is_local", lambda _: True)
    here = msgspec.structs.replace(identify(start().pid), boot_id="another")
    assert here.machine == "a" * 32
    assert process_facts.life_of(here) is Life.DEAD
    assert process_facts.is_of_another_boot(here)
    elsewhere = msgspec.structs.replace(here, machine="b" * 32)
    assert process_facts.life_of(elsewhere, tmp_path) is Life.UNVERIFIABLE
    assert not process_facts.is_of_another_boot(elsewhere, tmp_path)


@linux_only
@pytest.mark.parametrize("ours", ["", "a" * 32])
def test_without_a_machine_a_disk_of_our_own_tells_of_another_boot(
    ours: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a container without an id, and of what an older sow has written."""
    monkeypatch.setattr(procfs, "machine_id", lambda: ours)
    former = ProcessIdentity(pid=1, start_ticks="1", boot_id="another")
    assert process_facts.life_of(former) is Life.UNVERIFIABLE
    for local, life in ((True, Life.DEAD), (False, Life.UNVERIFIABLE)):
        monkeypatch.setattr(linux, "is_local", lambda _, local=local: local)
        assert process_facts.life_of(former, tmp_path) is life


@linux_only
def test_the_same_boot_is_the_same_machine_whatever_it_calls_itself(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container may have another id than its host, whose kernel it runs on."""
    identity = identify(start().pid)
    monkeypatch.setattr(procfs, "machine_id", lambda: "c" * 32)
    assert process_facts.life_of(identity) is Life.ALIVE


def test_a_process_that_another_machine_saw_is_unverifiable_by_psutil_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = portable.identify(os.getpid())
    assert mine is not None
    monkeypatch.setattr(portable, "machine", lambda: "a" * 32)
    elsewhere = msgspec.structs.replace(mine, pid=NOBODY, machine="b" * 32)
    assert process_facts.life_of(elsewhere) is Life.UNVERIFIABLE
    assert not process_facts.is_of_another_boot(elsewhere)


def test_a_process_that_another_system_saw_is_unverifiable() -> None:
    """A container over the folder of its host: the two share files, not processes."""
    mine = portable.identify(os.getpid())
    assert mine is not None
    elsewhere = msgspec.structs.replace(mine, pid=NOBODY, pid_namespace="psutil:elsewhere")
    assert process_facts.life_of(elsewhere) is Life.UNVERIFIABLE


def test_a_clock_that_jumps_ends_nobody() -> None:
    """§10: "a clock that jumps". Some systems move starts with it, and the boot alike."""
    mine = portable.identify(os.getpid())
    assert mine is not None
    moved = msgspec.structs.replace(
        mine,
        start_ticks=f"{float(mine.start_ticks) - 3600:.6f}",
        boot_id=f"{float(mine.boot_id) - 3600:.6f}",
    )
    fixed = msgspec.structs.replace(mine, boot_id=f"{float(mine.boot_id) - 3600:.6f}")
    other = msgspec.structs.replace(mine, start_ticks=f"{float(mine.start_ticks) - 1:.6f}")
    lives = [process_facts.life_of(identity) for identity in (moved, fixed, other)]
    assert lives == [Life.ALIVE, Life.ALIVE, Life.DEAD]


@linux_only
def test_the_age_of_a_process_does_not_go_by_the_clock(start: Start) -> None:
    identity = identify(start().pid)
    age = process_facts.age_seconds(identity)
    assert age is not None
    assert age < 60.0
    older = msgspec.structs.replace(identity, start_ticks="0")
    assert process_facts.age_seconds(older) == pytest.approx(
        time.clock_gettime(time.CLOCK_BOOTTIME), abs=5
    )
    assert process_facts.age_seconds(msgspec.structs.replace(identity, boot_id="another")) is None


@pytest.mark.usefixtures("backend")
def test_the_time_of_a_tree_counts_all_below_it(start: Start, tmp_path: Path) -> None:
    """The parent only waits; what its child in another session has used is counted."""
    busy = f"i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; touch {tmp_path}/done; sleep 600"
    process = start("sh", "-c", f"setsid sh -c '{busy}' & wait", start_new_session=True)
    deadline = time.monotonic() + 240
    while not (tmp_path / "done").exists():
        assert time.monotonic() < deadline
        os.sched_yield()
    assert process_facts.tree_cpu_seconds(process.pid) >= 0.02
    below = procfs.descendants(process.pid)
    process.kill()
    for pid in below:
        with suppress(ProcessLookupError):  # `touch` may have been among them
            os.kill(pid, signal.SIGKILL)


@pytest.mark.usefixtures("backend")
def test_nobody_has_used_no_time() -> None:
    assert process_facts.tree_cpu_seconds(NOBODY) == 0


@pytest.mark.slow
@linux_only
@pytest.mark.usefixtures("backend")
def test_from_within_a_real_namespace_the_outside_is_unverifiable() -> None:
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        skip_or_fail("only root can make a pid namespace")
    mine = msgspec.json.encode(identify(os.getpid())).decode()
    code = (
        "import sys, msgspec; from sow.processes import process_facts as facts\n"
        "from sow.schema.job import ProcessIdentity\n"
        "print(facts.life_of(msgspec.json.decode(sys.argv[1], type=ProcessIdentity)))"
    )
    inside = [*unshare, sys.executable, "-P", "-c", code, mine]
    assert subprocess.check_output(inside, text=True) == "unverifiable\n"


@pytest.mark.usefixtures("backend")
def test_carriers_are_those_that_started_with_the_very_value(start: Start, unique: str) -> None:
    def carrying(**variables: str) -> int:
        environ = {"PATH": os.environ["PATH"], **variables}
        return start("sleep", "60", env=environ, start_new_session=True).pid

    mine = carrying(SOW_ATTEMPT_ID=unique, OTHER="x")
    carrying(SOW_ATTEMPT_ID=f"{unique}d")
    carrying(SOW_ATTEMPT_ID=unique[:-1])
    carrying(NOT_SOW_ATTEMPT_ID=unique)
    carrying(OTHER=f"SOW_ATTEMPT_ID={unique}")
    assert process_facts.carriers("SOW_ATTEMPT_ID", unique) == [mine]


@pytest.mark.usefixtures("backend")
def test_a_zombie_carries_nothing(start: Start, unique: str) -> None:
    environ = {"PATH": os.environ["PATH"], "SOW_ATTEMPT_ID": unique}
    process = start("sleep", "60", env=environ)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_facts.carriers("SOW_ATTEMPT_ID", unique) == []


@pytest.mark.usefixtures("backend")
def test_a_child_carries_what_its_parent_closed_its_lock_for(
    start: Start, tmp_path: Path, unique: str
) -> None:
    """facts/huey: "the lock was free while the child lived": the marker still tells."""
    environ = {"PATH": os.environ["PATH"], "SOW_ATTEMPT_ID": unique}
    ready = tmp_path / "ready"
    script = f"setsid sh -c 'exec 3<&- 4<&-; : >{ready}; exec sleep 600' & exit 0"
    start("sh", "-c", script, env=environ).wait()
    while not ready.exists():
        os.sched_yield()
    (left,) = process_facts.carriers("SOW_ATTEMPT_ID", unique)
    os.kill(left, signal.SIGKILL)


@pytest.mark.usefixtures("backend")
def test_what_has_begun_since_a_moment_is_found_though_others_are_left_out(
    start: Start, unique: str
) -> None:
    environ = {"PATH": os.environ["PATH"], "SOW_ATTEMPT_ID": unique}
    before = start("sleep", "60", env=environ).pid
    began = time.monotonic()
    # Nobody has looked before that moment: so nothing is known to be older.
    assert process_facts.carriers("SOW_ATTEMPT_ID", unique, since=began) == [before]
    now = time.monotonic()
    after = start("sleep", "60", env=environ).pid
    found = process_facts.carriers("SOW_ATTEMPT_ID", unique, since=now)
    assert after in found
    assert process_facts.carriers("SOW_ATTEMPT_ID", unique, since=began) == sorted([before, after])


# procfs alone


@linux_only
def test_a_process_seen_before_a_moment_is_left_out_and_another_with_its_pid_is_not(
    tmp_path: Path,
) -> None:
    proc = tmp_path / "proc"
    for name in ("7", "8", "self"):
        (proc / name).mkdir(parents=True)
    began = time.monotonic()
    assert sorted(procfs.pids_since(began, str(proc))) == [7, 8]
    now = time.monotonic()
    (proc / "8").rename(tmp_path / "ended")  # its inode is still taken
    for name in ("8", "9"):
        (proc / name).mkdir()
    assert sorted(procfs.pids_since(now, str(proc))) == [8, 9]
    assert sorted(procfs.pids_since(began, str(proc))) == [7, 8, 9]


@linux_only
def test_a_process_is_known_by_a_number_that_no_other_one_with_its_pid_has(start: Start) -> None:
    """The kernel numbers the folders of processes in turn: no two have had the same number."""
    numbers = []
    for _ in range(3):
        process = start("sleep", "60")
        with os.scandir("/proc") as entries:
            numbers += [each.inode() for each in entries if each.name == str(process.pid)]
        process.kill()
        process.wait()
    assert len(set(numbers)) == 3


@linux_only
def test_a_program_s_name_may_hold_anything(start: Start, tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    process = start(str(program), "60")
    stat = procfs.read_stat(process.pid)
    assert stat is not None
    assert (stat.parent, stat.state in "SRD") == (os.getpid(), True)


@linux_only
def test_stat_tells_parent_session_and_time_spent(start: Start) -> None:
    process = start("sleep", "60", start_new_session=True)
    stat = procfs.read_stat(process.pid)
    assert stat is not None
    assert (stat.parent, stat.session) == (os.getpid(), process.pid)
    assert int(stat.start_ticks) > 0
    mine = procfs.read_stat(os.getpid())
    assert mine is not None
    assert mine.cpu_ticks > 0


@linux_only
def test_descendants_are_found_through_sessions_of_their_own(start: Start) -> None:
    """§6: "agent CLIs put their shell commands in sessions of their own"."""
    process = start("sh", "-c", "setsid sh -c 'sleep 600 & wait' & wait", start_new_session=True)
    deadline = time.monotonic() + 240
    below = procfs.descendants(process.pid)
    while not any(name_of(pid) == "sleep" for pid in below):
        assert time.monotonic() < deadline, "its sleep was never found"
        os.sched_yield()
        below = procfs.descendants(process.pid)
    assert process.pid not in below
    assert {stat.session for stat in below.values()} - {process.pid}
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@linux_only
def test_what_ends_while_it_is_looked_at_is_no_error() -> None:
    assert procfs.read_stat(NOBODY) is None
    assert procfs.variables(NOBODY) == b""
    assert procfs.descendants(NOBODY) == {}
    assert not procfs.carries(NOBODY, "A", "b")
    assert not procfs.is_running(NOBODY, "1")


@linux_only
def test_what_the_supervisor_imports_stays_light() -> None:
    """It must start fast."""
    code = "import sys; from worker.supervisor import own_processes, supervise; "
    code += "own_processes.load_tree(None); print(*sorted(sys.modules))"
    root = str(Path(procfs.__file__).parents[2])
    out = subprocess.check_output(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({root!r})\n{code}"],
        text=True,
    )
    heavy = {"msgspec", "psutil", "pathlib", "subprocess", "json", "re", "typing", "dataclasses"}
    assert heavy & set(out.split()) == set()


def test_the_environment_that_a_process_started_with(backend: str, start: Start) -> None:
    """An exec gives a process its new name before its new variables, and none in between."""
    environ = {"A": "1=2", "EMPTY": ""}
    process = start("sleep", "60", env=environ)
    deadline = time.monotonic() + 60
    while (
        found := process_facts.variables(process.pid)
    ) != environ and time.monotonic() < deadline:
        time.sleep(0.01)
    assert found == environ


def test_the_environment_of_nobody(backend: str) -> None:
    assert process_facts.variables(NOBODY) is None


@pytest.mark.usefixtures("backend")
def test_the_processes_above_one_are_named_from_its_parent_on() -> None:
    found = process_facts.ancestors(os.getpid())
    assert found[:1] == [os.getppid()]
    assert len(set(found)) == len(found)
    assert process_facts.ancestors(NOBODY) == []
