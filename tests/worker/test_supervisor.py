"""The supervisor of one attempt, run directly as the process that it is (§6)."""

import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attempt_cases import SECONDS, AttemptSite, is_running, wait_until
from capabilities import skip_or_fail

from sow.jobs.doorbell import is_held
from sow.processes import procfs
from worker.supervisor.instructions import pack

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc"),
]


@pytest.mark.parametrize("code", [0, 1, 3, 75, 255])
def test_the_exit_code_is_told(attempt: AttemptSite, code: int) -> None:
    record = attempt.run(f"exit {code}")
    assert (record["code"], record["signal"], record["by_request"]) == (code, None, False)


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_the_signal_that_killed_it_is_told(attempt: AttemptSite, signum: signal.Signals) -> None:
    record = attempt.run(f"kill -{signum.value} $$")
    assert (record["code"], record["signal"]) == (None, signum.value)


def test_times_cpu_and_memory_are_told(attempt: AttemptSite) -> None:
    """ "exit written to `exit.json` (code, signal, CPU time, peak memory)"."""
    record = attempt.run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
    assert record["cpu_seconds"] > 0
    assert record["max_rss_kb"] > 100
    assert record["started_at"] <= record["ended_at"]


@pytest.mark.parametrize(
    ("program", "code"), [("/does/not/exist", 127), ("does-not-exist", 127), ("not-exec", 126)]
)
def test_an_agent_that_cannot_be_run_is_told_like_a_shell_does(
    attempt: AttemptSite, program: str, code: int
) -> None:
    attempt.file("not-exec").write_text("#!/bin/sh\n")
    named = str(attempt.file(program)) if program == "not-exec" else program
    assert attempt.start(named).wait(SECONDS) == 0
    assert attempt.exit()["code"] == code
    assert f"cannot run {named}" in attempt.paths.stderr.read_text()


def test_a_program_that_is_just_being_replaced_is_waited_for(attempt: AttemptSite) -> None:
    """Like all that passes: no memory, no room for a process, a full disk."""
    program = attempt.file("program")
    shutil.copy("/bin/true", program)
    with program.open("r+b"):
        process = attempt.start(str(program))
        wait_until(lambda: "cannot start the agent yet" in attempt.log(), "it is tried")
        assert process.poll() is None
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 0


def test_an_agent_that_cannot_start_yet_can_be_ended(attempt: AttemptSite) -> None:
    program = attempt.file("program")
    shutil.copy("/bin/true", program)
    with program.open("r+b"):
        process = attempt.start(str(program))
        wait_until(lambda: "cannot start the agent yet" in attempt.log(), "it is tried")
        process.terminate()
        assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 126


def test_an_end_is_not_written_into_the_folder_of_another_attempt(attempt: AttemptSite) -> None:
    """The queue's folder was removed meanwhile, and a new one has begun to count from 1 again."""
    process = attempt.sh("while [ ! -e go ]; do sleep 0.01; done")
    attempt.agent_pid()
    shutil.rmtree(attempt.workspace.run)
    attempt.prepare()
    attempt.paths.alive_lock.touch()
    attempt.file("go").touch()
    assert process.wait(SECONDS) == 0
    assert not attempt.paths.exit.exists()


def test_a_missing_interpreter_is_127(attempt: AttemptSite) -> None:
    script = attempt.file("script")
    script.write_text("#!/does/not/exist\n")
    script.chmod(0o755)
    assert attempt.start(str(script)).wait(SECONDS) == 0
    assert attempt.exit()["code"] == 127


def test_a_prompt_of_a_megabyte_arrives_whole(attempt: AttemptSite) -> None:
    """§10: "a prompt of 1 MB"; §6: "stdin from `prompt.md`"."""
    prompt = "".join(f"line {number} ü\n" for number in range(80_000))
    attempt.prepare(prompt)
    attempt.start_prepared("/bin/cat").wait(SECONDS)
    assert len(prompt.encode()) > 1_000_000
    assert attempt.paths.output.read_text() == prompt


def test_output_goes_straight_to_files_of_its_owner_s(attempt: AttemptSite) -> None:
    """ "stdout and stderr straight to files … No pipe leads to the worker"."""
    script = "readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2; echo oops >&2"
    attempt.run(script)
    paths = attempt.paths
    assert paths.output.read_text().split() == [
        str(paths.prompt),
        str(paths.output),
        str(paths.stderr),
    ]
    assert paths.stderr.read_text() == "oops\n"
    assert {p.stat().st_mode & 0o777 for p in (paths.output, paths.stderr)} == {0o600}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777], ids=oct)
