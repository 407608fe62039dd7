"""The supervisor of one attempt, run directly as the process that it is (§6)."""

import fcntl
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from attempt_cases import SECONDS, SUPERVISOR, AttemptSite, is_running, say_pid, wait_until

from sow.jobs.doorbell import is_held

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")


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
    process = attempt.sh("sleep 60")
    agent = attempt.agent_pid()
    assert os.getsid(process.pid) == process.pid
    assert os.getsid(agent) == process.pid
    assert os.getpgid(agent) == agent
    process.terminate()
    process.wait(SECONDS)


def test_the_lock_is_held_by_supervisor_and_agent(attempt: AttemptSite) -> None:
    """ "`alive.lock` (held by supervisor and agent)"."""
    process = attempt.sh("sleep 60 & wait")
    agent = attempt.agent_pid()
    assert is_held(attempt.paths.alive_lock)
    process.kill()
    process.wait()
    assert is_running(agent)
    assert is_held(attempt.paths.alive_lock)
    for pid in attempt.carriers():
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_held(attempt.paths.alive_lock), "the lock is free")


def test_the_lock_is_free_after_the_end(attempt: AttemptSite) -> None:
    attempt.run("true")
    assert not is_held(attempt.paths.alive_lock)


def test_the_agent_inherits_the_lock_and_nothing_else(attempt: AttemptSite) -> None:
    process = attempt.sh("sleep 60 & wait")
    agent = attempt.agent_pid()
    targets = {str(fd.readlink()) for fd in Path(f"/proc/{agent}/fd").iterdir()}
    paths = attempt.paths
    own = {str(p) for p in (paths.prompt, paths.output, paths.stderr, paths.alive_lock)}
    assert targets == own
    process.terminate()
    process.wait(SECONDS)


def test_an_attempt_that_was_given_up_is_not_begun(attempt: AttemptSite) -> None:
    """ "A worker can die between starting a supervisor and the supervisor's first act"."""
    attempt.prepare()
    attempt.paths.void.touch()
    process = attempt.start_prepared("/usr/bin/touch", str(attempt.file("ran")))
    assert process.wait(SECONDS) == 0
    assert not attempt.file("ran").exists()
    assert not attempt.paths.exit.exists()
    assert not attempt.paths.started.exists()


def test_a_second_supervisor_of_an_attempt_starts_nothing(attempt: AttemptSite) -> None:
    """Two live attempts on one session cannot happen."""
    first = attempt.sh("touch first; sleep 60")
    attempt.agent_pid()
    second = attempt.start_prepared("/usr/bin/touch", str(attempt.file("second")))
    assert second.wait(SECONDS) != 0
    assert not attempt.file("second").exists()
    first.terminate()
    first.wait(SECONDS)


