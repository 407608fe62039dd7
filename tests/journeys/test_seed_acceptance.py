"""Work unit 002 of the seeds, "Executor System": its acceptance criteria, through the true CLI.

Each test quotes the criterion that it holds sow to. That the command lines are
right in every combination of settings is `test_config_effect`'s.
"""

import sys
from pathlib import Path

import pytest
from journeys.site import Site
from standins import CursorDialect, install_standins, read_runs

from sow.config.defaults import BUILT_IN_EXECUTORS

REPORT = [{"sow": ["task", "set", "status", "needs_review"]}]
PAUSE = [{"sow": ["task", "set", "status", "paused"]}]
YOLO = {"settings": {"yolo_mode": True}}
CURSOR = {"agents": {"executors": {"cursor": YOLO}, "bindings": {"implementer": "cursor"}}}


def installed(site: Site, dialect: CursorDialect) -> None:
    install_standins(site.base / "bin", sys.executable, cursor=dialect)


def word_after(argv: tuple[str, ...], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def test_2_claude_supports_session_id_for_new_and_resume_for_continuing_sessions(
    site: Site,
) -> None:
    """Criterion 2: "Spawns `claude` … `--session-id` for new sessions … `--resume`"."""
    site.project("010")
    site.script([PAUSE, REPORT])
    site.sow("agent", "spawn", "implementer", "010")
    session = site.task("010")["session_id"]
    site.sow("agent", "resume", "010", "Use RS256")
    spawned, resumed = read_runs(site.root)
    assert (spawned.cli, spawned.verb, word_after(spawned.argv, "--session-id")) == (
        "claude",
        "spawn",
        session,
    )
    assert (resumed.cli, resumed.verb, word_after(resumed.argv, "--resume")) == (
        "claude",
        "resume",
        session,
    )
    assert "--resume" not in spawned.argv
    assert "--session-id" not in resumed.argv


def test_2_claude_handles_yolo_mode_and_model(site: Site) -> None:
    """Criterion 2: "Handles yoloMode and model settings"."""
    site.project("010")
    site.script([REPORT])
    site.configure(
        {
            "agents": {
                "executors": {"claude-code": {"settings": {"yolo_mode": True, "model": "opus"}}}
            }
        }
    )
    site.sow("agent", "spawn", "implementer", "010")
    (run,) = read_runs(site.root)
    assert "--dangerously-skip-permissions" in run.argv
    assert word_after(run.argv, "--model") == "opus"


def test_3_cursor_supports_chat_id_for_new_and_resume_for_continuing_sessions(site: Site) -> None:
    """Criterion 3: "Spawns `cursor-agent agent` … `--chat-id` … `--resume`"."""
    installed(site, CursorDialect.SEEDS)
    site.project("010")
    site.script([PAUSE, REPORT])
    site.configure(CURSOR)
    site.sow("agent", "spawn", "implementer", "010")
    session = site.task("010")["session_id"]
    site.sow("agent", "resume", "010", "Use RS256")
    assert [(run.cli, run.argv) for run in read_runs(site.root)] == [
        ("cursor-agent", ("agent", "--force", "--chat-id", session)),
        ("cursor-agent", ("agent", "--force", "--resume", session)),
    ]
    assert site.task("010")["status"] == "needs_review"


@pytest.mark.parametrize("executor", ["windsurf", "script"])
def test_1_an_executor_without_sessions_spawns_and_says_that_it_does_not_resume(
    site: Site, executor: str
) -> None:
    """Criterion 1: "Executor interface defined with Spawn, Resume, SupportsResumption, Name".

    Those that resume are criteria 2 and 3.
    """
    script = write_program(site.base / "bin/agent.sh", "sow task set status needs_review\n")
    command = {"type": "command", "settings": {"command": [str(script)]}}
    site.configure({"agents": {"executors": {"script": command}}})
    site.project("010")
    site.script([REPORT])
    bound = {"SOW_AGENTS_IMPLEMENTER": executor}
    outcome = site.sow("agent", "spawn", "implementer", "010", "--json", env=bound).json
    assert (outcome["executor"], outcome["status"]) == (executor, "needs_review")
    refused = site.sow("agent", "resume", "010", "again", env=bound, expect=5)
    assert f'executor "{executor}" does not support session resumption' in refused.err


def write_program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}")
    path.chmod(0o755)
    return path


def test_4_the_registry_lists_what_it_can_get(site: Site) -> None:
    """Criterion 4: "ExecutorRegistry supports Register, Get, List"."""
    site.project("010")
    site.script([REPORT])
    site.configure({"agents": {"executors": {"claude-opus": {"type": "claude"}}}})
    refused = site.sow(
        "agent", "spawn", "implementer", "010", env={"SOW_AGENTS_IMPLEMENTER": "opus"}, expect=5
    )
    listed = [line[4:] for line in refused.err.splitlines() if line.startswith("  - ")]
    assert listed == [*BUILT_IN_EXECUTORS, "claude-opus"]
    got = site.sow(
        *("agent", "spawn", "implementer", "010", "--json"),
        env={"SOW_AGENTS_IMPLEMENTER": "claude-opus"},
    )
    assert got.json["executor"] == "claude-opus"


def test_5_the_schema_has_an_optional_session_id_and_the_status_paused(site: Site) -> None:
    """Criterion 5: "`session_id` optional field added, `paused` status added to enum"."""
    schema = site.sow("schema", "task").json
    task = schema["$defs"]["Task"]
    assert "paused" in schema["$defs"]["TaskStatus"]["enum"]
    assert "session_id" in task["properties"]
    assert "session_id" not in task["required"]


def test_5_a_task_loads_with_and_without_a_session_id(site: Site) -> None:
    """Seed 002, testing: "Verify schema changes don't break existing task loading"."""
    site.project("010")
    site.script([PAUSE])
    assert "session_id" not in site.task("010")
    assert site.sow("task", "show", "010", "--json").json["status"] == "pending"
    site.sow("agent", "spawn", "implementer", "010")
    shown = site.sow("task", "show", "010", "--json").json
    assert (shown["status"], shown["session_id"]) == ("paused", site.task("010")["session_id"])


def test_5_the_session_id_goes_when_the_task_ends(site: Site) -> None:
    """Seed 002, schema: "Set when worker spawned, cleared when task reaches terminal state"."""
    site.project("010")
    site.script([REPORT])
    site.sow("agent", "spawn", "implementer", "010")
    assert "session_id" in site.task("010")
    site.sow("task", "set", "--id", "010", "status", "completed")
    assert "session_id" not in site.task("010")
