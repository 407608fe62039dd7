"""Several tasks in one call, and `sow agent wait` (DESIGN, "The call" and its exit codes)."""

import re
import signal

import pytest
from journeys.callers import (
    HANG,
    all_jobs,
    await_end,
    await_runs,
    await_state,
    await_waiters,
    besides_news,
    claimants_of,
    end,
    gate,
    good,
    open_gate,
    report,
    statuses,
)
from journeys.site import Site, wait_until
from standins import overlapping, read_runs

from sow.schema.job import JobState

TASKS = ("010", "020", "030")
SPAWN = ("agent", "spawn", "implementer")
WAIT = ("agent", "wait")


def test_several_tasks_run_at_once_with_a_line_of_outcome_each(site: Site) -> None:
    """Each agent reports only once all of them have begun, so they ran at the same time."""
    site.project(*TASKS)
    begun = [{"wait_for": f".standin/{task}.begun"} for task in TASKS]
    site.script([good({"touch": ".standin/{task}.begun"}, *begun)])
    result = site.sow(*SPAWN, *TASKS)
    lines = sorted(result.out.splitlines())
    assert [line.split(" (")[0] for line in lines] == [f"{task} needs_review" for task in TASKS]
    assert len(overlapping(read_runs(site.root))) == 3
    assert statuses(site, TASKS) == ["needs_review"] * 3


def test_a_task_that_is_named_twice_is_spawned_once(site: Site) -> None:
    site.project("010")
    site.script([good()])
    assert len(site.sow(*SPAWN, "010", "010").out.splitlines()) == 1
    assert len(all_jobs(site)) == 1


def test_one_that_is_refused_does_not_stop_the_others(site: Site) -> None:
    site.project(*TASKS)
    site.script([good()])
    site.sow("task", "abandon", "020")
    result = site.sow(*SPAWN, *TASKS, expect=4)
    assert "Error: 020: task 020 is abandoned" in result.err
    assert "sow task reopen 020" in result.err
    assert sorted(line[:3] for line in result.out.splitlines()) == ["010", "030"]
    assert statuses(site, TASKS) == ["needs_review", "abandoned", "needs_review"]


def test_one_that_is_refused_has_a_line_of_its_own_for_programs(site: Site) -> None:
    site.project("010", "020")
    site.script([good()])
    site.sow("task", "abandon", "020")
    refused, outcome = site.sow(*SPAWN, "010", "020", "--json", expect=4).json_lines
    assert (refused["task"], refused["error"]["kind"]) == ("020", "state")
    assert (outcome["task"], outcome["exit_code"]) == ("010", 0)


def test_when_all_are_refused_nothing_runs(site: Site) -> None:
    site.project("010", "020")
    for task in ("010", "020"):
        site.sow("task", "abandon", task)
    result = site.sow(*SPAWN, "010", "020", expect=4)
    assert result.out == ""
    assert result.err.count("Error: ") == 2
    assert all_jobs(site) == []


def test_detached_tasks_are_queued_with_a_line_each(site: Site) -> None:
    site.project("010", "020")
    site.script([good(gate("go"))])
    result = site.sow(*SPAWN, "010", "020", "--detach")
    taken = r"(queued|running)"  # by a worker, at once
    assert re.fullmatch(rf"010 {taken} \(job 1\)\n020 {taken} \(job 2\)\n", result.out)
    open_gate(site, "go")
    await_end(site, "010")
    await_end(site, "020")


def test_one_that_failed_among_several_exits_1(site: Site) -> None:
    """… else 1 if any failed."""
    site.project(*TASKS)
    site.script([good()])
    site.script([[report("failed")]], "020")
    result = site.sow(*SPAWN, *TASKS, expect=1)
    assert len(result.out.splitlines()) == 3
    again = site.sow(*WAIT, *TASKS, "--all", expect=1)
    assert sorted(line[:3] for line in again.out.splitlines()) == list(TASKS)


