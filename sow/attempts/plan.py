"""What the next attempt of a job tells its executor: verb, session and prompt.

Owns the session law: a session is spawned at most once, everything after is a
resume, and a retry says why it is run again. Pure but for the role's template, which the
workspace's team may have replaced.
"""

from collections.abc import Callable, Sequence

from msgspec import UNSET, Struct

from sow.attempts.fallback import is_handed_over
from sow.attempts.references import named_references
from sow.attempts.role_template import review_template, role_template
from sow.executors.base import Executor
from sow.executors.session import Session, SessionSource
from sow.paths import Workspace
from sow.prompts import compose
from sow.schema.cause_table import SESSION_TAKEN, SESSION_UNKNOWN, WITHOUT_AGENT
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job, Verb
from sow.schema.task import Task


class Plan(Struct, frozen=True):
    """One attempt to be."""

    verb: Verb
    session: Session | None
    prompt: str


def begins(plan: Plan) -> bool:
    """Whether the session begins with it."""
    return plan.verb is Verb.SPAWN


def plan_attempt(
    job: Job,
    task: Task,
    history: Sequence[Attempt],
    executor: Executor,
    location: str,
    lost: Sequence[Attempt] = (),
    *,
    workspace: Workspace | None = None,
    clone: compose.CloneBrief | None = None,
    handover: Callable[[], compose.HandOver] | None = None,
    is_untold: bool = False,
) -> Plan:
    """Return what the attempt after those in `history` does. `location` is the task's folder.

    `lost` are the attempts, of any job, whose session was lost and replaced by the present one.
    `handover` says what a session that begins takes over from another executor's. `is_untold`:
    another executor may have worked before those in `history`.
    """
    verb = choose_verb(job, task, history, executor)
    brief = compose.TaskBrief(
        id=task.id,  # type: ignore[arg-type] # validated by the schema
        name=task.name,
        location=location,
        iteration=task.iteration,
        agent=job.agent,
        references=named_references(workspace, task),
        clone=clone,
        judges_whole=task.judges_whole,
    )
    session = session_of(task, executor, verb)

    def template() -> str:
        begins = review_template if task.judges_whole else role_template
        return begins(job.agent, task, location, workspace)

    if handover is not None and verb is Verb.SPAWN:
        why = why_of(history)
        prompt = compose.handover_prompt(template(), brief, handover(), job.prompt, why=why)
    else:
        prompt = _prompt(verb, job, brief, history, lost, template, is_first=not is_untold)
    return Plan(verb, session, prompt)


def session_of(task: Task, executor: Executor, verb: Verb) -> Session | None:
    """Return the session on record that an attempt is asked for, if its executor keeps one.

    Where its CLI makes the id itself, one that begins is asked for none: what is on record is of a
    run that came to nothing, and this one tells another.
    """
    source = executor.session_source
    if task.session_id is UNSET or source is SessionSource.NONE:
        return None
    if verb is Verb.SPAWN and source is SessionSource.LEARNED:
        return None
    dialect = task.session.dialect if task.session is not UNSET else UNSET
    return Session(task.session_id, None if dialect is UNSET else dialect)


def choose_verb(job: Job, task: Task, history: Sequence[Attempt], executor: Executor) -> Verb:
    """Apply the session law: the newest word of the CLI on this very session, then the record."""
    if not executor.supports_resumption or task.session_id is UNSET:
        return Verb.SPAWN
    if not history and not is_handed_over(job):
        return job.verb
    exists = exists_by(history, task.session_id, started=task.session_started)
    return Verb.RESUME if exists else Verb.SPAWN


def exists_by(history: Sequence[Attempt], session_id: str, *, started: bool) -> bool:
    """Whether the CLI has the session, by the newest attempt that tells; else by the record.

    Any attempt may have been the last to tell: one that crashed without a word
    says nothing against the refusal that came before it. `started` is the
    record's word, which only an attempt that ran can have made true.
    """
    for attempt in reversed(history):
        if attempt.session_id != session_id:
            continue
        if attempt.cause in SESSION_UNKNOWN:
            return False
        if attempt.cause in SESSION_TAKEN or attempt.tool_uses or started:
            return True
    return started


def _prompt(
    verb: Verb,
    job: Job,
    brief: compose.TaskBrief,
    history: Sequence[Attempt],
    lost: Sequence[Attempt],
    template: Callable[[], str],
    *,
    is_first: bool,
) -> str:
    if is_first and not history and verb is job.verb:
        if verb is Verb.SPAWN:
            return compose.spawn_prompt(template(), brief, job.prompt)
        return compose.resume_prompt(brief, job.prompt)
    why = why_of(history)
    if verb is Verb.RESUME:
        if not why:
            return compose.resume_prompt(brief, job.prompt)
        return compose.retry_prompt(brief, why, job.prompt)
    cut_off = compose.cut_off(sum(attempt.tool_uses or 0 for attempt in lost)) if lost else ""
    return compose.respawn_prompt(template(), brief, job.prompt, why=why, cut_off=cut_off)


def why_of(history: Sequence[Attempt]) -> str:
    """Say how the last attempt ended that the agent can have known of; nothing without one."""
    known = [attempt for attempt in history if attempt.cause not in WITHOUT_AGENT]
    if not known:
        return ""
    return compose.why_again(known[-1].cause or Cause.WORKER_DIED, known[-1].reason)
