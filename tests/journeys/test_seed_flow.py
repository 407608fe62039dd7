"""The seeds' examples: "CLI Commands", "Complete Usage Flow" and the two patterns of sessions.

Every command line below stands in a seed, and is run as it stands there.
"""

from typing import Any

from journeys.callers import besides_news
from journeys.site import Site
from standins import read_runs

LOG = {"sow": ["agent", "log", "Implemented authentication"]}
NEEDS_REVIEW = {"sow": ["task", "set", "--id", "{task}", "status", "needs_review"]}
CORRECTIONS = (
    "The authentication logic has a security issue: passwords are logged in plaintext on line 42"
    " of auth.go. Remove the log statement and add a unit test to verify passwords are never"
    " logged."
)


def log_of(site: Site) -> str:
    return (site.task_folder("010") / "log.md").read_text()


def test_spawn_implementer_from_the_orchestrator(site: Site) -> None:
    """Seed 000, usage flow: `sow agent spawn implementer 010`, the worker's steps 1 to 7."""
    site.project("010")
    site.script([[{"sow": ["prompt", "guidance/implementer/base"]}, LOG, NEEDS_REVIEW]])
    result = site.sow("agent", "spawn", "implementer", "010")
    (run,) = read_runs(site.root)
    assert result.out.startswith("010 needs_review (spawn implementer by claude-code, job 1")
    assert [(tool.command, tool.exit) for tool in run.tools] == [
        ("sow prompt guidance/implementer/base", 0),
        ("sow agent log 'Implemented authentication'", 0),
        ("sow task set --id 010 status needs_review", 0),
    ]
    state = site.root / ".sow/project/phases/implementation/tasks/010/state.yaml"
    assert "  status: needs_review\n" in state.read_text()
    assert "agent: implementer\naction: Implemented authentication\n" in log_of(site)


def test_the_prompt_is_the_template_and_the_task(site: Site) -> None:
    """Seed 000, step 4: "Execute task 010. Location: .sow/project/phases/implementation/…"."""
    site.project("010")
    site.script([[NEEDS_REVIEW]])
    site.sow("agent", "spawn", "implementer", "010")
    (run,) = read_runs(site.root)
    template, task = run.prompt.split("\n\nExecute task 010. ")
    assert template.startswith("You are an implementer")
    assert "sow prompt guidance/implementer/base" in template
    assert task.startswith("Location: .sow/project/phases/implementation/tasks/010/\n")
    assert "Iteration: 1" in task


def test_the_agent_reports_by_set_status(site: Site) -> None:
    """Seed 001, worker execution 6: `sow agent task state set-status needs_review`."""
    site.project("010")
    site.script([[{"sow": ["agent", "task", "state", "set-status", "needs_review"]}]])
    site.sow("agent", "spawn", "implementer", "010")
    (run,) = read_runs(site.root)
    assert [tool.exit for tool in run.tools] == [0]
    assert site.task("010")["status"] == "needs_review"


def test_the_paused_workflow(site: Site) -> None:
    """Seed 000, "Paused Workflow Pattern", steps 1 to 10."""
    site.project("010")
    question = {"sow": ["agent", "log", "Which algorithm for JWT signing?"]}
    pause = {"sow": ["task", "set", "status", "paused"]}
    site.script([[question, pause], [LOG, NEEDS_REVIEW]])
    outcome = site.sow("agent", "spawn", "implementer", "010")
    assert outcome.out.startswith("010 paused (")
    assert besides_news(outcome.err).splitlines() == [
        "  It asks: Which algorithm for JWT signing?",
        '  Answer: `sow agent answer 010 "…"`',
    ]
    assert "Which algorithm" in log_of(site)
    paused = site.task("010")
    result = site.sow("agent", "resume", "010", "Use RS256 algorithm for JWT signing")
    assert result.out.startswith("010 needs_review (resume implementer by claude-code, job 2")
    first, second = read_runs(site.root)
    assert first.session_id == second.session_id == paused["session_id"]
    assert "Use RS256 algorithm for JWT signing" in second.prompt
    assert site.task("010")["iteration"] == 1


def test_the_review_iterations(site: Site) -> None:
    """Seed 000, "Review Iteration Pattern": corrections in one session until it is approved."""
    site.project("010")
    site.script([[LOG, NEEDS_REVIEW]])
    site.sow("agent", "spawn", "implementer", "010")
    session = site.task("010")["session_id"]
    for iteration in (2, 3):
        site.sow("agent", "resume", "010", CORRECTIONS)
        task = site.task("010")
        assert (task["status"], task["iteration"]) == ("needs_review", iteration)
        assert task["session_id"] == session
    runs = read_runs(site.root)
    assert [run.verb for run in runs] == ["spawn", "resume", "resume"]
    assert {run.session_id for run in runs} == {session}
    assert all(CORRECTIONS in run.prompt for run in runs[1:])
    approved = site.sow("task", "set", "--id", "010", "status", "completed")
    assert approved.out == "Task 010: status is completed\n"
    assert "session_id" not in site.task("010")
    assert log_of(site).count(CORRECTIONS) == 2


