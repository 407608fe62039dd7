"""The clone that an agent's attempt works in: where it is, and who makes it first if need be.

Owns the decision that it has to be made, and the orders for that. The making is
a program of ours that becomes the agent's CLI (`worker.steps.clone`): it may
take minutes, and is part of the attempt, with its supervisor, log and end.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import UNSET

from sow.attempts.prompt_facts import brief_of_clone
from sow.clones.main_checkout import MainCheckout, known_settings, main_checkout
from sow.clones.mark import Stage, own_mark
from sow.clones.place import Place
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.environment import own_process
from sow.errors import StateError
from sow.git.view import view_of
from sow.paths import AttemptPaths
from sow.processes import process_facts
from sow.prompts.compose import CloneBrief
from sow.schema.job import Job
from sow.schema.task import Task, TaskStatus
from sow.state.tasks import read_task
from sow.trust.accepted import refuse_untrusted
from sow.trust.needed import needed_keys
from worker.context import WorkerContext
from worker.steps.program_input import CloneOrders, DependencyOrder


@dataclass(frozen=True)
class CloneOfAttempt:
    """The clone of one attempt."""

    root: Path
    """What stands for the workspace's root in it."""
    brief: CloneBrief
    """What its agent is told of it."""
    orders: CloneOrders | None
    """What is to be done before the agent can start; None where it is ready."""

    def wrapper(self, paths: AttemptPaths) -> tuple[str, ...]:
        """Return the program that does it and then becomes the agent's CLI; empty for none."""
        if self.orders is None:
            return ()
        return tuple(own_process("worker.steps.clone", str(paths.clone_orders)))

    def files(self, paths: AttemptPaths) -> dict[str, bytes]:
        """Return what that program reads, by name in the attempt's folder."""
        if self.orders is None:
            return {}
        return {paths.clone_orders.name: msgspec.json.encode(self.orders)}


def clone_of_attempt(
    context: WorkerContext, job: Job, task: Task, paths: AttemptPaths
) -> CloneOfAttempt | None:
    """Return the clone that the next attempt of an agent's job works in; None for the root.

    Raises NotTrusted where a command line of the repository would make it ready
    that this user has not accepted, and SowError where there can be no clone.
    """
    wanted = job.works_in_clone
    if task.clone is UNSET and not wanted:
        return None
    main = main_checkout(context.workspace, known_settings(context.workspace))
    place = main.place(task)
    brief = brief_of_clone(place, main.settings)
    if _is_ready(place, task):
        return CloneOfAttempt(place.root, brief, None)  # whatever the settings say by now
    source = read_repository(context.workspace.repository_config)
    settings, _ = clone_settings(source)
    if settings.setup is not None:
        path = context.workspace.repository_config
        keys = needed_keys(job, source, path)
        refuse_untrusted(context.workspace, source.content, context.environ, keys=keys)
    packages = process_facts.packages()
    orders = CloneOrders(
        folder=str(paths.folder),
        job=job.id,
        attempt=paths.number,
        workspace=str(context.workspace.root),
        task=task.id,
        cwd=job.cwd,
        settings=settings,
        base=main.project_commit,
        dependencies=_dependencies(context, main, task),
        is_begun=task.session_started and task.clone is not UNSET,
        packages=str(packages) if packages is not None else None,
    )
    return CloneOfAttempt(place.root, brief, orders)


def _is_ready(place: Place, task: Task) -> bool:
    """Whether the clone is there, whole, and on record in the task's state."""
    mark = own_mark(place)
    if mark is None or mark.stage != Stage.WHOLE or task.clone is UNSET:
        return False
    return (task.clone.path, task.clone.branch) == (str(place.path), place.branch)


def _dependencies(
    context: WorkerContext, main: MainCheckout, task: Task
) -> tuple[DependencyOrder, ...]:
    """Return the completed tasks that a task depends on, with their last commits."""
    view, found = view_of(main.repository.top), []
    for task_id in task.depends_on:
        try:
            other = read_task(context.workspace, task_id)
        except StateError:
            continue  # the call was admitted without it
        if other.status is not TaskStatus.COMPLETED or other.clone is UNSET:
            continue
        commit = view.commit_of(f"refs/heads/{main.place(other).branch}")
        if commit is not None:
            found.append(DependencyOrder(task=task_id, commit=commit))
    return tuple(found)
