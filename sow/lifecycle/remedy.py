"""A command that takes a project on, and why."""

from msgspec import Struct


class Remedy(Struct, frozen=True):
    """A command that meets a guard, or takes a task on. `<…>` is the reader's to fill in."""

    command: str
    why: str


WAY_TO_PLAN = "sow next"
"""What leads to the beginning of the plan: which command that is depends on the whole project."""
