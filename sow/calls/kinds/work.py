"""The kind `work`, as a call asks it: an agent does a task, in its first turn or in a further one.

Owns the order of the steps: attach or admit, allocate a session, mark the task, enqueue. The jobs
of one call take each step together, with one commit. Every step may be the last one that its
process lives to make: recovery undoes a `preparing` job or completes it.

One step less is there for the first turn of a pending task, alone: its job is put on record and
into the queue by one commit, under the task's lock, and the task is marked after that, while a
worker claims the job. The worker marks a task itself that is still pending when it comes to it.
One of an older sow cannot: as long as one is on record, each step is taken for itself.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import UNSET
from msgspec.structs import replace

from sow import env_vars
from sow.calls.admission import admit, refuse_without_project
from sow.calls.caller import Caller
from sow.calls.features import admitted, attached, notes_on
from sow.calls.idempotency import find_same
from sow.calls.job_end import give_back, undo
from sow.calls.kinds import CallKind
from sow.calls.request import Known, Placed, Request, Resolved
from sow.calls.resolution import (
    is_wanted_by_now,
    job_for,
    notes_on_tree,
    resolve,
    with_clone,
    with_free_executor,
)
from sow.clock import format_time
from sow.config.configuration import Configuration
from sow.errors import ExecutorError, ExitCode, SowError, StateError
from sow.executors.registry import is_installed
from sow.executors.session import Session, SessionSource, is_maker, type_on_record
from sow.features import parts
from sow.ids import JobId, TaskId
from sow.jobs import jobs, leases, statuses, waiters, workers
from sow.jobs.database import Database
from sow.jobs.jobs import author_of_job
from sow.jobs.unrecorded_agents import refuse_strays
from sow.jobs.waiters import Recipient
from sow.plain_record import PlainRecord
from sow.reports.wording import subject_of
from sow.schema.config import CloneUse
from sow.schema.job import HeldFor, Job, JobState
from sow.schema.task import SessionFacts, Task, TaskState, TaskStatus
from sow.state import transitions
from sow.state.log_writing import LogEntry
from sow.state.statefiles import Draft, discard_draft
from sow.state.task_log import RESUMED, STARTED_OVER, append_entry
from sow.state.tasks import change_locked, change_task, draft_change, find_task, locked_task


class JobWasCancelled(StateError):
    """The job was cancelled while its call was still placing it."""

    exit_code = ExitCode.CANCELLED

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"job {job.id} of {subject_of(job)} was cancelled before sow had queued it",
            hint="Run the command again to queue a new job.",
        )


class WorkKind(CallKind):
    """Jobs whose agent does its task."""

    def admit(
        self, caller: Caller, database: Database | None, config: Configuration, request: Request
    ) -> None:
        """Raise what the status table does not allow, and what nothing of the call could change."""
        find_or_admit(caller, database, config, request)

    def place(
        self,
        caller: Caller,
        database: Database,
        config: Configuration,
        request: Request,
        waiter: Recipient | None,
    ) -> Placed:
        """Put an agent's job into the queue; its task is `in_progress` from then on."""
        resolved = find_or_admit(caller, database, config, request)
        if isinstance(resolved, Placed):
            found = replace(resolved, job=attached(database, request, resolved.job))
            return _freed(caller, database, request, found)
        [placed] = _place_all(caller, database, config, [resolved], waiter)
        if isinstance(placed, SowError):
            raise placed
        return placed

    def admit_to_group(
        self,
        caller: Caller,
        database: Database,
        config: Configuration,
        request: Request,
        known: Known,
    ) -> Resolved | None:
        """Return a request that may be placed with others; None where it has to be placed alone.

        A refusal, a job that is there, and a session that a command makes are for `place`.
        """
        try:
            resolved = find_or_admit(caller, database, config, request, known)
        except SowError:
            return None
        if isinstance(resolved, Placed) or _makes_session(resolved):
            return None
        if resolved.request.when_ready:
            return None
        # The first job decides whether the second one's agent needs a clone, and may have it.
        is_open = config.clones.use is CloneUse.PARALLEL and not resolved.clone
        return None if is_open else resolved

    def place_together(
        self,
        caller: Caller,
        database: Database,
        config: Configuration,
        admitted: Sequence[Resolved],
        waiter: Recipient | None,
        known: Known,
    ) -> list[Placed | SowError]:
        """Put all jobs on record in one commit, mark their tasks, queue them in another commit.

        A task that cannot be marked, or whose job was cancelled, is returned as its error.
        """
        task_ids = [TaskId(each.task.id) for each in admitted]
        known.strays.refuse_any(caller.workspace, database, *task_ids)
        return _place_all(caller, database, config, admitted, waiter)


