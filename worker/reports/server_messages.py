"""What a worker tells the process that takes reports, and what that answers: a line of JSON each.

Owns the forms, and what an attempt is to that process: all comes from the records of the worker.
"""

from enum import StrEnum

import msgspec


class ServedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt whose agent reports through a socket."""

    id: str
    folder: str
    """`AttemptPaths.folder`."""
    root: str
    """The workspace's."""
    project: str
    task: str
    role: str
    reviews: bool
    environ: dict[str, str]
    """The whole environment of what is carried out for it."""
    secrets: tuple[str, ...] = ()
    """The names of the secrets that its agent was given."""


class Action(StrEnum):
    """What is to be done about an attempt."""

    SERVE = "serve"
    """Carry out what was kept, then listen."""
    FINISH = "finish"
    """Its agent has ended: listen no longer, carry out what is left, and take the folder away."""
    FORGET = "forget"
    """It is another worker's now, or settled: listen no longer."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker wants of the process."""

    action: Action
    attempt: str
    served: ServedAttempt | None = None
    """With `serve`."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing of the attempt is left to be carried out; or what a person should know."""

    attempt: str
    is_finished: bool = False
    words: str = ""
