"""What the next attempt of a job without an agent starts: a program of ours, and its orders.

Owns where it works and the environment that it gets. What its orders say is its kind's. The order
of a start is `launch`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from sow import env_vars
from sow.attempts.launch import path_with_sow
from sow.clones.main_checkout import known_settings, main_checkout
from sow.clones.mark import Stage, own_mark
from sow.config.source import Source
from sow.environment import agent_environment, own_environment, own_process
from sow.errors import StateError
from sow.ids import AttemptId
from sow.schema.config import RepositoryConfigFile
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import Task
from sow.trust.accepted import refuse_untrusted
from sow.trust.needed import needed_keys
from worker.context import WorkerContext
from worker.prepared import Prepared
from worker.steps.judged import ClonePlace


class Place(NamedTuple):
    """Where a step works."""

    folder: Path
    clone: ClonePlace | None
    """The task's clone that it works in; None in the user's own checkout."""


def prepare_step(
    context: WorkerContext, job: Job, task: Task | None, place: Place, orders: msgspec.Struct
) -> Prepared:
    """Return what the next attempt of a job without an agent starts: its program, by its kind."""
    name = kind_of(job).package

    def environment(attempt_id: AttemptId) -> Mapping[str, str]:
        return _environment(context, job, attempt_id)

    return Prepared(
        verb=job.verb,
        argv=own_process("worker.steps", name),
        cwd=place.folder,
        stdin=msgspec.json.encode(orders).decode(),
        environment=environment,
        task=task,
        does=name,
    )


def place_of(context: WorkerContext, job: Job, task: Task | None) -> Place:
    """Return where a step works: in its task's clone, else in the user's checkout.

    Raises StateError, NoRepository.
    """
    root = context.workspace.root
    if task is None or task.clone is UNSET:
        return Place(root / job.cwd, None)
    main = main_checkout(context.workspace, known_settings(context.workspace))
    place = main.place(task)
    mark = own_mark(place)
    if mark is None or mark.stage != Stage.WHOLE or not place.root.is_dir():
        raise StateError(
            f"there is no whole clone of task {task.id} at {place.path}",
            hint="It is made again, from its branch, when an agent of the task is run.",
        )
    noted = main.noted(task)
    clone = ClonePlace(
        workspace=str(root),
        path=str(place.path),
        branch=place.branch,
        base=place.base or task.clone.base,
        inside=place.inside,
        copied=tuple(filter(is_text, noted.made_by_sow if noted is not None else ())),
    )
    return Place(place.root / job.cwd, clone)


def _environment(context: WorkerContext, job: Job, attempt_id: AttemptId) -> dict[str, str]:
    """Return the environment of a program of ours; what it runs gets the user's own from it.

    What it runs is the repository's, which agents may edit: to `sow` it is an
    agent of a role that has no rights (`env_vars.STEP_ROLE`).
    """
    environ = agent_environment(context.environ)
    path = path_with_sow(job.path_variable)
    ours = {
        env_vars.ROOT: str(context.workspace.root),
        **({env_vars.TASK_ID: job.task_id} if job.task_id else {}),
        env_vars.JOB_ID: str(job.id),
        env_vars.ATTEMPT_ID: attempt_id,
        env_vars.AGENT: env_vars.STEP_ROLE,
    }
    return {**own_environment({**environ, "PATH": path}), **ours}


def is_text(path: str) -> bool:
    """Whether orders, which are JSON, can hold a path: names can be any bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_untrusted_commands(
    context: WorkerContext, job: Job, source: Source[RepositoryConfigFile]
) -> None:
    """Refuse to run command lines that this user has not accepted. Raises NotTrusted."""
    keys = needed_keys(job, source, context.workspace.repository_config)
    refuse_untrusted(context.workspace, source.content, context.environ, keys=keys)
