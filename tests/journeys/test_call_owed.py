"""An outcome is owed to a caller that waited and went away (DESIGN, "The call")."""

import json
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from journeys.callers import (
    all_jobs,
    await_end,
    await_runs,
    await_waiters,
    cancelled_without_a_word,
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

from sow.clock import clock_time, parse_time, utc_now

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
    assert caller.wait(timeout=240) == 130


@pytest.mark.one_of
@pytest.mark.parametrize("leave", [killed, terminated, unread])
def test_the_same_call_prints_the_outcome_once(site: Site, leave: object) -> None:
    """… the same call then prints it (`outcome of job J, which ended T …`), no run."""
    site.project("010")
    site.script([good(gate("go"))])
    caller = site.start(*SPAWN)
    await_waiters(site, "010")
    await_runs(site)
    leave(caller)
    open_gate(site, "go")
    job = await_end(site, "010")
    again = site.sow(*SPAWN)
    assert again.out.startswith(f"outcome of job {job.id}, which ended at ")
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
    assert site.sow(*RESUME).out.startswith("outcome of job 2, which ended at ")
    assert site.sow(*RESUME).out.startswith("010 needs_review (resume implementer")
    assert [run.verb for run in read_runs(site.root)] == ["spawn", "resume", "resume"]


def test_when_time_is_up_the_last_line_is_the_command_to_go_on_waiting(site: Site) -> None:
    """Exit 75, and the exact command to go on waiting is the last line of stdout."""
    site.project("010")
    site.script([good(gate("go"))])
    bounded = site.sow(*SPAWN, "--wait", "1s", expect=75)
    still, command = bounded.out.splitlines()
    assert still.startswith("010 still ")
    assert command == "sow agent wait 010 --wait 1s"
    open_gate(site, "go")
    continued = site.sow(*shlex.split(command)[1:])
    assert "010 needs_review (spawn" in continued.out
    assert len(read_runs(site.root)) == 1


def test_when_time_is_up_the_command_is_a_field_of_the_json(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    record = site.sow(*SPAWN, "--wait", "1s", "--json", expect=75).json
    assert (record["exit_code"], record["continue_with"]) == (
        75,
        "sow agent wait 010 --wait 1s --json",
    )
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
    assert site.sow(*RESUME).out.startswith("outcome of job 2, which ended at ")
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
    out, _ = attached.communicate(timeout=240)
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
    assert waiting.communicate(timeout=240)[0].startswith("010 needs_review")
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
    cancelled_without_a_word(site)
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
    owed = {each["task"]: (each["owed"], each["exit_code"]) for each in both}
    assert owed == {"010": (True, 0), "020": (False, 0)}


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


def owed_resume(site: Site) -> None:
    """Leave the outcome of a resume (job 2) owed: its caller was killed, and the job has ended."""
    site.project("010")
    site.script([good(), good(gate("go")), good()])
    site.sow(*SPAWN)
    killed_caller(site, *RESUME)
    open_gate(site, "go")
    await_end(site, "010")


@pytest.mark.one_of
@pytest.mark.parametrize(
    "words",
    [
        ("agent", "wait", "010"),
        ("job", "show", "2"),
        ("job", "show", "2", "--json"),
        ("job", "explain", "2"),
        ("job", "explain", "2", "--json"),
        ("job", "logs", "2"),
        ("task", "explain", "010"),
        ("task", "output", "--id", "010"),
    ],
    ids=" ".join,
)
def test_what_any_command_has_shown_of_it_is_owed_no_more(
    site: Site, words: tuple[str, ...]
) -> None:
    owed_resume(site)
    site.sow(*words)
    assert claimants_of(site, 2) == []
    assert site.sow(*RESUME, "--detach").out.endswith(" (job 3)\n")
    await_end(site, "010")


@pytest.mark.one_of
@pytest.mark.parametrize(
    "words",
    [
        ("job", "list"),
        ("task", "list"),
        ("task", "show", "010"),
        ("job", "show", "1"),
        (*RESUME, "--dry-run"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_what_does_not_tell_how_it_ended_pays_nothing(site: Site, words: tuple[str, ...]) -> None:
    """A table of many jobs tells nobody an outcome, nor does what speaks of another job."""
    owed_resume(site)
    site.sow(*words, expect=None)
    assert len(claimants_of(site, 2)) == 1
    assert site.sow(*RESUME).out.startswith("outcome of job 2")


def test_what_another_agent_reads_is_still_owed(site: Site) -> None:
    """A reviewer that looks at a job has not told its orchestrator anything."""
    owed_resume(site)
    reviewer = {"SOW_JOB_ID": "7", "SOW_ROOT": str(site.root), "SOW_TASK_ID": "020"}
    for role, left in (("reviewer", 1), ("orchestrator", 0)):
        site.sow("job", "show", "2", env={**reviewer, "SOW_AGENT": role})
        assert len(claimants_of(site, 2)) == left


def test_what_nobody_could_read_is_still_owed(site: Site) -> None:
    owed_resume(site)
    with Path("/dev/full").open("w") as full:
        shown = site.start("job", "show", "2", stdout=full)
    shown.communicate(timeout=240)
    assert shown.returncode == 1
    assert len(claimants_of(site, 2)) == 1


def test_a_job_that_runs_is_shown_and_its_outcome_stays_owed(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    killed_caller(site, *SPAWN)
    for words in (("job", "show", "1"), ("task", "explain", "010"), ("task", "output", "010")):
        site.sow(*words)
    open_gate(site, "go")
    await_end(site, "010")
    assert site.sow(*SPAWN).out.startswith("outcome of job 1")


def test_an_owed_outcome_is_said_to_be_one_with_the_way_to_run_anew(site: Site) -> None:
    owed_resume(site)
    owed_line = site.sow(*RESUME, "--json", "--dry-run").json
    assert owed_line["job"] == 2
    printed = site.sow(*RESUME).out
    assert printed.startswith("outcome of job 2, which ended at ")
    assert "; `--again` runs it anew: 010 needs_review (resume" in printed
    assert clock_time(parse_time(site.job(2)["ended_at"]), utc_now()) in printed


def test_json_tells_the_option_that_runs_an_owed_one_anew(site: Site) -> None:
    owed_resume(site)
    owed = site.sow(*RESUME, "--json").json
    assert (owed["owed"], owed["anew_with"], owed["job"]) == (True, "--again", 2)
    anew = site.sow(*RESUME, "--json").json
    assert (anew["owed"], anew["anew_with"], anew["job"]) == (False, None, 3)


def test_detach_queues_nothing_where_an_outcome_is_owed_and_says_so(site: Site) -> None:
    """Exit 0 would say that a job is queued or runs."""
    owed_resume(site)
    for words in ((*RESUME, "--detach"), (*RESUME, "--detach", "--json")):
        refused = site.sow(*words, expect=4)
        assert refused.out == "" or refused.json["error"]["exit_code"] == 4
        assert "no job was queued for task 010" in refused.err
        assert "job 2 of an earlier identical call has ended at " in refused.err
        assert "(needs_review)" in refused.err
        assert "`sow agent wait 010` prints it" in refused.err
        assert "--again" in refused.err
    assert site.sow(*RESUME, "--detach", "--dry-run", expect=4).err == refused.err
    assert len(all_jobs(site)) == 2
    assert site.sow(*RESUME, "--detach", "--again").out.endswith(" (job 3)\n")
    await_end(site, "010")


def test_detach_of_several_exits_by_the_first_that_was_refused(site: Site) -> None:
    site.project("010", "020")
    site.script([good(gate("go"))], "010")
    site.script([good(gate("other"))], "020")
    killed_caller(site, *SPAWN)
    open_gate(site, "go")
    await_end(site, "010")
    both = site.sow(*SPAWN, "020", "--detach", expect=4)
    assert re.fullmatch(r"020 (queued|running) \(job 2\)\n", both.out)  # it may be taken at once
    assert "no job was queued for task 010" in both.err
    attached = site.sow("agent", "spawn", "implementer", "020", "--detach")
    assert attached.out.startswith("020 ")
    assert "attached to job 2, which the same command queued" in attached.err
    open_gate(site, "other")
    await_end(site, "020")


def test_cancelled_after_75_and_shown_the_next_spawn_starts(site: Site) -> None:
    site.project("010")
    site.script([[gate("never")], good()])
    site.sow(*SPAWN, "--wait", "1s", expect=75)
    await_runs(site)
    site.sow("agent", "cancel", "010")
    site.sow("job", "show", "1")
    assert site.sow(*SPAWN, "--fresh", "--detach").out.endswith(" (job 2)\n")
    await_end(site, "010")
    assert len(read_runs(site.root)) == 2


def owed_spawn(site: Site) -> None:
    """A spawn whose caller was killed; its session has started, and its outcome is owed."""
    site.project("010")
    site.script([good(gate("go")), good()])
    killed_caller(site, *SPAWN)
    open_gate(site, "go")
    await_end(site, "010")


def test_the_option_that_is_named_for_a_spawn_whose_session_has_started_runs_it(site: Site) -> None:
    """A session is spawned once: `--again` alone would be refused."""
    owed_spawn(site)
    refused = site.sow(*SPAWN, "--detach", expect=4)
    assert "To run it again, add --fresh.\n" in refused.err
    assert "; `--fresh` would run it again" in site.sow(*SPAWN, "--dry-run").out
    assert "; `--fresh` runs it anew: 010 needs_review (spawn" in site.sow(*SPAWN).out
    assert site.sow(*SPAWN, "--fresh").out.startswith("010 needs_review (spawn")
    assert len(read_runs(site.root)) == 2


def test_no_option_is_named_where_none_is_admitted(site: Site) -> None:
    site.project("010")
    site.script([[gate("go"), report("completed")]])
    killed_caller(site, *SPAWN)
    open_gate(site, "go")
    await_end(site, "010")
    refused = site.sow(*SPAWN, "--detach", expect=4)
    assert "`sow agent wait 010` prints it.\n" in refused.err
    owed = site.sow(*SPAWN, "--json").json
    assert (owed["owed"], owed["anew_with"]) == (True, None)


def test_what_was_detached_and_forgotten_is_named_until_a_command_has_shown_it(site: Site) -> None:
    site.project("010", "020", "030")
    for task in ("010", "020", "030"):
        site.script([good()], task=task)
    site.sow("agent", "spawn", "010", "020", "030", "--detach")
    jobs = {task: await_end(site, task).id for task in ("010", "020", "030")}

    def named() -> list[str]:
        lines = [line for line in site.sow("next").out.splitlines() if "has shown how" in line]
        return lines[0].rpartition(": task ")[2].split(", ") if lines else []

    assert named() == ["010", "020", "030"]
    site.sow("job", "show", str(jobs["010"]))
    site.sow("review", "accept", "020", "--summary", "Read.")
    assert named() == ["030"]
    site.sow("agent", "wait", "030", "--any", "--since", "0")
    assert named() == []
