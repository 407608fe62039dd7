"""What the queue's records tell of a project: what lives, how it ended last, what is owed.

Owns which records are asked for: what only something that lives needs is imported
for that. Changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.features import FEATURES
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs, waiters
from sow.jobs.database import Database
from sow.jobs.waiters import Unshown
from sow.lifecycle.stages import WHOLE_PHASE
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.project import Project
from sow.schema.task import Task, TaskStatus
from sow.situation.branches import Branches
from sow.situation.job_steps import MOST_NAMED
from sow.situation.situation import BatchNow, Doing, Queue
from sow.situation.task_facts import is_left

if TYPE_CHECKING:  # of queues that several share
    from sow.jobs.hosts import Host

MOST_SEEN = 100
"""How many live jobs are looked at closely: more agents at once is no machine's."""


def _is_vain_review(job: Job) -> bool:
    return kind_of(job).judges and job.state is JobState.FAILED


def _stands(job: Unshown, tasks: Mapping[str, Task]) -> bool:
    """Whether a task is as a detached job has left it: who has changed or judged it knows it.

    A check of the whole stands until there is a newer one, which lets this one's call be forgotten.
    """
    if not job.task_id:
        return True
    task = tasks.get(job.task_id)
    if task is None:
        return False
    is_judged = (
        task.review is not UNSET
        and task.review.job != job.job_id
        and task.review.at.timestamp() >= int(job.ended_at)  # state files have whole seconds
    )
    return job.status in (None, task.status) and not is_judged


