"""What the last review of a task asked for, shortened for tables: the text of its newest feedback.

Owns how much of it is shown. The whole lies in the file, which whoever shows it names.
"""

from msgspec import UNSET

from sow.paths import Workspace
from sow.schema.task import ReviewVerdict, Task
from sow.state.verdicts import newest_feedback, words_of_feedback

MOST_LINES = 6
LONGEST_LINE = 200
"""In letters."""


def last_findings(workspace: Workspace, task: Task) -> str:
    """Return the beginning of a task's newest feedback; empty where the last verdict is no request.

    So it is of work that is accepted, or that nobody has judged.
    """
    name = newest_feedback(task)
    if name is None or task.review is UNSET:
        return ""
    asked = task.review.verdict is ReviewVerdict.CORRECTIONS
    return _shortened(words_of_feedback(workspace, task, name)) if asked else ""


def _shortened(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
        for line in lines[:MOST_LINES]
    ]
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"… and {left} more line{'s' * (left > 1)}"] if left else [])])
