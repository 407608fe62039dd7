"""A command that takes a project on, and why."""

from msgspec import Struct


class Remedy(Struct, frozen=True):
    """A command that meets a guard, or takes a task on. `<…>` is the reader's to fill in."""

    command: str
    why: str
