"""What an agent has logged last before it reported: its question, or why it cannot go on.

Owns which entry of the task's log is the agent's own, of this very job. What
sow itself logs, and what was logged before the job began, is not.
"""

import re
from collections.abc import Mapping

from sow.errors import StateError
from sow.ids import TaskId
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.schema.output.jobs import Outcome
from sow.schema.task import TaskStatus
from sow.state.log_writing import LogEntry
from sow.state.places import find_task
from sow.state.task_log import last_entries
from sow.terminal_text import printable, printable_lines

COMMAND = re.compile(r"`(sow agent [^`]+)`")
SOW = "sow"
"""Whom an entry names that sow has made."""
LOOKED_AT = 5
"""How many entries are looked at: sow adds one or two of its own behind the agent's."""
TELLING: Mapping[str, str] = {TaskStatus.PAUSED: "It asks", TaskStatus.FAILED: "It says"}
"""The statuses that send their reader to the log, with what the agent does by that entry."""


def words_below(workspace: Workspace, outcome: Outcome) -> list[str]:
    """Return what to print below the outcome of a job whose agent asks or gave up, line by line.

    Of a job that has failed the next step, of any other outcome nothing. Never raises
    for what is wrong with the task or its log.
    """
    if outcome.state == JobState.FAILED:
        return [] if _is_said(outcome) else [f"  Next: {outcome.next_step}"]
    does = TELLING.get(outcome.status or "")
    if outcome.task is None:
        return []
    if outcome.state != JobState.DONE or does is None:
        return []
    entry = _last_of_agent(workspace, outcome)
    if entry is None:
        what = "question" if outcome.status == TaskStatus.PAUSED else "reason"
        return [f"  It has logged no {what}. Its last words: `sow task output {outcome.task}`"]
    first = f"  {does}: {printable(entry.action)}"
    lines = [first, *(f"    {line}".rstrip() for line in printable_lines(entry.text))]
    if outcome.status == TaskStatus.PAUSED:
        lines.append(f'  Answer: `sow agent resume {outcome.task} "…"`')
    return lines


def _is_said(outcome: Outcome) -> bool:
    """Whether there is no next step, or the reason has named its command already."""
    commands = COMMAND.findall(outcome.next_step)
    named = bool(commands) and all(f"`{words}`" in outcome.reason for words in commands)
    return named or not outcome.next_step


def _last_of_agent(workspace: Workspace, outcome: Outcome) -> LogEntry | None:
    try:
        entries = last_entries(find_task(workspace, TaskId(outcome.task or "")).log, LOOKED_AT)
    except StateError:
        return None
    begun = outcome.started_at or ""
    ours = [entry for entry in entries if entry.agent != SOW and entry.timestamp >= begun]
    return ours[-1] if ours else None
