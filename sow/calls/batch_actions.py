"""A batch's next action carried out, by the same functions that the commands use.

Owns which call each action is, and what the author is told. Each action is placed
under the number of its step: one that another worker has done is not done again. What one kind of
action needs, its function imports: whoever only looks at a batch imports this module too.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from sow.batches.planning import STOPPED
from sow.calls.batch_look import Work
from sow.calls.job_end import withdraw
from sow.calls.kinds import place
from sow.calls.request import BatchPart, Request
from sow.config.checks import checks_of, chosen, read_repository
from sow.errors import StateError
from sow.executors.registry import can_resume
from sow.ids import TaskId
from sow.jobs import jobs, workers
from sow.jobs.jobs import StepIsTaken
from sow.jobs.unrecorded_agents import TaskIsCarried, refuse_strays
from sow.schema.batch import Action
from sow.schema.job import Verb
from sow.schema.job_terms import CheckTerms, MergeWay
from sow.schema.task import FeedbackStatus, ReviewVerdict, Task, TaskStatus
from sow.state.tasks import change_task, read_task
from sow.state.transitions import FieldChanges, enter
from sow.state.verdicts import Judgement, accept, feedback_status

BY_CHECK = "check"
"""Who has judged, where a green check is enough."""


class Step(NamedTuple):
    """One action of one task."""

    task: TaskId
    action: Action
    number: int
    """Counted from 1 for each task of a batch."""


def do(work: Work, step: Step) -> None:
    """Carry out one action. Raises what the command of it would be refused with."""
    at_once = AT_ONCE.get(step.action)
    if at_once is not None:
        at_once(work, step)
        return
    caller = work.caller
    workers.let_older_leave(work.database, caller.workspace, now=caller.now())  # as a call does
    try:
        place(caller, work.database, work.config, request_of(work, step))
    except StepIsTaken:
        return  # another worker has come first


def request_of(work: Work, step: Step) -> Request:
    """Return the call that an action is."""
    return REQUESTS[step.action](work, step)


def _part(work: Work, step: Step) -> BatchPart:
    return BatchPart(work.batch.id, step.number, step.action)


def _request(work: Work, step: Step, verb: Verb, **more: Any) -> Request:
    return Request(verb=verb, task_id=step.task, again=True, part=_part(work, step), **more)


def _spawn(work: Work, step: Step) -> Request:
    policy = work.batch.policy
    before_approval = policy.before_approval
    return _request(work, step, Verb.SPAWN, clone=policy.clone, before_approval=before_approval)


def _resume(work: Work, step: Step, prompt: str) -> Request:
    """Return the call that has an author go on: in its session, or else in another one."""
    if not _resumes(work, step):
        return replace(_spawn(work, step), fresh=True, clone=None, prompt=prompt)
    return _request(work, step, Verb.RESUME, prompt=prompt)


def _resumes(work: Work, step: Step) -> bool:
    return can_resume(work.config, read_task(work.caller.workspace, step.task))


def _go_on(work: Work, step: Step) -> Request:
    return _resume(work, step, "")


def _correct(work: Work, step: Step) -> Request:
    from sow.calls.composed_prompts import feedback_prompt

    return _resume(work, step, feedback_prompt(work.caller, step.task, ""))


def _mend(work: Work, step: Step) -> Request:
    from sow.prompts.compose import check_message

    task = read_task(work.caller.workspace, step.task)
    return _resume(work, step, check_message(_red_words(work, task)))


def _red_words(work: Work, task: Task) -> list[str]:
    """Return what did not pass, in the words of the task's record, else of its last job."""
    if task.check is not UNSET and not task.check.passed:
        red = [result for result in task.check.results if not result.passed]
        return ["\n".join([f"{each.name}: {each.reason}", *each.lines]) for each in red]
    last = jobs.last_job(work.database, work.batch.project_id, TaskId(task.id))
    return [last.reason] if last is not None else []


def _ask_for_change(work: Work, step: Step) -> Request:
    from sow.prompts.compose import NOTHING_CHANGED

    return _resume(work, step, NOTHING_CHANGED)


def _solve(work: Work, step: Step) -> Request:
    from sow.calls.composed_prompts import conflict_prompt

    return _resume(
        work, step, conflict_prompt(work.caller, step.task, "", anew=not _resumes(work, step))
    )


def _check(work: Work, step: Step, *, base: str | None = None) -> Request:
    path = work.caller.workspace.repository_config
    task = read_task(work.caller.workspace, step.task)
    own = () if task.checks is UNSET else tuple(task.checks)
    names = chosen(checks_of(read_repository(path)), own, path)
    return _request(work, step, Verb.CHECK, terms=CheckTerms(names=names, base=base))


