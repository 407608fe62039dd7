"""What the next attempt of a review tells its executor: its own session, and the reviewer's prompt.

Owns where a review's session is kept: on the records of its attempts, so that
the one in the task's state stays its author's. Pure but for the role's
template.
"""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from sow.agents.roles import get_agent, load_template
from sow.attempts.plan import Plan, choose_verb, session_of, why_of
from sow.executors.base import Executor
from sow.prompts import compose
from sow.schema.job import Attempt, Job, Verb
from sow.schema.job_terms import ReviewTerms
from sow.schema.task import SessionFacts, Task


def with_own_session(task: Task, job: Job, history: Sequence[Attempt]) -> Task:
    """Return the task as its reviewer sees it: with the session of the review's attempts."""
    session_id = next((found.session_id for found in reversed(history) if found.session_id), None)
    if session_id is None:
        return msgspec.structs.replace(task, session_id=UNSET, session=UNSET)
    in_it = [attempt for attempt in history if attempt.session_id == session_id]
    started = any(
        attempt.tool_uses or attempt.transcript_seen or attempt.finished_turn for attempt in in_it
    )
    dialect = job.terms.dialect if isinstance(job.terms, ReviewTerms) else None
    return as_session(task, job, session_id, started=started, dialect=dialect)


def as_session(
    task: Task, job: Job, session_id: str, *, started: bool, dialect: str | None
) -> Task:
    """Return the task with a session of the review in the place of its author's."""
    facts = SessionFacts(
        executor=job.executor_name, started=started, dialect=UNSET if dialect is None else dialect
    )
    return msgspec.structs.replace(task, session_id=session_id, session=facts)


def plan_review(
    job: Job,
    task: Task,
    history: Sequence[Attempt],
    executor: Executor,
    brief: compose.ReviewBrief,
) -> Plan:
    """Return what the attempt after those in `history` does.

    `task` has the review's own session (`with_own_session`).
    """
    as_spawn = msgspec.structs.replace(job, verb=Verb.SPAWN)
    verb = choose_verb(as_spawn, task, history, executor)
    why = why_of(history)
    resumes = {Verb.SPAWN: False, Verb.RESUME: True}[verb]
    if resumes:
        prompt = compose.review_again_prompt(brief, why, job.prompt)
    else:
        template = load_template(get_agent(job.agent))
        prompt = compose.review_prompt(template, brief, job.prompt, why=why)
    return Plan(verb, session_of(task, executor), prompt)
