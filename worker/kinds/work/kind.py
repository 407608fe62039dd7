"""The kind `work`, as a worker asks it: an agent does its task, in a session that it may resume.

Owns what only agents have before the start: their session, and the clone that they work in. A
clone that is not there yet is made by a program of ours that becomes the agent's CLI
(`worker.steps.clone`): it may take minutes, and is part of the attempt, with its supervisor, log
and end. The order of a start is `launch`; what an end does to the task is `end`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from sow import env_vars
from sow.agent_clis.known import warmed_up
from sow.attempts.fallback import is_handed_over, is_untold, since_left
from sow.attempts.homes import has_folder
from sow.attempts.launch import (
    environment_of,
    folder_of,
    launch_of,
    location_for,
    readable_to,
    task_folder,
    variables_of,
)
from sow.attempts.plan import begins, plan_attempt
from sow.attempts.prompt_facts import brief_of_clone
from sow.attempts.retry import Next
from sow.attempts.sandbox import sandbox_of_agent
from sow.attempts.session_command import create_session
from sow.attempts.sessions import lacks_session, lost_attempts
from sow.clock import format_time
from sow.clones.main_checkout import MainCheckout, known_settings, main_checkout
from sow.clones.mark import Stage, own_mark
from sow.clones.place import Place
from sow.environment import own_process
from sow.errors import SowError, StateError
from sow.executors.base import Executor, Verdict
from sow.executors.registry import make_executor
from sow.faults import passing_fault
from sow.git.view import view_of
from sow.ids import AttemptId, TaskId
from sow.paths import AttemptPaths
from sow.processes import process_facts
from sow.prompts.compose import CONFLICT, CloneBrief, HandOver
from sow.schema.job import Attempt, Job, Lease
from sow.schema.kinds import kind_of
from sow.schema.task import Task, TaskStatus
from sow.state import transitions
from sow.state.log_writing import LogEntry
from sow.state.task_log import append_entry
from sow.state.tasks import find_task, locked_task, read_task
from worker.context import WorkerContext, tell
from worker.gathering import Gathering
from worker.kinds.base import Prepared, Recording
from worker.kinds.new_clone import settings_of_new_clone
from worker.kinds.work.end import write_down
from worker.next_step import AgentKind
from worker.running import Running
from worker.session_home import prepare_home, warm_home
from worker.steps.program_input import CloneOrders, DependencyOrder
from worker.task_state import change_under_lease, mark_again, session_fields_of


@dataclass(frozen=True)
class CloneOfAttempt:
    """The clone of one attempt."""

    top: Path
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
        return tuple(own_process("worker.steps", "clone", str(paths.clone_orders)))

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
    that this user has not accepted, SandboxUnavailable where its sandbox cannot be
    made, and SowError where there can be no clone.
    """
    wanted = job.works_in_clone
    if task.clone is UNSET and not wanted:
        return None
    main = main_checkout(context.workspace, known_settings(context.workspace))
    place = main.place(task)
    brief = brief_of_clone(place, main.settings)
    # At home the clone has the conflict that its agent is to solve.
    update = context.workspace.host is not None and job.prompt.startswith(CONFLICT)
    if _is_ready(place, task) and not update:
        return CloneOfAttempt(
            place.path, place.root, brief, None
        )  # whatever the settings say by now
    settings = settings_of_new_clone(context)
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
        update=update,
        packages=str(packages) if packages is not None else None,
    )
    return CloneOfAttempt(place.path, place.root, brief, orders)


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


def has_clone_to_gather(context: WorkerContext, job: Job, task: Task | None) -> bool:
    """Whether the agent of a job has worked in a clone of its task's, and its project is here.

    `task` is as it was when the attempt began, or None where that is not known.

    Raises SowError where the machine lacks something to tell that now.
    """
    if not kind_of(job).makes_work:
        return False
    try:
        if not job.works_in_clone and task is None:  # it could not be read when it was adopted
            task = read_task(context.workspace, job.task_id)
        if not job.works_in_clone and (task is None or task.clone is UNSET):
            return False
        return context.state.is_of(job.project_id)  # else that task's project is not checked out
    except SowError as error:
        if passing_fault(error) is not None:
            raise  # asked again: what is not gathered now nobody gathers later
        return False  # what is wrong with it is said where the attempt is settled


def mark_started(
    context: WorkerContext, job: Job, lease: Lease, history: Sequence[Attempt]
) -> Task:
    """Return the task as it is before an attempt: marked, also where it was put back meanwhile."""
    task_id, copies = TaskId(job.task_id), context.state.copies
    task = read_task(context.workspace, task_id, copies)
    if task.status is TaskStatus.PENDING and not history:
        with locked_task(context.workspace, task_id, copies) as locked:
            task = locked.task  # its call marks it under this lock, if it lives
    if task.status is not TaskStatus.PENDING:
        return task
    session_id = history[-1].session_id if history else None
    started = any(earlier.tool_uses for earlier in history if earlier.session_id == session_id)
    has_begun = bool(history)
    return mark_again(context, job, lease, session_id, started=started, has_begun=has_begun)


