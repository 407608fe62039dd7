"""The gate of a plan: what would begin before it is refused, and what that prints leads on."""

import re
import shlex
from unittest.mock import patch

import pytest
from calls.batch_desk import begin, items, look, placed, turn
from calls.desk import NOW, PROJECT, SESSION, Desk
from in_process import Ended, run_in_process

from sow.calls.admission import BeforeApproval
from sow.calls.approving import refuse_override
from sow.calls.batch_touch import touch_all_batches
from sow.calls.caller import Caller
from sow.calls.held_jobs import release_ready
from sow.calls.kinds import place
from sow.calls.open import open_session
from sow.errors import ExitCode, StateError
from sow.ids import TaskId
from sow.jobs import batch_news
from sow.lifecycle.guards import PLAN_APPROVED
from sow.lifecycle.types import LIFECYCLES
from sow.schema.batch import ItemState
from sow.schema.job import JobState
from sow.schema.task import SessionFacts, TaskStatus
from sow.state.projects import change_project
from sow.state.tasks import add_task

BEGUN = {
    "session_id": SESSION,
    "session": SessionFacts(executor="claude-code", cwd=".", started=True),
}
CALLS = [
    "agent spawn implementer 010 --detach",
    "agent spawn 010 --when-ready --detach",
    "agent spawn 010 --ignore-deps --detach",
    "agent spawn 010 --dry-run",
    'agent resume 010 "Go on." --detach',
    'agent answer 010 "Yes." --detach',
    "batch run --detach",
    "batch run 010 --detach",
]


def stand(desk: Desk, state: str = "planning", **fields: object) -> None:
    """Have the desk's project be a standard one in a state."""
    change_project(
        desk.workspace, lambda _: {"type": "standard", "state": state, **fields}, now=NOW
    )


def sow(desk: Desk, line: str, *, is_person: bool = True) -> Ended:
    """Run a command line, as a person at a terminal or without one."""
    with (
        patch("sow.cli.approve.is_at_terminal", lambda: is_person),
        patch("sow.cli.confirming.is_at_terminal", lambda: is_person),
        patch("sow.cli.status.is_at_terminal", lambda: is_person),
    ):
        words = shlex.split(line)
        return run_in_process(*words, env=dict(desk.caller.environ), cwd=desk.workspace.root)


def lines_of(hint: str) -> list[str]:
    """Return the commands of the first code in a hint, `&&` taken apart."""
    found = re.search(r"`([^`]+)`", hint)
    assert found is not None, hint
    return [part.strip().removeprefix("sow ") for part in found[1].split("&&")]


def jobs_of(desk: Desk) -> list[str]:
    return [row["task_id"] for row in desk.database.rows("select task_id from job order by id")]


@pytest.mark.parametrize("line", CALLS)
def test_what_would_begin_a_task_is_refused_and_the_hint_leads_on(desk: Desk, line: str) -> None:
    desk.task()
    stand(desk)
    if "answer" in line:
        desk.with_session(started=False)
        desk.change(status=TaskStatus.PAUSED)
    refused = sow(desk, line)
    assert (refused.code, jobs_of(desk)) == (ExitCode.STATE, []), refused
    assert "task 010 cannot begin: the project is planning" in refused.err
    for command in lines_of(refused.err):
        assert sow(desk, command).code == 0
    if "spawn" in line or "batch run" in line:
        assert sow(desk, line).code in (0, ExitCode.STILL_RUNNING)
        assert jobs_of(desk) == ([] if "dry" in line or "batch" in line else ["010"])


def test_no_terminal_opens_a_task_of_a_plan_that_has_not_begun(desk: Desk) -> None:
    desk.task(status=TaskStatus.PENDING, **BEGUN)
    stand(desk)
    with pytest.raises(BeforeApproval):
        open_session(desk.caller, desk.database, desk.config, TaskId("010"))


def test_a_batch_names_its_own_option(desk: Desk) -> None:
    desk.task("010")
    stand(desk)
    refused = sow(desk, "batch run --detach")
    assert "`sow batch run 010 --before-approval`" in refused.err
    assert "sow agent spawn" not in refused.err
    assert sow(desk, "batch run 010 --before-approval --detach").code == 0


def test_an_approved_plan_still_has_to_begin(desk: Desk) -> None:
    desk.task()
    stand(desk)
    assert sow(desk, "approve plan").code == 0
    refused = sow(desk, "agent spawn 010 --detach")
    assert (refused.code, lines_of(refused.err)) == (ExitCode.STATE, ["advance"])
    assert [sow(desk, line).code for line in ("advance", "agent spawn 010 --detach")] == [0, 0]


def test_an_open_phase_comes_first_and_its_tasks_may_begin(desk: Desk) -> None:
    desk.task("010")
    stand(desk, phases=["discovery", "implementation"])
    add_task(desk.workspace, name="Look", agent="researcher", now=NOW, phase="discovery")
    refused = sow(desk, "agent spawn 010 --detach")
    assert "First finish the phase discovery; `sow next` shows how." in refused.err
    step = sow(desk, "next").out.splitlines()[0].partition("  # ")[0]
    assert step.startswith("sow agent spawn 020")
    assert sow(desk, f"{step.removeprefix('sow ')} --detach".replace("--wait 100s ", "")).code == 0


@pytest.mark.parametrize("phase", ["discovery", "design", "exploration", "planning", "project"])
def test_what_the_plan_rests_on_begins_before_it(desk: Desk, phase: str) -> None:
    stand(desk)
    add_task(desk.workspace, name="Look", agent="planner", now=NOW, phase=phase, new_phase=True)
    assert sow(desk, "agent spawn 010 --detach").code == 0


