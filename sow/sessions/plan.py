"""What the next attempt of a job tells its executor: verb, session and prompt.

Owns the session law: a session is spawned at most once, everything after is a
resume, and a retry says why it is run again. Pure but for the role's template.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import UNSET

from sow.agents.roles import get_agent, load_template
from sow.executors.base import Executor, Session, SessionSource
from sow.prompts import compose
from sow.schema.job import Attempt, Cause, Job, Verb
from sow.schema.task import Task

UNKNOWN_TO_THE_AGENT = frozenset({Cause.SESSION_IN_USE, Cause.SESSION_UNKNOWN})
"""Endings of attempts that the CLI refused before an agent had read a word."""


@dataclass(frozen=True)
class Plan:
    """One attempt to be."""

    verb: Verb
    session: Session | None
    prompt: str


def plan_attempt(
    job: Job, task: Task, history: Sequence[Attempt], executor: Executor, location: str
) -> Plan:
    """Return what the attempt after those in `history` does. `location` is the task's folder."""
    previous = history[-1] if history else None
    verb = choose_verb(job, task, previous, executor)
    brief = compose.TaskBrief(
        id=task.id,  # type: ignore[arg-type] # validated by the schema
        name=task.name,
        location=location,
        iteration=task.iteration,
        agent=job.agent,
    )
    session = session_of(task, executor)
    return Plan(verb, session, _prompt(verb, job, brief, history))


def session_of(task: Task, executor: Executor) -> Session | None:
    """Return the session on record for the executor, if it keeps one."""
    if task.session_id is UNSET or executor.session_source is SessionSource.NONE:
        return None
    dialect = task.session.dialect if task.session is not UNSET else UNSET
    return Session(task.session_id, None if dialect is UNSET else dialect)


def choose_verb(job: Job, task: Task, previous: Attempt | None, executor: Executor) -> Verb:
    """Apply the session law: what the CLI has said of the session decides, then the record."""
    if not executor.supports_resumption or task.session_id is UNSET:
        return Verb.SPAWN
    if previous is None:
        return job.verb
    if previous.cause is Cause.SESSION_IN_USE:
        return Verb.RESUME
    if previous.cause is Cause.SESSION_UNKNOWN:
        return Verb.SPAWN
    return Verb.RESUME if task.session_started else Verb.SPAWN


def _prompt(verb: Verb, job: Job, brief: compose.TaskBrief, history: Sequence[Attempt]) -> str:
    template = load_template(get_agent(job.agent))
    if not history and verb is job.verb:
        if verb is Verb.SPAWN:
            return compose.spawn_prompt(template, brief, job.prompt)
        return compose.resume_prompt(brief, job.prompt)
    why = _why(history)
    if verb is Verb.RESUME:
        if not why:
            return compose.resume_prompt(brief, job.prompt)
        return compose.retry_prompt(brief, why, job.prompt)
    return compose.respawn_prompt(template, brief, job.prompt, why=why)


def _why(history: Sequence[Attempt]) -> str:
    """Say how the last attempt ended that the agent can have known of; nothing without one."""
    known = [attempt for attempt in history if attempt.cause not in UNKNOWN_TO_THE_AGENT]
    if not known:
        return ""
    return compose.why_again(known[-1].cause or Cause.WORKER_DIED, known[-1].reason)