def test_one_that_runs_still_among_several_exits_75(site: Site) -> None:
    """`wait --all`: 75 if any runs, though another has failed; it goes on with those that run."""
    site.project(*TASKS)
    site.script([good()])
    site.script([[report("failed")]], "020")
    site.script([good(gate("go"))], "030")
    site.sow(*SPAWN, *TASKS, "--detach")
    await_end(site, "010")
    await_end(site, "020")
    result = site.sow(*WAIT, *TASKS, "--wait", "1s", expect=75)
    assert len(result.out.splitlines()) == 4
    assert result.out.splitlines()[-1] == "sow agent wait 030 --wait 1s"
    open_gate(site, "go")
    site.sow(*WAIT, "030")


def test_one_that_was_cancelled_among_several_exits_7(site: Site) -> None:
    """… else 7 if any cancelled."""
    site.project("010", "020")
    site.script([good()])
    site.script([HANG], "020")
    caller = site.start(*SPAWN, "010", "020")
    await_end(site, "010")
    await_state(site, "020", JobState.RUNNING)
    site.sow("agent", "cancel", "020")
    out, _ = caller.communicate(timeout=240)
    assert caller.returncode == 7
    assert sorted(line.split(" (")[0] for line in out.splitlines()) == [
        "010 needs_review",
        "020 cancelled, left paused",
    ]


def test_any_returns_when_the_first_has_ended(site: Site) -> None:
    """`--any`."""
    site.project("010", "020")
    site.script([good(gate("first"))], "010")
    site.script([good(gate("second"))], "020")
    site.sow(*SPAWN, "010", "020", "--detach")
    waiting = site.start(*WAIT, "010", "020", "--any")
    await_waiters(site, "020")
    open_gate(site, "second")
    out, _ = waiting.communicate(timeout=240)
    assert (waiting.returncode, out.split(" (")[0]) == (0, "020 needs_review")
    assert len(out.splitlines()) == 1
    assert await_state(site, "010", JobState.RUNNING)
    open_gate(site, "first")
    assert site.sow(*WAIT, "010", "020").out.count("needs_review") == 2


def test_any_exits_by_the_one_that_ended(site: Site) -> None:
    site.project("010", "020")
    site.script([HANG], "010")
    site.script([[report("failed")]], "020")
    site.sow(*SPAWN, "010", "020", "--detach")
    await_end(site, "020")
    result = site.sow(*WAIT, "010", "020", "--any", expect=1)
    assert result.out.startswith("020 failed")


def test_any_exits_75_when_none_has_ended_in_time(site: Site) -> None:
    site.project("010", "020")
    site.script([HANG])
    site.sow(*SPAWN, "010", "020", "--detach")
    result = site.sow(*WAIT, "010", "020", "--any", "--wait", "1s", expect=75)
    command = result.out.splitlines()[-1]
    assert command == "sow agent wait 010 020 --any --wait 1s"
    again = site.sow(*command.split()[1:], expect=75)
    assert again.out.splitlines()[-1] == command


def test_wait_of_one_task_exits_by_its_outcome(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    site.sow(*SPAWN, "010", "--detach")
    await_runs(site)
    site.sow(*WAIT, "010", "--wait", "1s", expect=75)
    open_gate(site, "go")
    assert "010 needs_review" in site.sow(*WAIT, "010").out
    assert site.sow(*WAIT, "010").out.startswith("010 needs_review")


def test_wait_takes_the_newest_job_of_a_task(site: Site) -> None:
    site.project("010")
    site.script([[report("failed")], good()])
    site.sow(*SPAWN, "010", expect=1)
    site.sow("agent", "resume", "010", "Again.")
    assert "job 2" in site.sow(*WAIT, "010").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("010",), 4, "task 010 has no job yet"),
        (("999",), 4, "999"),
        (("../010",), 4, "not a task id"),
        ((), 2, "no task is named"),
        (("010", "--any", "--all"), 2, "--any and --all exclude each other"),
        (("010", "--wait", "soon"), 2, "not a length of time"),
    ],
)
def test_what_cannot_be_waited_for(
    site: Site, words: tuple[str, ...], code: int, message: str
) -> None:
    site.project("010")
    refused = site.sow(*WAIT, *words, expect=code)
    assert message in refused.err
    assert refused.err.startswith("Error: ")


