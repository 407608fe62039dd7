"""`sow agent review --dry-run`: what a review would start.

Reads only; places no job, allocates no session, makes no clone.
"""

from collections.abc import Mapping
from contextlib import closing, nullcontext
from typing import Any

import msgspec
from msgspec import UNSET

from sow import env_vars
from sow.attempts.review import as_session, launch_review, plan_review
from sow.attempts.review_brief import brief_of
from sow.calls.caller import Caller
from sow.calls.idempotency import OutcomeIsOwed
from sow.calls.kinds.review import AdmittedReview, find_or_admit_review
from sow.calls.request import Placed, Request
from sow.cli.preview import NEW_SESSION, show_found, show_preview, variables_of
from sow.clones.main_checkout import main_checkout
from sow.clones.throw_away_clone import PREFIX
from sow.config.configuration import Configuration
from sow.executors.base import Executor, SessionSource
from sow.executors.registry import make_executor
from sow.jobs.database import open_existing_queue
from sow.schema.task import Task


def show_review_dry_run(
    caller: Caller, request: Request, *, as_json: bool, detach: bool = False
) -> None:
    """Print argv, folder, names of variables and prompt of what the call would start.

    Raises what the call itself would raise.
    """
    config = caller.load_configuration()
    database = open_existing_queue(caller.workspace)
    with closing(database) if database is not None else nullcontext():
        found = find_or_admit_review(caller, database, config, request)
    if isinstance(found, AdmittedReview):
        would = f"review task {found.task.id} as {found.job.agent}"
        show_preview(_preview(caller, config, found), would, as_json=as_json)
        return
    _refuse_owed(caller, found, detach=detach)
    show_found(found, as_json=as_json)


def _refuse_owed(caller: Caller, found: Placed, *, detach: bool) -> None:
    if found.owed and detach:
        raise OutcomeIsOwed(found.job, found.anew_with, now=caller.now())


def _preview(caller: Caller, config: Configuration, admitted: AdmittedReview) -> Mapping[str, Any]:
    job, task = admitted
    executor = make_executor(job.agents_executor)
    brief = brief_of(caller.workspace, job, task, executor)
    plan = plan_review(
        job, _with_new_session(admitted, executor), (), executor, brief, workspace=caller.workspace
    )
    is_apart = brief.commit is not None
    cwd = caller.workspace.root / job.cwd
    if is_apart:
        place = main_checkout(caller.workspace, config.clones).place(task)
        cwd = place.path.with_name(f"{PREFIX}<job>") / place.inside
    prompt_file = caller.workspace.jobs / "<job>" / "1" / "prompt.md"
    launch = launch_review(
        caller.workspace,
        job,
        task,
        plan,
        executor,
        prompt_file,
        cwd=cwd,
        is_apart=is_apart,
        environ=caller.environ,
    )
    return {
        "task": task.id,
        "verb": job.verb.value,
        "agent": job.agent,
        "executor": job.executor_name,
        "job": None,
        "argv": list(launch.argv),
        "cwd": str(launch.cwd),
        "env_names": sorted({*variables_of(caller, job, launch), env_vars.REVIEW}),
        "prompt": launch.stdin,
    }


def _with_new_session(admitted: AdmittedReview, executor: Executor) -> Task:
    """Return the task with the session of a review that has not begun, which is not made yet."""
    job, task = admitted
    if executor.session_source in (SessionSource.NONE, SessionSource.LEARNED):
        return msgspec.structs.replace(task, session_id=UNSET, session=UNSET)
    return as_session(task, job, NEW_SESSION, started=False, dialect=None)
