"""The kinds of jobs without an agent: each attempt runs a program of ours.

Owns what these kinds share: where a step works, the environment that it gets, what its end comes
to. Of its own a kind has its orders, and its program: the module `program` of its package, which
`worker.steps` runs.
"""

import random
import signal
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from sow import env_vars
from sow.attempts.judge import CANCELLED
from sow.attempts.launch import path_with_sow
from sow.attempts.retry import Next, Step, decide
from sow.clones.main_checkout import known_settings, main_checkout
from sow.clones.mark import Stage, own_mark
from sow.config.source import Source
from sow.environment import agent_environment, own_environment, own_process
from sow.errors import StateError
from sow.executors.base import Verdict
from sow.faults import passing_fault
from sow.files import read_tail
from sow.ids import AttemptId, TaskId
from sow.jobs import leases
from sow.paths import AttemptPaths, way_to_server
from sow.schema.causes import Cause
from sow.schema.config import RepositoryConfigFile
from sow.schema.job import Attempt, Job, Lease
from sow.schema.kinds import kind_of
from sow.schema.step_result import RESULT_LIMIT, StepResult
from sow.schema.task import Task
from sow.state.tasks import read_task
from sow.trust.accepted import refuse_untrusted
from sow.trust.needed import needed_keys
from worker.blame import NOT_COUNTED, excuse_of
from worker.context import WorkerContext
from worker.job_end import end_unwritten, follow, refuse_cancelled, tell_of_end
from worker.kinds.base import Prepared, Recording, WorkerKind
from worker.next_step import prevented_before, tries_after
from worker.running import Exit, Running, read_record
from worker.steps.judged import ClonePlace
from worker.task_state import change_under_lease


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


