"""From a claimed job to a running attempt: prepare, write, record, give the supervisor its orders.

Owns the order: what the process reads is on disk and the attempt on record,
together with its supervisor, before that supervisor has its orders. What is
started is for the job's kind to say (`worker.kinds`). What happens
afterwards is `monitor`; how a claim comes about is `broker`.
"""

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from sow import env_vars
from sow.attempts.launch import secrets_of
from sow.attempts.own_executor import with_own_executor
from sow.attempts.sandbox import in_sandbox
from sow.environment import own_environment
from sow.errors import ConfigurationError, QueueError, SowError, StateError
from sow.evidence import DIGITS
from sow.faults import passing_fault, reason_of, words_of_bug
from sow.files import discard_tree, write_first_in
from sow.ids import JobId, TaskId
from sow.jobs import jobs, leases, spending
from sow.jobs.attempt_evidence import put_foreign_aside
from sow.jobs.faults import QueueChanged
from sow.jobs.private_folders import make_private, opened_private
from sow.jobs.unrecorded_agents import TaskIsCarried
from sow.paths import AttemptPaths, attempt_id
from sow.processes.fork_server import ServersDie
from sow.report_message import SOCKET
from sow.schema.amounts import Amounts
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job, Lease, ProcessIdentity
from sow.schema.kinds import kind_of
from sow.state.guarded_state import FRESH_SECONDS
from sow.state.statefiles import read_bytes
from sow.trust.accepted import NotTrusted
from worker.adopt import adopt
from worker.context import WorkerContext, tell
from worker.features import CannotGoOn, MustWait, smallest_share, worker_features
from worker.fork_servers import ForkServers
from worker.job_end import cancel_unstarted, fail_before_start
from worker.kinds import worker_kind
from worker.kinds.base import Prepared
from worker.next_executor import Move, move_by_error, move_by_limit, move_on, put_session_back
from worker.postponing import (
    hold,
    put_off,
    wait_for_project,
    wait_for_share,
    wait_for_stray,
)
from worker.running import Running, output_reader
from worker.supervisor.instructions import pack

MOST_POSTPONEMENTS = 8
"""How often in a row a job is put off because its supervisors die, in all for some three minutes.
Nothing on this machine kills them for so long: this Python or this sow cannot run."""


@dataclass(frozen=True)
class Started:
    """An attempt runs."""

    running: Running | None
    """None where an earlier attempt was found that needs nobody to watch it."""


@dataclass(frozen=True)
class Held:
    """A person has to accept a command line first."""

    error: NotTrusted


@dataclass(frozen=True)
class Postponed:
    """What the job lacks may be there later."""

    wait: Callable[[WorkerContext, Job, Lease, str], None]
    """Puts the job aside until then."""
    reason: str


@dataclass(frozen=True)
class Failed:
    """The job cannot be started, now or later."""

    error: SowError
    cause: Cause | None = None
    """None leaves it to the error."""
    on_record: Mapping[str, Any] = field(default_factory=dict)
    """What else goes on its record."""


@dataclass(frozen=True)
class Moved:
    """Its executor cannot begin; the next one of its role goes on."""

    move: Move


@dataclass(frozen=True)
class Cancelled:
    """The end of the job was asked for."""


Start = Started | Held | Postponed | Failed | Moved | Cancelled
"""What came of trying to start the next attempt of a job."""


def start(context: WorkerContext, servers: ForkServers, job_id: JobId) -> Running | None:
    """Start the next attempt of a job that this worker holds the lease on.

    Returns None where nothing was started: the job has failed for a reason
    that is on record by now, it was cancelled, its project is not checked out,
    somebody else works on its task, or another worker has taken it over.
    Raises what prevents a start just now (`sow.faults`), with nothing started.
    """
    with context.database.reading():
        lease = leases.lease_of(context.database, job_id)
        if lease is None or lease.worker_id != context.worker_id:
            return None
        job = jobs.get_job(context.database, job_id)
        history = jobs.attempts(context.database, job_id)
        is_asked = leases.end_is_asked(context.database, job_id)
    if context.database.is_shared:
        # Few queues are shared.
        from worker.guests import context_for

        context = context_for(context, job)
    try:
        result = _try_to_start(context, servers, job, lease, history, is_asked=is_asked)
        try:
            _put_on_record(context, job, lease, result)
        except leases.EndIsAsked:
            cancel_unstarted(context, job, lease)
    except leases.Fenced:
        tell(job, "was taken over by another worker")
        return None
    return result.running if isinstance(result, Started) else None


