"""A limit of what may be spent, as records name it: whose it is, and which one has been reached."""

from enum import StrEnum

import msgspec

from sow.schema.amounts import Amounts


class ScopeKind(StrEnum):
    """What a limit is for. The values are the words on record."""

    TASK = "task"
    """All that is done for one task."""
    EXECUTOR = "executor"
    """All that agents of one executor do in this repository."""
    BATCH = "batch"
    """All that is done for the tasks of a batch while it goes on."""
    PROJECT = "project"
    """All that agents do for one project."""


class ReachedLimit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A limit that has stopped a job or refused a call, and what raises it."""

    kind: ScopeKind
    name: str = ""
    """The task's id, the executor's name, the batch's name or number; empty of the project."""
    enough: Amounts
    """A new total with which it goes on."""
