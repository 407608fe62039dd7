"""`sow agent open`: a session taken over on a terminal, the task held meanwhile."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from journeys.callers import all_jobs, await_end, await_state, gate, good, job_of, open_gate
from journeys.json_contract import hold
from journeys.on_terminal import Terminal
from journeys.site import Site, wait_until
from journeys.staff import QUICK, drain
from standins import read_runs

from sow.schema.job import Cause, JobState, Verb

SPAWN = ("agent", "spawn", "implementer")


@pytest.fixture
def paused(site: Site) -> Site:
    """A task whose agent waits for an answer, in a folder of its own."""
    site.project("010")
    (site.root / "part").mkdir()
    site.script([[{"say": "Which one?"}, {"sow": ["task", "set", "status", "paused"]}], good()])
    site.sow(*SPAWN, "010", "--cwd", "part")
    return site


@pytest.fixture
def terminal(paused: Site) -> Iterator[Terminal]:
    opened = Terminal(paused, "agent", "open", "010", CLAUDECODE="1")
    yield opened
    opened.do("exit 0")
    with suppress(subprocess.TimeoutExpired):
        opened.process.wait(10)
    os.close(opened.keyboard)


def newest(site: Site) -> Any:
    return all_jobs(site)[-1]


def test_the_session_is_continued_in_its_folder(paused: Site, terminal: Terminal) -> None:
    session = paused.task("010")["session_id"]
    assert terminal.words[terminal.words.index("--resume") + 1] == session
    assert "-p" not in terminal.words
    assert f"cwd {paused.root / 'part'}" in terminal.lines
    assert {"SOW_TASK_ID=010", "SOW_JOB_ID=2", "SOW_AGENT=implementer"} <= set(terminal.lines)
    assert not any(line.startswith("CLAUDECODE") for line in terminal.lines)
    assert paused.task("010")["status"] == "in_progress"
    terminal.do("sow task set status needs_review")
    code, out, err = terminal.end()
    assert code == 0, err
    assert "\n010 needs_review (open implementer by claude-code, job 2, " in out
    task = paused.task("010")
    assert (task["status"], task["iteration"], task["session_id"]) == ("needs_review", 1, session)
    job = newest(paused)
    assert (job.verb, job.state, job.cause) == (Verb.OPEN, JobState.DONE, Cause.REPORTED)
    story = paused.sow("job", "explain", "2").out
    assert "opened the session on a terminal" in story


def test_the_task_is_held_meanwhile(paused: Site, terminal: Terminal) -> None:
    for words in (
        ("agent", "resume", "010", "Use the first."),
        (*SPAWN, "010", "--fresh"),
        ("task", "set", "010", "status", "completed"),
    ):
        assert "job 2" in paused.sow(*words, expect=4).err
    for words in (
        ("agent", "cancel", "010"),
        ("job", "cancel", "2"),
        ("task", "set", "010", "status", "abandoned", "--cancel-job"),
    ):
        refused = paused.sow(*words, expect=4).err
        assert "open on a terminal" in refused
        assert f"process {terminal.process.pid}" in refused
    assert "closed there" in paused.sow("job", "explain", "2").out
    assert paused.sow("agent", "wait", "010", "--wait", "1s", "--json", expect=75).json["job"] == 2
    terminal.do("exit 0")
    terminal.end()
    session = paused.task("010")["session_id"]
    paused.sow("agent", "resume", "010", "Use the first.")
    assert read_runs(paused.root)[-1].session_id == session


def test_closed_without_a_status_the_task_is_as_it_was(paused: Site, terminal: Terminal) -> None:
    before = paused.task("010")
    assert before["status"] == "in_progress"
    terminal.do("exit 0")
    assert terminal.end()[0] == 0
    after = paused.task("010")
    assert after["status"] == "paused"
    assert {**after, "status": "", "updated_at": ""} == {**before, "status": "", "updated_at": ""}
    job = newest(paused)
    assert (job.cause, job.outcome_status) == (Cause.CLOSED, "paused")


def test_completed_in_it_the_session_is_over(paused: Site, terminal: Terminal) -> None:
    terminal.do("sow task set status completed")
    assert terminal.end()[0] == 0
    task = paused.task("010")
    assert task["status"] == "completed"
    assert "session_id" not in task


def test_an_interrupt_is_the_clis_own(paused: Site, terminal: Terminal) -> None:
    os.write(terminal.keyboard, b"\x03")
    wait_until(lambda: "interrupted" in terminal.lines, "the CLI has heard ^C")
    assert terminal.process.poll() is None
    terminal.do("sow task set status needs_review")
    assert terminal.end()[0] == 0
    assert paused.task("010")["status"] == "needs_review"


def test_a_cli_that_fails_is_told_and_the_task_given_back(paused: Site, terminal: Terminal) -> None:
    terminal.do("exit 3")
    code, _, err = terminal.end()
    assert code == 1
    assert "claude-code ended with exit code 3" in err
    assert paused.task("010")["status"] == "paused"


def test_told_to_end_it_tells_the_cli(paused: Site, terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGTERM)
    code, _, err = terminal.end()
    assert code == 1
    assert "exit code -15" in err
    assert paused.task("010")["status"] == "paused"


def test_the_hold_outlives_who_took_it(paused: Site, terminal: Terminal) -> None:
    terminal.process.kill()
    terminal.process.wait()
    refused = paused.sow("agent", "resume", "010", "Use the first.", expect=4).err
    assert "job 2" in refused
    paused.configure({"worker": QUICK})
    drain(paused)
    assert newest(paused).state is JobState.RUNNING
    terminal.do("exit 0")
    wait_until(lambda: not _lives(paused), "the CLI has ended")
    drain(paused)
    assert newest(paused).state is JobState.DONE
    assert paused.task("010")["status"] == "paused"


def test_the_next_call_finds_a_terminal_gone(paused: Site, terminal: Terminal) -> None:
    terminal.process.kill()
    terminal.process.wait()
    terminal.do("exit 0")
    wait_until(lambda: not _lives(paused), "the CLI has ended")
    paused.sow("agent", "resume", "010", "Use the first.")
    verbs = [(job.verb, job.state) for job in all_jobs(paused)]
    done = JobState.DONE
    assert verbs == [(Verb.SPAWN, done), (Verb.OPEN, done), (Verb.RESUME, done)]


def _lives(site: Site) -> bool:
    """Whether anything carries the mark of job 2."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                variables = (entry / "environ").read_bytes()
                if b"SOW_JOB_ID=2" in variables and str(site.root).encode() in variables:
                    return True
    return False


