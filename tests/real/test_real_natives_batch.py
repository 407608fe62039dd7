"""A batch of ten tasks that five real agent CLIs do in clones, and a reviewer of a sixth kind."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from native_trial import Trial
from natives import CLAUDE, NATIVES
from opened_trial import opened_trial

pytestmark = [pytest.mark.real, pytest.mark.one_of("natives by themselves", "all at once")]

ROLES = {
    "implementer": "codex",
    "tester": "gemini",
    "documenter": "opencode",
    "researcher": "qwen",
    "architect": "copilot",
}
"""Which CLI plays which role; the reviewer is Claude Code's."""
OF_EACH = 2
FREE = ("gemini", "opencode", "qwen")
"""Without more rights these let a command write no file, and the model here has no other tool."""


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Trial]:
    """Return a place with all six CLIs on PATH, and a project of ten tasks."""
    first, *others = NATIVES.values()
    with opened_trial(first, tmp_path, *others, CLAUDE) as trial:
        _furnish(trial)
        yield trial


def _furnish(trial: Trial) -> None:
    """Log all CLIs in to the model server, bind the roles, and add the tasks."""
    executors: dict[str, Any] = {"claude-code": {}}
    for native in NATIVES.values():
        executors[native.name] = {
            "settings": {"model": native.model, "yolo_mode": native.name in FREE},
            "custom_args": list(native.custom_args),
        }
    for native in (*NATIVES.values(), CLAUDE):
        trial.log_in(native)
    bindings = {**ROLES, "reviewer": "claude-code"}
    config = {"agents": {"executors": executors, "bindings": bindings}}
    (trial.home / ".config/sow/config.yaml").write_text(json.dumps(config), encoding="utf-8")
    (trial.repository / ".gitignore").write_text(".sow/run\n", encoding="utf-8")
    for role in ROLES:
        for _ in range(OF_EACH):
            done = trial.sow("task", "add", f"Work of the {role}", "--agent", role)
            assert done.returncode == 0, done.stderr


def test_ten_tasks_by_five_clis_are_reviewed_by_a_sixth_and_merged(team: Trial) -> None:
    work = [
        {"run": 'echo "done by $SOW_EXECUTOR" > "work-$SOW_TASK_ID.txt"'},
        {"run": "sow agent log Done"},
        {"run": "sow task set status needs_review"},
    ]
    review = [{"run": "sow review accept --summary 'It does what was asked.'"}]
    script = {
        "id": 99,
        "of": [{"if": "sow review accept", "answers": review}, {"if": "", "answers": work}],
        "then": {"say": "That is all."},
    }
    (team.records / "answers.json").write_text(json.dumps(script), encoding="utf-8")
    removed = team.sow("task", "remove", "010")
    assert removed.returncode == 0, removed.stderr
    done = team.sow(
        *("batch", "run", "--clone", "--review", "--merge", "--max-parallel", "3"),
        *("--wait", "100s", "--json"),
    )
    while done.returncode == os.EX_TEMPFAIL:
        done = team.sow("batch", "wait", "1", "--wait", "100s", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    files = sorted(team.repository.glob("work-*.txt"))
    by = [file.read_text("utf-8").split()[-1] for file in files]
    assert sorted(by) == sorted(list(ROLES.values()) * OF_EACH)
    assert team.left() == {}
