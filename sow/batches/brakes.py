"""When a batch is stopped because what goes wrong goes wrong with every task alike.

Pure. Owns which failures are such, and how many of them in a row are enough. A red
check is one where it is red on the commit that the task began at, too: that is found
out once, when enough checks in a row were red.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from sow.jobs.batches import JobInBatch
from sow.schema.batch import Action
from sow.schema.causes import Cause
from sow.schema.job import JobState
from sow.schema.kinds import KINDS

IN_A_ROW = 3
"""So many equal failures, with nothing that went well in between, pause a batch."""
GENERAL = frozenset(
    {
        Cause.AUTH,
        Cause.BAD_MODEL,
        Cause.BAD_FLAGS,
        Cause.MISSING_BINARY,
        Cause.SETUP_FAILED,
        Cause.SETUP_PREVENTED,
        Cause.FOLDER_UNUSABLE,
        Cause.CONFIGURATION,
        Cause.API_ERROR,
        Cause.RATE_LIMITED,
    }
)
"""Why an agent's job can fail so that the next one will fail as well."""


class Brake(NamedTuple):
    """What a batch's jobs in a row have come to."""

    reason: str = ""
    """Why the batch has to be paused; empty where it has not."""
    suspect: str = ""
    """The task whose check has to be run on its base first; empty where none has."""


def brake_of(jobs: Sequence[JobInBatch], forgiven: int) -> Brake:
    """Return whether a batch has to be paused. `forgiven`: the newest job when it was resumed."""
    ended = [job for job in jobs if job.state.is_final and job.id > forgiven]
    ended = [job for job in ended if job.state is not JobState.CANCELLED]
    ended.sort(key=lambda job: (job.ended_at or 0.0, job.id))
    reason = _of_agents([job for job in ended if KINDS[job.verb].is_agents])
    return Brake(reason) if reason else _of_checks([job for job in ended if _is_check(job)])


def brake_of_refusals(refusals: Sequence[str]) -> str:
    """Return why a batch has to be paused whose calls are refused alike; empty where it has not.

    A program that is missing, say, is found out before there is a job that could fail.
    """
    counts = Counter(map(first_line, refusals))
    alike = [(words, count) for words, count in counts.items() if count >= IN_A_ROW]
    return "; ".join(
        f"{count} tasks were refused for the same reason: {words}" for words, count in alike
    )


def first_line(text: str) -> str:
    """Return the first line of a text, by which two refusals are equal."""
    return text.strip().partition("\n")[0]


def _is_check(job: JobInBatch) -> bool:
    return KINDS[job.verb].checks


def _of_agents(ended: Sequence[JobInBatch]) -> str:
    """Return why agents fail alike, if the last ones did."""
    last = ended[-IN_A_ROW:]
    failures = {_failure(job) for job in last}
    if len(last) < IN_A_ROW or len(failures) > 1:
        return ""
    (failure,) = failures
    if failure is None:
        return ""
    detail = last[-1].reason.strip().partition("\n")[0]
    from sow.schema.cause_table import CAUSES  # few batches fail so

    words = CAUSES[failure[0]].words
    return (
        f"jobs {_numbers(last)} failed for the same reason:"
        f" {words}{f': {detail}' if detail else ''}"
    )


def _failure(job: JobInBatch) -> tuple[Cause, str] | None:
    """Return what two failures have to share to be equal; None of what is no such failure."""
    if job.state is not JobState.FAILED or job.cause is None:
        return None
    cause = Cause(job.cause)
    if cause not in GENERAL:
        return None
    same = job.reason.strip().partition("\n")[0] if cause is Cause.API_ERROR else ""
    return cause, same


def _of_checks(ended: Sequence[JobInBatch]) -> Brake:
    """Return what the last checks have come to; what was found out on a base ends a row."""
    row: list[JobInBatch] = []
    for job in reversed(ended):
        if not _is_red(job):
            break
        if job.action == Action.CHECK_BASE:  # others may have ended since
            return Brake(_red_on_base(job))
        row.append(job)
    tasks = dict.fromkeys(job.task_id for job in row)
    return Brake(suspect=row[0].task_id) if len(tasks) >= IN_A_ROW else Brake()


def _red_on_base(job: JobInBatch) -> str:
    detail = job.reason.strip().partition("\n")[0]
    base = f"they also fail on the commit from which task {job.task_id} started"
    return f"the checks of {IN_A_ROW} tasks in a row failed, and {base}: {detail}"


def _is_red(job: JobInBatch) -> bool:
    return job.state is JobState.FAILED and job.cause == Cause.CHECK_FAILED


def _numbers(jobs: Sequence[JobInBatch]) -> str:
    return ", ".join(str(job.id) for job in jobs)
