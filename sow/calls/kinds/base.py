"""What a call asks the kind of the job that it wants: may it be placed, and how is it placed.

Owns the questions alone. Which module answers them, `sow.calls.placement` knows.
"""

from abc import ABC, abstractmethod

from sow.calls.caller import Caller
from sow.calls.request import Placed, Request
from sow.calls.wait import Waiter
from sow.config.configuration import Configuration
from sow.jobs.database import Database


class CallKind(ABC):
    """The jobs of one kind, for a call."""

    @abstractmethod
    def admit(
        self, caller: Caller, database: Database | None, config: Configuration, request: Request
    ) -> None:
        """Raise what a request would be refused with; `database` is None where there is no queue.

        Changes nothing.
        """

    @abstractmethod
    def place(
        self,
        caller: Caller,
        database: Database,
        config: Configuration,
        request: Request,
        waiter: Waiter | None,
    ) -> Placed:
        """Put a request's job into the queue, or find the one that the same call put there.

        `waiter` waits for a new job from its first moment on. Raises TaskIsTaken where another call
        was first, and SowError; nothing is left behind then.
        """