def test_what_it_writes_down_is_for_its_owner_whatever_the_umask(
    attempt: AttemptSite, umask: int
) -> None:
    before = os.umask(umask)
    try:
        attempt.run("exit 0")
    finally:
        os.umask(before)
    paths = attempt.paths
    modes = [path.stat().st_mode & 0o777 for path in (paths.started, paths.exit)]
    assert modes == [0o600, 0o600]


def test_output_is_appended_to_what_is_there(attempt: AttemptSite) -> None:
    attempt.prepare()
    attempt.paths.output.write_text("before\n")
    attempt.start_prepared("/bin/echo", "after").wait(SECONDS)
    assert attempt.paths.output.read_text() == "before\nafter\n"


def test_nothing_is_said_of_a_run_that_goes_well(attempt: AttemptSite) -> None:
    attempt.run("echo hello")
    assert attempt.log() == ""
    assert sorted(path.name for path in attempt.paths.folder.iterdir()) == [
        "alive.lock",
        "exit.json",
        "output.jsonl",
        "prompt.md",
        "started.json",
        "stderr.log",
        "supervisor.log",
    ]


def test_the_agent_has_its_arguments_folder_and_environment_unchanged(attempt: AttemptSite) -> None:
    attempt.prepare()
    environ = {"PATH": "/usr/bin:/bin", "SOW_ATTEMPT_ID": attempt.attempt_id, "ODD": "a\nb=c"}
    words = ("", "a b", "$HOME", "ünï", "-x", "--", "'\"")
    code = "import os, sys, json; print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]))"
    run = [sys.executable, "-I", "-c", code, *words]
    attempt.start_prepared(*run, env=environ).wait(SECONDS)
    argv, folder, seen = json.loads(attempt.paths.output.read_text())
    seen.pop("LC_CTYPE", None)  # the interpreter's own
    assert (argv, folder, seen) == (list(words), str(attempt.root), environ)


