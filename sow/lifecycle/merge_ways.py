"""What brings the tasks' work into the project's branch: which of it, and in which order.

Pure. Owns when work can be merged, and what comes first where it cannot: one that failed is
not tried again as it stands, and nothing is merged before what it depends on.
"""

from collections.abc import Mapping, Sequence

from sow.lifecycle.lifecycle_facts import Remedy, TaskFacts

MOST_NAMED = 8
"""How many tasks one command names: it is to be read, and who runs it asks again."""
CONFLICT, RED, REFUSED = "merge_conflict", "check_failed", "merge_refused"
"""The causes by which a merge comes to nothing."""
UNCHECKED = ("red", "missing")
"""What its checks say of work that is not to be accepted yet."""


def merges(tasks: Sequence[TaskFacts]) -> list[Remedy]:
    """Return what brings accepted and completed work into the project's branch."""
    found = _with_dependencies(tasks)
    prevented = [task for task in found.values() if task.in_the_way]
    free = _without(found, prevented)
    apart = [task for task in free.values() if _is_apart(task)]
    together = _first_of(_without(free, apart))
    alone = [[task] for task in apart if not free.keys() & set(task.depends_on)][:MOST_NAMED]
    groups = [group for group in (together, *alone) if group] or [_first_of(free)[:1]]
    return [
        *(remedy for group in groups for remedy in _merged(group, free)),
        *(remedy for task in prevented for remedy in task.in_the_way),
        *(_made_mergeable(task) for task in tasks if _is_stuck(task)),
    ]


def _merged(tasks: Sequence[TaskFacts], free: Mapping[str, TaskFacts]) -> list[Remedy]:
    """Return what merges some tasks; none of them alone that waits for others in a circle."""
    named = [task.id for task in tasks]
    for task in tasks:
        if (free.keys() & set(task.depends_on)) - set(named):
            return [circle_broken(task.id)]
    words = f"accepted, but not merged: {', '.join(named)}"
    return [Remedy(f"sow merge {' '.join(named)}", words)] if named else []


def _is_apart(task: TaskFacts) -> bool:
    """Whether a merge of a task with others came to nothing, and one of it alone is still to try.

    Where it conflicted, it conflicts with those others alone. Of a red check, and of a refusal,
    nobody knows whose work is at fault before each was merged by itself.
    """
    if not task.ended_in_merge:
        return False
    return task.ended == CONFLICT or (task.ended in (RED, REFUSED) and task.was_together)


def _without(
    found: Mapping[str, TaskFacts], left_out: Sequence[TaskFacts]
) -> Mapping[str, TaskFacts]:
    """Return tasks without some of them, and without those that depend on one of these."""
    late = [task.id for task in left_out]
    while more := [
        task.id
        for task in found.values()
        if task.id not in late and set(late) & set(task.depends_on)
    ]:
        late += more
    return {task: facts for task, facts in found.items() if task not in late}


def _is_stuck(task: TaskFacts) -> bool:
    return task.is_unmerged and task.is_free and not task.in_the_way and not can_be_merged(task)


def _made_mergeable(task: TaskFacts) -> Remedy:
    """Return what follows for completed work that cannot be merged as it stands."""
    if task.clone == "behind" and task.ended == CONFLICT:
        return updated(task)
    why = {
        "gone": "is in no branch here; it must be done again",
        "conflict": "conflicts with the project's branch",
    }.get(task.clone, f"fails a check{because(task)}{log_of(task)}")
    return Remedy(f"sow task reopen {task.id}", f"the work of task {task.id} {why}")


def _with_dependencies(tasks: Sequence[TaskFacts]) -> Mapping[str, TaskFacts]:
    """Return the tasks that can be merged now, without those that come after one that cannot."""
    by_id = {task.id: task for task in tasks}
    found = {task.id: task for task in tasks if can_be_merged(task)}
    while True:
        early = [
            task
            for task, facts in found.items()
            if any(_comes_first(by_id.get(other), found) for other in facts.depends_on)
        ]
        if not early:
            return found
        for task in early:
            del found[task]


def _first_of(found: Mapping[str, TaskFacts]) -> list[TaskFacts]:
    """Return the first of some tasks to be merged, none before one that it depends on.

    All of them where they depend on each other in a circle.
    """
    chosen: dict[str, TaskFacts] = {}
    for _ in range(MOST_NAMED):
        for task in found.values():
            first = found.keys() & set(task.depends_on) - {task.id}
            if len(chosen) < MOST_NAMED and first <= chosen.keys():
                chosen[task.id] = task
    return list((chosen or found).values())


def _comes_first(other: TaskFacts | None, found: Mapping[str, TaskFacts]) -> bool:
    """Whether a task that another depends on has work that has to be merged before."""
    if other is None or not other.has_clone or other.id in found:
        return False
    return other.is_unmerged or not other.has_ended


def can_be_merged(task: TaskFacts) -> bool:
    """Whether a task's work can be merged, and no merge of it is known to fail."""
    if not task.has_clone or not task.is_free or task.clone in ("gone", "conflict"):
        return False
    accepted = task.verdict == "accepted" and task.verdict_holds and not task.feedback_is_open
    accepted = accepted and task.check not in UNCHECKED
    if not task.is_unmerged and not (task.status == "needs_review" and accepted):
        return False
    failed = task.ended_in_merge and task.ended in (CONFLICT, RED)
    return not failed or (_is_apart(task) and task.clone != "behind")


def updated(task: TaskFacts) -> Remedy:
    """Return what brings the project's branch into the clone of work that conflicts with it."""
    why = f"the work of task {task.id} conflicts with the project's branch"
    return Remedy(f"sow clone update {task.id}", why)


def circle_broken(task: str) -> Remedy:
    """Return what takes a task out of its circle."""
    why = f"task {task} depends on itself through other tasks"
    return Remedy(f'sow task set {task} depends_on "<ids>"', why)


def log_of(task: TaskFacts) -> str:
    """Return what shows why a check was red that a task's last job has run, as a sentence's end."""
    is_check = task.ended == RED and task.ended_job
    return f"; `sow job logs {task.ended_job}` prints its whole output" if is_check else ""


def because(task: TaskFacts) -> str:
    """Return why a task's last job came to nothing, as the end of a sentence."""
    return f": {task.ended_words}" if task.ended_words else ""
