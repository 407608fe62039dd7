"""When the queue's server was last known to have heard a worker, and what follows for its leases.

Owns what the heartbeat finds out and others ask: whether a job may be taken now, and when the
lease of an attempt ends. All is counted from before a beat was sent that was answered, on a clock
that goes on while the machine sleeps. In a queue that nobody else may take jobs over from, a file
first of all, nothing follows from it.
"""

from sow.executors.base import Verdict
from sow.jobs.store import USUAL_SECONDS
from sow.schema.causes import Cause
from worker.supervisor.lease_end import boot_seconds, pack_lease, write_lease_end

BEAT, LATE, END, SUPERVISOR, GUARD = 1 / 6, 5 / 12, 5 / 6, 11 / 12, 14 / 15
"""What part of a lease there is between two beats (20 s); without an answer until no job is taken
any more (50 s), until the worker ends its agents (100 s), until supervisors kill them (110 s), and
where they do not, until their guards do (112 s). An agent has some 13 s for its end
(`tree_ending.GRACES`): a lease is not to be much shorter."""
CUT_OFF = Verdict(Cause.WORKER_STOPPED, "its worker was cut off from the queue's server")
"""Why an agent was ended whose lease was about to end."""


class Hearing:
    """What is known of one worker. Written by the thread of the heartbeat alone."""

    def __init__(self) -> None:
        self.is_shared = False
        """Whether others may take over a lease of this worker whose deadline has passed."""
        self.is_on_record = True
        """Whether the last answer knew the worker; who was struck off goes on record again."""
        self._lease_seconds = USUAL_SECONDS
        self._heard_at = boot_seconds()

    def heard(self, sent_at: float, lease_seconds: float | None) -> None:
        """Note that a beat was answered that was sent at a moment.

        `lease_seconds` is how long a lease is in a shared queue; None in any other.
        """
        self._lease_seconds = lease_seconds or USUAL_SECONDS
        self._heard_at, self.is_shared = sent_at, lease_seconds is not None

    @property
    def silent_seconds(self) -> float:
        """How long ago the server has heard this worker, at the most."""
        return boot_seconds() - self._heard_at

    @property
    def beat_seconds(self) -> float:
        """How long to wait between two beats."""
        return self._lease_seconds * BEAT

    @property
    def seconds_left(self) -> float:
        """How long the agents may still run without an answer; not above zero where no more."""
        return self._lease_seconds * END - self.silent_seconds

    @property
    def allows_another(self) -> bool:
        """Whether a job may be taken now."""
        return not self.is_shared or self.silent_seconds < self._lease_seconds * LATE

    @property
    def lease_orders(self) -> list[str]:
        """Return a supervisor's orders about the lease of the attempt that it is to run."""
        grace = self._lease_seconds * (GUARD - SUPERVISOR)
        return pack_lease(self._supervisors_end, grace) if self.is_shared else []

    def renew_lease(self, folder: str) -> None:
        """Write into an attempt's folder that its lease goes on. Raises OSError."""
        if self.is_shared:
            write_lease_end(folder, self._supervisors_end)

    @property
    def _supervisors_end(self) -> float:
        return self._heard_at + self._lease_seconds * SUPERVISOR

    @property
    def adoption_seconds(self) -> float | None:
        """How long agents run on without a worker at the most; None where that has no end."""
        return self._lease_seconds * SUPERVISOR if self.is_shared else None