def test_programs_are_told_too(paused: Site) -> None:
    opened = Terminal(paused, "agent", "open", "--id", "010", "--json")
    opened.do("exit 0")
    _, out, _ = opened.end()
    outcome = json.loads(out)
    hold("agent open", [outcome])
    assert (outcome["verb"], outcome["cause"], outcome["exit_code"]) == ("open", "closed", 0)
    os.close(opened.keyboard)


def test_without_a_terminal(paused: Site) -> None:
    refused = paused.sow("agent", "open", "010", expect=2).err
    assert "needs a terminal" in refused
    assert "sow agent resume 010" in refused


@pytest.fixture
def keyboard() -> Iterator[int]:
    ours, theirs = pty.openpty()
    yield theirs
    os.close(ours)
    os.close(theirs)


def refused(site: Site, keyboard: int) -> tuple[int, str]:
    done = site.start("agent", "open", "010", stdin=keyboard)
    _, err = done.communicate(timeout=240)
    return done.returncode, err


def test_what_never_began_cannot_be_opened(site: Site, keyboard: int) -> None:
    site.project("010")
    code, err = refused(site, keyboard)
    assert (code, "no session found for task 010" in err) == (5, True)


def test_what_is_over_cannot_be_opened(paused: Site, keyboard: int) -> None:
    paused.sow("task", "set", "010", "status", "completed")
    code, err = refused(paused, keyboard)
    assert (code, "sow task reopen 010" in err) == (4, True)


def test_a_cli_without_an_interactive_mode(site: Site, keyboard: int) -> None:
    site.project("010")
    site.configure({"agents": {"bindings": {"implementer": "windsurf"}}})
    site.script([good()])
    site.sow(*SPAWN, "010")
    code, err = refused(site, keyboard)
    assert (code, 'executor "windsurf" has no interactive mode' in err) == (5, True)


def test_while_an_agent_is_at_work(site: Site, keyboard: int) -> None:
    site.project("010")
    site.script([good({"say": "working"}, gate("go"))])
    site.sow(*SPAWN, "010", "--detach")
    await_state(site, "010", JobState.RUNNING)
    code, err = refused(site, keyboard)
    assert (code, "job 1" in err) == (4, True)
    open_gate(site, "go")
    assert await_end(site, "010").state is JobState.DONE
    assert job_of(site, "010") == all_jobs(site)[0]
