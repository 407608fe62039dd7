"""A job's own parameters, one struct for each kind that has any: the column `terms`.

Owns their shape and the tag that tells them apart. Only additions: a file may hold
jobs that an earlier version of this sow has placed.
"""

from collections.abc import Callable
from enum import StrEnum

import msgspec
from msgspec import UNSET, UnsetType

from sow.ids import TaskId
from sow.schema.amounts import Amounts
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig


class CheckTerms(msgspec.Struct, frozen=True, kw_only=True, tag="check", tag_field="kind"):
    """What a check was asked for."""

    names: tuple[str, ...]
    """The checks to run, in this order; their command lines stand in `.sow/config.yaml`."""
    base: str | None = None
    """The commit to run them on, in a checkout that is thrown away, instead of the task's work:
    the one that the task began at. None of an ordinary check."""
    lines: tuple[str, ...] | UnsetType = UNSET
    """What tells their command lines from others where the task is at home; left out of a check
    that runs there."""
    requires: tuple[str, ...] | UnsetType = UNSET
    """The labels that its host must have; left out where there are none."""


class NextExecutor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An executor that takes the place of another one in a job."""

    executor: ExecutorConfig
    limits: Amounts | None = None
    """What its agents may use together, as it stood when the job was placed."""


class LeftExecutor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An executor whose place in a job another one has taken."""

    name: str
    cause: Cause
    reason: str = ""
    """Its CLI's own words, or ours; the first line."""
    attempt: int = 0
    """The number of the job's last attempt by it or before it; 0 where there is none."""
    until: float | None = None
    """When its usage limit resets, in seconds since the epoch, where that is known."""
    session: str | None = None
    """The begun session that was handed over; None where nothing had begun."""
    hands_over: bool = False
    """Whether its work had begun, so that the next executor was handed it over."""


class LeavingSession(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A begun session that is about to be handed over."""

    id: str
    dialect: str | None = None
    """The dialect of its CLI, where that has several."""
    type: str | None = None
    """The type of the executor that made it, as far as the task's state told it."""


class Fallback(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The other executors of a job's role, as its binding named them when the job was placed."""

    next: tuple[NextExecutor, ...] = ()
    """Those that may take its place still, in their order."""
    left: tuple[LeftExecutor, ...] = ()
    """Those that came before the present one, in the order in which they were left."""
    hands_over: bool = False
    """Whether a session that has begun is handed over to the next one."""
    leaving: LeavingSession | None = None
    """The session that a worker takes from the task's state, from before that until it is handed
    over: no other record may tell of it."""


class AuthorTerms(msgspec.Struct, frozen=True, kw_only=True, tag="author", tag_field="kind"):
    """What the agent who does a task was asked for besides the prompt."""

    clone: bool = False
    """Whether it works in a clone of its own, which is made for a task that has none."""
    fallback: Fallback | UnsetType = UNSET
    """Who takes the place of its executor; left out where its role has only one."""
    requires: tuple[str, ...] | UnsetType = UNSET
    """The labels that its host must have; left out where there are none."""


class MergeWay(StrEnum):
    """How the work of a task comes into the project's branch."""

    MERGE = "merge"
    """By a commit with both as its parents."""
    SQUASH = "squash"
    """As one commit, without the task's own."""
    REBASE = "rebase"
    """By the task's own commits, made anew one by one."""


class MergeTerms(msgspec.Struct, frozen=True, kw_only=True, tag="merge", tag_field="kind"):
    """What a merge was asked for."""

    tasks: tuple[TaskId, ...]
    """The tasks to merge, in this order; the job's own task is the first."""
    squash: bool = False
    """Whether each task becomes one commit of the project's branch, without its own commits."""
    rebase: bool = False
    """Whether each task's own commits are made anew on the project's branch, one by one."""

    @property
    def way(self) -> MergeWay:
        """Both in one word."""
        if self.rebase:
            return MergeWay.REBASE
        return MergeWay.SQUASH if self.squash else MergeWay.MERGE


class ReviewTerms(msgspec.Struct, frozen=True, kw_only=True, tag="review", tag_field="kind"):
    """What a review is about."""

    commit: str | None = None
    """The commit on which the work stands; None where there is no git."""
    dialect: str | None = None
    """The dialect of its own session's CLI, once that is made; None where that has only one."""
    fallback: Fallback | UnsetType = UNSET
    """Who takes the place of its executor; left out where its role has only one."""
    requires: tuple[str, ...] | UnsetType = UNSET
    """The labels that its host must have; left out where there are none."""


JobTerms = CheckTerms | AuthorTerms | MergeTerms | ReviewTerms
"""Of any kind."""


def required_by(terms: JobTerms | None) -> tuple[str, ...]:
    """Return the labels that a host must have for a job of these terms."""
    labels = () if terms is None or isinstance(terms, MergeTerms) else terms.requires
    return () if labels is UNSET else labels


def tasks_of(terms: JobTerms | None) -> tuple[TaskId, ...]:
    """Return the tasks that terms name; none where a job's own task is the only one."""
    return terms.tasks if isinstance(terms, MergeTerms) else ()


def commits_of(terms: JobTerms | None) -> tuple[str, ...]:
    """Return the commits that terms name."""
    named = (
        terms.base if isinstance(terms, CheckTerms) else None,
        terms.commit if isinstance(terms, ReviewTerms) else None,
    )
    return tuple(commit for commit in named if commit is not None)


def change_fallback(
    terms: JobTerms | None, change: Callable[[Fallback], Fallback]
) -> JobTerms | None:
    """Return terms with other executors of the role, where they name any; all else stays."""
    if not isinstance(terms, AuthorTerms | ReviewTerms) or terms.fallback is UNSET:
        return terms
    return msgspec.structs.replace(terms, fallback=change(terms.fallback))


def with_fallback(terms: JobTerms | None, fallback: Fallback) -> JobTerms:
    """Return the terms of an agent's job with the other executors of its role.

    The dialect of a review's session was that of the executor before.
    """
    if isinstance(terms, ReviewTerms):
        return msgspec.structs.replace(terms, dialect=None, fallback=fallback)
    own = terms if isinstance(terms, AuthorTerms) else AuthorTerms()
    return msgspec.structs.replace(own, fallback=fallback)
