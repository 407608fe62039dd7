"""What an agent is by its job's record decides where a right is its role's alone."""

import pytest
from reports.job_cases import make_job

from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import Verb
from sow.state.projects import read_project

ROLES_ALONE = [
    ("approve", "plan"),
    ("advance",),
    ("task", "set", "020", "name", "Other"),
    ("task", "add", "More", "--agent", "tester"),
    ("feedback", "add", "More."),
    ("project", "set", "name", "Mine"),
    ("queue", "pause"),
    ("review", "accept", "020", "--summary", "Good."),
]


@pytest.fixture
def running(begun, as_agent, tmp_path, monkeypatch):
    """Return what makes the calls that follow those of a job's agent that says it is another."""
    config = tmp_path.parent / f"{tmp_path.name}-config.yaml"
    config.write_text("approve: agents\n")
    monkeypatch.setenv("SOW_CONFIG", str(config))
    workspace = Workspace(tmp_path)
    project = ProjectId(read_project(workspace).id)

    def begin(agent: str, claimed: str, verb: Verb = Verb.SPAWN) -> None:
        database = open_queue(workspace)
        job = make_job(project_id=project, agent=agent, task_id=TaskId("010"), verb=verb)
        number = jobs.insert_job(database, job).id
        database.close()
        as_agent("010", role=claimed)
        monkeypatch.setenv("SOW_JOB_ID", str(number))
        monkeypatch.setenv("SOW_REVIEW", "")

    return begin


@pytest.mark.parametrize("words", ROLES_ALONE, ids=" ".join)
def test_an_implementer_that_calls_itself_an_orchestrator_is_none(begun, running, words):
    running("implementer", "orchestrator")
    done = begun(*words)
    assert done.code == 4
    assert "the agent of task 010 (implementer)" in done.err or "names task 020" in done.err


def test_a_reviewer_that_calls_itself_the_author_still_reviews(begun, running):
    running("reviewer", "orchestrator", Verb.REVIEW)
    done = begun("agent", "spawn", "020")
    assert (done.code, "(reviewer)" in done.err) == (4, True)
    done = begun("review", "accept", "020", "--summary", "Good.")
    assert (done.code, "is for your own task, 010" in done.err) == (4, True)


def test_the_commands_of_a_check_are_no_orchestrator(begun, running):
    running("", "orchestrator", Verb.CHECK)
    done = begun("approve", "plan")
    assert (done.code, "sow-step" in done.err) == (4, True)


def test_an_orchestrator_by_its_record_approves_and_is_named(begun, running):
    running("orchestrator", "orchestrator")
    assert begun("feedback", "add", "More.").code == 0
    assert begun("feedback", "list", "--json").lines[0]["by"] == "orchestrator"


def test_its_own_task_needs_no_record(begun, running):
    """It logs all the time, and no log opens the queue: it is who its variables say."""
    running("implementer", "tester")
    begun("task", "set", "status", "in_progress")
    assert begun("agent", "log", "Did it").code == 0
    assert begun("task", "set", "status", "needs_review").code == 0
    assert begun("log", "--task", "010", "--json").lines[-2]["agent"] == "tester"


def test_where_the_queue_cannot_be_read_the_variables_tell(begun, running, tmp_path):
    running("implementer", "implementer")
    for path in (tmp_path / ".sow/run").glob("*.db"):
        path.write_bytes(b"no queue")
    begun("task", "set", "status", "in_progress")
    assert begun("task", "set", "status", "needs_review").code == 0
    done = begun("feedback", "add", "More.")
    assert (done.code, "the agent of task 010 (implementer)" in done.err) == (4, True)


def test_without_a_record_the_variables_tell(begun, as_agent):
    as_agent("010", role="orchestrator")
    assert begun("feedback", "add", "More.").code == 0


def test_an_implementer_that_calls_itself_an_orchestrator_is_named_its_own_steps(
    begun, running, monkeypatch
):
    """What is named is what the caller may run."""
    running("implementer", "implementer")
    begun("task", "set", "status", "in_progress")
    for command in ("next", "status"):
        monkeypatch.setenv("SOW_AGENT", "orchestrator")
        shown = begun(command, "--json").lines
        steps = shown if command == "next" else shown[0]["next"]
        assert steps[0]["command"] == "sow task set status needs_review"
        assert all(step["command"].startswith("sow task set status ") for step in steps)


def test_it_is_told_what_its_own_role_is_told(begun, running, monkeypatch):
    running("implementer", "orchestrator")
    made_of = begun("prompt", "--json").json["made_of"]
    assert made_of == ["greeting/agent", "guidance/implementer/base"]
    monkeypatch.setenv("SOW_AGENT", "orchestrator")
    tools = {tool["tool"] for tool in begun("mcp", "--list", "--json").lines}
    assert tools == {"agent_log", "review_show", "task_set", "task_show"}


def test_an_orchestrator_by_its_record_is_told_how_to_lead(begun, running, monkeypatch):
    running("orchestrator", "implementer")
    first, *_ = begun("next", "--json").lines
    assert (first["command"], first["by"]) == ("sow approve plan", "you")
    monkeypatch.setenv("SOW_AGENT", "implementer")
    assert "greeting/orchestrator" in begun("prompt", "--json").json["made_of"]
    monkeypatch.setenv("SOW_AGENT", "implementer")
    assert begun("approve", "plan").code == 0


def test_the_commands_that_set_a_clone_up_are_not_its_agent(begun, running, monkeypatch):
    """They run in the agent's own job, and have none of its rights."""
    running("orchestrator", "sow-step")
    assert begun("next", "--json").lines == []
    assert begun("approve", "plan").code == 4
    assert begun("task", "set", "status", "in_progress").code == 4
    monkeypatch.setenv("SOW_AGENT", "orchestrator")
    assert begun("next", "--json").lines, "its agent has"
    assert begun("approve", "plan").code == 0