def renew_session(context: WorkerContext, job: Job, lease: Lease, executor: Executor) -> Task:
    """Put another session on record, and in the task's log which one was lost; return the task.

    An executor that learns its sessions from their output is left without one.
    No lock is held while its CLI makes one. Raises ExecutorError where it makes none.
    """
    session = create_session(executor, job, context.workspace.root, context.environ)
    task = read_task(context.workspace, TaskId(job.task_id))
    if task.session_id is not UNSET and task.session_started:
        _log_loss(context, job, task.session_id)
    made = f"session {session.id}" if session is not None else "the session that its run makes"
    if task.session_id is UNSET:
        tell(job, f"begins in {made}")
    else:
        tell(job, f"its CLI knows no session {task.session_id}; goes on in {made}")

    def change(task: Task) -> Mapping[str, Any]:
        if session is None:
            return transitions.clear_session(task)
        dialect = UNSET if session.dialect is None else session.dialect
        return session_fields_of(task, job, session.id, started=False, dialect=dialect)

    return change_under_lease(context, job, lease, change)


def _log_loss(context: WorkerContext, job: Job, session_id: str) -> None:
    """Name the lost session in the task's log first: a worker that dies now says it again."""
    entry = LogEntry(
        timestamp=format_time(context.now()),
        agent="sow",
        action=f"Continues in a new session; {session_id} was lost before its CLI had saved it",
        result="",
        text="No turn of the old session was completed. Its changes are still in the files.",
    )
    append_entry(find_task(context.workspace, TaskId(job.task_id)).folder, entry)


def _handover(
    context: WorkerContext, job: Job, task: Task, history: Sequence[Attempt]
) -> Callable[[], HandOver] | None:
    """Return what says what a new session takes over; None where it takes nothing over."""
    if not is_handed_over(job):
        return None
    # Few sessions are handed over.
    from worker.kinds.work.handing_over import hand_over

    return lambda: hand_over(context, job, task, history)


class WorkKind(AgentKind):
    """Jobs whose agent does its task."""

    def prepare(
        self,
        context: WorkerContext,
        job: Job,
        lease: Lease,
        history: Sequence[Attempt],
        paths: AttemptPaths,
    ) -> Prepared:
        """Return its session, its plan and the launch of its CLI; its task is marked as taken.

        Raises SowError where that cannot be started now, or ever.
        """
        earlier, history = history, since_left(job, history)
        task = mark_started(context, job, lease, history)
        executor = make_executor(job.agents_executor)
        executor.validate_availability(job.path_variable)
        if lacks_session(task, executor, history):
            task = renew_session(context, job, lease, executor)
        handover, planned = _handover(context, job, task, earlier), job
        if context.database.is_shared:
            # Few queues are.
            from worker.kinds.work.from_elsewhere import taken_over

            takes = taken_over(context, job, lease, executor, task, earlier)
            task, planned, handover = (*takes[:2], handover or takes[2])
        clone = clone_of_attempt(context, job, task, paths)
        root = clone.root if clone is not None else None
        folder = task_folder(context.workspace, task)
        location = location_for(folder, folder_of(context.workspace, job, root))
        lost = lost_attempts(context.database, task, history)
        plan = plan_attempt(
            planned,
            task,
            history,
            executor,
            location,
            lost,
            workspace=context.workspace,
            clone=clone.brief if clone is not None else None,
            handover=handover,
            is_untold=is_untold(job, earlier),
        )
        users = variables_of(job, context.environ)
        launch = launch_of(
            context.workspace,
            job,
            task,
            plan,
            executor,
            paths.prompt,
            clone=root,
            environ=users,
        )

        if launch.home is not None or has_folder(context.workspace, job):
            prepare_home(context, job, launch, anew=begins(plan))
        if cli := warmed_up(executor.config.type, executor.config.preset):
            warm_home(context, job, launch, cli, anew=begins(plan))

        def environment(attempt_id: AttemptId) -> Mapping[str, str]:
            review = env_vars.REVIEWS_WHOLE if task.judges_whole else ""
            return environment_of(
                *(context.workspace, job, attempt_id, launch, context.environ),
                review=review,
                users=users,
            )

        return Prepared(
            verb=plan.verb,
            argv=launch.argv,
            # The program that makes the clone goes there itself: it may not be there yet.
            cwd=context.workspace.root if clone is not None and clone.orders else launch.cwd,
            stdin=launch.stdin,
            environment=environment,
            task=task,
            does=f"{plan.verb} by {job.executor_name}",
            state_file=folder / "state.yaml",
            session_id=plan.session.id if plan.session else None,
            wrapper=clone.wrapper(paths) if clone is not None else (),
            sandbox=sandbox_of_agent(
                context.workspace,
                executor.config,
                launch,
                users,
                clone=clone.top if clone is not None else None,
                readable=readable_to(context.workspace, task, is_apart=clone is not None),
            ),
            files={
                **{name: text.encode() for name, text in launch.files.items()},
                **(clone.files(paths) if clone is not None else {}),
            },
            executor=executor,
            own_folders=launch.own_folders(clone.top if clone is not None else None),
        )

    def gathering(self, context: WorkerContext, running: Running) -> Gathering | None:
        """Return what brings its work back from its clone, if it has one."""
        job = running.job
        if not has_clone_to_gather(context, job, running.task):
            return None
        if context.workspace.host is not None:
            # Few queues are shared.
            from worker.guests import gather_and_push

            return Gathering(job, lambda: gather_and_push(context, running))
        # Only what runs in a clone needs it.
        from worker.clone_gathering import gather

        return Gathering(job, lambda: gather(context, job, running.task))

    def write(
        self,
        context: WorkerContext,
        running: Running,
        job: Job,
        verdict: Verdict,
        next_step: Next,
        ending: Recording,
    ) -> None:
        """Change its task as the step asks, and the job with it."""
        write_down(context, running, job, verdict, next_step, ending)


KIND = WorkKind()
