"""Which tasks may be merged, at which commit, and in which order.

Owns the refusals before a merge: the work must be completed or accepted as it
stands, there must be a branch with it, and what it depends on comes first.
Brings each branch into the repository; moves nothing else.
"""

from collections.abc import Sequence

from msgspec import UNSET, Struct

from sow.clones.bring_back import BranchInTheWay, BroughtBack, bring_back
from sow.clones.main_checkout import MainCheckout, branch_tip, project_branch
from sow.clones.mark import CloneState, state_of
from sow.clones.place import Place
from sow.clones.record import refuse_cloned_elsewhere
from sow.clones.same_merge import differs_by_merges_alone, taken_back
from sow.errors import StateError
from sow.git.inert_refs import read_ref
from sow.git.private_view import real_git_dir
from sow.git.repository import branch_commit
from sow.lifecycle.task_ways import accepting, bringing_back
from sow.schema.task import ReviewVerdict, Task, TaskStatus
from sow.state.state_errors import UnknownTask
from sow.state.tasks import read_task
from sow.state.verdicts import JUDGED


class NotMergeable(StateError):
    """A task cannot be merged as it stands. `command` helps, where one does; the hint names it."""

    def __init__(self, task: Task, why: str, hint: str, *, command: str = "") -> None:
        super().__init__(f"task {task.id} cannot be merged: {why}", hint=hint)
        self.task_id = task.id
        self.command = command


class Candidate(Struct, frozen=True):
    """A task that may be merged."""

    task: Task
    place: Place
    commit: str
    """The last commit of its branch, which the repository has."""


def in_order(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Return tasks so that none comes before one that it depends on; else by their ids."""
    left = {task.id: task for task in sorted(tasks, key=lambda task: (int(task.id), task.id))}
    ordered = []
    while left:
        free = (task for task in left.values() if not left.keys() & set(task.depends_on))
        chosen = next(free, next(iter(left.values())))  # a circle is refused where it is made
        ordered.append(left.pop(chosen.id))
    return tuple(ordered)


def candidates(
    main: MainCheckout, task_ids: Sequence[str], tip: str | None = None
) -> tuple[Candidate, ...]:
    """Return some tasks in the order in which they are merged, their branches brought in.

    `tip` is the commit of the project's branch, where the caller has asked for it just now.
    Raises NotMergeable, NoProjectBranch, ProjectBranchGone, BranchInTheWay,
    UnsafeClone, GitRefused, and what `read_task` raises.
    """
    branch = project_branch(main)
    tip = branch_tip(main, branch) if tip is None else tip
    found = []
    for task in in_order([read_task(main.workspace, task_id) for task_id in task_ids]):
        _refuse_unfinished(task)
        candidate = _brought(main, task, branch)
        _refuse_unjudged(main, candidate, tip)
        _refuse_unmet(main, task, task_ids, tip)
        found.append(candidate)
    return tuple(found)


def _refuse_unfinished(task: Task) -> None:
    """Refuse a task that is neither completed nor accepted, whatever its branch holds."""
    if task.status is TaskStatus.COMPLETED:
        return
    accepted = task.review is not UNSET and task.review.verdict is ReviewVerdict.ACCEPTED
    if task.status in JUDGED and accepted:
        return
    why = f"it is {task.status}" + (", and was not accepted" if task.status in JUDGED else "")
    command = f"sow task show {task.id}"
    hint = f"Wait until its work is finished: `{command}`."
    if task.status in JUDGED:
        command = accepting(task.id)
        hint = (
            f"Look at it (`sow task diff {task.id}`), then `{command}`,"
            f" or `sow task set {task.id} status completed`."
        )
    elif task.status is TaskStatus.ABANDONED:
        command = f"sow task reopen {task.id}"
        hint = f"`{command}` makes it pending again."
    raise NotMergeable(task, why, hint, command=command)


def _brought(main: MainCheckout, task: Task, project: str) -> Candidate:
    """Return a task with the last commit of its branch, fetched from its clone if it has one."""
    place = main.place(task)
    brought = bring(main, task, place) if state_of(place) is CloneState.WHOLE else None
    if brought is not None:
        return Candidate(task, place, brought.commit)
    tip = branch_commit(main.repository, place.branch)
    if tip is None:
        why = f"it has neither a clone nor a branch {place.branch}"
        hint = f"Work without a clone is in {main.repository.top}: commit it there."
        raise NotMergeable(task, why, f"{hint} You need not merge it into {project}.")
    return Candidate(task, place, tip)


def bring(main: MainCheckout, task: Task, place: Place) -> BroughtBack | None:
    """Bring a task's branch here from its whole clone, as `bring_back` does.

    Raises ClonedElsewhere, and what `bring_back` does.
    """
    try:
        return bring_back(place, main.repository)
    except BranchInTheWay:
        refuse_cloned_elsewhere(main.repository, main.project.id, task.id)
        raise


def last_commit(main: MainCheckout, place: Place) -> str | None:
    """Return the last commit of a task's branch, in its clone or in the repository; None: none."""
    if state_of(place) is CloneState.WHOLE:
        commit = read_ref(real_git_dir(place.path), f"refs/heads/{place.branch}")
        if commit is not None:
            return commit
    return branch_commit(main.repository, place.branch)


def _refuse_unjudged(main: MainCheckout, found: Candidate, project: str) -> None:
    """Refuse a task that was accepted at another commit than its last one."""
    task = found.task
    if task.status is TaskStatus.COMPLETED:
        return
    accepted = UNSET if task.review is UNSET else task.review.commit
    if accepted is not UNSET and differs_by_merges_alone(
        main.repository, found.place, project, accepted, found.commit
    ):
        return
    if accepted is not UNSET:
        _refuse_taken_back(main, found, project, accepted)
    where = "no commit" if accepted is UNSET else f"commit {accepted[:12]}"
    raise NotMergeable(
        task,
        f"it was accepted at {where}, but {found.place.branch} is now at {found.commit[:12]}",
        f"Read the newer changes (`sow task diff {task.id}`) and accept the work again:"
        f" `{accepting(task.id)}`.",
        command=accepting(task.id),
    )


def _refuse_taken_back(main: MainCheckout, found: Candidate, project: str, accepted: str) -> None:
    """Refuse to bring back what somebody has taken out of the project's branch."""
    gone = taken_back(main.repository, found.place, project, accepted, found.commit)
    if gone:
        named = ", ".join(commit[:12] for commit in gone)
        why = f"{found.place.branch} has commits that {main.project_branch} no longer has: {named}"
        hint = bringing_back(found.task.id)
        raise NotMergeable(found.task, why, hint, command=accepting(found.task.id))


def _refuse_unmet(main: MainCheckout, task: Task, named: Sequence[str], project: str) -> None:
    """Refuse a task before one that it depends on, whose work is not in the project's branch."""
    for task_id in task.depends_on:
        if task_id in named:
            continue
        # Most tasks are merged after what they depend on, or depend on nothing.
        from sow.clones.merging import is_merged

        try:
            before = read_task(main.workspace, task_id)
        except UnknownTask:
            continue
        tip = last_commit(main, main.place(before))
        if tip is None or before.status is TaskStatus.ABANDONED:
            continue
        same = before.merged is not UNSET and before.merged.commit == tip
        remembered = before.merged.result if same and before.merged is not UNSET else None
        if not is_merged(main.repository, project, tip, remembered):
            raise NotMergeable(
                task,
                f"it depends on task {task_id}, whose work is not merged",
                f"Merge that task first, or both: `sow merge {task_id} {task.id}`.",
                command=f"sow merge {task_id}",
            )
