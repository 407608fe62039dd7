"""A job's own parameters, one struct for each kind that has any: the column `terms`.

Owns their shape and the tag that tells them apart. Only additions: a file may hold
jobs that an earlier version of this sow has placed.
"""

from enum import StrEnum

import msgspec

from sow.ids import TaskId


class CheckTerms(msgspec.Struct, frozen=True, kw_only=True, tag="check", tag_field="kind"):
    """What a check was asked for."""

    names: tuple[str, ...]
    """The checks to run, in this order; their command lines stand in `.sow/config.yaml`."""
    base: str | None = None
    """The commit to run them on, in a checkout that is thrown away, instead of the task's work:
    the one that the task began at. None of an ordinary check."""


class AuthorTerms(msgspec.Struct, frozen=True, kw_only=True, tag="author", tag_field="kind"):
    """What the agent who does a task was asked for besides the prompt."""

    clone: bool = False
    """Whether it works in a clone of its own, which is made for a task that has none."""


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


JobTerms = CheckTerms | AuthorTerms | MergeTerms | ReviewTerms
"""Of any kind."""


def tasks_of(terms: JobTerms | None) -> tuple[TaskId, ...]:
    """Return the tasks that terms name; none where a job's own task is the only one."""
    return terms.tasks if isinstance(terms, MergeTerms) else ()
