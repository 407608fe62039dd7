"""One agent of many that write at once, by the true commands: `agents_at_work.py NUMBER`.

It reports on a task of its own, and logs, gives feedback and lists files of the project that
all of them share. Each of its calls has to succeed.
"""

import sys
from pathlib import Path

from sow.cli.root import run
from sow.paths import Workspace
from sow.state.tasks import change_task

STEPS = 4


def main(number: int) -> None:
    task = f"{number:02d}0"
    sow("task", "set", task, "status", "in_progress")
    for step in range(STEPS):
        sow("agent", "log", f"step {step}", "--task", task, "--agent", f"agent-{number}")
        sow("agent", "log", f"step {step}", "--agent", f"agent-{number}", "--body", "Words.\n" * 9)
        sow("task", "set", "990", f"metadata.by-{number}-{step}", "x")
        sow("feedback", "add", f"Feedback {number} {step}")
    sow("input", "add", f"given-{number}.md", "--type", "goal")
    sow("task", "set", task, "status", "needs_review")
    sow("review", "correct", task, "--file", f"given-{number}.md")
    change_task(Workspace(Path.cwd()), "990", more, now=0)
    sow("task", "add", f"By {number}", "--agent", "tester", "--depends-on", task)


def more(task: object) -> dict[str, object]:
    return {"metadata.count": task.metadata.get("count", 0) + 1}  # type: ignore[attr-defined]


def sow(*words: str) -> None:
    code = run(words)
    if code:
        sys.exit(f"sow {' '.join(words)}: {code}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