def _place_all(
    caller: Caller,
    database: Database,
    config: Configuration,
    admitted: Sequence[Resolved],
    waiter: Recipient | None,
) -> list[Placed | SowError]:
    """Do as `place_together`, without a look for agents that are not on record."""
    # What marks a task. It is imported here, for from the first commit on its agent waits; what
    # features ask too, for others wait for the queue while a job is inserted.
    import sow.yamlfile.editing  # noqa: F401

    parts("admission")
    mark = _draft_mark(caller, admitted[0]) if len(admitted) == 1 else None
    placed: list[Placed | SowError] = []
    try:
        first = None
        if not database.is_shared:  # else its work has to be pushed first
            first = _place_first_turn(caller, database, config, admitted[0], waiter, mark)
        if first is not None:
            placed = [first]
        else:
            placed = _place_marked(caller, database, config, admitted, waiter, mark)
    finally:
        is_marked = placed and not isinstance(placed[0], SowError)
        if not is_marked and mark is not None and mark.draft is not None:
            discard_draft(mark.draft)
    return placed


def _place_first_turn(
    caller: Caller,
    database: Database,
    config: Configuration,
    resolved: Resolved,
    waiter: Recipient | None,
    mark: "_Mark | None",
) -> Placed | None:
    """Put the first turn of a pending task on record and into the queue, then mark the task.

    None where that cannot be, with nothing done. A worker may come to the task before it is
    marked: it waits for the task's lock, or marks it itself where this process has died. So a
    mark that cannot be made is the worker's to tell of; the job is placed.
    """
    draft = mark.draft if mark is not None else None
    if mark is None or draft is None or not _is_first_turn(resolved, resolved.task):
        return None
    if workers.has_older(database):
        return None  # it marks no task, and fails the job of one without a session
    with locked_task(caller.workspace, resolved.task.id) as locked:
        if not _is_first_turn(resolved, locked.task):
            return None  # another call may be first: that is found as the job is inserted
        changes = _marked(caller, resolved, locked.task, mark.session)
        [job] = _insert_all(caller, database, config, [resolved], waiter, queued_as=draft)
        workers.wake(caller.workspace)
        database.sync()  # before the mark, which no job might be there for otherwise
        try:
            _log_choice(caller, resolved, job)
            change_locked(
                caller.workspace,
                locked,
                lambda _: changes,
                now=caller.now(),
                by=author_of_job(job),
                draft=draft,
                is_noted=True,
            )
        except StateError:
            discard_draft(draft)
    return _placed(resolved, job)


def _is_first_turn(resolved: Resolved, task: Task) -> bool:
    """Whether a worker could mark the task as its call would: it makes up for no more than that."""
    return (
        resolved.request.begins_session
        and not resolved.request.fresh
        and not resolved.request.when_ready
        and task.status is TaskStatus.PENDING
        and task.session_id is UNSET
        and task.assigned_agent == resolved.agent
    )


def _place_marked(
    caller: Caller,
    database: Database,
    config: Configuration,
    admitted: Sequence[Resolved],
    waiter: Recipient | None,
    mark: "_Mark | None",
) -> list[Placed | SowError]:
    """Put jobs on record, mark their tasks, queue them; `mark` is that of the only task, if any."""
    inserted = _insert_all(caller, database, config, admitted, waiter)
    pairs = list(zip(admitted, inserted, strict=True))
    became: dict[JobId, Job | SowError] = {}
    try:
        for resolved, job in pairs:
            try:
                _take_task(caller, database, resolved, job, mark)
                if database.is_shared:
                    _send_out(caller, database, config, resolved, job)
            except SowError as error:
                became[job.id] = _undone(caller, database, job, error, waiter)
    except BaseException as error:
        for job in inserted:
            if job.id not in became:
                _undo(caller, database, job, error, waiter)
        raise
    marked = [job for job in inserted if job.id not in became]
    became |= _enqueue(caller, database, marked, waiter)
    ends = ((resolved, became[job.id]) for resolved, job in pairs)
    return [end if isinstance(end, SowError) else _placed(each, end) for each, end in ends]


