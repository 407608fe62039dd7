"""What waits for somebody is named by `sow next`, in every state of every type of project."""

from contextlib import closing
from uuid import uuid4

import pytest
from reports.job_cases import make_job

from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.lifecycle.stages import ProjectType
from sow.lifecycle.types import LIFECYCLES
from sow.paths import Workspace
from sow.schema.causes import Cause
from sow.schema.job import JobState, Verb
from sow.schema.task import SessionFacts, TaskStatus
from sow.state.projects import change_project, read_project
from sow.state.tasks import change_task

NOON = 1_769_860_800.0
STATES = [(kind, state) for kind in ProjectType for state in LIFECYCLES[kind].states]
WHOLE = ("--phase", "project", "--new-phase")
LEFT = ("in_progress", "paused", "failed", "needs_review")


def stand(workspace: Workspace, kind: ProjectType, state: str) -> None:
    change_project(workspace, lambda _: {"type": kind.value, "state": state}, now=NOON)


def set_status(workspace: Workspace, status: str, task: str = "010") -> None:
    change_task(workspace, task, lambda _: {"status": TaskStatus(status)}, now=NOON)


def begin_session(workspace: Workspace, task: str = "010") -> None:
    session = SessionFacts(executor="claude-code", cwd=".", started=True)
    fields = {"session_id": str(uuid4()), "session": session}
    change_task(workspace, task, lambda _: fields, now=NOON)


@pytest.mark.parametrize(("kind", "state"), STATES)
def test_a_task_that_waits_is_named_in_every_state(begun, tmp_path, kind, state):
    workspace = Workspace(tmp_path)
    stand(workspace, kind, state)
    begin_session(workspace)
    for status in LEFT:
        set_status(workspace, status)
        shown = begun("status", "--json").json
        assert [wait["what"] for wait in shown["waits"] if wait["on"] == "you"] == ["010"]
        named = [step["command"] for step in shown["next"] if " 010" in step["command"]]
        assert named, (status, shown["next"])


def test_what_was_begun_too_early_comes_after_what_the_plan_lacks(begun, tmp_path):
    """The plan is approved before anything goes on; a question is answered before that."""
    begin_session(Workspace(tmp_path))
    set_status(Workspace(tmp_path), "needs_review")
    commands = [step["command"] for step in begun("next", "--json").lines]
    assert commands == ["sow approve plan", "sow agent review 010 --wait 100s"]
    set_status(Workspace(tmp_path), "paused")
    commands = [step["command"].partition(" --")[0] for step in begun("next", "--json").lines]
    assert commands == ['sow agent answer 010 "<your answer>"', "sow approve plan"]


def test_what_has_no_session_yet_waits_for_the_plan(begun, tmp_path):
    """A call that begins one would be refused."""
    for status in ("in_progress", "paused", "failed"):
        set_status(Workspace(tmp_path), status)
        assert [step["command"] for step in begun("next", "--json").lines] == ["sow approve plan"]


def test_after_two_reviews_in_vain_whoever_reads_judges(begun, tmp_path):
    """A reviewer that may not do what it tries to comes to nothing at a price each time."""
    workspace = Workspace(tmp_path)
    stand(workspace, ProjectType.STANDARD, "executing")
    set_status(workspace, "needs_review")
    review = "sow agent review 010 --wait 100s"
    end_job(workspace, Verb.REVIEW)
    end_job(workspace, Verb.SPAWN)  # the work is another one since
    commands = []
    for _ in range(3):
        end_job(workspace, Verb.REVIEW)
        rows = [row for row in begun("next", "--json").lines if " 010" in row["command"]]
        commands.append([row["command"] for row in rows])
    own = [
        'sow review accept 010 --summary "<what you think of it>"',
        'sow review correct 010 --file "<file>"',
    ]
    assert commands == [[review], [*own, review], [*own, review]]
    assert rows[0]["why"] == (
        "3 reviews of task 010 gave no verdict: it is not allowed; review it yourself"
    )


def cancel(workspace: Workspace, verb: Verb = Verb.SPAWN, task: str = "010") -> None:
    """Put a job of a task on record that was cancelled while it ran."""
    job = make_job(
        project_id=ProjectId(read_project(workspace).id),
        task_id=TaskId(task),
        verb=verb,
        prior_status=TaskStatus.PAUSED,
        state=JobState.CANCELLED,
        cause=Cause.CANCELLED,
        started_at=NOON,
    )
    with closing(open_queue(workspace)) as database:
        jobs.insert_job(database, job)


def first_of(begun) -> tuple[str, str]:
    """Return what is said of the first task that waits for the reader, and the first command."""
    shown = begun("status", "--json").json
    whys = [wait["why"] for wait in shown["waits"] if wait["on"] == "you"]
    return next(iter(whys), ""), shown["next"][0]["command"].partition(" --wait")[0]


