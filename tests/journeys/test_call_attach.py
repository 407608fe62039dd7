"""One live job per task: the same call attaches, another is refused (DESIGN, "The call")."""

import signal

import pytest
from journeys.callers import (
    HANG,
    all_jobs,
    await_runs,
    await_standstill,
    await_state,
    await_waiters,
    besides_news,
    end,
    gate,
    good,
    open_gate,
    queue_lock,
    report,
)
from journeys.site import Site, wait_until
from standins import overlapping, read_runs

from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import JobState

SPAWN = ("agent", "spawn", "implementer", "010")


def test_identical_calls_at_once_run_the_agent_once_and_all_get_the_outcome(site: Site) -> None:
    """The same call again (verb, task, agent, executor, prompt) attaches."""
    site.project("010")
    site.script([good(gate("all-wait"))])
    callers = [site.start(*SPAWN) for _ in range(4)]
    await_waiters(site, "010", len(callers))
    open_gate(site, "all-wait")
    outputs = [caller.communicate(timeout=240) for caller in callers]
    assert [caller.returncode for caller in callers] == [0] * 4
    assert all(out.startswith("010 needs_review") for out, _ in outputs)
    assert len(read_runs(site.root)) == len(all_jobs(site)) == 1


def test_identical_calls_that_all_found_no_job_place_one(site: Site) -> None:
    """They are held up where each would insert its job; the first one through does."""
    site.project("010")
    site.script([good()])
    open_queue(Workspace(site.root)).close()
    with queue_lock(site):
        callers = [site.start(*SPAWN) for _ in range(4)]
        await_standstill(callers)
    for caller in callers:
        _, err = caller.communicate(timeout=240)
        assert caller.returncode == 0, err
    assert len(read_runs(site.root)) == len(all_jobs(site)) == 1


def test_identical_resumes_at_once_run_the_agent_once(site: Site) -> None:
    site.project("010")
    site.script([good(), good(gate("all-wait"))])
    site.sow(*SPAWN)
    callers = [site.start("agent", "resume", "010", "Use RS256.") for _ in range(3)]
    await_waiters(site, "010", len(callers))
    open_gate(site, "all-wait")
    for caller in callers:
        caller.communicate(timeout=240)
    assert [caller.returncode for caller in callers] == [0] * 3
    assert [run.verb for run in read_runs(site.root)] == ["spawn", "resume"]
    log = (site.task_folder("010") / "log.md").read_text()
    assert site.task("010")["iteration"] == 2
    assert log.count("Use RS256.") == 1