class QueueLook:
    """One look at the records of a project."""

    def __init__(
        self,
        caller: Caller,
        database: Database,
        configuration: Configuration | None,
        project: Project,
        tasks: Sequence[Task],
    ) -> None:
        self._caller = caller
        self._workspace = caller.workspace
        self._database = database
        self._configuration = configuration
        self._project = ProjectId(project.id)
        self._is_red = project.check is not UNSET and not project.check.passed
        self._tasks = tasks

    def queue(
        self, branches: Branches, tell: Callable[[SowError], None], *, closely: bool
    ) -> Queue:
        """Return what the records tell; `tell` hears of a batch that cannot be looked at.

        `closely`: what live jobs do, and what agents ask, is looked for besides. Raises QueueError.
        """
        above = self._above()
        live = self._live(above)
        last = self._last(live, branches)
        driven = self._batches(tell)
        is_needed = bool(live or driven)
        is_manned = not is_needed or self._is_manned()
        return Queue(
            live=live,
            above_reader=frozenset(task for job in above for task in job.tasks),
            last=last,
            vain_reviews=self._counted(jobs.reviews_in_vain, last, _is_vain_review),
            review_runs=self._counted(
                jobs.runs_to_an_end, last, lambda job: job.phase == WHOLE_PHASE
            ),
            refused_merges=self._counted(
                jobs.refused_merges, last, lambda job: job.cause is Cause.MERGE_REFUSED
            ),
            last_check=self._last_check(),
            owed=self._owed(),
            batches=driven,
            paused_since=self._paused_since() if is_needed else "",
            is_staffed=is_manned or self._may_start_one(),
            is_manned=is_manned,
            in_doubt=[job.id for job in live if self._is_in_doubt(job)],
            is_shared=self._database.is_shared,
            unserved=self._unserved(live) if self._database.is_shared else {},
            silent=self._silent() if closely and self._database.is_shared else (),
            features=self._features(),
            cursor=self._cursor() if len(live) > MOST_NAMED else "0",
            doing=self._doing(live) if closely else {},
            stalled=self._stalled(live),
            words=self._words(last) if closely else {},
        )

    def _above(self) -> list[Job]:
        """Return the project's jobs that have not ended and wait for the caller, its own first."""
        job_id = self._caller.job_id
        chain = jobs.ancestors(self._database, job_id) if job_id is not None else []
        return [job for job in chain if job.project_id == self._project and not job.state.is_final]

    def _live(self, above: Sequence[Job]) -> list[Job]:
        """Return the project's jobs that have not ended, without those above the caller."""
        own = {job.id for job in above}
        active = jobs.active_jobs(self._database)
        return [job for job in active if job.project_id == self._project and job.id not in own]

    def _last(self, live: Sequence[Job], branches: Branches) -> dict[TaskId, Job]:
        """Return the last job of each task on which somebody has to go on."""
        taken = {task for job in live for task in job.tasks}
        left = [
            TaskId(task.id)
            for task in self._tasks
            if task.id not in taken and is_left(task, branches)
        ]
        return jobs.last_jobs(self._database, self._project, left) if left else {}

    def _counted(
        self,
        count: Callable[[Database, ProjectId, TaskId], int],
        last: Mapping[TaskId, Job],
        wanted: Callable[[Job], bool],
    ) -> dict[TaskId, int]:
        """Return what is counted of each task whose newest job is a wanted one."""
        tasks = [task for task, job in last.items() if wanted(job)]
        return {task: count(self._database, self._project, task) for task in tasks}

    def _last_check(self) -> int:
        """Return the job whose log says why the last check of the whole was red; 0 for none."""
        last = jobs.last_job(self._database, self._project, TaskId("")) if self._is_red else None
        return last.id if last is not None and last.cause is Cause.CHECK_FAILED else 0

    def _owed(self) -> list[tuple[TaskId, JobId]]:
        """Return whose outcome was shown to nobody, or whose status is still to be written."""
        owed = waiters.owed_tasks(self._database, self._workspace, self._project)
        tasks = {task.id: task for task in self._tasks}
        left = waiters.unshown(self._database, self._project)
        owed += [(job.task_id, job.job_id) for job in left if _stands(job, tasks)]
        owing = [job for job in jobs.owing(self._database) if job.project_id == self._project]
        pairs = dict.fromkeys([*owed, *((job.task_id, job.id) for job in owing)])
        return [pair for pair in pairs if not pair[0] or pair[0] in tasks]

    def _batches(self, tell: Callable[[SowError], None]) -> list[BatchNow]:
        """Return the batches that go on; without settings nobody can tell how they stand."""
        from sow.jobs import batches  # few projects have one

        found = batches.going_on(self._database, self._project)
        if not found or self._configuration is None:
            return []
        from sow.situation.batch_look import look_at_batches  # all that a batch may do next

        return look_at_batches(
            self._caller, self._database, self._configuration, found, self._tasks, tell
        )

    def _features(self) -> dict[str, Any]:
        """Return what features that have settings say of the queue."""
        settings = self._configuration.features if self._configuration is not None else {}
        return {
            feature.key: feature.part("steps").look(
                self._database, self._project, settings[feature.key], now=self._caller.now()
            )
            for feature in FEATURES
            if feature.key in settings
        }

    def _paused_since(self) -> str:
        from sow.jobs import control  # only where something waits

        return control.paused_since(self._database) or ""

    def _may_start_one(self) -> bool:
        """Whether a call may start a worker."""
        return self._configuration is None or self._configuration.worker.autostart

    def _is_manned(self) -> bool:
        """Whether a worker lives."""
        from sow.jobs import workers  # only where something is to be done

        return bool(workers.staff(self._database, self._workspace, everywhere=True))

    def _is_in_doubt(self, job: Job) -> bool:
        if job.state not in (JobState.RUNNING, JobState.PREPARING):
            return False
        from sow.jobs.unverifiable import is_in_doubt  # looks at processes

        return is_in_doubt(self._workspace, self._database, job)

    def _unserved(self, live: Sequence[Job]) -> dict[str, list[JobId]]:
        """Return for what jobs wait that no host of a shared queue offers, and which do."""
        from sow.jobs.hosts import unserved  # few queues are shared

        return unserved(self._database, live)

    def _silent(self) -> "Sequence[Host]":
        """Return the hosts of a shared queue that are not heard any more."""
        from sow.jobs.hosts import silent_hosts  # few queues are

        return silent_hosts(self._database)

    def _cursor(self) -> str:
        from sow.jobs import changes  # only where many run

        return str(changes.newest(self._database))

    def _doing(self, live: Sequence[Job]) -> dict[JobId, Doing]:
        """Return what live jobs do, or wait for."""
        if not live:
            return {}
        from sow.situation.doing import doing_of  # reads what agents have printed

        return doing_of(self._workspace, self._database, live[:MOST_SEEN], self._caller.now())

    def _stalled(self, live: Sequence[Job]) -> dict[JobId, str]:
        """Return for how long agents give no sign of life, of those that give none."""
        from sow.reports.activity import stall_of  # where something runs

        running = [job for job in live if job.state is JobState.RUNNING]
        if self._database.is_shared:
            from sow.jobs.hosts import runs_elsewhere  # few queues are

            running = [job for job in running if not runs_elsewhere(self._database, job.id)]
        found = {job.id: stall_of(self._workspace, job, self._caller.now()) for job in running}
        return {job: stalled for job, stalled in found.items() if stalled}

    def _words(self, last: Mapping[TaskId, Job]) -> dict[str, str]:
        """Return what the agents of paused tasks ask, in a line each."""
        if not any(task.status is TaskStatus.PAUSED for task in self._tasks):
            return {}
        from sow.reports.agents_words import questions_of  # reads the tasks' logs

        return questions_of(self._workspace, self._tasks, last)