def _insert_all(
    caller: Caller,
    database: Database,
    config: Configuration,
    admitted: Sequence[Resolved],
    waiter: Recipient | None,
    *,
    queued_as: Draft[TaskState] | None = None,
) -> list[Job]:
    """Put all jobs on record as `insert` does, in one commit: all of them or none.

    With `queued_as` there is one, which is queued in that commit; so the state of its task is
    about to stand. That commit is not waited for until it is on disk.
    """
    expected = len(waiter.job_ids) if waiter is not None else 0
    try:
        with database.transaction(durable=queued_as is None):
            inserted = [insert(caller, database, config, each, waiter) for each in admitted]
            if queued_as is not None:
                inserted = [_queued_as(caller, database, inserted[0], queued_as)]
            return inserted
    except BaseException:
        if waiter is not None:
            del waiter.job_ids[expected:]
        raise


def _queued_as(caller: Caller, database: Database, job: Job, draft: Draft[TaskState]) -> Job:
    """Queue a pending task's job, and return it as it stands then.

    The record tells of the mark first, which is about to be made.
    """
    now = caller.now()
    if job.prior_status is not TaskStatus.PENDING:  # an ended job's word, which nobody gave back
        jobs.change_job(database, job.id, prior_status=TaskStatus.PENDING)
    statuses.take_notes(caller.workspace, database, now=now)
    statuses.foretell(database, job, draft.state.task, draft.file, now=now)
    leases.enqueue(database, job.id, now=now)
    return jobs.get_job(database, job.id)


class _Mark(PlainRecord):
    """How a task will be marked: its session, and the text of its state, unless that stays."""

    session: Session | None
    draft: Draft[TaskState] | None


def _draft_mark(caller: Caller, resolved: Resolved) -> _Mark | None:
    """Work out the mark of a task before its job is on record, from when on its agent waits.

    None where that cannot be: what it is refused for then is told when the task is marked.
    """
    if _makes_session(resolved):
        return None
    session = _chosen_session(resolved)

    def change(task: Task) -> Mapping[str, object]:
        return _marked(caller, resolved, task, session)

    with suppress(SowError):
        draft = draft_change(caller.workspace, resolved.task.id, change, now=caller.now())
        return _Mark(session, draft)
    return None


def _take_task(
    caller: Caller, database: Database, resolved: Resolved, job: Job, mark: _Mark | None
) -> None:
    session = mark.session if mark is not None else allocate_session(caller, resolved, job)
    _log_prompt(caller, resolved)
    _log_choice(caller, resolved, job)
    _mark_task(caller, database, job, resolved, session, mark.draft if mark is not None else None)


def _send_out(
    caller: Caller, database: Database, config: Configuration, resolved: Resolved, job: Job
) -> None:
    """Have what a job begins with where other hosts get it. Raises StateError.

    Which jobs stay here: those that work in the checkout itself, those of an agent, and those that
    begin later, with what there is then.
    """
    if not job.works_in_clone or job.parent is not None or resolved.request.when_ready:
        return
    # Few queues are shared.
    from sow.jobs import travels
    from sow.travel.leaving import send_out

    host = None
    continues = resolved.request.continues_session and resolved.task.session_started
    if continues and not resolved.request.anywhere:
        host = travels.host_of_session(database, str(resolved.task.session_id))
    travel = send_out(
        *(caller.workspace, config.clones, config.queue_remote, job.id, job.task_id), host=host
    )
    if travel is not None:
        travels.send(database, travel)


def _placed(resolved: Resolved, job: Job) -> Placed:
    return Placed(job, notes=(*resolved.notes, *notes_on(job)))


def find_or_admit(
    caller: Caller,
    database: Database | None,
    config: Configuration,
    request: Request,
    known: Known | None = None,
) -> Placed | Resolved:
    """Return the job that the same call placed before; else the request, looked up and admitted.

    `database` is None where there is no queue yet. With what is `known` for a group of requests,
    agents that are not on record are for the caller to look for. Raises StateError, ExecutorError,
    UsageError where the call is refused.
    """
    resolved = resolve(caller, config, request, known)
    task_id = TaskId(resolved.task.id)
    if database is not None:
        caller.refuse_waiting_for(database, resolved.project_id, task_id)
        has_job = known is None or task_id in known.with_jobs
        found = find_same(caller, database, resolved) if has_job else None
        if found is not None:
            return found
    if known is None:
        refuse_strays(caller.workspace, database, task_id)
    admit(caller, resolved, resolved.task)
    if request.when_ready and not resolved.task.depends_on:  # nothing to wait for: never held
        resolved = replace(resolved, request=replace(request, when_ready=False))
    elif request.when_ready:
        from sow.calls.held_jobs import refuse_impossible  # few calls wait for other tasks

        refuse_impossible(caller.workspace, resolved.task)
    apart = with_clone(caller, database, config, resolved)
    may_travel = apart and caller.job_id is None and not resolved.request.when_ready
    resolved = with_free_executor(caller, database, config, resolved, may_travel=may_travel)
    notes = () if apart else notes_on_tree(config, resolved)
    return replace(resolved, clone=apart, notes=(*resolved.notes, *notes))