def _try_to_start(
    context: WorkerContext,
    servers: ForkServers,
    job: Job,
    lease: Lease,
    history: Sequence[Attempt],
    *,
    is_asked: bool,
) -> Start:
    """Start the next attempt, or return why not; the job itself is written afterwards.

    `history` are the attempts so far, `is_asked` tells whether the job's end was asked for.
    Raises Fenced, QueueChanged, and what prevents a start just now.
    """
    try:
        if not _opens(context, job, history):
            return Postponed(wait_for_project, "its project is not checked out")
        if history and history[-1].number > job.settled:
            return Started(adopt(context, lease))
        _put_session_back(context, job, lease)
        if is_asked:
            return Cancelled()
        if job.task_id:
            age = context.now() - job.created_at
            task_id = TaskId(job.task_id)
            context.strays.refuse(context.workspace, context.database, task_id, placed_ago=age)
        if job.fallback.next and (move := move_by_limit(context, job, history)) is not None:
            return Moved(move)
        return Started(_start_attempt(context, servers, job, lease, history))
    except leases.EndIsAsked:
        return Cancelled()
    except NotTrusted as error:
        return Held(error)
    except TaskIsCarried as error:
        reason = f"{error.message}; the job waits for its end, and `{error.ends_it}` ends it"
        return Postponed(wait_for_stray, reason)
    except MustWait as error:
        return Postponed(wait_for_share, error.reason)
    except CannotGoOn as error:
        return Failed(error.error, error.cause, error.on_record)
    except QueueChanged:
        raise
    except SowError as error:
        return _not_started(context, job, history, error)


def _opens(context: WorkerContext, job: Job, history: Sequence[Attempt]) -> bool:
    """Look at the state that a job begins with, with what its attempts have left elsewhere.

    Whether its project is there. Raises SowError.
    """
    if history and context.database.is_shared:
        # Few queues are shared.
        from worker.guests import take_home

        take_home(context, job)
    was_looked_at = was_just_looked_at(context, job, history)
    return context.state.opens_before_start(
        job.project_id, job.task_id, was_looked_at=was_looked_at
    )


def was_just_looked_at(context: WorkerContext, job: Job, history: Sequence[Attempt]) -> bool:
    """Whether the call that has placed a job has just compared all files of the project.

    It has where no other job lived (`sow.calls.kinds`). Of a batch the worker places the jobs.
    """
    if history or job.batch is not None or context.database.is_shared:
        return False
    age = context.now() - job.created_at
    return 0 <= age < FRESH_SECONDS and not jobs.is_any_other_active(context.database, job.id)


def _not_started(
    context: WorkerContext, job: Job, history: Sequence[Attempt], error: SowError
) -> Start:
    """Return what becomes of a job whose start an error prevents. Raises one that may pass."""
    if (move := move_by_error(context, job, history, error)) is not None:
        return Moved(move)
    if _is_tried_again(job, error):
        raise error
    return Failed(error)


def _is_tried_again(job: Job, error: SowError) -> bool:
    """Whether what has prevented a start may pass."""
    if isinstance(error, ServersDie):
        return job.postponements < MOST_POSTPONEMENTS
    return passing_fault(error) is not None


def _put_on_record(context: WorkerContext, job: Job, lease: Lease, result: Start) -> None:
    """Write of the job what came of its start. Raises Fenced; EndIsAsked where it was cancelled."""
    match result:
        case Held(error):
            hold(context, job, lease, error)
        case Postponed(wait, reason):
            wait(context, job, lease, reason)
        case Failed(error, cause, on_record):
            fail_before_start(context, job, lease, error, cause=cause, on_record=on_record)
        case Moved(move):
            _move_on(context, job, lease, move)
        case Cancelled():
            cancel_unstarted(context, job, lease)
        case Started():
            pass  # its attempt is on record


def _put_session_back(context: WorkerContext, job: Job, lease: Lease) -> None:
    """Put a session back that a worker took from the task and did not hand over, if there is one.

    Raises Fenced.
    """
    if job.fallback.leaving is not None:
        put_session_back(context, job, lease)


def _move_on(context: WorkerContext, job: Job, lease: Lease, move: Move) -> None:
    """Queue a job for its next executor; one whose task cannot be written any more fails."""
    try:
        move_on(context, job, lease, move)
    except StateError as error:
        if passing_fault(error) is not None:
            raise
        fail_before_start(context, job, lease, error)


