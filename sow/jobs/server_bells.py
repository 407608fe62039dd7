"""Bells over a server: whoever shares a queue hears what others change in it, on whichever host.

Owns what is heard. Triggers of a shared queue ring in the transaction that changes something: a
ring is never early, and what is undone rings nobody (`server_forms/bells.sql`). It is a hint, like
that of a FIFO: a connection that was lost counts as a ring, and is made anew a little later.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from psycopg import Connection, Error

from sow.errors import QueueError
from sow.ids import BatchId, JobId
from sow.jobs.store import Ear, Ring

AGAIN_SECONDS = 5.0
"""How long after a connection was lost another one is made; others may look by themselves then."""


class ServerEar(Ear):
    """What a process hears, over a connection of its own; `is_for` says what concerns it."""

    def __init__(
        self,
        connect: Callable[[], Connection[Any]],
        leave: Callable[[], None],
        is_for: Callable[[Ring], bool],
    ) -> None:
        """`connect` returns a connection that listens, or raises QueueError; `leave` closes it."""
        self._connect, self._leave = connect, leave
        self._is_for = is_for
        self._lost_at: float | None = None
        self._connection: Connection[Any] | None = connect()

    def fileno(self) -> int | None:
        """Return what can be read when somebody has rung; None while there is no connection."""
        if self._connection is None and self._is_due():
            try:
                self._connection = self._connect()
            except QueueError:
                self._lost_at = time.monotonic()
        return None if self._connection is None else self._connection.fileno()

    def heard(self) -> bool:
        """Read what was rung; whether any of it concerns us, or may have been lost."""
        if self._connection is None:
            return False
        rings = []
        try:
            self._connection.pgconn.consume_input()
            while notice := self._connection.pgconn.notifies():
                rings.append(_ring(notice.extra))
        except Error:
            self._connection, self._lost_at = None, time.monotonic()
            self._leave()
            return True
        return any(map(self._is_for, rings))

    def close(self) -> None:
        """Hear nothing more."""
        self._connection = None
        self._leave()

    def _is_due(self) -> bool:
        return self._lost_at is None or time.monotonic() >= self._lost_at + AGAIN_SECONDS


def _ring(word: bytes) -> Ring:
    """Return a ring by its word, two numbers; one that is no word of ours is for nobody."""
    numbers: list[int] = [0, 0]
    with suppress(ValueError):
        numbers = [int(number) for number in word.split()]
    if len(numbers) != 2:
        numbers = [0, 0]
    return Ring(JobId(numbers[0]), BatchId(numbers[1]))