def _freed(caller: Caller, database: Database, request: Request, found: Placed) -> Placed:
    """Let a job go on that is held for dependencies, where the same call will not mind them."""
    if request.ignore_deps and leases.release(database, found.job.id, now=caller.now()):
        workers.wake(caller.workspace)
    return replace(found, job=jobs.get_job(database, found.job.id))


def insert(
    caller: Caller,
    database: Database,
    config: Configuration,
    resolved: Resolved,
    waiter: Recipient | None = None,
) -> Job:
    """Put the job on record as `preparing`; what callers of older jobs are owed lapses.

    A status that the last job still owes the task is this one's to give back.
    Raises TaskIsTaken, StateError.
    """
    with database.transaction():
        caller.refuse_when_cancelled(database)
        refuse_without_project(caller.workspace, resolved.project_id)
        last = jobs.last_job(database, resolved.project_id, TaskId(resolved.task.id))
        if not resolved.clone and is_wanted_by_now(database, config, resolved):
            resolved = replace(resolved, clone=True)
        job = job_for(caller, config, resolved)
        job = admitted(database, config, resolved.request, job, now=caller.now())
        if resolved.fallback is not None:
            from sow.calls.choosing import with_limits  # few roles have several executors

            job = with_limits(database, config, resolved.request, job, now=caller.now())
        if last is not None and last.owes_task:
            job = replace(job, prior_status=last.outcome_status)
            jobs.pay_task(database, last.id)
        job = jobs.insert_job(database, job)
        if last is not None:
            waiters.lapse(database, caller.workspace, last.id)
        if waiter is not None:
            waiter.expect(job.id)
        return job


def allocate_session(caller: Caller, resolved: Resolved, job: Job) -> Session | None:
    """Obtain a session id the executor's way; no lock is held meanwhile."""
    if not _makes_session(resolved):
        return _chosen_session(resolved)
    if not is_installed(resolved.executor.config, caller.path_variable):
        return None  # the host that has its CLI makes one

    def run(argv: Sequence[str]) -> str:
        # Most executors choose their ids; few calls run a command, and it needs all of an attempt.
        from sow.attempts.session_command import run_session_command

        return run_session_command(argv, job, caller.workspace.root, caller.environ)

    try:
        return resolved.executor.create_session(run)
    except ExecutorError:
        if not job.fallback.next:
            raise
        return None  # its worker sees why, and whether another executor takes its place


def _makes_session(resolved: Resolved) -> bool:
    """Whether a command of the executor's CLI makes the session, which may take seconds."""
    return _begins(resolved, SessionSource.CREATED)


def _chosen_session(resolved: Resolved) -> Session | None:
    """Return a session whose id sow chooses; None where it chooses none."""

    def run(argv: Sequence[str]) -> str:
        raise AssertionError(f"{argv}: no command makes a session whose id is chosen")

    return (
        resolved.executor.create_session(run) if _begins(resolved, SessionSource.CHOSEN) else None
    )


def _begins(resolved: Resolved, source: SessionSource) -> bool:
    """Whether the job begins a session whose id comes about so."""
    is_new = resolved.request.begins_session and not keeps_session(resolved, resolved.task)
    return is_new and resolved.executor.session_source is source


def keeps_session(resolved: Resolved, task: Task) -> bool:
    """Whether a spawn takes the session on record: one of this executor that never started."""
    return (
        not resolved.request.fresh
        and task.session_id is not UNSET
        and task.session is not UNSET
        and not task.session.started
        and is_maker(task.session, resolved.executor.config)
    )


def _log_prompt(caller: Caller, resolved: Resolved) -> None:
    """Write a resume's words into the task's log first: an answer survives without `run/`."""
    request = resolved.request
    lost = resolved.task.session_id
    if request.continues_session:
        action, text = RESUMED, request.prompt
    elif request.fresh and lost is not UNSET:
        action, text = f"{STARTED_OVER} {lost}", request.prompt
    else:
        return
    who = caller.environ.get(env_vars.AGENT, "orchestrator")
    entry = LogEntry(
        timestamp=format_time(caller.now()), agent=who, action=action, result="", text=text
    )
    append_entry(find_task(caller.workspace, resolved.task.id).folder, entry)


def _log_choice(caller: Caller, resolved: Resolved, job: Job) -> None:
    """Write into the task's log which executors this one takes the place of."""
    if not job.fallback.left:
        return
    from sow.attempts.fallback_entry import log_choice  # of these few jobs alone

    log_choice(find_task(caller.workspace, resolved.task.id).folder, job, caller.now())


