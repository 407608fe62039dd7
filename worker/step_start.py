"""What the next attempt of a job without an agent starts: a program of ours, and its orders.

Owns the orders of each such program: what it is to do is found out here, once,
so that what was looked at (that its command lines are accepted, say) is what it
does. The order of a start is `launch`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from sow import own_variables
from sow.attempts.launch import path_with_sow
from sow.clones.copying import files_to_copy
from sow.clones.main_checkout import known_settings, main_checkout
from sow.clones.mark import Stage, own_mark
from sow.config.checks import checks_of, chosen, read_repository
from sow.config.clones import clone_settings
from sow.config.merge_check import merge_commands, setup_commands
from sow.config.source import Source
from sow.environment import agent_environment, own_environment, own_process
from sow.errors import StateError
from sow.executors.resuming import can_resume
from sow.ids import AttemptId, TaskId
from sow.paths import AttemptPaths
from sow.processes import facts
from sow.schema.config import RepositoryConfigFile
from sow.schema.job import Attempt, Job, Lease
from sow.schema.job_terms import CheckTerms, MergeTerms
from sow.schema.kinds import kind_of
from sow.schema.task import Task
from sow.state.tasks import read_task
from sow.trust.accepted import refuse_untrusted
from sow.trust.needed import needed_keys
from worker.context import WorkerContext
from worker.prepared import Prepared
from worker.steps.judged import ClonePlace
from worker.steps.program_input import BaseOrders, CheckOrders, MergeOrders, UpdateOrders


class Place(NamedTuple):
    """Where a step works."""

    folder: Path
    clone: ClonePlace | None
    """The task's clone that it works in; None in the user's own checkout."""


class CloneIsGone(StateError):
    """The clone of a task is not where it was made, or was never finished."""

    def __init__(self, task: Task, path: Path) -> None:
        super().__init__(
            f"there is no whole clone of task {task.id} at {path}",
            hint="It is made again, from its branch, when an agent of the task is run.",
        )


Orders = Callable[[WorkerContext, Job, Place, AttemptPaths], msgspec.Struct]


def prepare_step(
    context: WorkerContext,
    job: Job,
    _lease: Lease,
    _history: Sequence[Attempt],
    paths: AttemptPaths,
) -> Prepared:
    """Return what the next attempt of a job without an agent starts.

    Raises NotTrusted where a person has to say a word first, SowError where it
    cannot be started now, or ever.
    """
    step = kind_of(job).step
    assert step is not None  # noqa: S101 - agents' jobs are `agent_start`'s
    task = read_task(context.workspace, TaskId(job.task_id)) if job.task_id else None
    in_clone = None if step in IN_MAIN_CHECKOUT else task
    place = _place_of(context, job, in_clone)
    orders = ORDERS[step](context, job, place, paths)

    def environment(attempt_id: AttemptId) -> Mapping[str, str]:
        return _environment(context, job, attempt_id)

    return Prepared(
        verb=job.verb,
        argv=own_process("worker.steps", step),
        cwd=place.folder,
        stdin=msgspec.json.encode(orders).decode(),
        environment=environment,
        task=task,
        does=step,
    )


def _place_of(context: WorkerContext, job: Job, task: Task | None) -> Place:
    """Return where a step works: in its task's clone, else in the user's checkout.

    Raises CloneIsGone, NoRepository.
    """
    root = context.workspace.root
    if task is None or task.clone is UNSET:
        return Place(root / job.cwd, None)
    main = main_checkout(context.workspace, known_settings(context.workspace))
    place = main.place(task)
    mark = own_mark(place)
    if mark is None or mark.stage != Stage.WHOLE or not place.root.is_dir():
        raise CloneIsGone(task, place.path)
    noted = main.noted(task)
    clone = ClonePlace(
        workspace=str(root),
        path=str(place.path),
        branch=place.branch,
        base=place.base or task.clone.base,
        inside=place.inside,
        copied=tuple(filter(_is_text, noted.made_by_sow if noted is not None else ())),
    )
    return Place(place.root / job.cwd, clone)


def _environment(context: WorkerContext, job: Job, attempt_id: AttemptId) -> dict[str, str]:
    """Return the environment of a program of ours; what it runs gets the user's own from it.

    What it runs is the repository's, which agents may edit: to `sow` it is an
    agent of a role that has no rights (`own_variables.STEP_ROLE`).
    """
    environ = agent_environment(context.environ)
    path = path_with_sow(job.path_variable)
    ours = {
        own_variables.ROOT: str(context.workspace.root),
        **({own_variables.TASK_ID: job.task_id} if job.task_id else {}),
        own_variables.JOB_ID: str(job.id),
        own_variables.ATTEMPT_ID: attempt_id,
        own_variables.AGENT: own_variables.STEP_ROLE,
    }
    return {**own_environment({**environ, "PATH": path}), **ours}


def _check(context: WorkerContext, job: Job, place: Place, paths: AttemptPaths) -> CheckOrders:
    """Return which command lines to run; they are those that were looked at here."""
    path = context.workspace.repository_config
    source = read_repository(path)
    names = job.terms.names if isinstance(job.terms, CheckTerms) else ()
    checks = checks_of(source)
    meant = chosen(checks, names, path)
    _refuse_untrusted(context, job, source)
    packages = facts.packages()
    commands = tuple(checks.commands[name] for name in meant)
    base = _base_of(context, job, source)
    return CheckOrders(
        folder=str(paths.folder),
        cwd=str(place.folder),
        clone=_with_copied(place.clone, source.content),
        commands=(*setup_commands(clone_settings(source)[0]), *commands) if base else commands,
        base=base,
        whole="" if job.task_id else str(context.workspace.root),
        packages=str(packages) if packages is not None else None,
    )


def _base_of(
    context: WorkerContext, job: Job, source: Source[RepositoryConfigFile]
) -> BaseOrders | None:
    """Return which commit is checked instead of the task's work, if that was asked for."""
    if not isinstance(job.terms, CheckTerms) or job.terms.base is None:
        return None
    return BaseOrders(
        root=str(context.workspace.root),
        task=job.task_id,
        commit=job.terms.base,
        settings=clone_settings(source)[0],
    )


