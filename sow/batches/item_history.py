"""The jobs of one task of a batch, and what they tell of its way so far.

Owns what counts: which jobs have ended and are about the work, and since when. Pure.
"""

from collections.abc import Iterable
from itertools import takewhile

from msgspec import Struct

from sow.jobs.batches import JobInBatch
from sow.schema.batch import Action
from sow.schema.causes import Cause
from sow.schema.job import CHANGED_NOTHING, NOT_BROUGHT_BACK, JobState
from sow.schema.kinds import KINDS

BEGINS = frozenset({Action.SPAWN, Action.GO_ON})
"""The actions that have an author work on what nobody has judged: which of them it is, a host's
word on the session decides."""


def are_alike(action: str | None, other: str | None) -> bool:
    """Whether two actions are the same to whoever counts how often one was done."""
    return action == other or {action, other} <= BEGINS


class History(Struct):
    """The jobs of one task since it belonged to the batch, oldest first."""

    jobs: list[JobInBatch] = []

    @property
    def ended(self) -> list[JobInBatch]:
        """Those that have ended and are about the work: none that its caller's death undid."""
        return [
            job
            for job in self.jobs
            if _is_over(job) and not _is_undone(job) and job.action != Action.CHECK_BASE
        ]

    @property
    def live(self) -> JobInBatch | None:
        """The one that has not ended, or whose task is still to be given back."""
        return next((job for job in self.jobs if not _is_over(job)), None)

    @property
    def authors(self) -> list[JobInBatch]:
        """Those ended ones in which the task's author worked."""
        return [job for job in self.ended if KINDS[job.verb].makes_work]

    @property
    def not_brought_back(self) -> str:
        """Why the work of the last author is in its clone alone; empty where it is not."""
        warnings = self.authors[-1].warnings if self.authors else ()
        return next((words for words in warnings if words.startswith(NOT_BROUGHT_BACK)), "")

    @property
    def changed_nothing(self) -> bool:
        """Whether the last author has reported work and changed nothing."""
        return bool(self.authors) and CHANGED_NOTHING in self.authors[-1].warnings

    @property
    def persons(self) -> int:
        """The newest job by which somebody else had the author work."""
        return max((job.id for job in self.authors if job.step is None), default=0)

    def newest(self, jobs: Iterable[JobInBatch]) -> int:
        """Return the number of the newest of some jobs; 0 without any."""
        return max((job.id for job in jobs), default=0)

    def count(self, actions: Iterable[Action], forgiven: int) -> int:
        """Return how often the batch has done these since a person had a hand in it."""
        since, counted = max(self.persons, forgiven), set(actions)
        return sum(1 for job in self.ended if job.id > since and job.action in counted)

    def in_a_row(self, forgiven: int) -> tuple[str | None, int]:
        """Return what the batch has done last, and how often it did that since anything else.

        However those jobs have ended: how they have, a host may say as it likes.
        """
        since, last = max(self.persons, forgiven), self.jobs[-1].action if self.jobs else None
        same = takewhile(
            lambda job: job.id > since and are_alike(job.action, last), reversed(self.jobs)
        )
        return last, sum(1 for _ in same)

    @property
    def vain_reviews(self) -> int:
        """How many reviews have failed one after the other, up to the last job."""
        return sum(1 for _ in takewhile(_is_vain_review, reversed(self.ended)))

    def was_checked(self) -> bool:
        """Return whether a check has come to a result since anybody worked on it."""
        worked = self.newest(job for job in self.ended if KINDS[job.verb].makes_work or _moved(job))
        checks = (job for job in self.ended if KINDS[job.verb].checks and _has_result(job))
        return self.newest(checks) > worked


def _is_over(job: JobInBatch) -> bool:
    return job.state.is_final and not job.owes_task


def _is_undone(job: JobInBatch) -> bool:
    return job.state is JobState.CANCELLED and not job.cancel_asked and job.started_at is None


def _moved(job: JobInBatch) -> bool:
    """Whether a job may have moved the task's branch, without an agent."""
    return KINDS[job.verb].updates_clone


def _is_vain_review(job: JobInBatch) -> bool:
    return KINDS[job.verb].judges and job.state is JobState.FAILED


def _has_result(job: JobInBatch) -> bool:
    return job.state is JobState.DONE or job.cause == Cause.CHECK_FAILED