def try_later(context: WorkerContext, job_id: JobId, error: BaseException) -> None:
    """Queue a job again whose start a passing fault has prevented. Raises what prevents that."""
    lease = leases.lease_of(context.database, job_id)
    if lease is None or lease.worker_id != context.worker_id:
        return
    job = jobs.get_job(context.database, job_id)
    attempt = jobs.last_attempt(context.database, job_id)
    if attempt is not None and attempt.number > job.settled:
        return  # recovery adopts what was begun
    try:
        put_off(context, job, lease, reason_of(error))
    except leases.EndIsAsked:
        cancel_unstarted(context, job, lease)


def give_up(context: WorkerContext, job_id: JobId, error: BaseException) -> None:
    """Fail a job whose start went wrong by a fault of ours; the traceback is in the log."""
    lease = leases.lease_of(context.database, job_id)
    if lease is not None and lease.worker_id == context.worker_id:
        job = jobs.get_job(context.database, job_id)
        problem = SowError(words_of_bug(error))
        fail_before_start(context, job, lease, problem, cause=Cause.INTERNAL)


def _start_attempt(
    context: WorkerContext,
    servers: ForkServers,
    job: Job,
    lease: Lease,
    history: Sequence[Attempt],
) -> Running:
    """Prepare, write, record, give orders: one attempt, in that order."""
    if context.database.is_shared:
        # Few queues are shared.
        from worker.hosting import refuse_unfit

        refuse_unfit(context, job, lease)
    recorded = job
    job = with_own_executor(job, context.configuration.path, context.workspace.root)
    number = history[-1].number + 1 if history else 1
    paths = context.workspace.attempt(job.id, number)
    share = smallest_share(context, job)
    secrets = secrets_of(job)
    prepared = worker_kind(job).prepare(context, job, lease, history, paths)
    prepared = _within(prepared, share)
    server = servers.server_for(prepared.wrapper or prepared.argv)
    if secrets is not None and servers.for_steps.is_running:
        server = servers.for_steps  # it has imported what looks through the work for secrets
    with server.forked() as waiting:
        attempt = _new_attempt(context, job, number, prepared, waiting.identity)
        environ = dict(prepared.environment(attempt.id))
        _refuse_missing_folder(prepared)
        program = shutil.which(prepared.argv[0], path=environ["PATH"]) or prepared.argv[0]
        words = (program, *prepared.argv[1:])
        if reports_by_socket(context, job, prepared):
            environ[env_vars.REPORT_SOCKET] = str(paths.report_folder / SOCKET)
        if prepared.sandbox is not None:
            words, environ = in_sandbox(job.executor_name, prepared.sandbox, words, environ)
        proxy = _proxy_orders(context, job, paths, prepared)
        if prepared.wrapper:
            environ = own_environment(environ)
        fields: Sequence[str] = ()
        if secrets is not None:
            # Few executors have any.
            from worker.secret_start import with_secrets

            prepared, environ, fields = with_secrets(
                context, job, paths, attempt.id, prepared, environ, secrets
            )
        _write_files(context, paths, prepared)
        if env_vars.REPORT_SOCKET in environ:
            _make_report_folder(context, paths)
        limits: Sequence[str] = ()
        if job.executor is not None and job.executor.limits is not None:
            # As above.
            from worker.limit_orders import limits_of

            limits = limits_of(job.executor.limits, (*prepared.own_folders, paths.folder))
        argv = [*prepared.wrapper, *words]
        lease_end = context.hearing.lease_orders
        orders = pack(
            str(paths.folder), str(prepared.cwd), argv, environ, fields, limits, proxy, lease_end
        )
        _record_attempt(context, job, lease, attempt, share, recorded)
        ordered_at = time.monotonic()
        waiting.give(orders)
    if not context.database.is_apart:
        with suppress(QueueError):  # it runs, and is on record: the next commit tells of a bad disk
            context.database.sync()
    tell(job, f"runs: {prepared.does}, attempt {number}, pid {waiting.identity.pid}")
    return Running(
        lease=lease,
        job=job,
        attempt=attempt,
        task=prepared.task,
        paths=paths,
        executor=prepared.executor,
        output=output_reader(context, job, paths.output, prepared.executor, prepared.session_id),
        environ=environ,
        ordered_at=ordered_at,
        guest=context if context.workspace.host is not None else None,
    )


def _within(prepared: Prepared, share: Amounts) -> Prepared:
    """Return a process to be that ends by itself when its share of money is used up."""
    if share.usd is None or prepared.executor is None:
        return prepared
    limit = prepared.executor.limit_arguments(share.usd)
    return replace(prepared, argv=(*prepared.argv, *limit))


