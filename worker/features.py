"""What a worker asks of features while it runs the jobs of agents.

A feature's module has `FEATURE`, a `WorkerFeature`. It may limit what the next attempt uses, end
one that has used up its share, and say what follows such an end. `launch` asks it before an
attempt, `watchdog` while its agent goes on, `settle` and `next_step` after it, and `housekeeping`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from sow.errors import SowError
from sow.executors.base import Verdict
from sow.features import FEATURES
from sow.schema.amounts import Amounts, Measure
from sow.schema.causes import Cause
from sow.schema.job import Job
from worker.context import WorkerContext
from worker.running import Exit, Running


class MustWait(Exception):
    """The next attempt of a job cannot begin before others have ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CannotGoOn(Exception):
    """A job can have no further attempt."""

    def __init__(self, error: SowError, cause: Cause, on_record: Mapping[str, Any]) -> None:
        super().__init__(error.message)
        self.error = error
        self.cause = cause
        self.on_record = on_record
        """Fields of its record that say more of its end."""


class WorkerFeature:
    """A feature, as a worker asks it; here are the answers of one that adds nothing."""

    def share_of_next(self, _context: WorkerContext, _job: Job) -> Amounts:
        """Return what the next attempt may use at most. Raises MustWait, CannotGoOn."""
        return Amounts()

    def on_begin(self, _context: WorkerContext, _job: Job, _share: Amounts) -> None:
        """Look once more, in the transaction that begins an attempt with its share.

        Raises MustWait where others have begun meanwhile.
        """

    def on_usage(self, _context: WorkerContext, _running: Running) -> Verdict | None:
        """Look at an attempt that goes on; return why it is to be ended, if it is."""
        return None

    def on_judged(
        self,
        _context: WorkerContext,
        _running: Running,
        _job: Job,
        verdict: Verdict,
        _exit_facts: Exit | None,
    ) -> Verdict:
        """Return why an attempt has ended, in words that a person can act on."""
        return verdict

    def may_go_on(self, _context: WorkerContext, _job: Job, _verdict: Verdict) -> bool:
        """Whether a job may have another share after an attempt that ended so, now or later."""
        return False

    def on_end(self, _job: Job, _verdict: Verdict) -> Mapping[str, Any]:
        """Return what else goes on the record of a job that fails by such an ending."""
        return {}

    def is_outdated(self, _context: WorkerContext, _job: Job, _verdict: Verdict) -> bool:
        """Whether a verdict rests on figures that have changed; asked in an open transaction."""
        return False

    def on_settled(self, _context: WorkerContext, _job: Job) -> None:
        """Hear that what an attempt has used is on record."""

    def on_round(self, _context: WorkerContext) -> None:
        """Let a job go on that had to wait, if it need not any more."""


@cache
def worker_features() -> Sequence[WorkerFeature]:
    """Return what answers for each feature."""
    return [import_module(f"worker.{feature.worker}").FEATURE for feature in FEATURES]


def smallest_share(context: WorkerContext, job: Job) -> Amounts:
    """Return what the next attempt may use at most of each measure.

    Raises MustWait, CannotGoOn.
    """
    least: dict[str, float] = {}
    for feature in worker_features():
        share = feature.share_of_next(context, job)
        for measure in Measure:
            amount = share.of(measure)
            if amount is not None:
                least[measure.value] = min(amount, least.get(measure.value, amount))
    return Amounts(**least)
