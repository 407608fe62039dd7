"""`sow executor compare` with two real CLIs: the same tasks in clones, judged by the same check."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from native_trial import Trial
from natives import CLAUDE, NATIVES
from opened_trial import opened_trial

pytestmark = [pytest.mark.real, pytest.mark.one_of("natives by themselves", "two compared")]

BOTH = (CLAUDE, NATIVES["codex"])
AUTHOR = {"agent": "implementer", "name": "Write it"}
TASKS = [
    {**AUTHOR, "key": "first", "checks": ["first"]},
    {**AUTHOR, "key": "second", "checks": ["second"], "depends_on": ["first"]},
]
CHECKS = {"first": "test -e work-010", "second": "test -e work-010 && test -e work-020"}
WRITE = {"run": "touch work-$SOW_TASK_ID"}
REPORT = [{"run": "sow task set status needs_review"}, {"say": "That is all."}]
ANSWERS = [WRITE, *REPORT, *REPORT, WRITE, *REPORT]
"""The second task is reported before it is done, and corrected when its check has failed."""


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """Return a place with both CLIs on PATH, and the tasks in a file."""
    with opened_trial(BOTH[0], tmp_path, *BOTH[1:]) as found:
        executors = {}
        for native in BOTH:
            found.log_in(native)
            settings = {"model": native.model, "yolo_mode": True}
            executors[native.executor or native.name] = {"settings": settings}
        file = found.home / ".config/sow/config.yaml"
        file.write_text(json.dumps({"agents": {"executors": executors}}), encoding="utf-8")
        yield found


def test_two_real_clis_do_the_same_tasks_and_are_corrected_by_their_checks(trial: Trial) -> None:
    (trial.repository / ".sow/config.yaml").write_text(json.dumps({"checks": CHECKS}), "utf-8")
    (trial.home / "tasks.yaml").write_text(json.dumps(TASKS), "utf-8")
    for words in (("add", "--all"), ("commit", "--quiet", "--message", "Checks")):
        assert trial.run("git", *words).returncode == 0
    trusted = trial.sow("trust", "--yes")
    assert trusted.returncode == 0, trusted.stderr
    trial.tell(*ANSWERS, *ANSWERS)
    done = trial.sow(
        *("executor", "compare", str(trial.home / "tasks.yaml"), "--yes", "--json"),
        *("--executors", "claude-code,codex"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["executor"], row["key"], row["iteration"]) for row in rows] == [
        ("claude-code", "first", 1),
        ("claude-code", "second", 2),
        ("codex", "first", 1),
        ("codex", "second", 2),
    ]
    assert {(row["status"], row["check_passed"]) for row in rows} == {("completed", True)}
    tokens = {row["executor"]: row["used"]["tokens"] for row in rows if row["key"] == "second"}
    assert tokens["claude-code"] == tokens["codex"], rows
    assert not (trial.repository / "work-010").exists()
    assert not trial.left()