def _mark_task(
    caller: Caller,
    database: Database,
    job: Job,
    resolved: Resolved,
    session: Session | None,
    draft: Draft[TaskState] | None,
) -> Task:
    """Write `in_progress` and the session into the state, checking again under the lock.

    Who cancels the job ends it first and gives the task back afterwards, under
    the same lock: either it is seen here, or that gives back what we write.
    The status to give back is the one that stands here, not the one that the
    call saw when it began.
    """

    def change(task: Task) -> Mapping[str, object]:
        if jobs.state_of(database, job.id) is JobState.CANCELLED:
            raise JobWasCancelled(job)
        changes = _marked(caller, resolved, task, session)
        if task.status not in (job.prior_status, TaskStatus.IN_PROGRESS):
            jobs.change_job(database, job.id, prior_status=task.status)
        return changes

    task_id, by = resolved.task.id, author_of_job(job)
    return change_task(caller.workspace, task_id, change, now=caller.now(), by=by, draft=draft)


def _marked(
    caller: Caller, resolved: Resolved, task: Task, session: Session | None
) -> Mapping[str, object]:
    """Return what marks a task as taken. Raises what `admit` does."""
    admit(caller, resolved, task)
    now = caller.now()
    if resolved.request.continues_session:
        return transitions.begin_resume(task, now)
    changes = dict(transitions.enter(task, TaskStatus.IN_PROGRESS, now=now))
    changes["assigned_agent"] = resolved.agent
    if not keeps_session(resolved, task):
        changes |= transitions.clear_session(task)
    if session is not None:
        facts = SessionFacts(
            executor=resolved.executor.name,
            type=type_on_record(resolved.executor.config),
            cwd=resolved.cwd,
            started=False,
            dialect=UNSET if session.dialect is None else session.dialect,
        )
        changes |= {"session_id": session.id, "session": facts}
    return changes


def _undone(
    caller: Caller, database: Database, job: Job, error: SowError, waiter: Recipient | None
) -> SowError:
    """Undo a job that cannot be placed and return why: the undoing may have failed, too."""
    try:
        _undo(caller, database, job, error, waiter)
    except SowError as worse:
        return worse
    return error


def _undo(
    caller: Caller, database: Database, job: Job, error: BaseException, waiter: Recipient | None
) -> None:
    reason = error.message if isinstance(error, SowError) else "its call was interrupted"
    undo(
        caller.workspace,
        database,
        job,
        reason=reason,
        now=caller.now(),
        known_to=waiter.id if waiter else None,
    )
    if waiter is not None:
        waiter.delivered(job.id)


def _enqueue(
    caller: Caller, database: Database, marked: Sequence[Job], waiter: Recipient | None
) -> dict[JobId, Job | SowError]:
    """Queue jobs in one commit, unless cancelled, or completed by recovery, in between.

    Return each as it stands then, or why it does not stand in the queue. A worker may take them
    before they are on disk: the sync after an attempt's record takes with it all that was
    committed before. A loss of power until then leaves jobs that are still to be queued.
    """
    if not marked:
        return {}
    queued: dict[JobId, Job] = {}
    try:
        with database.transaction(durable=False):
            statuses.take_notes(caller.workspace, database, now=caller.now())
            for job in marked:
                if jobs.state_of(database, job.id) is JobState.PREPARING:
                    leases.queue_or_hold(database, job, now=caller.now())
                queued[job.id] = jobs.get_job(database, job.id)
        workers.wake(caller.workspace)
        database.sync()
    except SowError as error:
        return {job.id: error for job in marked}
    return {job.id: _stands(caller, database, queued[job.id], waiter) for job in marked}


def _stands(
    caller: Caller, database: Database, job: Job, waiter: Recipient | None
) -> Job | SowError:
    """Return a job that was to be queued as it stands, let go where it need not be held."""
    try:
        if job.state is JobState.HELD and job.held_for is HeldFor.DEPENDENCIES:
            from sow.calls.held_jobs import release_if_ready  # few calls wait for other tasks

            release_if_ready(caller.workspace, database, job, now=caller.now())
            workers.wake(caller.workspace)
            return jobs.get_job(database, job.id)
        if job.state is JobState.CANCELLED:
            if waiter is not None:
                waiter.delivered(job.id)
            give_back(caller.workspace, database, job, now=caller.now())
            return JobWasCancelled(job)
    except SowError as error:
        return error
    return job


KIND = WorkKind()