def test_whoever_was_cut_off_by_a_cancel_is_not_said_to_ask(begun, tmp_path):
    workspace = Workspace(tmp_path)
    stand(workspace, ProjectType.STANDARD, "executing")
    begin_session(workspace)
    set_status(workspace, "paused")
    asks = ("asks a question", 'sow agent answer 010 "<your answer>"')
    cut_off = ("was paused by a cancel, and nobody is at it", 'sow agent resume 010 "Go on."')
    assert first_of(begun) == asks
    for verb in (Verb.CHECK, Verb.REVIEW):
        cancel(workspace, verb)
        assert first_of(begun) == asks, "that asked for nothing of its agent"
    for verb in (Verb.SPAWN, Verb.RESUME):
        cancel(workspace, verb)
        assert first_of(begun) == cut_off


def test_where_an_agent_has_reported_that_it_failed_its_reason_is_named(begun, tmp_path):
    workspace = Workspace(tmp_path)
    stand(workspace, ProjectType.STANDARD, "executing")
    begin_session(workspace)
    set_status(workspace, "failed")
    first, *_ = begun("next", "--json").lines
    assert first["why"] == "task 010 has failed: `sow task log 010` has the reason"


def test_a_review_of_the_whole_that_was_cancelled_is_begun_again(begun, tmp_path):
    workspace = Workspace(tmp_path)
    begun("task", "add", "Review", "--agent", "reviewer", *WHOLE)
    about = {"metadata": {"review_of": "1 x"}}
    change_task(workspace, "030", lambda _: about, now=NOON)
    begin_session(workspace, "030")
    for task in ("010", "020"):
        set_status(workspace, "completed", task)
    set_status(workspace, "paused", "030")
    stand(workspace, ProjectType.STANDARD, "reviewing")
    cancel(workspace, task="030")
    assert first_of(begun)[1] == "sow agent review --project"
    change_task(workspace, "030", lambda _: {"metadata": {}}, now=NOON)
    assert first_of(begun)[1] == 'sow agent resume 030 "Go on."', "nothing else begins it again"


def end_job(workspace: Workspace, verb: Verb) -> None:
    """Put a job of task 010 on record that has failed."""
    project = ProjectId(read_project(workspace).id)
    job = make_job(
        project_id=project,
        task_id=TaskId("010"),
        verb=verb,
        state=JobState.FAILED,
        cause=Cause.DENIED,
        reason="it is not allowed",
    )
    with closing(open_queue(workspace)) as database:
        jobs.insert_job(database, job)


def test_the_whole_is_checked_before_an_agent_reviews_what_has_changed(begun, tmp_path):
    (tmp_path / ".sow/config.yaml").write_text("checks: {unit: 'true', default: [unit]}\n")
    assert begun("trust", "--yes").code == 0
    for task in ("010", "020"):
        set_status(Workspace(tmp_path), "completed", task)
    stand(Workspace(tmp_path), ProjectType.STANDARD, "finalizing")
    rows = [row["command"].partition(" --wait")[0] for row in begun("next", "--json").lines]
    assert rows[:2] == ["sow project check", "sow agent review --project"]


def test_a_verdict_waits_for_no_other_task(begun, tmp_path):
    """Whoever did 020 before 010 has it judged; to go on with it needs 010."""
    workspace = Workspace(tmp_path)
    stand(workspace, ProjectType.STANDARD, "executing")
    set_status(workspace, "needs_review", "020")
    commands = [step["command"] for step in begun("next", "--json").lines]
    assert commands == ["sow agent review 020 --wait 100s", "sow agent spawn 010 --wait 100s"]


@pytest.mark.parametrize(
    ("status", "why", "command"),
    [
        ("paused", "asks a question", "sow agent answer 030 "),
        ("needs_review", "leads the project, and says that it is done", "sow task set 030 status"),
        ("failed", "leads the project, and nobody is at it", "sow start --headless"),
        ("pending", "leads the project, and nobody is at it", "sow start --headless"),
    ],
)
def test_an_orchestrator_that_waits_is_told(begun, tmp_path, status, why, command):
    begun("task", "add", "Lead", "--agent", "orchestrator", *WHOLE)
    set_status(Workspace(tmp_path), status, "030")
    set_status(Workspace(tmp_path), "needs_review")
    shown = begun("status", "--json").json
    assert [(wait["what"], wait["why"]) for wait in shown["waits"] if wait["on"] == "you"] == [
        ("030", why),
        ("010", "is done, and to be judged"),
    ]
    commands = [step["command"] for step in shown["next"]]
    assert commands[0] == "sow approve plan"
    assert commands[1].startswith(command)
    assert commands[2].startswith("sow agent review 010")


def test_a_review_of_the_whole_that_asks_is_told(begun, tmp_path):
    workspace = Workspace(tmp_path)
    begun("task", "add", "Review", "--agent", "reviewer", *WHOLE)
    about = {"metadata": {"review_of": "1 x"}, "session_id": str(uuid4())}
    change_task(workspace, "030", lambda _: about, now=NOON)
    for task in ("010", "020"):
        set_status(workspace, "completed", task)
    set_status(workspace, "paused", "030")
    stand(workspace, ProjectType.STANDARD, "reviewing")
    shown = begun("status", "--json").json
    assert [(wait["what"], wait["why"]) for wait in shown["waits"]][:1] == [
        ("030", "asks a question")
    ]
    assert shown["next"][0]["command"].startswith("sow agent answer 030 ")
