"""Jobs that are at home in another checkout, as a worker runs them: in a guest's folder.

Owns the surroundings of such a job, which are the worker's own but for the workspace, and what is
done for it besides: taking up what was sent, and what earlier attempts did on other hosts, before
its start; pushing what its agent has left, as its attempt ends; telling what befell its task, in
the commit that settles it. All else is done by the very modules that run jobs of one's own. They
come here only in a queue that is shared.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace as replace_context

import msgspec

from sow.attempts.homes import homes_of_checkout, remove_home
from sow.clones.main_checkout import known_settings, main_checkout
from sow.errors import SowError
from sow.faults import reason_of
from sow.git.remote import Remote, remote_of
from sow.git.repository import repository_of
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs, travels
from sow.jobs.hosts import home_of
from sow.jobs.jobs import author_of_job
from sow.jobs.store import HOST_MARK
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.step_result import StepResult
from sow.schema.task import Task
from sow.schema.travel import EventKind, Travel
from sow.state import transitions
from sow.state.guarded_state import GuardedState
from sow.state.tasks import change_task
from sow.travel.arriving import bring_home, catch_up
from sow.travel.guest import GuestWorkspace, caught_up, guest_at, note_caught_up, take_up
from sow.travel.names import attempt_ref
from sow.travel.old_guests import remove_old_guests
from sow.travel.old_refs import remove_old_refs
from sow.travel.telling import look_at_review, look_at_state, state_events, verdict_events
from worker.clone_gathering import gather
from worker.context import WorkerContext, logger, tell
from worker.gathering import Gathered
from worker.running import Running

SHARED = ("hearing", "strays", "told_ends", "reported_once")
"""What a worker remembers of all its jobs."""


def context_for(context: WorkerContext, job: Job) -> WorkerContext:
    """Return the surroundings in which a worker runs a job: its own, or those of a guest."""
    if context.workspace.host is not None:
        return context
    home = home_of(context.database, job.id)
    if not context.database.is_elsewhere(f"{HOST_MARK}{home}"):
        return context
    travel = travels.travel_of(context.database, job.id)
    if travel is None:
        return context
    guest = guest_at(context.workspace, home, job.project_id, job.task_id)
    made = replace_context(context, workspace=guest)
    for name in SHARED:
        vars(made)[name] = getattr(context, name)
    vars(made)["state"] = GuestState(guest, made, job, travel)
    return made


def take_home(context: WorkerContext, job: Job) -> None:
    """Carry out at home what earlier attempts of a job did elsewhere, before it goes on here.

    Raises StateError where something cannot be done now.
    """
    if context.workspace.host is None:
        bring_home(context.workspace, context.database, job, now=context.now())


class GuestState(GuardedState):
    """The state in a guest's folder.

    Before an agent starts, what was sent is taken up there, and what earlier attempts of its job
    did on other hosts.
    """

    def __init__(
        self, guest: GuestWorkspace, context: WorkerContext, job: Job, travel: Travel
    ) -> None:
        super().__init__(guest)
        self._guest = guest
        self._context = context
        self._job = job
        self._travel = travel

    def opens_before_start(
        self, project_id: ProjectId, task_id: str, *, was_looked_at: bool = False
    ) -> bool:
        """Have there what its job begins with, and look at it. Raises SowError."""
        name = self._context.configuration.queue_remote
        sent = (self._guest, self._travel, name, project_id, task_id)
        take_up(*sent, in_clone=not kind_of(self._job).judges)
        self._catch_up()
        self._take_back(TaskId(task_id))
        return super().opens_before_start(project_id, task_id, was_looked_at=was_looked_at)

    def _catch_up(self) -> None:
        """Have there what attempts of other hosts have left. Done again, it changes nothing."""
        context, job = self._context, self._job
        events = travels.events_of(context.database, job.id)
        if not events:
            return
        tried = jobs.attempts(context.database, job.id)
        others = {each.number for each in tried if context.database.is_elsewhere(each.worker_id)}
        begun = caught_up(self._guest)
        new = [event for event in events if event.attempt in others and event.attempt > begun]
        if not new:
            return
        remote = _remote_of(context)
        catch_up(self._guest, context.database, job, self._travel, new, remote, now=context.now())
        note_caught_up(self._guest, self._travel, new[-1].attempt)
        tell(job, f"goes on from what attempt {new[-1].attempt} has left, on another host")

    def _take_back(self, task_id: TaskId) -> None:
        """Have the task in progress, whatever an earlier attempt has reported here.

        Its end is not on record, or there would be no other attempt: its host was not heard. The
        next one, killed before it reports, would be judged by that report.
        """
        context, job = self._context, self._job
        if not kind_of(job).marks_task or not jobs.attempts(context.database, job.id):
            return
        change_task(
            self._guest,
            task_id,
            transitions.take_back,
            now=context.now(),
            by=author_of_job(job),
        )


def sweep_travelled(context: WorkerContext, *, oldest: float) -> None:
    """Remove what is left of jobs that were away: guests' folders here, and refs of our own jobs.

    They were last used before `oldest`. What cannot be found or removed now stays for the next
    time.
    """

    def remove_homes(guest: GuestWorkspace) -> None:
        for homes in homes_of_checkout(guest).values():
            remove_home(homes)

    where = context.workspace, context.database
    with suppress(SowError, OSError):
        removed = remove_old_guests(*where, remove_homes, oldest=oldest)
        if removed:
            logger.info("removed folders of other hosts' tasks: %s", ", ".join(map(str, removed)))
    # Records that go after this leave refs behind where it fails: a remote may refuse for ever.
    try:
        refs = remove_old_refs(*where, context.configuration.queue_remote, oldest=oldest)
    except (SowError, OSError) as error:
        logger.warning("refs of old jobs cannot be removed now: %s", reason_of(error))
    else:
        if refs:
            logger.info("removed %d refs of old jobs from the remote", len(refs))


def gather_and_push(context: WorkerContext, running: Running) -> Gathered:
    """Gather what an agent has left in its clone, and push it to the ref of its attempt.

    Raises SowError, such as passes where the remote cannot be reached.
    """
    job = running.job
    found = gather(context, job, running.task)
    if found.commit is None:
        return found
    ref = attempt_ref(job.project_id, running.attempt.id)
    remote = _remote_of(context)
    remote.make_ref(ref, found.commit)
    tell(job, f"its work is at {ref} of {remote.name}")
    return found


def _remote_of(context: WorkerContext) -> Remote:
    """Return the remote as the worker's own checkout names it, for the guest's repository."""
    workspace = context.workspace
    assert workspace.host is not None  # noqa: S101 - asked of guests alone
    own = remote_of(repository_of(workspace.host), context.configuration.queue_remote)
    main = main_checkout(workspace, known_settings(workspace))
    return Remote(own.name, own.url, main.repository)


def tell_work(context: WorkerContext, running: Running) -> None:
    """Tell where an attempt's work is, once; in the transaction that records its end."""
    result = running.gathering.result if running.gathering is not None else None
    if result is None or result.commit is None:
        return
    job, number = running.job, running.attempt.number
    known = travels.events_of(context.database, job.id)
    if any(each.attempt == number and each.kind == EventKind.WORK for each in known):
        return
    data = {"commit": result.commit, "ref": attempt_ref(job.project_id, running.attempt.id)}
    travels.add_event(context.database, job.id, number, EventKind.WORK, data)


