"""The main job with the real Claude Code: spawned by sow, it reports by sow, and is resumed."""

import json
import uuid
from functools import partial
from pathlib import Path

import pytest
from journey import Journey, shell_commands, tool_results
from sandbox import Json
from scripted_model import REPORT

pytestmark = pytest.mark.real

NOT_ALLOWED = "python3 -c 'import sys; open(sys.argv[1], \"w\").close()' seen-{task_id}"
"""A command that neither acceptEdits nor sow's own rules let through."""


def changes(journey: Journey) -> list[Json]:
    """Return the witnessed calls of sow that changed the task's status."""
    return [
        call
        for call in journey.sandbox.witnessed()
        if call["before"][journey.task_id] != call["after"][journey.task_id]
    ]


def assert_all_well(journey: Journey) -> None:
    """The conversation was whole, and every tool did what it was asked."""
    assert journey.sandbox.failures() == []
    results = tool_results(journey.sandbox.requests()[-1])
    assert [result["content"] for result in results if result.get("is_error")] == []


def test_a_spawned_agent_reports_and_is_resumed(journey: Journey, claude_folder: Path) -> None:
    """With no configuration at all, and as root without any permission to skip permissions."""
    claude = str((claude_folder / "claude").resolve())
    done = journey.spawn()
    assert (done.returncode, "needs_review" in done.stdout) == (0, True), done.stderr
    task = journey.task()
    assert (task["status"], task["iteration"]) == ("needs_review", 1)
    assert task["session"]["started"] is True
    session = str(uuid.UUID(task["session_id"]))
    assert list(journey.sandbox.home.glob(f".claude/projects/*/{session}.jsonl"))
    assert "Read the task; nothing is in the way" in journey.log()
    (change,) = changes(journey)
    assert change["argv"] == ["task", "set", "--id", journey.task_id, "status", "needs_review"]
    assert claude in change["ancestors"]
    spawned = journey.sandbox.requests()
    assert all(session in request["metadata"]["user_id"] for request in spawned)
    assert_all_well(journey)

    done = journey.resume("The reviewer asks for one more test.")
    assert (done.returncode, "needs_review" in done.stdout) == (0, True), done.stderr
    task = journey.task()
    assert (task["status"], task["iteration"]) == ("needs_review", 2)
    assert task["session_id"] == session
    assert len(changes(journey)) == 2
    assert claude in changes(journey)[1]["ancestors"]
    resumed = journey.sandbox.requests()[len(spawned)]
    assert "The reviewer asks for one more test." in json.dumps(resumed["messages"][-1])
    earlier = [command.replace("{task_id}", journey.task_id) for command in REPORT]
    assert shell_commands(resumed) == earlier
    assert len(tool_results(resumed)) == len(earlier)
    assert f"Execute task {journey.task_id}" in json.dumps(resumed["messages"][0])
    assert_all_well(journey)


def test_the_users_configuration_reaches_claude_on_spawn_and_resume(journey: Journey) -> None:
    """Each with settings of its own: Claude Code remembers some of a session's by itself."""
    journey.sandbox.behave(commands=[NOT_ALLOWED, *REPORT])
    seen = journey.sandbox.repository / f"seen-{journey.task_id}"
    for run, model, effort in (
        (journey.spawn, "model-of-the-spawn", "low"),
        (partial(journey.resume, "Again."), "model-of-the-resume", "medium"),
    ):
        settings = {"yolo_mode": True, "model": model}
        journey.configure(settings=settings, custom_args=["--effort", effort])
        before = len(journey.sandbox.requests())
        done = run()
        assert done.returncode == 0, done.stderr
        for request in journey.sandbox.requests()[before:]:
            assert (request["model"], request["output_config"]["effort"]) == (model, effort)
        assert_all_well(journey)
        seen.unlink()


def test_a_denied_tool_without_a_status_fails_and_names_the_setting(journey: Journey) -> None:
    journey.sandbox.behave(commands=[NOT_ALLOWED])
    done = journey.spawn("--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["cause"]) == (1, "denied")
    assert "allowed_tools" in record["reason"]
    assert journey.task()["status"] == "failed"
    assert not (journey.sandbox.repository / f"seen-{journey.task_id}").exists()


def test_an_allowed_tool_is_used(journey: Journey) -> None:
    journey.configure(settings={"allowed_tools": ["Bash(python3:*)"]})
    journey.sandbox.behave(commands=[NOT_ALLOWED, *REPORT])
    done = journey.spawn()
    assert done.returncode == 0, done.stderr
    assert (journey.sandbox.repository / f"seen-{journey.task_id}").exists()
    assert_all_well(journey)


def test_an_agent_may_not_use_every_verb_of_sow(journey: Journey) -> None:
    asked = ["sow config init", "sow agent spawn implementer 010 --dry-run", "sow worker stop"]
    journey.sandbox.behave(commands=[*asked, *REPORT])
    done = journey.spawn("--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["status"]) == (0, "needs_review"), done.stderr
    assert record["denied_tools"] == [f"Bash({command})" for command in asked]
    assert len(journey.sandbox.witnessed()) == len(REPORT)


def test_an_agent_may_use_what_its_work_needs(journey: Journey) -> None:
    asked = [
        "sow prompt guidance/implementer/base",
        "sow task show",
        "sow agent log 'one; two | three'",
        "sow project status",
        "cd . && sow task list",
        "sow task set status needs_review",
    ]
    journey.sandbox.behave(commands=asked)
    done = journey.spawn()
    assert done.returncode == 0, done.stderr
    assert_all_well(journey)
    assert [call["exit"] for call in journey.sandbox.witnessed()] == [0] * len(asked)
