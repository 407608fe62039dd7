"""How jobs are told in one line of a terminal: each in the longest form for which all have room.

Pure. What does not fit is counted, and no word is cut.
"""

import textwrap
from collections.abc import Sequence

from sow.clock import format_duration
from sow.reports.prospects import Surroundings
from sow.reports.standing import words_of
from sow.schema.job import Job, JobState

GAP = "  "
FORMS = 5
"""In how many lengths a job can be told."""


def forms_of(job: Job, around: Surroundings, now: float) -> tuple[str, ...]:
    """Return a job in words in FORMS lengths, the longest first."""
    if job.state is not JobState.RUNNING or job.started_at is None or around.activity is None:
        words = words_of(job, around, now)
        plain = f"{job.task_id or 'project'} {job.state}"
        longest = f"{plain}: {words}" if words else plain
        return longest, _cut(longest, 76), _cut(longest, 38), plain, plain
    activity, took = around.activity, format_duration(now - job.started_at)
    what, who = job.task_id or "project", job.agent or job.verb.value
    does = f": {activity.words}" if activity.words else ""
    quiet = format_duration(activity.quiet_seconds)
    pause = "" if activity.is_hindered else f", quiet {quiet}"
    longest = f"{what} {who} runs {took}{pause}{does}"
    shorter = f"{what} {took}{does}"
    shortest = f"{what} {'fails' if activity.is_hindered else took}"
    return longest, _cut(longest, 76), _cut(shorter, 38), _cut(shorter, 24), shortest


def _cut(text: str, width: int) -> str:
    """Return a text that fits a width, whole words only."""
    return textwrap.shorten(text, width, placeholder=" …")


def fitted(forms_by_job: Sequence[tuple[str, ...]], hidden: int, width: int) -> str:
    """Return a line of at most `width` columns: all jobs in the longest form that fits.

    Where not even the shortest does, the last jobs are counted instead; `hidden`
    more are counted in any case.
    """
    for form in range(FORMS):
        line = _joined([forms[form] for forms in forms_by_job], hidden)
        if len(line) <= width:
            return line
    for count in range(len(forms_by_job) - 1, 0, -1):
        line = _joined(
            [forms[-1] for forms in forms_by_job[:count]], hidden + len(forms_by_job) - count
        )
        if len(line) <= width:
            return line
    return f"+{hidden + len(forms_by_job)}"


def _joined(entries: Sequence[str], hidden: int) -> str:
    return GAP.join([*entries, *([f"+{hidden}"] if hidden else [])])