def test_the_agent_has_no_blocked_and_no_ignored_signals(attempt: AttemptSite) -> None:
    """The supervisor's own mask and CPython's ignored SIGPIPE stay its own."""
    attempt.run("grep -E '^Sig(Blk|Ign)' /proc/self/status")
    lines = dict(line.split(":\t") for line in attempt.paths.output.read_text().splitlines())
    assert int(lines["SigBlk"], 16) == 0
    wanted = [signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    assert [s for s in wanted if int(lines["SigIgn"], 16) >> (s - 1) & 1] == []


def test_it_runs_in_a_session_of_its_own(attempt: AttemptSite) -> None:
    """ "exec'ed (never forked from the worker …) in its own session"."""
    process = attempt.sh("sleep 600")
    agent = attempt.agent_pid()
    assert os.getsid(process.pid) == process.pid
    assert os.getsid(agent) == process.pid
    assert os.getpgid(agent) == agent
    process.terminate()
    process.wait(SECONDS)


def test_the_lock_is_held_by_supervisor_and_agent(attempt: AttemptSite) -> None:
    """ "`alive.lock` (held by supervisor and agent)"."""
    process = attempt.sh("sleep 600 & wait")
    agent = attempt.agent_pid()
    assert is_held(attempt.paths.alive_lock)
    process.kill()
    process.wait()
    assert is_running(agent)
    assert is_held(attempt.paths.alive_lock)
    attempt.kill_carriers()
    wait_until(lambda: not is_held(attempt.paths.alive_lock), "the lock is free")


def test_the_lock_is_free_after_the_end(attempt: AttemptSite) -> None:
    attempt.run("true")
    assert not is_held(attempt.paths.alive_lock)


def test_the_agent_inherits_the_lock_and_nothing_else(attempt: AttemptSite) -> None:
    process = attempt.sh("touch up; sleep 600 & wait")
    agent = attempt.agent_pid()
    wait_until(attempt.file("up").exists, "the shell has opened what it needs for itself")
    targets = {str(fd.readlink()) for fd in Path(f"/proc/{agent}/fd").iterdir()}
    paths = attempt.paths
    own = {str(p) for p in (paths.prompt, paths.output, paths.stderr, paths.alive_lock)}
    assert targets == own
    process.terminate()
    process.wait(SECONDS)


def test_it_leaves_when_its_worker_goes_away_without_orders(attempt: AttemptSite) -> None:
    attempt.prepare()
    process = attempt.wait_for_orders()
    attempt.order(process, b"")
    assert process.wait(SECONDS) == 0
    assert [path.name for path in attempt.paths.folder.iterdir()] == ["prompt.md"]


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_orders_that_were_cut_off_are_none(attempt: AttemptSite, share: float) -> None:
    """Its worker was killed while it wrote them."""
    attempt.prepare()
    process = attempt.wait_for_orders()
    orders = attempt.orders("/usr/bin/touch", str(attempt.file("ran")))
    attempt.order(process, orders[: int(len(orders) * share)])
    assert process.wait(SECONDS) == 0
    assert not attempt.file("ran").exists()
    assert not attempt.paths.started.exists()


def test_while_it_waits_a_signal_ends_it(attempt: AttemptSite) -> None:
    """Nobody would give it orders for an attempt that is to end."""
    attempt.prepare()
    process = attempt.wait_for_orders()
    process.terminate()
    assert process.wait(SECONDS) == -signal.SIGTERM


def test_a_folder_that_is_gone_by_then_is_told_as_a_start_that_failed(attempt: AttemptSite) -> None:
    attempt.prepare()
    process = attempt.wait_for_orders()
    gone = str(attempt.file("gone"))
    attempt.order(process, pack(str(attempt.paths.folder), gone, ["/bin/true"], {}))
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 127


def test_an_attempt_that_was_given_up_is_not_begun(attempt: AttemptSite) -> None:
    """ "A worker can die between starting a supervisor and the supervisor's first act"."""
    attempt.prepare()
    attempt.paths.void.touch()
    process = attempt.start_prepared("/usr/bin/touch", str(attempt.file("ran")))
    assert process.wait(SECONDS) == 0
    assert not attempt.file("ran").exists()
    assert not attempt.paths.exit.exists()
    assert not attempt.paths.started.exists()


def waits_for_a_lock(pid: int) -> bool:
    """Whether a process waits for a file lock (proc_locks(5): such lines have an arrow)."""
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(words[1] == "->" and words[5] == str(pid) for words in lines)


def test_a_second_supervisor_of_an_attempt_starts_nothing(attempt: AttemptSite) -> None:
    """Two live attempts on one session cannot happen."""
    first = attempt.sh("touch first; sleep 600")
    attempt.agent_pid()
    second = attempt.start_prepared("/usr/bin/touch", str(attempt.file("second")))
    wait_until(lambda: waits_for_a_lock(second.pid), "the second waits for the lock")
    first.terminate()
    first.wait(SECONDS)
    assert second.wait(SECONDS) == 1
    assert "ran before" in attempt.log()
    assert not attempt.file("second").exists()


@pytest.fixture
def locked(attempt: AttemptSite) -> Iterator[int]:
    """Hold the lock of an attempt as somebody does who looks whether it lives."""
    attempt.prepare()
    fd = os.open(attempt.paths.alive_lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_SH)
    yield fd
    os.close(fd)


def test_the_agent_is_started_when_nobody_looks_any_more(attempt: AttemptSite, locked: int) -> None:
    """A look holds the lock for an instant; it must not cost the attempt."""
    process = attempt.start_prepared("/usr/bin/touch", "ran")
    wait_until(lambda: waits_for_a_lock(process.pid), "it waits for the lock")
    assert not attempt.file("ran").exists()
    fcntl.flock(locked, fcntl.LOCK_UN)
    assert process.wait(SECONDS) == 0
    assert attempt.file("ran").exists()


def test_an_attempt_given_up_while_it_waited_is_not_begun(
    attempt: AttemptSite, locked: int
) -> None:
    process = attempt.start_prepared("/usr/bin/touch", "ran")
    wait_until(lambda: waits_for_a_lock(process.pid), "it waits for the lock")
    attempt.paths.void.touch()
    fcntl.flock(locked, fcntl.LOCK_UN)
    assert process.wait(SECONDS) == 0
    assert not attempt.file("ran").exists()


# a disk that is full, a folder that is gone, output without end


def bound_files(process: subprocess.Popen[bytes], size: int) -> None:
    """Let a process write no file beyond `size` bytes, as a full disk would; -1 for any size."""
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, hard))


