"""`--verbose` and `--dry-run`: how a call would be resolved, and what it would start.

Reads only; places no job, allocates no session, writes nothing.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from sow import env_vars
from sow.attempts.fallback import Way, moved, obstacle_words
from sow.attempts.launch import (
    environment_of,
    folder_of,
    inherited_by,
    launch_of,
    location_for,
    task_folder,
)
from sow.attempts.plan import plan_attempt
from sow.attempts.prompt_facts import brief_of_clone
from sow.attempts.review import as_session, launch_review, plan_review
from sow.attempts.review_brief import brief_of
from sow.calls.caller import Caller
from sow.calls.idempotency import OutcomeIsOwed
from sow.calls.kinds.review import AdmittedReview, find_or_admit_review
from sow.calls.kinds.work import find_or_admit, keeps_session
from sow.calls.request import Placed, Request, Resolved
from sow.calls.resolution import job_for, resolve
from sow.cli import late_click as click
from sow.cli.output import echo_json
from sow.clones.main_checkout import clone_place, main_checkout
from sow.clones.newer_commits import refuse_newer
from sow.clones.throw_away_clone import PREFIX
from sow.config.configuration import Binding, Configuration
from sow.config.effective import executor_settings
from sow.config.origin import SESSION, OriginKind, Setting, Value
from sow.executors.base import Executor, Launch, Verdict
from sow.executors.registry import is_configured, make_executor
from sow.executors.session import Session, SessionSource
from sow.ids import AttemptId
from sow.jobs.database import Database, open_existing_queue
from sow.prompts.compose import HandOver
from sow.schema.causes import Cause
from sow.schema.job import Job
from sow.schema.output.jobs import Preview
from sow.schema.task import SessionFacts, Task
from sow.state import transitions

NEW_SESSION = "<new session>"
NEWER = (
    "Note: the clone of task {task} has newer commits than its branch in the repository. The review"
    " will be of these; what is shown here is of the older ones."
)


def resolution_trace(configuration: Configuration, binding: Binding) -> list[str]:
    """Return the lines that tell which file, executor and settings `binding` came to, and why."""
    found = "exists" if configuration.exists else "not found, using defaults"
    settings = ", ".join(_shown(configuration, binding.executor.name))
    names = configuration.bound(binding.role)
    return [
        "Loading agent configuration...",
        f"Config file: {configuration.path} ({found})",
        f"Agent: {binding.role}",
        f"Executor: {binding.executor.name} ({binding.origin.label})",
        *([f"Executors of the role: {', '.join(names)}"] if len(names) > 1 else []),
        *([f"Settings: {settings}"] if settings else []),
    ]


def _shown(configuration: Configuration, name: str) -> Iterator[str]:
    """Yield what was chosen for the executor, and `yolo_mode` even where nobody chose it."""
    for setting in executor_settings(configuration, name):
        key = setting.key[3:]
        chosen = setting.origin.kind is not OriginKind.DEFAULT
        if key[-1] == "yolo_mode" or (chosen and key != ("type",)):
            yield _shown_setting(setting)


def _shown_setting(setting: Setting) -> str:
    name = ".".join(part for part in setting.key[3:] if part != "settings")
    return f"{name}={_text(setting.value)} ({setting.origin.label})"


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"[{', '.join(value)}]" if isinstance(value, list) else str(value)


def show_resolution(caller: Caller, request: Request) -> None:
    """Print on stderr how agent, executor and settings were found, and where each came from."""
    config = caller.load_configuration()
    for line in resolution_trace(config, _binding(config, resolve(caller, config, request))):
        click.echo(line, err=True)


def _binding(config: Configuration, resolved: Resolved) -> Binding:
    """Return the role's binding; where a session's own executor runs instead, that one."""
    executor = resolved.executor.config
    is_bound = config.bindings[resolved.agent] == executor.name
    if is_bound or not is_configured(config, executor):  # then another one takes the session over
        return config.binding(resolved.agent)
    return Binding(role=resolved.agent, executor=executor, origin=SESSION)


def show_dry_run(caller: Caller, request: Request, *, as_json: bool, detach: bool = False) -> None:
    """Print argv, folder, names of variables and prompt of what the call would start.

    Raises what the call itself would raise.
    """
    config = _configuration(caller)
    with _queue(caller) as database:
        found = find_or_admit(caller, database, config, request)
    for note in found.notes:
        click.echo(f"Note: {note}", err=True)
    if isinstance(found, Placed):
        _show_found(caller, found, as_json=as_json, detach=detach)
        return
    preview = _of_work(caller, config, job_for(caller, config, found), found)
    would = f"{preview.verb} {preview.agent} for task {preview.task}"
    _show(preview, would, as_json=as_json)


def show_review_dry_run(
    caller: Caller, request: Request, *, as_json: bool, detach: bool = False
) -> None:
    """Print the same of a review. Raises what the call itself would raise."""
    config = _configuration(caller)
    with _queue(caller) as database:
        found = find_or_admit_review(caller, database, config, request)
    if isinstance(found, Placed):
        _show_found(caller, found, as_json=as_json, detach=detach)
        return
    _show_newer(caller, config, found.task)
    would = f"review task {found.task.id} as {found.job.agent}"
    _show(_of_review(caller, config, found), would, as_json=as_json)


def _show_newer(caller: Caller, config: Configuration, task: Task) -> None:
    """Say that a review will be of newer commits than what is shown. Raises what it would raise."""
    if task.clone is UNSET:
        return
    if refuse_newer(main_checkout(caller.workspace, config.clones), task):
        click.echo(NEWER.format(task=task.id), err=True)


def _configuration(caller: Caller) -> Configuration:
    config = caller.load_configuration()
    for warning in config.warnings:
        click.echo(f"Warning: {warning}", err=True)
    return config


def _queue(caller: Caller) -> AbstractContextManager[Database | None]:
    database = open_existing_queue(caller.workspace)
    return closing(database) if database is not None else nullcontext()


def _of_work(caller: Caller, config: Configuration, job: Job, resolved: Resolved) -> Preview:
    task = _as_if_marked(caller, resolved)
    handover = None
    if not is_configured(config, job.agents_executor):
        job, task, handover = _handed_over(job, task)
    executor = make_executor(job.agents_executor)
    folder = task_folder(caller.workspace, task)
    place = clone_place(caller.workspace, config, task) if resolved.clone else None
    clone = place.root if place is not None else None
    cwd = folder_of(caller.workspace, job, clone)
    plan = plan_attempt(
        job,
        task,
        (),
        executor,
        location_for(folder, cwd),
        workspace=caller.workspace,
        clone=brief_of_clone(place, config.clones) if place is not None else None,
        handover=handover,
    )
    launch = launch_of(
        caller.workspace,
        job,
        task,
        plan,
        executor,
        _prompt_file(caller),
        clone=clone,
        environ=inherited_by(job, caller.environ),
    )
    more = [env_vars.REVIEW] if task.judges_whole else []
    return _preview(caller, job, task, launch, more)


def _of_review(caller: Caller, config: Configuration, admitted: AdmittedReview) -> Preview:
    job, task = admitted
    executor = make_executor(job.agents_executor)
    brief = brief_of(caller.workspace, job, task, executor)
    begun = _with_new_session(admitted, executor)
    plan = plan_review(job, begun, (), executor, brief, workspace=caller.workspace)
    is_apart = brief.commit is not None
    cwd = caller.workspace.root / job.cwd
    if is_apart:
        place = main_checkout(caller.workspace, config.clones).place(task)
        cwd = place.path.with_name(f"{PREFIX}<job>") / place.inside
    launch = launch_review(
        caller.workspace,
        job,
        task,
        plan,
        executor,
        _prompt_file(caller),
        cwd=cwd,
        is_apart=is_apart,
        environ=caller.environ,
    )
    return _preview(caller, job, task, launch, [env_vars.REVIEW])


def _prompt_file(caller: Caller) -> Path:
    return caller.workspace.jobs / "<job>" / "1" / "prompt.md"


def _preview(caller: Caller, job: Job, task: Task, launch: Launch, more: Sequence[str]) -> Preview:
    """Return what would be started; `more` are variables that the task alone decides."""
    return Preview(
        task=task.id,
        verb=job.verb,
        agent=job.agent,
        executor=job.agents_executor.name,
        job=None,
        argv=launch.argv,
        cwd=str(launch.cwd),
        env_names=tuple(sorted({*_variables_of(caller, job, launch), *more})),
        prompt=launch.stdin,
    )


def _variables_of(caller: Caller, job: Job, launch: Launch) -> set[str]:
    """Return the names of the agent's variables.

    No value of the executor's `env` is read, and no secret: no command is run for one.
    """
    secrets = job.agents_executor.secret_names
    names = {*job.agents_executor.env_names, *secrets, *([env_vars.SECRETS] if secrets else [])}
    without = msgspec.structs.replace(job.agents_executor, env_names=())
    job = msgspec.structs.replace(job, executor=without)
    environ = environment_of(caller.workspace, job, AttemptId("<attempt>"), launch, caller.environ)
    return {*environ, *names}


def _as_if_marked(caller: Caller, resolved: Resolved) -> Task:
    """Return the task as the call would leave it, with a session that is not made yet."""
    task, executor = resolved.task, resolved.executor
    if resolved.request.continues_session:
        changes: Mapping[str, Any] = transitions.begin_resume(task, caller.now())
        return msgspec.structs.replace(task, **changes)
    if keeps_session(resolved, task):
        return task
    return _as_if_begun(task, executor, resolved.cwd)


def _handed_over(job: Job, task: Task) -> tuple[Job, Task, Callable[[], HandOver]]:
    """Return a job and its task as a worker leaves them when the next executor takes over.

    Also returns what gives its first prompt the reason, without log, change and last words.
    """
    changes = moved(job, Way.HAND_OVER, Verdict(Cause.CONFIGURATION, ""), attempt=0)
    job = msgspec.structs.replace(job, executor=changes["executor"], terms=changes["terms"])
    begun = _as_if_begun(task, make_executor(job.agents_executor), job.cwd)
    before = obstacle_words(job.fallback.left[-1])
    return job, begun, lambda: HandOver(before=before)


def _as_if_begun(task: Task, executor: Executor, cwd: str) -> Task:
    """Return a task with a session of an executor that is not made yet."""
    if executor.session_source in (SessionSource.NONE, SessionSource.LEARNED):
        return msgspec.structs.replace(task, session_id=UNSET, session=UNSET)
    session = Session(NEW_SESSION)
    facts = SessionFacts(executor=executor.name, cwd=cwd)
    return msgspec.structs.replace(task, session_id=session.id, session=facts)


def _with_new_session(admitted: AdmittedReview, executor: Executor) -> Task:
    """Return the task with the session of a review that has not begun, which is not made yet."""
    job, task = admitted
    if executor.session_source in (SessionSource.NONE, SessionSource.LEARNED):
        return msgspec.structs.replace(task, session_id=UNSET, session=UNSET)
    return as_session(task, job, NEW_SESSION, started=False, dialect=None)


def _show_found(caller: Caller, found: Placed, *, as_json: bool, detach: bool) -> None:
    """Say that the call would start nothing, since the same call has placed a job before."""
    job = found.job
    if found.owed and detach:
        raise OutcomeIsOwed(job, found.anew_with, now=caller.now())
    if as_json:
        nothing = dict.fromkeys(("argv", "cwd", "env_names", "prompt"))
        known = {"verb": job.verb.value, "agent": job.agent, "executor": job.agents_executor.name}
        echo_json({"task": job.task_id, **known, "job": job.id, **nothing})
    elif found.owed:
        anew = f"; `{found.anew_with}` would run it again" if found.anew_with else ""
        click.echo(f"Would print the outcome of job {job.id}, which the same command queued{anew}")
    else:
        click.echo(f"Would wait for job {job.id}, which the same command queued")


def _show(preview: Preview, would: str, *, as_json: bool) -> None:
    """Print what would be started; `would` says in words what that does."""
    if as_json:
        echo_json(preview)
        return
    click.echo(f"Would {would}")
    click.echo(f"Executor: {preview.executor}")
    click.echo(f"Command: {shlex.join(preview.argv or ())}")
    click.echo(f"Folder: {preview.cwd}")
    click.echo(f"Variables: {' '.join(preview.env_names or ())}")
    click.echo(f"Prompt:\n\n{preview.prompt}")
