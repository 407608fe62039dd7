"""What takes tasks on that nobody is at work on: the command for each way in which one stands.

Pure. Owns these commands and their order: what holds others up comes first. Each
is right as long as the facts are; what a job is at, or a batch drives, has none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sow.lifecycle.circles import in_circles
from sow.lifecycle.lifecycle_facts import Remedy, TaskFacts
from sow.lifecycle.merge_ways import (
    MOST_NAMED,
    RED,
    because,
    can_be_merged,
    log_of,
    merges,
    updated,
)
from sow.lifecycle.project_verdict import ENOUGH

SOLVE = "Solve the conflicts of the merge in progress in your clone, and commit it."
GO_ON = '"Go on."'
PRINTED = '"<what the check has printed>"'
TRUST = "sow trust"
IN_CLONES = ("always", "asked")
"""When whoever begins works in a clone, which holds what the task depends on."""
BEGUN = ("paused", "in_progress", "failed")
"""The statuses of tasks that go on with more work."""
LOST = "session_unknown"
"""The cause of a job whose CLI has lost the session."""


def ways_on(tasks: Sequence[TaskFacts], clones: str = "never") -> list[Remedy]:
    """Return what takes these tasks on, all of a project's, the most sensible first.

    `clones` is when agents work in clones of their own. Completed tasks have a way
    where their work is to be merged (`merge_ways`).
    """
    return [*ways_of_begun(tasks), *_begun(tasks, clones), *freed(tasks)]


def ways_of_begun(tasks: Sequence[TaskFacts]) -> list[Remedy]:
    """Return what takes on the tasks of these that somebody has worked on: they wait for it."""
    by_id = _depended_on(tasks)
    free = [task for task in tasks if task.is_free and not can_be_merged(task)]
    kept = [task for task in free if task.in_the_way]
    free = [task for task in free if not task.in_the_way]
    begun = [task for task in free if task.status in BEGUN and _may_go_on(task, by_id)]
    return [
        *(_asked(task) for task in begun if task.status == "paused"),
        *(_taken_up(task) for task in begun if task.status == "in_progress"),
        *(_tried_again(task) for task in begun if task.status == "failed"),
        *merges(tasks),
        *(remedy for task in kept for remedy in task.in_the_way),
        *_judged((task for task in free if task.status == "needs_review"), by_id),
    ]


def answers(tasks: Sequence[TaskFacts]) -> list[Remedy]:
    """Return what answers the tasks whose agents ask something."""
    by_id = tasks_by_id(tasks)
    asking = [task for task in tasks if task.status == "paused" and task.is_free]
    return [_asked(task) for task in asking if _may_go_on(task, by_id)]


def alone(task: TaskFacts) -> Remedy | None:
    """Return what takes a begun task on, whatever drives it."""
    ways: dict[str, Callable[[TaskFacts], Remedy | None]] = {
        "paused": _asked,
        "in_progress": _taken_up,
        "failed": _tried_again,
        "needs_review": _followed,
    }
    way = ways.get(task.status)
    return way(task) if way is not None else None


def tasks_by_id(tasks: Iterable[TaskFacts]) -> dict[str, TaskFacts]:
    """Return tasks by their ids."""
    return {task.id: task for task in tasks}


def _depended_on(tasks: Sequence[TaskFacts]) -> dict[str, TaskFacts]:
    """Return tasks by their ids; nothing where none of them depends on another."""
    dependents = [task for task in tasks if task.depends_on]
    return tasks_by_id(tasks) if dependents else {}


def waits(tasks: Sequence[TaskFacts]) -> list[Remedy]:
    """Return what waits for the tasks that something is at work on, and frees those held."""
    at_work = [task.id for task in tasks if task.is_at_work and not task.batch]
    driven = dict.fromkeys(task.batch_label or str(task.batch) for task in tasks if task.batch)
    untrusted = [task.id for task in tasks if task.held_for == "trust"]
    held = [task.id for task in tasks if task.held_for == "dependencies"]
    found = [
        *(Remedy(TRUST, f"held until you accept: task {task}") for task in untrusted[:1]),
        *(Remedy(f"sow agent wait {task}", f"task {task} is at work") for task in at_work),
        *(Remedy(f"sow batch wait {batch}", f"batch {batch} runs its tasks") for batch in driven),
    ]
    return found or [Remedy(f"sow agent wait {task}", f"task {task} is held") for task in held]


def _may_go_on(task: TaskFacts, by_id: Mapping[str, TaskFacts]) -> bool:
    """Whether a begun task may be worked on: a new session needs what the first one needed."""
    if task.waits_for_plan:
        return False
    return _resumes(task) or all(_is_completed(by_id.get(other)) for other in task.depends_on)


def _resumes(task: TaskFacts) -> bool:
    return task.has_session and task.can_resume and task.ended != LOST


def _is_completed(other: TaskFacts | None) -> bool:
    return other is not None and other.status == "completed"


def _given(task: TaskFacts, words: str, why: str, *, verb: str = "resume") -> Remedy:
    """Return what gives a task's agent words: a further turn of its session, else a new one."""
    raises = f" {task.raises}" if task.raises else ""
    if _resumes(task):
        return Remedy(f"sow agent {verb} {task.id} {words}{raises}", why)
    return Remedy(f"{_spawn(task)} --prompt {words}{raises}", why)