def test_the_lock_is_taken_before_the_agent_is_started(attempt: AttemptSite) -> None:
    attempt.prepare()
    fd = os.open(attempt.paths.alive_lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    assert attempt.start_prepared("/usr/bin/touch", "ran").wait(SECONDS) != 0
    os.close(fd)
    assert not attempt.file("ran").exists()


# ending the tree


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_asked_to_end_it_interrupts_the_agent_first(
    attempt: AttemptSite, signum: signal.Signals
) -> None:
    """ "Ending one: SIGINT, wait, SIGTERM, wait, SIGKILL"."""
    process = attempt.sh(f"trap 'echo interrupted; exit 9' INT; {say_pid('up')}; sleep 60 & wait")
    attempt.pid_in("up")
    process.send_signal(signum)
    assert process.wait(SECONDS) == 0
    assert attempt.paths.output.read_text() == "interrupted\n"
    assert (attempt.exit()["code"], attempt.exit()["by_request"]) == (9, True)


def test_an_interrupt_reaches_the_foreground_of_a_shell_script(attempt: AttemptSite) -> None:
    """§7: "Shell scripts are executors": a shell waits for its child before it heeds ^C."""
    process = attempt.sh(f"{say_pid('up')}; sleep 60; echo went on")
    attempt.pid_in("up")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["signal"] == signal.SIGINT
    assert attempt.paths.output.read_text() == ""


def test_tools_that_end_themselves_are_not_terminated(attempt: AttemptSite) -> None:
    """An interrupted agent CLI ends its own tools: they have the first grace for it."""
    tool = "trap 'echo terminated' TERM; trap 'sleep 0.1; echo ended; exit' USR1"
    attempt.script("tool", f"{tool}; {{pid}}; while :; do sleep 0.01; done")
    agent = "trap 'kill -USR1 $!; wait $!; wait $!; exit 6' INT; setsid sh tool.sh & wait"
    process = attempt.sh(agent)
    attempt.pid_in("tool")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 6
    assert attempt.paths.output.read_text() == "ended\n"


def test_an_agent_that_ignores_interrupts_is_terminated(attempt: AttemptSite) -> None:
    script = f"trap '' INT; trap 'echo terminated; exit 8' TERM; {say_pid('up')}; sleep 60 & wait"
    process = attempt.sh(script, impatient=True)
    attempt.pid_in("up")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert attempt.paths.output.read_text() == "terminated\n"
    assert attempt.carriers() == []


def test_the_whole_tree_is_ended_whatever_it_ignores(attempt: AttemptSite) -> None:
    """ "to the *whole tree*: agent CLIs put their shell commands in sessions of their own"."""
    attempt.script("tool", "trap '' INT TERM HUP; {pid}; while :; do sleep 1; done")
    stubborn = f"trap '' INT TERM HUP; {say_pid('agent')}; while :; do sleep 1; done"
    process = attempt.sh(f"setsid sh tool.sh & {stubborn}", impatient=True)
    agent, tool = attempt.pid_in("agent"), attempt.pid_in("tool")
    assert os.getsid(tool) == tool
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert not is_running(agent)
    assert not is_running(tool)
    assert attempt.carriers() == []
    assert attempt.exit()["signal"] == signal.SIGKILL


def test_a_daemon_that_left_its_parents_is_still_found(attempt: AttemptSite) -> None:
    """ "The supervisor is a subreaper": an orphan is reparented to it, not to init."""
    attempt.script("daemon", "trap '' INT TERM; {pid}; while :; do sleep 1; done")
    process = attempt.sh("(setsid sh daemon.sh &); sleep 60", impatient=True)
    daemon = attempt.pid_in("daemon")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert not is_running(daemon)


WAIT_FOR_LEFT = "while [ ! -e left ]; do sleep 0.01; done"


def test_what_an_agent_left_in_the_background_is_ended_after_it(attempt: AttemptSite) -> None:
    """ "The same after an agent that exits by itself: what it left in the background is ended"."""
    attempt.script("left", "trap '' HUP INT; {pid}; exec sleep 60")
    record = attempt.run(f"setsid sh left.sh & {WAIT_FOR_LEFT}; exit 4")
    assert (record["code"], record["by_request"]) == (4, False)
    assert not is_running(attempt.pid_in("left"))


def test_a_leftover_without_its_environment_and_descriptors_is_ended_too(
    attempt: AttemptSite,
) -> None:
    attempt.script("left", "exec 0<&- 1>&- 2>&- 3>&- 4>&-; {pid}; exec sleep 60")
    attempt.run(f"env -i PATH=$PATH setsid sh left.sh & {WAIT_FOR_LEFT}")
    assert not is_running(attempt.pid_in("left"))


def test_exit_json_is_written_when_nothing_is_left(attempt: AttemptSite) -> None:
    """ "verify that nothing is left": whoever reads `exit.json` finds nobody alive."""
    attempt.script("left", "trap 'sleep 0.3; exit' TERM; {pid}; while :; do sleep 0.05; done")
    attempt.sh(f"setsid sh left.sh & {WAIT_FOR_LEFT}")
    left = attempt.pid_in("left")
    wait_until(attempt.paths.exit.exists, "exit.json")
    assert not is_running(left)


def test_a_request_that_comes_while_leftovers_are_ended_is_no_second_ending(
    attempt: AttemptSite,
) -> None:
    attempt.script("left", "trap '' TERM; {pid}; while :; do sleep 0.05; done")
    process = attempt.sh(f"setsid sh left.sh & {WAIT_FOR_LEFT}; exit 5", impatient=True)
    agent = attempt.agent_pid()
    wait_until(lambda: not is_running(agent), "the agent has ended")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert (attempt.exit()["code"], attempt.exit()["by_request"]) == (5, False)


WORKER = """
set -- $(cat /proc/$$/stat)
echo $1 ${22} >LOCK
sh below.sh &
{pid}
wait
"""


@pytest.mark.parametrize("registered", [True, False])
def test_a_registered_worker_is_spared_with_all_below_it(
    attempt: AttemptSite, registered: bool
) -> None:
    """ "Ending a tree skips registered workers …: a worker that an agent's own `sow` call started
    must not die with that agent"."""
    workers = attempt.workspace.workers
    workers.mkdir(parents=True)
    lock = workers / ("w1.lock" if registered else "w1.note")
    attempt.script("left", WORKER.replace("LOCK", str(lock)))
    attempt.script("below", "{pid}; exec sleep 60")
    attempt.run(
        f"env -u SOW_ATTEMPT_ID setsid sh left.sh & {WAIT_FOR_LEFT};"
        "while [ ! -e below ]; do sleep 0.01; done"
    )
    pids = attempt.pid_in("left"), attempt.pid_in("below")
    assert [is_running(pid) for pid in pids] == [registered, registered]
    for pid in pids:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


def test_a_registered_worker_beside_the_agent_is_not_even_interrupted(
    attempt: AttemptSite,
) -> None:
    """As `sow worker &` in a shell script leaves it: in the agent's own process group."""
    workers = attempt.workspace.workers
    workers.mkdir(parents=True)
    lock = workers / "w1.lock"
    noting = "trap 'touch signalled' INT TERM\n" + WORKER.replace("LOCK", str(lock))
    attempt.script("left", noting)
    attempt.script("below", "{pid}; exec sleep 60")
    process = attempt.sh(
        f"env -u SOW_ATTEMPT_ID sh left.sh & {WAIT_FOR_LEFT}; while :; do sleep 0.1; done"
    )
    worker, below = attempt.pid_in("left"), attempt.pid_in("below")
    assert os.getpgid(worker) == attempt.agent_pid()
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert [is_running(worker), is_running(below)] == [True, True]
    assert not attempt.file("signalled").exists()
    for pid in (worker, below):
        os.kill(pid, signal.SIGKILL)


def test_a_registration_of_a_reused_pid_spares_nobody(attempt: AttemptSite) -> None:
    """ "Identity of a process = pid, raw start ticks, …"."""
    workers = attempt.workspace.workers
    workers.mkdir(parents=True)
    attempt.script("left", f"echo $$ 12345 >{workers}/w1.lock; {{pid}}; exec sleep 60")
    attempt.run(f"setsid sh left.sh & {WAIT_FOR_LEFT}")
    assert not is_running(attempt.pid_in("left"))


def test_another_attempt_s_supervisor_is_spared(attempt: AttemptSite) -> None:
    """ "… other attempts' supervisors and everything below them"."""
    other = AttemptSite(attempt.workspace, number=2)
    other.prepare()
    own = f"{sys.executable} -I -S {SUPERVISOR} {other.paths.folder}"
    attempt.run(
        f"SOW_ATTEMPT_ID={other.attempt_id} setsid {own} /bin/sh -c 'sleep 60' & "
        f"while [ ! -e {other.paths.started} ]; do sleep 0.01; done"
    )
    assert is_running(other.agent_pid())
    for pid in other.carriers():
        os.kill(pid, signal.SIGKILL)
