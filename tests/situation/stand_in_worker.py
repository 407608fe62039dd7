"""A worker and its agents in the test's own process: what they come to is left to chance.

It drives batches and ends jobs as a worker would, and runs no program. Whoever reads what
it leaves sees the same files and records as after a true one.
"""

import random
import time

from calls.desk import WORKER, Desk
from msgspec import UNSET

from sow.batches.gathering import Seen
from sow.calls.batch_look import Work
from sow.calls.batch_turn import take_turn
from sow.calls.project_review import work_under_review
from sow.config.checks import hash_of
from sow.ids import ProjectId
from sow.jobs import batches, jobs, leases, waiters
from sow.schema.batch import BatchState
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.job_terms import CheckTerms
from sow.schema.project import ProjectCheck
from sow.schema.task import CheckRecord, CommandResult, SessionFacts, Task, TaskStatus
from sow.state import lifecycle
from sow.state.authors import Author
from sow.state.log_writing import LogEntry
from sow.state.projects import read_project
from sow.state.task_log import append_entry
from sow.state.tasks import change_task, find_task, read_task
from sow.state.transitions import enter, moment
from sow.state.verdicts import Judgement, accept, correct

SESSION = "11111111-2222-4333-8444-555555555555"
LEAVES = (
    *(TaskStatus.NEEDS_REVIEW,) * 4,
    TaskStatus.COMPLETED,
    TaskStatus.PAUSED,
    TaskStatus.FAILED,
)
CRASHES = (Cause.CRASHED, Cause.AUTH, Cause.NO_STATUS, Cause.BUDGET_REACHED)