def _with_copied(clone: ClonePlace | None, content: RepositoryConfigFile) -> ClonePlace | None:
    """Return a clone's place with the files that `clones.copy` means now, besides those on record.

    The user's own checkout says which: the clone's mark is in its agent's reach.
    """
    patterns = content.clones.copy if content.clones is not None else None
    if clone is None or not isinstance(patterns, list):
        return clone
    files, _ = files_to_copy(Path(clone.workspace), patterns)
    copied = [str(PurePosixPath(clone.inside, file)) for file in files if _is_text(file)]
    return msgspec.structs.replace(clone, copied=(*clone.copied, *copied))


def _is_text(path: str) -> bool:
    """Whether orders, which are JSON, can hold a path: names can be any bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _merge(context: WorkerContext, job: Job, _place: Place, paths: AttemptPaths) -> MergeOrders:
    """Return what to merge, and the command lines that its result has to pass."""
    assert isinstance(job.terms, MergeTerms)  # noqa: S101 - every merge has its terms
    path = context.workspace.repository_config
    source = read_repository(path)
    settings, _ = clone_settings(source)
    commands = merge_commands(source, settings, path)
    if commands:
        _refuse_untrusted(context, job, source)
    packages = facts.packages()
    return MergeOrders(
        folder=str(paths.folder),
        root=str(context.workspace.root),
        tasks=job.terms.tasks,
        way=job.terms.way,
        fresh=tuple(task for task in job.terms.tasks if not _resumes(context, task)),
        settings=settings,
        commands=commands,
        packages=str(packages) if packages is not None else None,
    )


def _resumes(context: WorkerContext, task_id: TaskId) -> bool:
    return can_resume(context.configuration, read_task(context.workspace, task_id))


def _refuse_untrusted(
    context: WorkerContext, job: Job, source: Source[RepositoryConfigFile]
) -> None:
    """Refuse to run command lines that this user has not accepted. Raises NotTrusted."""
    keys = needed_keys(job, source, context.workspace.repository_config)
    refuse_untrusted(context.workspace, source.content, context.environ, keys=keys)


def _update(context: WorkerContext, job: Job, _place: Place, paths: AttemptPaths) -> UpdateOrders:
    """Return which clone to bring up to date."""
    settings, _ = clone_settings(read_repository(context.workspace.repository_config))
    return UpdateOrders(
        folder=str(paths.folder),
        root=str(context.workspace.root),
        task=job.task_id,
        settings=settings,
    )


ORDERS: Mapping[str, Orders] = {"check": _check, "merge": _merge, "update": _update}
"""By the step's name in `sow.schema.kinds`."""
IN_MAIN_CHECKOUT = frozenset({"merge", "update"})
"""The steps that work in the user's own checkout, whatever clones their tasks have."""
