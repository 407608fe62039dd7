"""What the next attempt of a review tells its executor: its own session, and the reviewer's prompt.

Owns where a review's session is kept: on the records of its attempts, so that
the one in the task's state stays its author's. Pure but for the role's
template.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET

from sow.attempts.homes import folder_of_job, home_used, in_home
from sow.attempts.launch import commands_of_role, denied_to_role, task_folder, variables_of
from sow.attempts.plan import Plan, begins, choose_verb, session_of, why_of
from sow.attempts.references import readable_references, unwritable_links
from sow.attempts.role_template import review_template
from sow.executors.base import Executor, Launch, LaunchRequest
from sow.paths import Workspace
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


def launch_review(
    workspace: Workspace,
    job: Job,
    task: Task,
    plan: Plan,
    executor: Executor,
    prompt_file: Path,
    *,
    cwd: Path,
    is_apart: bool,
    environ: Mapping[str, str],
) -> Launch:
    """Return the launch that carries out a plan in `cwd`.

    `is_apart` says that this is a throw-away clone, in which nothing that the
    author committed may act by itself. `environ` is what the call or the worker has.
    """
    folder = task_folder(workspace, task)
    own = folder_of_job(workspace, job)
    home = home_used(own, job.agents_executor, begins=begins(plan))
    request = LaunchRequest(
        session=plan.session,
        prompt=plan.prompt,
        prompt_file=prompt_file,
        task_dir=folder,
        cwd=cwd,
        as_root=os.geteuid() == 0,
        environ=variables_of(job, environ),
        readable=((folder,) if is_apart else ()) + readable_references(workspace, task),
        unwritable=unwritable_links(workspace, task),
        commands=commands_of_role(job.agent, reviews=True),
        denied=denied_to_role(job.agent, reviews=True),
        is_isolated=is_apart,
        writable=(workspace.sow,),
        home=home,
    )
    start = {Verb.SPAWN: executor.spawn, Verb.RESUME: executor.resume}[plan.verb]
    return in_home(start(request), job.agents_executor, home, request.environ)


def plan_review(
    job: Job,
    task: Task,
    history: Sequence[Attempt],
    executor: Executor,
    brief: compose.ReviewBrief,
    *,
    workspace: Workspace | None = None,
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
        template = review_template(job.agent, task, brief.task.location, workspace)
        prompt = compose.review_prompt(template, brief, job.prompt, why=why)
    return Plan(verb, session_of(task, executor, verb), prompt)
