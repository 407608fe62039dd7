"""The worker of a storm over hosts: the true one, from which one fence may be taken.

    python storm_worker.py WHAT WORKER_OPTION...

WHAT is `whole`, `no-self-fencing` or `no-lock-at-the-claim`. The product has no such switch:
functions of the worker are replaced here, in its process. All wait moments only before they run a
job again whose agent was killed.
"""

import itertools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from sow.attempts import retry
from sow.jobs import leases
from sow.jobs.queue_server import QueueServer
from worker import hearing, heartbeat

WHOLE, NO_SELF_FENCING, NO_LOCK = "whole", "no-self-fencing", "no-lock-at-the-claim"
RACE_SECONDS = 0.05


def hurry() -> None:
    retry.FIRST_BACKOFF_SECONDS, retry.LONGEST_BACKOFF_SECONDS = 0.2, 1.0
    retry.LONGEST_DEATH_BACKOFF_SECONDS = 1.0


def switch_self_fencing_off() -> None:
    """Have neither the worker nor a supervisor end an agent whose lease may have ended."""
    heartbeat.Heartbeat._end_agents = lambda self: None  # type: ignore[method-assign]
    hearing.Hearing.lease_orders = property(lambda self: [])  # type: ignore[assignment,method-assign]
    hearing.Hearing.renew_lease = lambda self, folder: None  # type: ignore[method-assign]


def switch_lock_off() -> None:
    """Have each claim take a lock of its own, and a moment between its look and its lease.

    Which job it takes is drawn: two that take the same one would stand in each other's way.
    """
    claim, look, numbers = leases.claim, leases._look, itertools.count(os.getpid() << 32)

    def claim_alone(database: Any, *args: Any, **limits: Any) -> bytes | None:
        turn, database.turn = database.turn, next(numbers)
        try:
            return claim(database, *args, **limits)
        finally:
            database.turn = turn

    def look_slowly(*args: Any) -> Any:
        row = look(*args)
        time.sleep(RACE_SECONDS)
        return row

    leases.claim, leases._look = claim_alone, look_slowly
    QueueServer.heads = "select id from task"
    leases.CLAIMABLE = leases.CLAIMABLE.replace("order by", "order by random(),")


SWITCHES: dict[str, Callable[[], None]] = {
    WHOLE: lambda: None,
    NO_SELF_FENCING: switch_self_fencing_off,
    NO_LOCK: switch_lock_off,
}


if __name__ == "__main__":
    what, *options = sys.argv[1:]
    hurry()
    SWITCHES[what]()
    from sow.cli.root import run

    sys.exit(run(["worker", *options]))