def test_a_call_that_attaches_says_for_which_job_it_waits(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    site.sow(*SPAWN, "--detach")
    await_runs(site)
    caller = site.start(*SPAWN)
    await_waiters(site, "010")
    open_gate(site, "go")
    out, err = caller.communicate(timeout=240)
    assert besides_news(err) == "Note: waiting for job 1, which the same command queued\n"
    assert (caller.returncode, out.startswith("010 needs_review")) == (0, True)


@pytest.mark.one_of
@pytest.mark.parametrize(
    "words",
    [
        (*SPAWN, "--prompt", "More."),
        (*SPAWN, "--fresh"),
        ("agent", "spawn", "architect", "010"),
        ("agent", "resume", "010", "Go on."),
    ],
)
def test_a_different_call_is_refused_and_told_the_job(site: Site, words: tuple[str, ...]) -> None:
    """A different one is refused, naming it."""
    site.project("010")
    site.script([HANG])
    site.sow(*SPAWN, "--detach")
    await_runs(site)
    refused = site.sow(*words, expect=4)
    assert refused.err == (
        "Error: task 010 has a job that has not ended: job 1 (spawn by claude-code, running)\n\n"
        "Wait for it: `sow agent wait 010`. End it: `sow agent cancel 010`.\n"
    )
    assert len(all_jobs(site)) == 1


def test_the_same_call_by_another_executor_is_a_different_one(site: Site) -> None:
    site.project("010")
    site.script([HANG])
    site.sow(*SPAWN, "--detach")
    await_runs(site)
    refused = site.sow(*SPAWN, env={"SOW_AGENTS_IMPLEMENTER": "cursor"}, expect=4)
    assert "job 1 (spawn by claude-code, running)" in refused.err


def test_a_resume_waits_for_a_job_that_has_reported_and_is_only_ending(site: Site) -> None:
    """A resume whose job has already reported and is only ending waits for that."""
    site.project("010")
    site.script([[report(), gate("exit")], good()])
    site.sow(*SPAWN, "--detach")
    wait_until(lambda: site.task("010")["status"] == "needs_review", "the report")
    caller = site.start("agent", "resume", "010", "Use RS256.")
    assert await_waiters(site, "010").state is JobState.RUNNING
    open_gate(site, "exit")
    out, err = caller.communicate(timeout=240)
    assert caller.returncode == 0, err
    assert "job 2" in out
    first, second = read_runs(site.root)
    assert (first.verb, second.verb) == ("spawn", "resume")
    assert not overlapping([first, second])


@pytest.mark.one_of
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_a_resume_that_goes_away_while_it_waits_for_that_end_is_owed_nothing(
    site: Site, signum: signal.Signals
) -> None:
    """Whoever waits for the job is told how it has ended; the resume has asked for another one."""
    site.project("010")
    site.script([[report(), gate("exit")]])
    waiting = site.start(*SPAWN)
    wait_until(lambda: site.task("010")["status"] == "needs_review", "the report")
    await_waiters(site, "010")
    resuming = site.start("agent", "resume", "010", "Use RS256.")
    await_waiters(site, "010", 2)
    end(resuming, signum)
    open_gate(site, "exit")
    out, _ = waiting.communicate(timeout=240)
    assert out.startswith("010 needs_review")
    assert "sow agent wait 010" not in site.sow("next").out
    assert not site.sow("agent", "wait", "010", "--json").json["owed"]


def test_a_resume_of_a_job_that_has_not_reported_is_refused_at_once(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    site.sow(*SPAWN, "--detach")
    await_runs(site)
    site.sow("agent", "resume", "010", "Use RS256.", expect=4)
    open_gate(site, "go")
    await_state(site, "010", JobState.DONE)
    assert len(read_runs(site.root)) == 1


def test_a_spawn_does_not_wait_for_a_job_that_is_only_ending(site: Site) -> None:
    """Only a resume may follow on a report; a spawn is another call and is refused."""
    site.project("010")
    site.script([[report(), gate("exit")]])
    site.sow(*SPAWN, "--detach")
    wait_until(lambda: site.task("010")["status"] == "needs_review", "the report")
    site.sow(*SPAWN, "--prompt", "Again.", expect=4)


def test_jobs_of_two_projects_do_not_meet(site: Site) -> None:
    """The live job of a task goes by (project id, task id)."""
    site.change_branch("one")
    site.project("010")
    site.script([good(gate("go"))])
    site.sow(*SPAWN, "--detach")
    await_runs(site)
    site.change_branch("other")
    (site.root / ".sow/project").rename(site.root / "of-one")
    site.project("010")
    nothing = site.sow("agent", "wait", "010", expect=4)
    assert "task 010 has no job yet" in nothing.err


def ending(site: Site) -> None:
    """A job whose agent has reported, and does not end before its gate opens."""
    site.project("010")
    site.script([[report(), gate("exit")], good()])
    site.sow(*SPAWN, "--detach")
    wait_until(lambda: site.task("010")["status"] == "needs_review", "the report")


@pytest.mark.one_of
@pytest.mark.parametrize("option", ["--wait", "--detach"])
def test_a_resume_waits_for_that_end_no_longer_than_the_call_may(site: Site, option: str) -> None:
    """Else the shell of an orchestrator kills it, and its words are lost without a word."""
    ending(site)
    shell = {"CLAUDECODE": "1", "BASH_DEFAULT_TIMEOUT_MS": "11000"}
    words = ("--wait", "1s") if option == "--wait" else ("--detach",)
    refused = site.sow("agent", "resume", "010", "Use RS256.", *words, env=shell, expect=4)
    assert refused.out == ""
    assert besides_news(refused.err) == (
        "Error: no job was queued for task 010: the agent of job 1 has set the status"
        " needs_review, but its program still runs after 1.0s\n\n`sow agent wait 010` waits"
        " until it ends. Then run the same command again.\n"
    )
    open_gate(site, "exit")
    assert site.sow("agent", "wait", "010").out.startswith("010 needs_review (spawn")
    assert "job 2" in site.sow("agent", "resume", "010", "Use RS256.").out


def test_a_resume_that_is_interrupted_meanwhile_names_nothing_to_wait_for(site: Site) -> None:
    """`sow agent wait` would print the job before it, as if the answer had been read."""
    ending(site)
    caller = site.start("agent", "resume", "010", "Use RS256.")
    await_waiters(site, "010")
    _, err = end(caller, signal.SIGINT)
    assert caller.returncode == 130
    assert err == "\nDetached; there is no job to wait for.\n"
    open_gate(site, "exit")
    await_state(site, "010", JobState.DONE)
    assert len(all_jobs(site)) == 1