def _check_base(work: Work, step: Step) -> Request:
    task = read_task(work.caller.workspace, step.task)
    return _check(work, step, base=None if task.clone is UNSET else task.clone.base)


def _review(work: Work, step: Step) -> Request:
    return _request(work, step, Verb.REVIEW, agent=work.batch.policy.reviewer)


def _update(work: Work, step: Step) -> Request:
    return _request(work, step, Verb.UPDATE)


def _merge(work: Work, step: Step) -> Request:
    from sow.calls.kinds.merge import merge_request

    wanted = merge_request(work.caller, [step.task], way=MergeWay.MERGE, again=True)
    return replace(wanted, part=_part(work, step))


def _accept(work: Work, step: Step) -> None:
    """Put on record that a green check has accepted the work as it stands.

    The verdict names the newest job, its check: by the times alone nobody could tell that it is
    about this work where the clock was set back.
    """
    from sow.clones.judged import judged_commit

    workspace = work.caller.workspace
    task = read_task(workspace, step.task)
    if task.status is not TaskStatus.NEEDS_REVIEW or _is_to_be_corrected(task):
        return  # a person has come first
    commit = judged_commit(workspace, task) if task.clone is not UNSET else None
    last = jobs.last_job(work.database, work.batch.project_id, step.task)
    judgement = Judgement(
        by=BY_CHECK,
        summary="Its checks are green.",
        commit=commit,
        job=last.id if last is not None else None,
    )
    accept(workspace, step.task, judgement, complete=False, now=work.caller.now())


def _is_to_be_corrected(task: Task) -> bool:
    asked = task.review is not UNSET and task.review.verdict is ReviewVerdict.CORRECTIONS
    return asked and feedback_status(task) is FeedbackStatus.OPEN


def _withdraw(work: Work, step: Step) -> None:
    """Take a task's first job out of the queue that has never begun."""
    job = jobs.live_job(work.database, work.batch.project_id, step.task)
    if job is not None and (job.batch, job.batch_deed) == (work.batch.id, Action.SPAWN):
        now = work.caller.now()
        withdraw(work.caller.workspace, work.database, job, reason=STOPPED, now=now)


class StillAtWork(StateError):
    """A process of the task's last agent lives still: what lies in its clone may change."""

    passes = True

    def __init__(self, error: TaskIsCarried) -> None:
        super().__init__(error.message, hint=error.hint)


def _take_up(work: Work, step: Step) -> None:
    """Bring into the repository what lies whole in a task's clone."""
    from sow.clones.main_checkout import known_settings, main_checkout
    from sow.clones.taken_up import take_up

    workspace = work.caller.workspace
    try:
        refuse_strays(workspace, work.database, step.task)
    except TaskIsCarried as error:
        raise StillAtWork(error) from error
    main = main_checkout(workspace, known_settings(workspace))
    take_up(main, read_task(workspace, step.task), now=work.caller.now())


def _complete(work: Work, step: Step) -> None:
    """Complete a task whose work is accepted, as long as it is."""
    now = work.caller.now()

    def change(task: Task) -> FieldChanges:
        accepted = task.review is not UNSET and task.review.verdict is ReviewVerdict.ACCEPTED
        if task.status is not TaskStatus.NEEDS_REVIEW or not accepted:
            return {}  # done before, or a person has said otherwise since the look
        return enter(task, TaskStatus.COMPLETED, now=now)

    change_task(work.caller.workspace, step.task, change, now=now)


REQUESTS: Mapping[Action, Callable[[Work, Step], Request]] = {
    Action.SPAWN: _spawn,
    Action.GO_ON: _go_on,
    Action.CHECK: _check,
    Action.CHECK_BASE: _check_base,
    Action.REVIEW: _review,
    Action.CORRECT: _correct,
    Action.MEND: _mend,
    Action.ASK_FOR_CHANGE: _ask_for_change,
    Action.SOLVE: _solve,
    Action.UPDATE: _update,
    Action.MERGE: _merge,
}
"""The actions that are jobs."""
AT_ONCE: Mapping[Action, Callable[[Work, Step], None]] = {
    Action.ACCEPT: _accept,
    Action.COMPLETE: _complete,
    Action.TAKE_UP: _take_up,
    Action.WITHDRAW: _withdraw,
}
"""Those that are none; done twice, they change nothing more."""