def test_a_killed_call_for_several_tasks_loses_none(site: Site) -> None:
    site.project(*TASKS)
    site.script([good(gate("go"))])
    caller = site.start(*SPAWN, *TASKS)
    await_waiters(site, "030")
    await_runs(site, 3)
    end(caller, signal.SIGKILL)
    open_gate(site, "go")
    for task in TASKS:
        await_end(site, task)
    again = site.sow(*SPAWN, *TASKS)
    assert [line[:14] for line in again.out.splitlines()] == ["outcome of job"] * 3
    assert len(read_runs(site.root)) == 3


def test_every_line_of_json_has_the_whole_command_to_go_on_with(site: Site) -> None:
    """The same call again: all tasks that are left, --any and --wait as given, --json."""
    site.project(*TASKS)
    site.script([good(gate("go"))])
    site.script([good()], "010")
    bounded = site.sow(*SPAWN, *TASKS, "--wait", "4s", "--json", expect=75).json_lines
    left = [each for each in bounded if each["exit_code"] == 75]
    tasks = [each["task"] for each in left]
    assert tasks[-2:] == ["020", "030"], "on a slow machine 010 may be left as well"
    command = f"sow agent wait {' '.join(tasks)} --wait 4s --json"
    assert [each["continue_with"] for each in left] == [command] * len(left)
    assert [each["continue_with"] for each in bounded if each["exit_code"] == 0] == [None]
    any_one = ("--id", "030", "020", "--any", "--wait", "1500ms", "--json")
    waited = site.sow(*WAIT, *any_one, expect=75).json_lines
    command = "sow agent wait 020 030 --any --wait 1500ms --json"
    assert [each["continue_with"] for each in waited] == [command] * 2
    open_gate(site, "go")
    site.sow(*WAIT, "020", "030")


def test_detached_lines_of_json_name_the_command_for_all(site: Site) -> None:
    site.project("010", "020")
    site.script([good()])
    lines = site.sow(*SPAWN, "010", "020", "--detach", "--json").json_lines
    assert [each["continue_with"] for each in lines] == ["sow agent wait 010 020 --json"] * 2
    site.sow(*WAIT, "010", "020")


def test_a_bound_of_the_environment_is_not_written_into_the_command(site: Site) -> None:
    """The variable is there for the next call as well."""
    site.project("010")
    site.script([good(gate("go"))])
    bounded = site.sow(*SPAWN, "010", env={"SOW_WAIT": "1s"}, expect=75)
    assert bounded.out.splitlines()[-1] == "sow agent wait 010"
    open_gate(site, "go")
    site.sow(*WAIT, "010")


def test_an_interrupted_call_names_the_same_call_for_what_is_left(site: Site) -> None:
    """Neither the task whose outcome was printed, nor one that no job was placed for."""
    site.project(*TASKS)
    site.script([good()], "010")
    site.script([HANG], "020")
    site.sow("task", "abandon", "030")
    caller = site.start(*SPAWN, *TASKS, "--wait", "5m")
    assert caller.stdout is not None
    assert caller.stdout.readline().startswith("010 needs_review")
    wait_until(lambda: not claimants_of(site, 1), "the delivery")
    await_state(site, "020", JobState.RUNNING)
    _, err = end(caller, signal.SIGINT)
    assert caller.returncode == 130
    assert err.endswith(
        "To wait again: `sow agent wait 020 --wait 5m`.\nTo end it: `sow agent cancel 020`.\n"
    )
    waiting = site.start(*WAIT, "020", "--any", "--json")
    await_waiters(site, "020")
    _, err = end(waiting, signal.SIGINT)
    assert "To wait again: `sow agent wait 020 --any --json`." in err
    site.sow("agent", "cancel", "020")


def test_any_says_how_to_wait_for_the_others(site: Site) -> None:
    """The same command again would print the one that has ended for ever."""
    site.project(*TASKS)
    site.script([good()], "010")
    site.script([good(gate("go"))])
    site.sow(*SPAWN, *TASKS, "--detach")
    first = site.sow(*WAIT, *TASKS, "--any")
    assert first.out.startswith("010 needs_review")
    assert besides_news(first.err) == (
        "Note: the others continue; to wait for them: `sow agent wait 020 030 --any`\n"
    )
    open_gate(site, "go")
    assert besides_news(site.sow(*WAIT, "020", "030").err) == ""