def _spawn(task: TaskFacts) -> str:
    """Return what begins a new session of a task, in place of the one that has begun if need be."""
    return f"sow agent spawn {task.id}{' --fresh' if task.has_session else ''}"


def _asked(task: TaskFacts) -> Remedy:
    if task.ended == "cancelled":
        return _given(task, GO_ON, f"the job of task {task.id} was cancelled")
    why = f"task {task.id} asks: `sow task log {task.id}` has the question"
    return _given(task, '"<your answer>"', why, verb="answer")


def _taken_up(task: TaskFacts) -> Remedy:
    if not task.has_session:
        return Remedy(_spawn(task), f"no agent is working on task {task.id}")
    return _given(task, GO_ON, f"no agent is working on task {task.id}, which was started")


def _tried_again(task: TaskFacts) -> Remedy:
    reason = because(task) or f": `sow task log {task.id}` has the reason"
    why = f"task {task.id} has failed{reason}"
    if task.has_session:
        return _given(task, '"<what to do now>"', why)
    return Remedy(f"{_spawn(task)}{f' {task.raises}' if task.raises else ''}", why)


def _judged(tasks: Iterable[TaskFacts], by_id: Mapping[str, TaskFacts]) -> Iterator[Remedy]:
    """Yield what follows the work of tasks that wait for a verdict, or have one.

    To judge it, or to complete it, waits for no other task.
    """
    unjudged = []
    for task in tasks:
        found = _checked(task) or _followed(task)
        if found is None and task.vain_reviews >= ENOUGH:
            yield from _judged_by_oneself(task)
        elif found is None:
            unjudged.append(task)
        elif _may_go_on(task, by_id) or not found.command.startswith("sow agent "):
            yield found
    for some in _in_parts(unjudged):
        ids = ", ".join(task.id for task in some)
        tried = [because(task) for task in some if task.ended and task.ended_in_review]
        again = f"; the last review gave no verdict{tried[0]}" if tried else ""
        command = f"sow agent review {' '.join(task.id for task in some)}"
        yield Remedy(command, f"done, but not reviewed in its current form: {ids}{again}")


def _judged_by_oneself(task: TaskFacts) -> Iterator[Remedy]:
    """Yield what brings a verdict on work of which agents' reviews come to none."""
    seen = f"{task.vain_reviews} reviews of task {task.id} gave no verdict{because(task)}"
    yield Remedy(accepting(task.id), f"{seen}; review it yourself")
    yield Remedy(f'sow review correct {task.id} --file "<file>"', "or ask for corrections")
    yield Remedy(f"sow agent review {task.id}", "or once more")


def _in_parts(tasks: Sequence[TaskFacts]) -> Iterator[Sequence[TaskFacts]]:
    """Yield tasks in parts that one command names."""
    for start in range(0, len(tasks), MOST_NAMED):
        yield tasks[start : start + MOST_NAMED]


def _checked(task: TaskFacts) -> Remedy | None:
    """Return what follows for work that its checks have not passed; None where that is no matter.

    It comes before a review: a check costs less, and red work goes back in any case.
    """
    if task.clone in ("gone", "conflict", "untaken") or task.feedback_is_open:
        return None
    if task.check == "missing":
        why = f"task {task.id} is done, but not checked in its current form"
        return Remedy(f"sow task check {task.id}", why)
    if task.check == "red":
        shown = log_of(task) or f"; `sow task show {task.id}` prints its last lines"
        return _given(task, PRINTED, f"task {task.id} failed a check{because(task)}{shown}")
    return None


def _followed(task: TaskFacts) -> Remedy | None:
    """Return what follows the work of a task; None where nobody has judged it as it stands."""
    if task.clone == "gone":
        why = f"the work of task {task.id} is in no branch here: it must be done again"
        return _given(task, '"Your clone and its branch are gone: do the work again."', why)
    if task.clone == "untaken":
        why = f"the work of task {task.id} is only in its clone"
        return Remedy(f"sow clone update {task.id}", why)
    if task.clone == "conflict":
        why = f"a merge is in progress in the clone of task {task.id}"
        command = f"sow agent resume {task.id} --conflict" if _resumes(task) else _solved(task)
        return Remedy(command, why)
    if task.feedback_is_open:
        command = f"sow agent resume {task.id} --feedback" if _resumes(task) else _spawn(task)
        return Remedy(command, f"task {task.id} was sent back")
    is_accepted = task.verdict == "accepted" and task.verdict_holds
    return _accepted(task) if is_accepted else None