def test_an_exit_that_cannot_be_written_is_written_as_soon_as_it_can(attempt: AttemptSite) -> None:
    process = attempt.sh("while [ ! -e go ]; do sleep 0.01; done; exit 6")
    attempt.agent_pid()
    bound_files(process, 60)
    attempt.file("go").touch()
    wait_until(lambda: "cannot write exit.json" in attempt.log(), "it says so")
    assert process.poll() is None
    assert not attempt.paths.exit.exists()
    bound_files(process, resource.RLIM_INFINITY)
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 6


@pytest.mark.parametrize("name", ["exit.json", ".exit.json"])
@pytest.mark.parametrize("kind", ["mkfifo {}", "mkdir -p {}/full", "ln -s /dev/zero {}"])
def test_what_an_agent_lays_in_the_way_of_its_exit_is_no_hindrance(
    attempt: AttemptSite, kind: str, name: str
) -> None:
    """A pipe would hold the supervisor up for ever, and a folder every rename."""
    obstacle = kind.format(attempt.paths.folder / name)
    assert attempt.sh(f"{obstacle}; exit 6").wait(SECONDS) == 0
    assert attempt.paths.exit.is_file()
    assert not attempt.paths.exit.is_symlink()
    assert attempt.exit()["code"] == 6


@pytest.fixture
def small_disk(attempt: AttemptSite) -> Iterator[Path]:
    """Put the attempt's folder on a disk of 64 KB."""
    attempt.paths.folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "sow-test", str(attempt.paths.folder)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode != 0:
        skip_or_fail("only root can mount a small disk")
    yield attempt.paths.folder
    attempt.close()
    subprocess.run(["umount", "--lazy", str(attempt.paths.folder)], check=True)


def test_a_full_disk_loses_no_exit(attempt: AttemptSite, small_disk: Path) -> None:
    """§10: "a full disk"; the agent's own output has filled it."""
    recorded = f"until [ -e {attempt.paths.started} ]; do sleep 0.01; done"
    process = attempt.sh(f"{recorded}; head -c 1000000 /dev/zero; exit 6")
    agent = attempt.agent_pid()
    wait_until(lambda: not procfs.read_stat(agent), "the agent has filled the disk and ended")
    wait_until((small_disk / ".exit.json").exists, "an exit that does not fit")
    assert not attempt.paths.exit.exists()
    assert process.poll() is None
    attempt.paths.output.write_text("")
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 6


def test_a_disk_full_at_the_start_does_not_cost_the_agent_its_supervisor(
    attempt: AttemptSite,
) -> None:
    attempt.prepare()
    process = attempt.wait_for_orders()
    bound_files(process, 60)
    attempt.order(process, attempt.orders("/bin/sh", "-c", "touch ran; exit 5"))
    wait_until(lambda: "cannot write started.json" in attempt.log(), "it says so")
    bound_files(process, resource.RLIM_INFINITY)
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 5
    assert not attempt.paths.started.exists()


def test_an_attempt_whose_folder_is_removed_leaves_nothing_behind(attempt: AttemptSite) -> None:
    attempt.script("left", "trap '' HUP; {pid}; exec sleep 600")
    process = attempt.sh("setsid sh left.sh & while [ ! -e go ]; do sleep 0.01; done")
    left = attempt.pid_in("left")
    shutil.rmtree(attempt.workspace.run)
    attempt.file("go").touch()
    assert process.wait(SECONDS) == 0
    assert not is_running(left)
    assert not attempt.workspace.run.exists()


@pytest.mark.storm
def test_a_gigabyte_of_output_goes_straight_to_its_file(attempt: AttemptSite) -> None:
    """§10: "output of 1 GB"; none of it passes through the supervisor."""
    process = attempt.sh(f"head -c {2**30} /dev/zero; touch written; sleep 600 & wait")
    wait_until(attempt.file("written").exists, "it is written")
    peak = peak_memory(process.pid)
    process.terminate()
    process.wait(SECONDS)
    size = attempt.paths.output.stat().st_size
    attempt.paths.output.unlink()
    assert size == 2**30
    assert peak < 64 * 1024


def peak_memory(pid: int) -> int:
    """Return the most memory that a process has used so far, in kilobytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
