"""What a call asks of features: when it places a job, and when it changes a batch.

A feature's module `admission` has `FEATURE`, a `CallFeature`. It may refuse a job before anything
is placed, and put on the job's record what its worker needs to know.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sow.calls.request import Request
from sow.config.configuration import Configuration
from sow.errors import StateError
from sow.features import parts
from sow.ids import ProjectId
from sow.jobs.database import Database
from sow.schema.amounts import ReachedLimit
from sow.schema.batch_policy import BatchPolicy
from sow.schema.executor import ExecutorConfig
from sow.schema.job import Job

if TYPE_CHECKING:  # large, and few jobs are of a batch
    from sow.jobs.batches import JobInBatch


class LimitIsReached(StateError):
    """Nothing new starts, because a limit is reached that a person can raise."""

    reached: ReachedLimit


class CallFeature:
    """A feature, as calls ask it; here are the answers of one that adds nothing."""

    def on_admit(
        self,
        _database: Database,
        _config: Configuration,
        _request: Request,
        job: Job,
        *,
        now: float,
    ) -> Job:
        """Return a new job as it is put on record. Raises SowError where it may not be placed."""
        del now
        return job

    def on_attach(self, _database: Database, _request: Request, job: Job) -> Job:
        """Return a job that the same call had placed before, with what that asks for by now."""
        return job

    def notes_on(self, _job: Job) -> Iterable[str]:
        """Return what a caller should know of a job that is placed, a sentence each."""
        return ()

    def refuse_batch(self, _policy: BatchPolicy, _executors: Iterable[ExecutorConfig]) -> None:
        """Raise SowError where these executors could not work under a new batch's policy."""

    def policy_asked(self, policy: BatchPolicy, _asked: Mapping[str, Any]) -> BatchPolicy:
        """Return the policy of a batch that goes on, with what a call asks for."""
        return policy

    def on_policy(self, _database: Database, _job: Job, _policy: BatchPolicy) -> None:
        """Change a live job whose batch has another policy; in an open transaction."""

    def on_leaving(self, _database: Database, _job: Job) -> None:
        """Change a live job whose task leaves its batch; in an open transaction."""

    def has_room(
        self,
        _reached: ReachedLimit,
        _database: Database,
        _project_id: ProjectId,
        _config: Configuration,
        *,
        now: float,
    ) -> bool:
        """Whether a limit that stands in a file, and was reached, has something left by now."""
        del now
        return False

    def is_raised(self, _database: Database, _job: "JobInBatch", _policy: BatchPolicy) -> bool:
        """Whether the limit of a batch that has ended a job has another figure by now."""
        return False


def call_features() -> list[CallFeature]:
    """Return what answers for each feature."""
    return [part.FEATURE for part in parts("admission")]


def admitted(
    database: Database, config: Configuration, request: Request, job: Job, *, now: float
) -> Job:
    """Return a new job as features have it put on record. Raises what refuses it."""
    for feature in call_features():
        job = feature.on_admit(database, config, request, job, now=now)
    return job


def attached(database: Database, request: Request, job: Job) -> Job:
    """Return a job that the same call had placed before, as features want it by now."""
    for feature in call_features():
        job = feature.on_attach(database, request, job)
    return job


def notes_on(job: Job) -> tuple[str, ...]:
    """Return what features have to say of a job that is placed."""
    return tuple(note for feature in call_features() for note in feature.notes_on(job))