def test_a_failed_agent_is_told_and_can_be_resumed(site: Site) -> None:
    """Seed 000, status codes: "`failed`: Worker encountered error, cannot proceed"; exit 1."""
    site.project("010")
    site.script([[{"sow": ["task", "set", "status", "failed"]}], [NEEDS_REVIEW]])
    failed = site.sow("agent", "spawn", "implementer", "010", expect=1)
    assert failed.out.startswith("010 failed (spawn implementer by claude-code, job 1")
    site.sow("agent", "resume", "010", "Try the other library")
    task = site.task("010")
    assert (task["status"], task["iteration"]) == ("needs_review", 2)


def test_the_agent_may_complete_its_task_itself(site: Site) -> None:
    """Seed 000, status codes: "`completed`: … rare"; exit 0, and the session goes at its end."""
    site.project("010")
    site.script([[{"sow": ["task", "set", "--id", "010", "status", "completed"]}]])
    result = site.sow("agent", "spawn", "implementer", "010")
    assert result.out.startswith("010 completed (")
    task = site.task("010")
    assert task["status"] == "completed"
    assert "session_id" not in task


def test_each_role_gets_its_own_template(site: Site) -> None:
    """Seed 000: `sow agent spawn <agent-name> <task-id>`, for any of the roles."""
    site.project("010", "020", agent="architect")
    site.script([[NEEDS_REVIEW]])
    site.sow("agent", "spawn", "architect", "010")
    site.sow("agent", "spawn", "reviewer", "020", "--reassign")
    architect, reviewer = read_runs(site.root)
    assert "sow prompt guidance/architect/base" in architect.prompt
    assert "sow prompt guidance/reviewer/base" in reviewer.prompt
    assert (architect.env["SOW_AGENT"], reviewer.env["SOW_AGENT"]) == ("architect", "reviewer")
    assert site.task("020")["assigned_agent"] == "reviewer"


def test_the_variable_example(site: Site) -> None:
    """Seeds 000 and 001: `SOW_AGENTS_IMPLEMENTER=windsurf sow agent spawn implementer 010`."""
    site.project("010")
    site.script([[NEEDS_REVIEW]])
    site.configure({"agents": {"bindings": {"implementer": "cursor"}}})
    site.sow("agent", "spawn", "implementer", "010", env={"SOW_AGENTS_IMPLEMENTER": "windsurf"})
    (run,) = read_runs(site.root)
    assert (run.cli, run.env["SOW_EXECUTOR"]) == ("windsurf", "windsurf")


def test_config_path(site: Site) -> None:
    """Seed 000: `sow config path`, `sow config path --exists`."""
    assert site.sow("config", "path").out == f"{site.config_file}\n"
    assert site.sow("config", "path", "--exists").out == "false\n"
    site.configure({})
    assert site.sow("config", "path", "--exists").out == "true\n"


SEEDS_EXAMPLE: dict[str, Any] = {
    "agents": {
        "executors": {
            "claude-code": {"type": "claude", "settings": {"model": "sonnet"}},
            "cursor": {"type": "cursor", "settings": {"yolo_mode": True}},
        },
        "bindings": {"orchestrator": "claude-code", "architect": "claude-code"},
    }
}


def test_config_show(site: Site) -> None:
    """Seed 000, "Show effective configuration": values, and where each came from."""
    site.configure(SEEDS_EXAMPLE)
    shown = site.sow("config", "show", env={"SOW_AGENTS_IMPLEMENTER": "cursor"}).out
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[0] == "# Effective configuration (merged from defaults + file + environment)"
    assert lines[1] == f"# Config file: {site.config_file} (exists)"
    assert "# Environment overrides: SOW_AGENTS_IMPLEMENTER=cursor" in lines
    for line in (
        'type: "claude" # (from config file)',
        "yolo_mode: false # (default)",
        'model: "sonnet" # (from config file)',
        "yolo_mode: true # (from config file)",
        'orchestrator: "claude-code" # (from config file)',
        'implementer: "cursor" # (from environment: SOW_AGENTS_IMPLEMENTER)',
        'planner: "claude-code" # (default)',
    ):
        assert line in lines, line


def test_what_config_show_shows_is_what_spawn_uses(site: Site) -> None:
    """lessons.md 2: "`config show` looked right", and the agent was another one."""
    site.project("010")
    site.script([[NEEDS_REVIEW]])
    site.configure(SEEDS_EXAMPLE)
    for role in ("implementer", "architect"):
        environ = {"SOW_AGENTS_IMPLEMENTER": "cursor"}
        settings = site.sow("config", "show", "--json", env=environ).json["settings"]["agents"]
        shown = settings["bindings"][role]
        dry = site.sow(
            *("agent", "spawn", role, "010", "--reassign", "--dry-run", "--json"), env=environ
        ).json
        assert dry["executor"] == shown
        model = settings["executors"][shown]["settings"].get("model")
        assert ("--model" in dry["argv"]) == (model is not None)
