"""An outcome is owed to a caller that waited and went away (DESIGN, "The call")."""

import json
import shlex
import signal
import subprocess

import pytest
from journeys.calls import (
    all_jobs,
    await_end,
    await_runs,
    await_waiters,
    claimants_of,
    end,
    gate,
    good,
    killed_caller,
    open_gate,
    report,
)
from journeys.site import Site, wait_until
from standins import read_runs

SPAWN = ("agent", "spawn", "implementer", "010")
RESUME = ("agent", "resume", "010", "Go on.")


def killed(caller: subprocess.Popen[str]) -> None:
    end(caller, signal.SIGKILL)


def terminated(caller: subprocess.Popen[str]) -> None:
    end(caller, signal.SIGTERM)
    assert caller.returncode == 130


def unread(caller: subprocess.Popen[str]) -> None:
    assert caller.stdout is not None
    caller.stdout.close()
    assert caller.wait(timeout=60) == 130


@pytest.mark.parametrize("leave", [killed, terminated, unread])
def test_the_same_call_prints_the_outcome_once(site: Site, leave: object) -> None:
    """… the same call then prints it (`outcome of job J, ended T`) instead of running again."""
    site.project("010")
    site.script([good(gate("go"))])
    caller = site.start(*SPAWN)
    await_waiters(site, "010")
    await_runs(site)
    leave(caller)
    open_gate(site, "go")
    job = await_end(site, "010")
    again = site.sow(*SPAWN)
    assert again.out.startswith(f"outcome of job {job.id}, ended 20")
    assert "010 needs_review (spawn implementer by claude-code, job 1" in again.out
    third = site.sow(*SPAWN, expect=4)
    assert "task 010 is needs_review" in third.err
    assert len(read_runs(site.root)) == 1
    assert list((site.root / ".sow/run/waiters").iterdir()) == []


def test_a_resumes_outcome_is_owed_once_and_the_third_call_runs_anew(site: Site) -> None:
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    killed_caller(site, *RESUME)
    open_gate(site, "go")
    await_end(site, "010")
    assert site.sow(*RESUME).out.startswith("outcome of job 2, ended 20")
    assert site.sow(*RESUME).out.startswith("010 needs_review (resume implementer")
    assert [run.verb for run in read_runs(site.root)] == ["spawn", "resume", "resume"]


def test_when_time_is_up_the_last_line_is_the_command_to_go_on_waiting(site: Site) -> None:
    """Exit 75, and the exact command to go on waiting is the last line of stdout."""
    site.project("010")
    site.script([good(gate("go"))])
    bounded = site.sow(*SPAWN, "--wait", "1s", expect=75)
    still, command = bounded.out.splitlines()
    assert still.startswith("010 still ")
    assert command == "sow agent wait 010"
    open_gate(site, "go")
    continued = site.sow(*shlex.split(command)[1:])
    assert "010 needs_review (spawn" in continued.out
    assert len(read_runs(site.root)) == 1