def place_of(
    context: WorkerContext, job: Job, task: Task | None, *, is_missing: bool = False
) -> Place:
    """Return where a step works: in its task's clone, else in the user's checkout.

    `is_missing`: the clone is made before. Raises StateError, NoRepository.
    """
    root = context.workspace.root
    if task is None or task.clone is UNSET:
        return Place(root / job.cwd, None)
    main = main_checkout(context.workspace, known_settings(context.workspace))
    place = main.place(task)
    mark = own_mark(place)
    is_whole = mark is not None and mark.stage == Stage.WHOLE and place.root.is_dir()
    if not is_whole and not is_missing:
        raise StateError(
            f"there is no complete clone of task {task.id} at {place.path}",
            hint="sow makes it again from its branch when an agent of the task runs.",
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
        **way_to_server(context.environ),
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


FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""What a program dies of by no fault of its own."""


def result_of(running: Running) -> StepResult | None:
    """Return what the program has found out; None where it did not come to that."""
    result = read_record(running.paths.result, StepResult, limit=RESULT_LIMIT)
    return result if result is not None and running.owns(result.attempt) else None


def _last_words(running: Running, exit_facts: Exit) -> str:
    """Return how the program ended, with the last line that it has left."""
    how = f"exit code {exit_facts.code}"
    if exit_facts.signal is not None:
        how = f"signal {exit_facts.signal}"
    lines = read_tail(running.paths.stderr).strip().splitlines()
    return f"its program ended by {how}: {lines[-1]}" if lines else f"its program ended by {how}"


def _final_result(running: Running, next_step: Next) -> StepResult | None:
    """Return the result that is written down; None where the program is run again."""
    return result_of(running) if next_step.step in (Step.DONE, Step.FAIL) else None


def _refuse_outdated(context: WorkerContext, job: Job, next_step: Next) -> None:
    if next_step.step not in (Step.CANCEL, Step.DONE):
        refuse_cancelled(context, job)


class StepKind(WorkerKind):
    """Jobs that a program of ours does."""

    works_in_clone = False
    """Whether it works in its task's clone, if there is one, or always in the user's checkout."""

    @abstractmethod
    def orders(
        self, context: WorkerContext, job: Job, place: Place, paths: AttemptPaths
    ) -> msgspec.Struct:
        """Return what its program is to do.

        It is found out once, so that what was looked at (that its command lines are accepted, say)
        is what the program does.
        """

    def record_in_project(self, context: WorkerContext, job: Job, result: StepResult) -> None:
        """Put the result of a job about no task into the project's state, before the job ends."""

    def prepare(
        self,
        context: WorkerContext,
        job: Job,
        _lease: Lease,
        _history: Sequence[Attempt],
        paths: AttemptPaths,
    ) -> Prepared:
        """Return its program with its orders."""
        task = read_task(context.workspace, TaskId(job.task_id)) if job.task_id else None
        missing = None
        needs_clone = kind_of(job).checks or kind_of(job).updates_clone
        if task is not None and needs_clone and context.database.is_shared:
            # Few queues are shared.
            from worker.kinds.missing_clone import missing_clone

            missing = missing_clone(context, job, task, paths)
        in_clone = task if self.works_in_clone else None
        place = place_of(context, job, in_clone, is_missing=missing is not None)
        orders = self.orders(context, job, place, paths)
        if missing is None:
            return prepare_step(context, job, task, place, orders)
        orders = msgspec.structs.replace(orders, missing=missing)
        # It goes by itself where it works: that is not there yet.
        prepared = prepare_step(context, job, task, place, orders)
        return replace(prepared, cwd=context.workspace.root)

    def judge(
        self, context: WorkerContext, running: Running, job: Job, exit_facts: Exit | None
    ) -> Verdict:
        """Return what its program has found out, else what became of it."""
        if job.cancel_requested_at is not None:
            return CANCELLED
        result = result_of(running)
        if result is not None:
            return Verdict(result.cause, result.reason)
        if running.ended_for is not None:
            return running.ended_for
        if exit_facts is None:
            excuse = excuse_of(context, running)
            words = "its program died together with its worker or supervisor"
            reason = f"{words}; {NOT_COUNTED}{excuse}" if excuse else words
            return Verdict(Cause.WORKER_DIED, reason)
        was_killed = exit_facts.signal in FROM_OUTSIDE
        cause = Cause.PREVENTED if was_killed else Cause.CRASHED
        return Verdict(cause, _last_words(running, exit_facts))

    def decide(self, context: WorkerContext, running: Running, job: Job, verdict: Verdict) -> Next:
        """Return what follows: no session can be kept or lost."""
        return decide(
            verdict.cause,
            job,
            now=context.now(),
            jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
            most_deaths=context.configuration.retry_worker_deaths,
            excused=NOT_COUNTED in verdict.reason,
            prevented=prevented_before(context, running, verdict),
        )

    def write(
        self,
        context: WorkerContext,
        running: Running,
        job: Job,
        verdict: Verdict,
        next_step: Next,
        ending: Recording,
    ) -> None:
        """Put the result into the task's state, if there is a task, and write the job with it.

        Raises Outdated. A task that cannot be written any more (its folder is gone,
        say) ends its job as failed.
        """
        spent = tries_after(job, running, verdict, next_step)
        is_final = False

        def change(_task: Task) -> Mapping[str, Any]:
            _refuse_outdated(context, job, next_step)
            result = _final_result(running, next_step)
            return result.fields if result is not None else {}

        def record(_task: Task | None) -> None:
            nonlocal is_final
            ending()
            if running.guest is not None and (result := _final_result(running, next_step)):
                # Few queues are shared.
                from worker.guests import tell_check

                tell_check(context, running, result)
            is_final = follow(context, job, running.lease, verdict, next_step, None, spent)

        if not job.task_id:
            result = _final_result(running, next_step)
            if result is not None:
                self.record_in_project(context, running.job, result)
            with leases.under(context.database, running.lease):
                _refuse_outdated(context, job, next_step)
                record(None)
        else:
            try:
                change_under_lease(context, job, running.lease, change, record)
            except StateError as error:
                if passing_fault(error) is not None:
                    raise  # nothing is wrong with the task: it is written later
                ending()
                unwritable = Verdict(Cause.STATE_UNREADABLE, error.message)
                end_unwritten(context, job, running.lease, unwritable, **spent)
                return
        if is_final:
            tell_of_end(context, job)
