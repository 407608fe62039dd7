"""The kinds of jobs: which of a job's parts each has. One row a verb.

Owns what is asked wherever not every job is treated alike. A kind that is added
is a word in `Verb`, a row here, and its own functions that start and settle it;
nothing else may ask for a verb by its name.

A job is an agent's, or it is a step: then each of its attempts runs a program of
ours (`worker.steps`) where an agent's runs the agent's CLI. Queue, lease,
supervisor, attempts, waiting and cancelling are alike; session, prompt, executor,
an output stream that is read and a status for a report are the agents' alone.

Two ways of starting an agent's CLI,
as a new session or as a further turn of one, are the executors' own matter
(`sow.attempts.plan`).
"""

from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

from sow.schema.job import Attempt, Job, JobState, Verb
from sow.schema.task import TaskStatus


class SessionUse(StrEnum):
    """What a job does with its task's session."""

    BEGINS = "begins"
    """It takes one that never started, or has one made for it, and may run without any."""
    CONTINUES = "continues"
    """It goes on in the one on record, by the executor and in the folder that it was made with."""
    OWN = "own"
    """It leaves that alone: it has one of its own, which ends with the job."""


class JobKind(msgspec.Struct, frozen=True, kw_only=True):
    """What the jobs of one verb are made of."""

    verb: Verb
    package: str
    """The name of its packages, which say all else of it."""
    did: str
    """What each of its attempts did, as a job's story tells it."""
    session: SessionUse | None
    """None where it has no agent."""
    marks_task: bool = False
    """Whether its task is `in_progress` while it lives, and is given back a status at its end.
    Whether or not it is: the index `job_live` allows a task one live job of whatever kind."""
    reports_status: bool = False
    """Whether the status that its task is left in is its report."""
    is_leased: bool = True
    """Whether a worker takes it from the queue and holds a lease on it; any other job goes on as
    long as the process of its caller, or what that has started, does."""
    makes_work: bool = False
    """Whether what it does to the files is its task's work; who does it never judges that work."""
    is_interactive: bool = False
    """Whether a person sits before it: nobody else may end it, and what it queues is that
    person's, not part of the job that it was begun from."""
    checks: bool = False
    """Whether its result is a check of what stands there."""
    updates_clone: bool = False
    """Whether it brings the project's branch into a task's clone."""
    merges: bool = False
    """Whether it merges work into the project's branch."""
    span: str = "work"
    """How the report draws its attempts (`SpanKind`)."""
    well_ended: str = "passed"
    """How one without an agent is said to have ended well."""

    @property
    def is_agents(self) -> bool:
        """Whether an agent does it: with an executor, a session and a prompt."""
        return self.session is not None

    @property
    def judges(self) -> bool:
        """Whether its agent judges a task's work, in a session of its own."""
        return self.session is SessionUse.OWN


KINDS: Mapping[Verb, JobKind] = {
    kind.verb: kind
    for kind in (
        JobKind(
            verb=Verb.SPAWN,
            package="work",
            did="started the agent",
            session=SessionUse.BEGINS,
            marks_task=True,
            reports_status=True,
            makes_work=True,
        ),
        JobKind(
            verb=Verb.RESUME,
            package="work",
            did="resumed the session",
            session=SessionUse.CONTINUES,
            marks_task=True,
            reports_status=True,
            makes_work=True,
        ),
        JobKind(
            verb=Verb.OPEN,
            package="open",
            did="opened the session on a terminal",
            session=SessionUse.CONTINUES,
            marks_task=True,
            reports_status=True,
            is_leased=False,
            makes_work=True,
            is_interactive=True,
            span="open",
        ),
        JobKind(
            verb=Verb.REVIEW,
            package="review",
            did="started the reviewer",
            session=SessionUse.OWN,
            span="review",
        ),
        JobKind(
            verb=Verb.CHECK,
            package="check",
            did="began the checks",
            session=None,
            checks=True,
            span="step",
        ),
        JobKind(
            verb=Verb.UPDATE,
            package="update",
            did="began the update",
            session=None,
            updates_clone=True,
            well_ended="up to date",
            span="step",
        ),
        JobKind(
            verb=Verb.MERGE,
            package="merge",
            did="began the merge",
            session=None,
            merges=True,
            well_ended="merged",
            span="step",
        ),
    )
}


def kind_of(asked: Job | Attempt) -> JobKind:
    """Return the kind of a job, or of one attempt: what that was to do."""
    return KINDS[asked.verb]


def was_cut_off(job: Job) -> bool:
    """Whether a cancel has cut off the work of a task's agent, which paused the task.

    A question that nobody has answered still stands after a cancel of anything else: of a job that
    never ran, a check, or a review.
    """
    interrupted = job.started_at is not None or job.prior_status is not TaskStatus.PAUSED
    return kind_of(job).marks_task and job.state is JobState.CANCELLED and interrupted


def verbs_of(which: Callable[[JobKind], bool]) -> tuple[Verb, ...]:
    """Return the verbs of some kinds, for a statement that asks the records for their jobs."""
    return tuple(kind.verb for kind in KINDS.values() if which(kind))