def test_when_time_is_up_the_command_is_a_field_of_the_json(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    told = site.sow(*SPAWN, "--wait", "1s", "--json", expect=75).json
    assert (told["exit_code"], told["continue_with"]) == (75, "sow agent wait 010")
    open_gate(site, "go")
    await_end(site, "010")
    owed = site.sow(*SPAWN, "--json").json
    assert (owed["exit_code"], owed["continue_with"], owed["owed"]) == (0, None, True)


def test_a_caller_that_came_back_again_and_again_is_owed_one_outcome(site: Site) -> None:
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    for _ in range(3):
        site.sow(*RESUME, "--wait", "1s", expect=75)
    assert len(claimants_of(site, 2)) == 1
    open_gate(site, "go")
    await_end(site, "010")
    assert site.sow(*RESUME).out.startswith("outcome of job 2, ended 20")
    assert site.sow(*RESUME).out.startswith("010 needs_review (resume implementer")


def test_what_an_attached_call_has_printed_is_owed_no_more(site: Site) -> None:
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    killed_caller(site, *RESUME)
    attached = site.start(*RESUME)
    assert attached.stderr is not None
    assert "waiting for job 2" in attached.stderr.readline()
    open_gate(site, "go")
    out, _ = attached.communicate(timeout=60)
    assert out.startswith("010 needs_review")
    assert site.sow(*RESUME).out.startswith("010 needs_review (resume implementer")
    assert len(read_runs(site.root)) == 3


def test_what_agent_wait_has_printed_is_owed_no_more(site: Site) -> None:
    """`sow agent wait` is the command that a bounded call names: it pays what is owed."""
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    site.sow(*RESUME, "--wait", "1s", expect=75)
    waiting = site.start("agent", "wait", "010")
    wait_until(lambda: list((site.root / ".sow/run/waiters").iterdir()), "a bell")
    open_gate(site, "go")
    assert waiting.communicate(timeout=60)[0].startswith("010 needs_review")
    assert site.sow(*RESUME).out.startswith("010 needs_review (resume implementer")
    assert len(read_runs(site.root)) == 3


def test_agent_wait_after_the_end_pays_too(site: Site) -> None:
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    killed_caller(site, *RESUME)
    open_gate(site, "go")
    await_end(site, "010")
    assert "010 needs_review (resume" in site.sow("agent", "wait", "010").out
    assert site.sow(*RESUME).out.startswith("010 needs_review (resume implementer")


def test_two_callers_that_went_away_are_owed_two_outcomes(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    callers = [site.start(*SPAWN) for _ in range(2)]
    await_waiters(site, "010", 2)
    await_runs(site)
    for caller in callers:
        killed(caller)
    open_gate(site, "go")
    await_end(site, "010")
    for _ in callers:
        assert site.sow(*SPAWN).out.startswith("outcome of job 1")
    site.sow(*SPAWN, expect=4)


def test_an_owed_failure_exits_as_it_would_have(site: Site) -> None:
    site.project("010")
    site.script([[gate("go"), report("failed")]])
    killed_caller(site, *SPAWN)
    open_gate(site, "go")
    await_end(site, "010")
    again = site.sow(*SPAWN, expect=1)
    assert again.out.startswith("outcome of job 1")
    assert "010 failed" in again.out


def test_an_owed_cancellation_exits_7(site: Site) -> None:
    site.project("010")
    site.script([[gate("never")]])
    killed_caller(site, *SPAWN)
    await_runs(site)
    site.sow("agent", "cancel", "010")
    again = site.sow(*SPAWN, expect=7)
    assert again.out.startswith("outcome of job 1")
    assert "010 cancelled, left paused" in again.out


def test_it_lapses_when_another_job_of_the_task_starts(site: Site) -> None:
    """It lapses when another job of the task starts …."""
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    killed_caller(site, *RESUME)
    open_gate(site, "go")
    await_end(site, "010")
    site.sow("agent", "resume", "010", "Something else.")
    assert claimants_of(site, 2) == []
    assert list((site.root / ".sow/run/waiters").iterdir()) == []
    assert site.sow(*RESUME).out.startswith("010 needs_review (resume implementer")
    assert len(read_runs(site.root)) == 4


def test_it_lapses_when_the_status_is_changed_after_the_jobs_end(site: Site) -> None:
    """… or its status is changed after the job's end."""
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    killed_caller(site, *RESUME)
    open_gate(site, "go")
    await_end(site, "010")
    site.sow("task", "set", "010", "status", "failed")
    assert site.sow(*RESUME).out.startswith("010 needs_review (resume implementer")
    assert len(read_runs(site.root)) == 3


def test_again_runs_anew(site: Site) -> None:
    """`--again` runs anew."""
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    killed_caller(site, *RESUME)
    open_gate(site, "go")
    await_end(site, "010")
    assert site.sow(*RESUME, "--again").out.startswith("010 needs_review (resume implementer")
    assert len(read_runs(site.root)) == 3


def test_detach_owes_nothing(site: Site) -> None:
    """`--detach` owes nothing: a spawn is refused by the table, a resume runs anew."""
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN, "--detach")
    await_end(site, "010")
    assert "task 010 is needs_review" in site.sow(*SPAWN, expect=4).err
    site.sow(*RESUME, "--detach")
    await_end(site, "010")
    assert site.sow(*RESUME).out.startswith("010 needs_review (resume implementer")
    assert len(all_jobs(site)) == 3


def test_several_owed_outcomes_come_with_those_that_run(site: Site) -> None:
    site.project("010", "020")
    site.script([good(gate("go"))], "010")
    site.script([good()], "020")
    killed_caller(site, *SPAWN)
    open_gate(site, "go")
    await_end(site, "010")
    both = site.sow(*SPAWN, "020", "--json").json_lines
    told = {one["task"]: (one["owed"], one["exit_code"]) for one in both}
    assert told == {"010": (True, 0), "020": (False, 0)}


def test_the_debt_stands_in_the_records_not_in_the_callers_words(site: Site) -> None:
    """A prompt is compared byte for byte: another one is another call."""
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    killed_caller(site, *RESUME)
    open_gate(site, "go")
    await_end(site, "010")
    other = site.sow("agent", "resume", "010", "Go on!", "--json").json
    assert (other["owed"], other["job"]) == (False, 3)
    assert json.loads(site.sow("agent", "wait", "010", "--json").out)["job"] == 3
