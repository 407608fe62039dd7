"""From a claimed job to a running agent: plan, record, start the supervisor.

Owns the order: the attempt is on record before its process exists, its
prompt is on disk before its process reads it. What happens afterwards is
`monitor`; how a claim comes about is `broker`.
"""

import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sow.errors import ConfigurationError, SowError
from sow.executors.base import Launch
from sow.executors.registry import make_executor
from sow.files import write_atomically
from sow.ids import JobId, TaskId
from sow.jobs import jobs, leases
from sow.paths import AttemptPaths, attempt_id
from sow.processes import facts
from sow.schema.job import Attempt, Cause, Job, JobState, Lease
from sow.sessions.launching import environment_of, launch_of, location_for, task_folder
from sow.sessions.plan import Plan, plan_attempt
from sow.state.tasks import read_task
from worker.adopt import adopt
from worker.context import WorkerContext, tell
from worker.output import OutputReader
from worker.renewal import lacks_session, renew_session
from worker.running import Running
from worker.settle import ELSEWHERE_SECONDS, fail_before_start, is_checked_out
from worker.supervision import PACKAGES_OPTION

SUPERVISOR = Path(__file__).with_name("supervisor.py")


def start(context: WorkerContext, job_id: JobId) -> Running | None:
    """Start the next attempt of a job that this worker holds the lease on.

    Returns None where nothing was started: the job has failed for a reason
    that is on record by now, its project is not checked out, or another worker
    has taken it over.
    """
    lease = leases.lease_of(context.database, job_id)
    if lease is None or lease.worker_id != context.worker_id:
        return None
    job = jobs.get_job(context.database, job_id)
    try:
        if not is_checked_out(context, job):
            _wait_for_project(context, job, lease)
            return None
        history = jobs.attempts(context.database, job.id)
        if history and history[-1].number > job.settled:
            return adopt(context, lease)
        return _start_attempt(context, job, lease, history)
    except leases.Fenced:
        tell(job, "was taken over by another worker")
        return None
    except SowError as error:
        fail_before_start(context, job, lease, error)
        return None


def give_up(context: WorkerContext, job_id: JobId, error: BaseException) -> None:
    """Fail a job whose start went wrong by a fault of ours; the traceback is in the log."""
    lease = leases.lease_of(context.database, job_id)
    if lease is not None and lease.worker_id == context.worker_id:
        job = jobs.get_job(context.database, job_id)
        problem = SowError(f"sow itself failed: {type(error).__name__}: {error}")
        fail_before_start(context, job, lease, problem, cause=Cause.INTERNAL)


def _wait_for_project(context: WorkerContext, job: Job, lease: Lease) -> None:
    now = context.now()
    tell(job, "waits: its project is not checked out")
    leases.requeue(
        context.database,
        lease,
        state=JobState.BACKOFF,
        retry_at=now + ELSEWHERE_SECONDS,
        now=now,
        reason="its project is not checked out",
    )


def _start_attempt(
    context: WorkerContext, job: Job, lease: Lease, history: Sequence[Attempt]
) -> Running:
    """Read, plan, record, write, start, record: one attempt, in that order."""
    task = read_task(context.workspace, TaskId(job.task_id))
    executor = make_executor(job.executor)
    executor.validate_availability(job.path_variable)
    if lacks_session(task, executor, history):
        task = renew_session(context, job, lease, executor)
    folder = task_folder(context.workspace, task)
    location = location_for(context.workspace, job, folder)
    plan = plan_attempt(job, task, history, executor, location)
    number = history[-1].number + 1 if history else 1
    paths = context.workspace.attempt(job.id, number)
    launch = launch_of(context.workspace, job, task, plan, executor, paths.prompt)
    attempt = _new_attempt(context, job, number, plan, launch)
    environ = environment_of(context.workspace, job, attempt.id, launch, context.environ)
    _write_files(paths, plan, folder)
    with leases.under(context.database, lease):
        jobs.insert_attempt(context.database, attempt)
    process = _start_supervisor(paths, launch, environ)
    attempt = _record_process(context, lease, attempt, process)
    tell(job, f"runs: {plan.verb} by {job.executor.name}, attempt {number}, pid {process.pid}")
    return Running(
        lease=lease,
        job=job,
        attempt=attempt,
        task=task,
        paths=paths,
        executor=executor,
        output=OutputReader(paths.output, executor),
        process=process,
        environ=environ,
    )


def _new_attempt(
    context: WorkerContext, job: Job, number: int, plan: Plan, launch: Launch
) -> Attempt:
    return Attempt(
        job_id=job.id,
        number=number,
        id=attempt_id(job.id, number, uuid.uuid4().hex[:12]),
        verb=plan.verb,
        worker_id=context.worker_id,
        argv=launch.argv,
        session_id=plan.session.id if plan.session else None,
        created_at=context.now(),
    )


def _write_files(paths: AttemptPaths, plan: Plan, task_dir: Path) -> None:
    """Make the attempt's folder, with the prompt and a copy of the task's state in it.

    Neither has to survive a loss of power: the agent would not either.
    """
    paths.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(paths.prompt, plan.prompt.encode(), mode=0o600, durable=False)
    shutil.copyfile(task_dir / "state.yaml", paths.last_valid_state)


def _start_supervisor(
    paths: AttemptPaths, launch: Launch, environ: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Exec the supervisor in a session of its own, with the agent's environment and folder."""
    program = shutil.which(launch.argv[0], path=environ["PATH"]) or launch.argv[0]
    packages = facts.packages()
    options = [] if packages is None else [PACKAGES_OPTION, str(packages)]
    own = [sys.executable, "-I", "-S", str(SUPERVISOR), *options, str(paths.folder)]
    try:
        with paths.supervisor_log.open("ab") as log:
            return subprocess.Popen(
                [*own, program, *launch.argv[1:]],
                cwd=launch.cwd,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    except OSError as error:
        raise ConfigurationError(
            f"cannot start an agent in {launch.cwd}: {error.strerror}",
            hint="Check that the folder exists and that --cwd names the one you mean.",
        ) from error


def _record_process(
    context: WorkerContext, lease: Lease, attempt: Attempt, process: subprocess.Popen[bytes]
) -> Attempt:
    attempt = msgspec.structs.replace(
        attempt, supervisor=facts.identify(process.pid), started_at=context.now()
    )
    with leases.under(context.database, lease):
        jobs.change_attempt(
            context.database,
            attempt.job_id,
            attempt.number,
            supervisor=attempt.supervisor,
            started_at=attempt.started_at,
        )
    return attempt
