"""The worker of a storm: the true one, which dies by its own SIGKILL at a point drawn for it.

    python storm_worker.py FATE WORKER_OPTION...

FATE is JSON (`Fate`). The product has no hook for this: functions of the worker
are wrapped here, in its process, and what kills it is a real SIGKILL at an exact
moment. It says so in a log first, a line a death. Instead of dying it can stop
itself (SIGSTOP) where it holds no lock; and, to show that a storm notices it,
work without recovery or without fencing.
"""

import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from types import ModuleType
from typing import Any

from sow.attempts import homes, plan, retry
from sow.executors.base import Executor
from sow.jobs import leases, notifications
from sow.jobs.database import Database
from sow.schema.job import Attempt, Cause, Job, Lease, Verb
from sow.schema.task import Task
from worker import housekeeping, launch, next_executor, notifier, recovery, settle
from worker.kinds.work import end, kind

POINTS: dict[str, tuple[ModuleType, str]] = {
    "start": (launch, "start"),
    "write_files": (launch, "_write_files"),
    "record_attempt": (launch, "_record_attempt"),
    "record_ending": (settle, "_record_ending"),
    "change_task": (end, "change_under_lease"),
    "log_failure": (end, "log_failure"),
    "settle": (leases, "settle"),
    "requeue": (leases, "requeue"),
    "put_session_back": (launch, "put_session_back"),
    "move_on": (launch, "move_on"),
    "note_leaving": (next_executor, "_note_leaving"),
    "requeue_moved": (leases, "requeue"),
    "release": (leases, "release"),
    "take_over": (leases, "take_over"),
    "adopt": (recovery, "adopt"),
    "claim_event": (notifications, "claim_next"),
    "run_notice": (notifier, "deliver"),
    "finish_notice": (notifications, "finish"),
    "prepare_home": (kind, "prepare_home"),
    "fill_home": (homes, "_fill"),
    "link_login": (homes, "_link_login"),
    "warm_home": (kind, "warm_home"),
    "return_login": (settle, "return_login"),
    "bring_back": (homes, "_bring_back"),
}
"""Where a worker can die: just before and just after each of these."""
STOPPED = "stopped"
SETTLING = (
    *("record_ending", "change_task", "log_failure", "settle", "requeue"),
    *("return_login", "bring_back"),
)


@dataclass(frozen=True)
class Fate:
    """What becomes of one worker."""

    log: str
    """The file that tells of it."""
    points: Mapping[str, str] = field(default_factory=dict)
    """Where it can die, as `before settle`, and the window that this is; `stopped`: it stops."""
    passage: int = 1
    """How often it passes such points before it can die."""
    odds: float = 1.0
    """How likely it dies at each of them from then on."""
    seed: int = 0
    hurried: bool = False
    """Whether it waits only moments before it runs a crashed agent again."""
    recovery: bool = True
    fencing: bool = True
    session_law: bool = True


class Reaper:
    """Waits for its worker at all of its points."""

    def __init__(self, fate: Fate) -> None:
        self.fate = fate
        self.chance = random.Random(fate.seed)
        self.passages = 0
        self.has_stopped = False
        for name in {point.split()[1] for point in fate.points}:
            module, attribute = POINTS[name]
            setattr(module, attribute, self.guarded(name, getattr(module, attribute)))

    def guarded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def guarded(*args: Any, **named: Any) -> Any:
            self.pass_by(f"before {name}", args)
            result = function(*args, **named)
            self.pass_by(f"after {name}", args)
            return result

        return guarded

    def pass_by(self, point: str, args: tuple[Any, ...]) -> None:
        """Count a passage of a point; it may be the last."""
        settles = threading.current_thread().name == "monitor"
        if point not in self.fate.points or (point.split()[1] in SETTLING) != settles:
            return  # no point of ours, or the same step of another errand
        self.passages += 1
        if self.passages < self.fate.passage or self.chance.random() >= self.fate.odds:
            return
        if self.fate.points[point] == STOPPED:
            if not self.has_stopped:
                self.has_stopped = True
                stop(self.fate, point, args)
        else:
            tell(self.fate, point)
            os.kill(os.getpid(), signal.SIGKILL)


def stop(fate: Fate, point: str, args: tuple[Any, ...]) -> None:
    """Stop this process where none of its threads is inside a transaction."""
    (lease,) = (each for each in args if isinstance(each, Lease))
    with database_of(args).lock:
        tell(fate, point, job=lease.job_id, worker=lease.worker_id)
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # it stops here, at once


def tell(fate: Fate, point: str, **more: Any) -> None:
    """Add a line to the log, whole."""
    facts = {"window": fate.points[point], "point": point, "pid": os.getpid(), **more}
    line = os.open(fate.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(line, f"{json.dumps(facts)}\n".encode())
    os.close(line)


def database_of(args: tuple[Any, ...]) -> Database:
    """Return the worker's database, from the arguments of a step."""
    database = args[0] if isinstance(args[0], Database) else args[0].database
    assert isinstance(database, Database)
    return database


def switch_fencing_off() -> None:
    """Have every write about a running job succeed, whoever holds its lease."""

    @contextmanager
    def under(database: Database, lease: Lease) -> Iterator[None]:
        with database.transaction():
            yield

    leases.under = under


def switch_session_law_off() -> None:
    """Choose an attempt's verb by the last attempt alone, whatever the CLI said before it."""

    def choose_verb(job: Job, task: Task, history: Sequence[Attempt], executor: Executor) -> Verb:
        if not history:
            return job.verb
        if history[-1].cause is Cause.SESSION_IN_USE:
            return Verb.RESUME
        return Verb.RESUME if task.session_started else Verb.SPAWN

    plan.choose_verb = choose_verb


def hurry() -> None:
    """Wait moments only before a crashed agent is run again: storms crash many a time."""
    retry.FIRST_BACKOFF_SECONDS, retry.LONGEST_BACKOFF_SECONDS = 0.2, 1.0
    retry.LONGEST_DEATH_BACKOFF_SECONDS = 1.0


def run(fate: Fate, options: list[str]) -> int:
    """Be the worker that meets this fate."""
    if not fate.fencing:
        switch_fencing_off()
    if not fate.recovery:
        housekeeping.recover = lambda context, monitor: None
    if not fate.session_law:
        switch_session_law_off()
    if fate.hurried:
        hurry()
    Reaper(fate)
    from sow.cli.root import run as sow

    return sow(["worker", *options])


if __name__ == "__main__":
    sys.exit(run(Fate(**json.loads(sys.argv[1])), sys.argv[2:]))
