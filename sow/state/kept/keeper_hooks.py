"""Whom the keeper of copies asks whether a job lives, and whom it tells what it did.

Owns the two questions' form alone. State lies below the queue and prints
nothing, so the command line and the worker each give their own answers for as
long as they run; elsewhere no job is taken to live and nobody is told.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Witness = Callable[[Path, str], str]
"""Given the workspace's root and the project's id: who lives (`job 12`); empty for nobody."""


class Surroundings:
    """The answers of this process."""

    def __init__(self) -> None:
        self.witness: Witness = lambda _root, _project_id: ""
        self.tell: Callable[[str], None] = lambda _words: None


OURS = Surroundings()


@contextmanager
def answering(witness: Witness, tell: Callable[[str], None]) -> Iterator[None]:
    """Have this process ask `witness`, and tell what was put back by `tell`, for the while."""
    before = OURS.witness, OURS.tell
    OURS.witness, OURS.tell = witness, tell
    try:
        yield
    finally:
        OURS.witness, OURS.tell = before