def _new_attempt(
    context: WorkerContext,
    job: Job,
    number: int,
    prepared: Prepared,
    supervisor: ProcessIdentity,
) -> Attempt:
    now = context.now()
    return Attempt(
        job_id=job.id,
        number=number,
        id=attempt_id(job.id, number, os.urandom(DIGITS // 2).hex()),
        verb=prepared.verb,
        worker_id=context.worker_id,
        argv=tuple(prepared.argv),
        supervisor=supervisor,
        session_id=prepared.session_id,
        created_at=now,
        started_at=now,
    )


def _refuse_missing_folder(prepared: Prepared) -> None:
    """Refuse to start where nobody could be. Raises ConfigurationError."""
    try:
        os.stat(f"{prepared.cwd}/.")  # noqa: PTH116 - what chdir(2) asks for: one may enter it
    except OSError as error:
        raise ConfigurationError(
            f"cannot start an agent in {prepared.cwd}: {error.strerror}",
            hint="Check that the folder exists and that --cwd is correct.",
        ) from error


def _write_files(context: WorkerContext, paths: AttemptPaths, prepared: Prepared) -> None:
    """Make the attempt's folder, with what its process reads and a copy of the task's state in it.

    Neither has to survive a loss of power: the process would not either. Raises
    QueueError where something else lies in the folder's place, or it may not be written.
    """
    state: bytes | None = None
    if prepared.state_file is not None:
        state = read_bytes(prepared.state_file, context.state.copies)
    try:
        put_foreign_aside(context.workspace, paths)
        files = {paths.prompt.name: prepared.stdin.encode(), **prepared.files}
        if state is not None:
            files[paths.last_valid_state.name] = state
        with opened_private(paths.folder, below=context.workspace.run) as folder:
            for name, data in files.items():
                write_first_in(folder, paths.folder / name, data, mode=0o600)
    except OSError as error:
        raise QueueError(
            f"the output of the job cannot be kept in {paths.folder}: {error.strerror}",
            hint="Check what is at this path and its permissions, then spawn the task again.",
        ) from error


def _proxy_orders(
    context: WorkerContext, job: Job, paths: AttemptPaths, prepared: Prepared
) -> Sequence[str]:
    """Return the orders about the proxy of an agent; none for one that has none.

    Raises SandboxUnavailable.
    """
    if prepared.sandbox is None or not prepared.sandbox.hosts:
        return ()
    # Few agents have one.
    from sow.sandbox.by_proxy import proxy_argv
    from worker.supervisor.gate import pack_proxy

    whose = f"executor {job.executor_name}"
    argv = proxy_argv(whose, context.workspace, paths.proxy, context.environ)
    return pack_proxy(prepared.sandbox.hosts, argv)


def reports_by_socket(context: WorkerContext, job: Job, prepared: Prepared) -> bool:
    """Whether what is started is an agent that reports through a socket: one in a sandbox."""
    if not kind_of(job).is_agents:
        return False
    return prepared.sandbox is not None or context.environ.get(env_vars.REPORTS) == SOCKET


def _make_report_folder(context: WorkerContext, paths: AttemptPaths) -> None:
    """Make the folders of an attempt's reports, anew, for nobody but the user."""
    try:
        discard_tree(paths.reports)
        make_private(paths.report_folder, below=context.workspace.run)
    except OSError as error:
        raise QueueError(
            f"the reports of the agent cannot be taken in {paths.reports}: {error.strerror}",
            hint="Check what is at this path and its permissions, then spawn the task again.",
        ) from error


def _record_attempt(
    context: WorkerContext,
    job: Job,
    lease: Lease,
    attempt: Attempt,
    share: Amounts,
    recorded: Job,
) -> None:
    """Put the attempt on record, with its share of what is limited.

    `recorded` is the job as its record has it: an executor that has changed since goes there too.
    Its process need not wait for this machine's disk: a loss of power in between ends both, and the
    job is in the queue then as if nothing had begun. A server's crash ends no agent. Raises Fenced;
    EndIsAsked where it must not begin any more; MustWait where others have begun meanwhile.
    """
    with leases.under(context.database, lease, durable=context.database.is_apart):
        leases.refuse_if_asked(context.database, lease.job_id)
        jobs.insert_attempt(context.database, attempt)
        if job.executor is not None and job.executor != recorded.executor:
            most = job.executor.max_parallel
            changes = {"executor": job.executor, "max_parallel": most}
            jobs.change_job(context.database, job.id, **changes)
        if kind_of(job).is_agents:
            for feature in worker_features():
                feature.on_begin(context, job, share)
            spending.begin(context.database, job, attempt, share)
        if job.postponements:
            jobs.change_job(context.database, job.id, postponements=0)
