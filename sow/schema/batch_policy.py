"""What a batch does with each of its tasks, as its call or the repository says.

Apart from `batch`, for every command that reads settings needs these words, and few the rest.
"""

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.amounts import Amounts


class Accept(StrEnum):
    """Whose word completes a task that no reviewer judges."""

    PERSON = "person"
    CHECK = "check"


class BatchPolicy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a batch does with each of its tasks. Only additions: it is kept in the queue's file."""

    max_parallel: Annotated[int, Meta(ge=1)] | None = None
    """How many agents of it may be at work at once; None leaves it to the worker's limit."""
    fail_fast: bool = False
    """Whether nothing more is begun once an item has failed."""
    clone: bool | None = None
    """Whether each task works in a clone of its own; None leaves it to the settings."""
    check: bool = False
    """Whether the checks run on what an author leaves, before anybody judges it."""
    review: bool = False
    """Whether a reviewing agent judges it."""
    reviewer: str = "reviewer"
    max_iterations: Annotated[int, Meta(ge=0)] = 3
    """How often the work is given back to its author, failed checks and corrections together."""
    merge: bool = False
    """Whether accepted work is merged into the project's branch."""
    accept: Accept = Accept.PERSON
    budget: Amounts | None = None
    """What its agents may spend, all of them together."""
    unmetered: bool = False
    """Whether agents may run whose CLI keeps no budget."""
    before_approval: bool = False
    """Whether its tasks begin though the project's plan is not approved: a person says so."""