def test_what_has_begun_goes_on(desk: Desk) -> None:
    """A task of the first iteration, whose session is there; a reopened one is planned anew."""
    desk.task(status=TaskStatus.NEEDS_REVIEW, **BEGUN)
    desk.task("020", status=TaskStatus.PENDING)
    stand(desk, iteration=2)
    place(desk.caller, desk.database, desk.config, desk.resume())
    with pytest.raises(BeforeApproval):
        place(desk.caller, desk.database, desk.config, desk.spawn("020"))


@pytest.mark.parametrize(
    ("environ", "at_terminal", "who"),
    [
        ({"SOW_JOB_ID": "7", "SOW_AGENT": "implementer"}, True, "the agent of a job (implementer)"),
        ({"SOW_JOB_ID": "7", "SOW_AGENT": "orchestrator"}, True, "the agent of a job"),
        ({"SOW_AGENT": "orchestrator"}, True, "an orchestrator's session"),
        ({}, False, "a program without a terminal"),
    ],
)
def test_only_a_person_at_a_terminal_overrides(desk: Desk, environ, at_terminal, who) -> None:
    """Whatever the configuration says of approvals."""
    desk.configure({"approve": "agents"})
    root = {"SOW_ROOT": str(desk.workspace.root)}
    environ = {**desk.caller.environ, **root, **environ}
    caller = Caller(desk.workspace, environ, desk.caller.cwd)
    with pytest.raises(StateError, match=re.escape(who)):
        refuse_override(caller, at_terminal=at_terminal)


def test_a_person_begins_tasks_before_the_plan(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    stand(desk)
    line = "agent spawn 010 --before-approval --detach"
    refused = sow(desk, line, is_person=False)
    assert (refused.code, "this call comes from a program without a terminal" in refused.err) == (
        ExitCode.STATE,
        True,
    )
    assert (sow(desk, line).code, jobs_of(desk)) == (0, ["010"])
    assert sow(desk, "batch run 020 --before-approval --detach", is_person=False).code == 4
    work = begin(desk, "020", before_approval=True)
    turn(work)
    assert placed(work) == [("020", "spawn", 1)]


def test_a_batch_takes_in_no_task_of_a_plan_that_has_not_begun(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, "010")
    stand(desk)
    desk.task("020")
    assert sow(desk, f"batch add {work.batch.id} 020").code == ExitCode.STATE
    assert sow(desk, "batch run 020 --detach").code == ExitCode.STATE
    assert list(items(work)) == ["010"]


def test_a_batch_waits_at_the_gate_and_goes_on_behind_it(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, "010")
    stand(desk)
    turn(work)
    assert (items(work), placed(work)) == ({"010": ItemState.NEEDS_PERSON}, [])
    commands = [line.partition("  # ")[0] for line in sow(desk, "next").out.splitlines()]
    assert commands == ["sow approve plan"]
    assert sow(desk, "approve plan").code == 0
    assert batch_news.pending(desk.database) == []
    assert sow(desk, "advance").code == 0
    assert [found.id for found in batch_news.pending(desk.database, PROJECT)] == [work.batch.id]
    turn(work)
    assert placed(work) == [("010", "spawn", 1)]


def test_stirring_needs_no_queue_and_no_batch(desk: Desk) -> None:
    touch_all_batches(desk.caller)


def test_what_was_placed_before_goes_on(desk: Desk) -> None:
    """It was asked for under a plan that had begun, or by a person."""
    desk.task("010")
    desk.task("020", depends_on=["010"])
    job = place(desk.caller, desk.database, desk.config, desk.spawn("020", when_ready=True)).job
    stand(desk)
    desk.change("010", status=TaskStatus.COMPLETED)
    assert release_ready(desk.workspace, desk.database, now=NOW) == [job.id]
    assert desk.job(job.id).state is JobState.QUEUED
    assert place(desk.caller, desk.database, desk.config, desk.spawn("020")).attached


def test_a_project_without_a_state_has_no_gate(desk: Desk) -> None:
    """It was begun before there were states."""
    desk.task()
    assert sow(desk, "agent spawn 010 --detach").code == 0


def test_a_quick_project_goes_from_its_tasks_to_its_end(desk: Desk) -> None:
    assert sow(desk, "project abandon --remove").code == 0
    assert sow(desk, 'project new "Sign-in" --type quick').out.endswith(
        "Next: sow task add NAME --agent implementer\n"
    )
    assert sow(desk, "task add Refuse --agent implementer").code == 0
    refused = sow(desk, "approve plan")
    assert (refused.code, "has no plan" in refused.err) == (ExitCode.STATE, True)
    assert "nothing to review now" in sow(desk, "agent review --project --detach").err
    step = sow(desk, "next").out.partition(" --wait")[0].partition("  # ")[0]
    assert step == "sow agent spawn 010"
    assert sow(desk, "agent spawn 010 --detach").code == 0
    desk.end(1, TaskStatus.COMPLETED)
    assert sow(desk, "agent wait 010 --wait 0s").code == 0
    for command in ("sow advance", "sow project finish"):
        assert sow(desk, "next").out.startswith(f"{command}  # ")
        assert sow(desk, command.removeprefix("sow ")).code == 0
    assert "quick" in sow(desk, "project list").out


def test_the_gate_stands_where_the_table_has_it() -> None:
    for lifecycle in LIFECYCLES.values():
        guarded = {event.source for event in lifecycle.events if PLAN_APPROVED in event.guards}
        assert guarded == ({lifecycle.plan_state} if lifecycle.plan_state else set())


def test_a_look_says_who_waits(desk: Desk) -> None:
    desk.task("010")
    work = begin(desk, "010")
    stand(desk)
    (found,) = look(work).standings
    assert (found.task, found.reason) == (
        TaskId("010"),
        "the project's plan is not approved and started",
    )