class StandInWorker:
    """Ends the jobs of a desk, one at a time."""

    def __init__(self, desk: Desk, chance: random.Random) -> None:
        self.desk = desk
        self.chance = chance

    @property
    def live(self) -> list[Job]:
        """The jobs that a worker may take."""
        found = jobs.active_jobs(self.desk.database)
        return [job for job in found if job.state is not JobState.HELD]

    def drive_batches(self) -> None:
        """Take a turn of each batch that goes on."""
        desk = self.desk
        project = ProjectId(read_project(desk.workspace).id)
        for batch in batches.going_on(desk.database, project):
            if batch.state is BatchState.RUNNING:
                work = Work(desk.caller, desk.database, desk.config, batch)
                take_turn(work, Seen(desk.workspace))

    def end_one(self) -> None:
        """Let what runs come to an end: one job, and what its batch makes of that."""
        if self.live:
            self.end(self.chance.choice(self.live))
        self.drive_batches()

    def end(self, job: Job) -> None:
        """Let a job come to its end, whatever that is."""
        while leases.claim(self.desk.database, WORKER, total=99, own=99, now=time.time()):
            pass
        if jobs.get_job(self.desk.database, job.id).state is JobState.QUEUED:
            return  # the queue is paused
        job = jobs.get_job(self.desk.database, job.id)
        if job.state.is_final:
            return
        if job.cancel_requested_at is not None:
            self._cancelled(job)
            return
        if not job.task_id:
            self._check(job)
        elif job.verb is Verb.CHECK:
            self._check_task(job)
        elif job.verb is Verb.REVIEW:
            self._review(job)
        else:
            self._work(job)

    def _finish(
        self,
        job: Job,
        status: TaskStatus | None,
        cause: Cause | None = None,
        state: JobState | None = None,
    ) -> None:
        database = self.desk.database
        leases.withdraw(database, job.id)
        database.run("delete from lease where job_id = ?", (job.id,))
        ends = {
            "state": state or (JobState.DONE if cause is None else JobState.FAILED),
            "cause": cause,
            "reason": "" if cause is None else "it was not to be",
            "outcome_status": status,
            "settled": 1,
            "started_at": job.created_at,
            "ended_at": time.time(),
        }
        jobs.change_job(database, job.id, **ends)
        waiters.ring_job(database, self.desk.workspace, job.id)
        waiters.take_detached(database, job.id)  # beside a true worker its call would have waited

    def _cancelled(self, job: Job) -> None:
        """End a job as somebody has asked: its task is paused."""
        status = None
        if job.task_id:
            status = read_task(self.desk.workspace, job.task_id).status
            if status is TaskStatus.IN_PROGRESS:
                status = TaskStatus.PAUSED
                self._change(job, status=status)
        self._finish(job, status, state=JobState.CANCELLED)

    def _work(self, job: Job) -> None:
        """End an author's job: it reports, or it comes to nothing."""
        task = read_task(self.desk.workspace, job.task_id)
        if task.judges_whole and self.chance.random() < 0.8:
            self._judge_whole(job, task)
            return
        session = {
            "session_id": SESSION,
            "session": SessionFacts(executor="claude-code", cwd=".", started=True),
        }
        if self.chance.random() < 0.15:
            cause = self.chance.choice(CRASHES)
            self._change(job, status=TaskStatus.FAILED, **session)
            self._finish(job, TaskStatus.FAILED, cause)
            return
        status = self.chance.choice(LEAVES)
        if status is TaskStatus.PAUSED:
            entry = LogEntry(job_time(), "implementer", "Which colour is it to be?")
            append_entry(find_task(self.desk.workspace, job.task_id).folder, entry)
        self._change(job, **session)
        change_task(
            self.desk.workspace,
            job.task_id,
            lambda found: {**enter(found, status, now=time.time()), **_addressed(found)},
            now=time.time(),
        )
        self._finish(job, status)

    def _change(self, job: Job, **fields: object) -> None:
        change_task(self.desk.workspace, job.task_id, lambda _: fields, now=time.time())

    def _judge_whole(self, job: Job, task: Task) -> None:
        workspace, work = self.desk.workspace, work_under_review(task)
        by = Author("reviewer", job=job.id)
        if self.chance.random() < 0.7:
            lifecycle.accept_whole(workspace, work, "Good.", by=by, now=time.time())
        else:
            lifecycle.correct_whole(workspace, work, "", b"More.\n", by=by, now=time.time())
        change_task(
            workspace,
            task.id,
            lambda found: enter(found, TaskStatus.COMPLETED, now=time.time()),
            now=time.time(),
        )
        self._finish(job, TaskStatus.COMPLETED)

    def _review(self, job: Job) -> None:
        """End a review of a task: it gives a verdict, or comes to nothing."""
        judgement = Judgement(by="reviewer", summary="Seen.", job=job.id)
        outcome = self.chance.random()
        status = read_task(self.desk.workspace, job.task_id).status
        if outcome < 0.7:
            accept(self.desk.workspace, job.task_id, judgement, complete=False, now=time.time())
        elif outcome < 0.9:
            correct(self.desk.workspace, job.task_id, judgement, b"Again.\n", now=time.time())
        self._finish(job, status, None if outcome < 0.9 else Cause.NO_VERDICT)

    def _check(self, job: Job) -> None:
        """End a check of the whole: it is green, or red."""
        from sow.clones.project_work import work_of

        passed = self.chance.random() < 0.6
        names = list(job.terms.names) if isinstance(job.terms, CheckTerms) else []
        work = work_of(self.desk.workspace.root)
        checks = self.desk.config.checks.commands
        check = ProjectCheck(
            passed=passed,
            at=moment(time.time()),
            work=work,
            names=names,
            commands={name: hash_of(checks[name].run) for name in names},
        )
        lifecycle.record_check(self.desk.workspace, check, now=time.time())
        self._finish(job, None, None if passed else Cause.CHECK_FAILED)

    def _check_task(self, job: Job) -> None:
        """End a check of a task: it is green, or red; the task stays as it is."""
        passed = self.chance.random() < 0.6
        names = job.terms.names if isinstance(job.terms, CheckTerms) else []
        checks = self.desk.config.checks.commands
        results = [
            CommandResult(name=name, passed=passed, command=hash_of(checks[name].run))
            for name in names
        ]
        record = CheckRecord(passed=passed, at=moment(time.time()), results=results)
        self._change(job, check=record)
        status = read_task(self.desk.workspace, job.task_id).status
        self._finish(job, status, None if passed else Cause.CHECK_FAILED)


def _addressed(task: Task) -> dict[str, object]:
    from sow.state.verdicts import addressed

    return {} if task.feedback is UNSET else dict(addressed(task))


def job_time() -> str:
    from sow.clock import format_time

    return format_time(time.time())