def state_teller(context: WorkerContext, running: Running) -> Callable[[Task], None]:
    """Look at what befell the task, and return what tells it.

    That is to be called in the transaction that settles the attempt, the task's lock held. The look
    runs git: the queue's other users do not wait for it.
    """
    database, job, number = context.database, running.job, running.attempt.number
    travel, known = travels.travel_of(database, job.id), travels.events_of(database, job.id)
    if travel is None:
        return lambda _: None
    seen = look_at_state(context.workspace, travel, job.task_id, known)

    def tell_state(task: Task) -> None:
        for kind, data in state_events(seen, task):
            travels.add_event(database, job.id, number, kind, data)

    return tell_state


def tell_check(context: WorkerContext, running: Running, result: StepResult) -> None:
    """Tell what a check has come to; in the transaction that settles its attempt."""
    if result.check is not None:
        job, number = running.job, running.attempt.number
        data = msgspec.to_builtins(result.check)
        travels.add_event(context.database, job.id, number, EventKind.CHECK, data)


def verdict_teller(context: WorkerContext, running: Running) -> Callable[[Task], None]:
    """Look at what befell a task under review, and return what tells it, with the verdict.

    When each is to be called, `state_teller` says.
    """
    database, job, number = context.database, running.job, running.attempt.number
    travel, known = travels.travel_of(database, job.id), travels.events_of(database, job.id)
    if travel is None:
        return lambda _: None
    guest = context.workspace
    seen = look_at_review(guest, travel, job.task_id, known)

    def tell_verdict(task: Task) -> None:
        for kind, data in verdict_events(seen, guest, job, task):
            travels.add_event(database, job.id, number, kind, data)

    return tell_verdict
