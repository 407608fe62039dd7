"""What an agent has logged last before it reported: its question, or why it cannot go on.

Owns which entry of the task's log is the agent's own, of this very job, and how an
outcome's further lines are told. What sow itself logs, the words of a caller that
resumes, and what was logged before the job began, is not the agent's.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from sow.clock import format_time
from sow.errors import StateError
from sow.ids import TaskId
from sow.paths import Workspace
from sow.schema.job import Job, JobState
from sow.schema.task import Task, TaskStatus
from sow.state.log_writing import LogEntry
from sow.state.places import find_task
from sow.state.status_entries import STATUS
from sow.state.task_log import RESUMED, STARTED_OVER, last_entries
from sow.terminal_text import printable, printable_lines

if TYPE_CHECKING:
    from sow.schema.output.outcome import Outcome

COMMAND = r"`(sow agent [^`]+)`"
SOW = "sow"
"""Whom an entry names that sow has made."""
LOOKED_AT = 16
"""How many entries are looked at: sow adds a few of its own behind the agent's."""
MOST_QUESTIONS = 100
"""Of so many paused tasks the question is read."""
TELLING: Mapping[str, str] = {TaskStatus.PAUSED: "asks", TaskStatus.FAILED: "says"}
"""The statuses that send their reader to the log, with what the agent does by that entry."""


def agents_words(workspace: Workspace, job: Job) -> str | None:
    """Return what the agent of a job asks, or why it gave up, as it has logged it.

    None where it has logged nothing, and of a job that ended otherwise. Never raises for
    what is wrong with the task or its log.
    """
    if not _is_telling(job.state, job.outcome_status):
        return None
    entry = last_of_agent(workspace, job)
    return None if entry is None else _words_of(entry)


def words_of_task(workspace: Workspace, task: Task, last: Job | None) -> str:
    """Return what the agent of a task asks, or says; `last` is the task's newest job."""
    words = words_without_job(workspace, task) if last is None else agents_words(workspace, last)
    return words or ""


def questions_of(
    workspace: Workspace, tasks: Sequence[Task], last: Mapping[TaskId, Job]
) -> dict[str, str]:
    """Return what the agents of paused tasks ask, in a line each, of the first so many."""
    paused = [task for task in tasks if task.status is TaskStatus.PAUSED][:MOST_QUESTIONS]
    words = {task.id: words_of_task(workspace, task, last.get(TaskId(task.id))) for task in paused}
    return {task: text.partition("\n")[0] for task, text in words.items() if text}


def words_without_job(workspace: Workspace, task: Task) -> str | None:
    """Return what the agent of a task asks of whose job nothing is on record: the queue was lost.

    Its own last entry counts, since the task was last begun. Raises nothing, as `agents_words`.
    """
    if task.status not in TELLING:
        return None
    try:
        entries = last_entries(find_task(workspace, TaskId(task.id)).log, LOOKED_AT)
    except StateError:
        return None
    since = list(takewhile(lambda entry: not _begins(entry), reversed(entries)))
    ours = (e for e in since if e.agent == task.assigned_agent and not _is_sows(e))
    return next((_words_of(entry) for entry in ours), None)


def _begins(entry: LogEntry) -> bool:
    """Whether an entry tells that a task was begun, or gone on with."""
    return entry.event == STATUS and f" to {TaskStatus.IN_PROGRESS}" in entry.action


def _words_of(entry: LogEntry) -> str:
    return f"{entry.action}\n{entry.text}".strip()


def words_below(outcome: "Outcome", *, among_others: bool = False) -> list[str]:
    """Return what to print below an outcome's line: what its agent says, and the next step.

    Nothing of an outcome that needs neither. `among_others` names the task in each line:
    of several tasks, and on another stream than the outcomes, "it" would be any of them.
    """
    task = outcome.task
    if outcome.state == JobState.FAILED:
        next_step = f"Next for {task}" if among_others else "Next"
        return [] if _is_said(outcome) else [f"  {next_step}: {outcome.next_step}"]
    if task is None:
        return []
    if outcome.verdict is not None:
        return _verdict_below(outcome)
    if not _is_telling(outcome.state, outcome.status):
        return []
    words = _said_by(task if among_others else "It", outcome)
    return [*words, f"  {outcome.next_step.removesuffix('.')}"]


def _verdict_below(outcome: "Outcome") -> list[str]:
    """Return what a reviewer thinks, where it has written more, and what comes next."""
    lines = [f"  {line}".rstrip() for line in printable_lines(outcome.summary)]
    if outcome.feedback_file is not None:
        lines.append(f"  What to correct: feedback/{printable(outcome.feedback_file)}")
    if outcome.steers:
        named = ", ".join(map(printable, outcome.steers))
        lines.append(f"  The change steers agents or machines: {named}")
    return [*lines, f"  {outcome.next_step.removesuffix('.')}"]


def _said_by(who: str, outcome: "Outcome") -> list[str]:
    status = outcome.status or ""
    if outcome.agent_says is None:
        what = "question" if status == TaskStatus.PAUSED else "reason"
        return [f"  {who} has logged no {what}. Its last words: `sow task output {outcome.task}`"]
    action, _, text = outcome.agent_says.partition("\n")
    below = [f"    {line}".rstrip() for line in printable_lines(text)]
    return [f"  {who} {TELLING[status]}: {printable(action)}", *below]


def _is_telling(state: str, status: str | None) -> bool:
    return state == JobState.DONE and (status or "") in TELLING


def _is_said(outcome: "Outcome") -> bool:
    """Whether there is no next step, or the reason has named its command already."""
    commands = re.findall(COMMAND, outcome.next_step)
    named = bool(commands) and all(f"`{words}`" in outcome.reason for words in commands)
    return named or not outcome.next_step


def last_of_agent(workspace: Workspace, job: Job) -> LogEntry | None:
    """Return what a job's agent has logged last, since it began; None where it has not."""
    try:
        place = find_task(workspace, TaskId(job.task_id))
        entries = last_entries(place.log, LOOKED_AT, with_events=False)
    except StateError:
        return None
    begun = "" if job.started_at is None else format_time(job.started_at)
    since = [entry for entry in entries if entry.timestamp >= begun and not _is_sows(entry)]
    ours = [entry for entry in since if entry.agent == job.agent]  # others may log as well
    return next(reversed(ours or since), None)


def _is_sows(entry: LogEntry) -> bool:
    """Whether sow has made an entry, about a change or to keep a caller's words."""
    return (
        bool(entry.event)
        or entry.agent == SOW
        or entry.action == RESUMED
        or entry.action.startswith(STARTED_OVER)
    )