def solving(task_id: str, *, is_completed: bool, resumes: bool = True) -> str:
    """Return in words by which commands a task's agent solves the conflict in its clone.

    Of a completed task the session is over: it is reopened, and another one begins. Another one
    begins, too, where its executor does not continue sessions (`resumes`).
    """
    if not is_completed:
        return f"`{solving_now(task_id, resumes=resumes)}`"
    spawn = f'sow agent spawn {task_id} --prompt "{SOLVE}"'
    return f"`sow task reopen {task_id}`, and then `{spawn}`"


def solving_now(task_id: str, *, resumes: bool) -> str:
    """Return the command by which an agent solves the conflict in the clone of an open task."""
    if resumes:
        return f"sow agent resume {task_id} --conflict"
    return f'sow agent spawn {task_id} --fresh --prompt "{SOLVE}"'


def accepting(task_id: str) -> str:
    """Return the command that accepts a task's work."""
    return f'sow review accept {task_id} --summary "<what you think of it>"'


def bringing_back(task_id: str) -> str:
    """Return in words what is done about commits that a task has and the project has no more."""
    return (
        f"`{accepting(task_id)}` merges them again with the task; `sow agent resume {task_id}"
        ' "Revert them."` makes its agent revert them.'
    )


def _solved(task: TaskFacts) -> str:
    return f'{_spawn(task)} --prompt "{SOLVE}"'


def _accepted(task: TaskFacts) -> Remedy:
    """Return what follows for accepted work that is not merged as it stands."""
    if not task.has_clone:
        return Remedy(f"sow task set {task.id} status completed", f"task {task.id} is accepted")
    if task.ended == RED:
        why = f"the merge of task {task.id} failed its check{because(task)}{log_of(task)}"
        return _given(task, PRINTED, why)
    return updated(task)


def _begun(tasks: Sequence[TaskFacts], clones: str) -> Iterator[Remedy]:
    """Yield what starts the tasks that are ready, together where each has a tree of its own."""
    ready = ready_among(tasks, clones)
    solving = [task for task in ready if task.clone == "conflict"]
    plain = [task.id for task in ready if task.clone != "conflict"]
    for task in solving:
        yield Remedy(_solved(task), f"a merge is in progress in the clone of task {task.id}")
    if clones == "never":
        is_taken = any(task.is_at_work and not task.has_clone for task in tasks)
        plain = [] if is_taken else plain[:1]
    if plain:
        named, more = plain[:MOST_NAMED], len(plain) - MOST_NAMED
        rest = f", and {more} more" if more > 0 else ""
        apart = " --clone" if clones == "asked" else ""
        command = f"sow agent spawn {' '.join(named)}{apart}"
        yield Remedy(command, f"ready: {', '.join(named)}{rest}")


def ready_among(tasks: Sequence[TaskFacts], clones: str) -> list[TaskFacts]:
    """Return the tasks that can begin: what they depend on is done, and lies where they will be."""
    by_id = _depended_on(tasks)

    def is_met(task: TaskFacts, other: TaskFacts | None) -> bool:
        if other is None or other.status != "completed":
            return False
        return not other.is_unmerged or clones in IN_CLONES or task.has_clone

    return [
        task
        for task in tasks
        if task.status == "pending"
        and task.is_free
        and not task.waits_for_plan
        and not task.in_the_way
        and (
            not task.depends_on or all(is_met(task, by_id.get(other)) for other in task.depends_on)
        )
    ]


def freed(tasks: Sequence[TaskFacts]) -> list[Remedy]:
    """Return what frees the tasks that wait for what will never be completed."""
    by_id = _depended_on(tasks)
    if not by_id:
        return []
    circles = set(
        in_circles({t.id: t.depends_on for t in tasks if not t.has_ended or t.is_unmerged})
    )
    found = []
    for task in tasks:
        if task.has_ended or task.is_at_work or task.batch:
            continue
        vain = [other for other in task.depends_on if _is_vain(task, by_id.get(other))]
        if vain or (task.id in circles and not _resumes(task)):
            why = f"task {task.id} depends on {_named(vain, by_id)}"
            cleared = 'the ids that it waits for instead, such as 010,020; "" for none'
            found.append(Remedy(f'sow task set {task.id} depends_on "<ids>"', f"{why}: {cleared}"))
    return found


def _named(vain: Sequence[str], by_id: Mapping[str, TaskFacts]) -> str:
    """Return what a task waits for in vain, and why that is so."""
    if not vain:
        return "itself, through other tasks"
    first = by_id.get(vain[0])
    is_planned = first is not None and first.waits_for_plan
    end = "waits for the plan" if is_planned else "will not be completed"
    return f"{', '.join(vain)}, which {end}"


def _is_vain(task: TaskFacts, other: TaskFacts | None) -> bool:
    """Whether a task waits for another one in vain: that will not be, or not before the plan."""
    if other is not None and other.waits_for_plan:
        return other.is_free and not task.waits_for_plan
    return (other is None or other.status == "abandoned") and not _resumes(task)
