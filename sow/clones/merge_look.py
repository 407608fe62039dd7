"""What a merge of a task would be refused for now, found as the merge finds it. Moves nothing.

Writes objects alone. A commit that only the clone has is asked about there.
"""

from collections.abc import Callable

from sow.clones.branch_move import refuse_dirty
from sow.clones.candidates import Candidate, last_commit
from sow.clones.main_checkout import MainCheckout, branch_tip, project_branch
from sow.clones.mark import CloneState, state_of
from sow.clones.merge_tasks import MergeConflict
from sow.clones.merged_links import refuse_lost_links
from sow.clones.merging import TaskCommit, compute_merge
from sow.clones.newer_commits import refuse_newer, refuse_to_bring
from sow.clones.update import refuse_update
from sow.clones.withheld import copied_to
from sow.errors import SowError
from sow.faults import passing_fault
from sow.git.merge_tree import changes_between
from sow.git.repository import branch_commit
from sow.git.view import view_of
from sow.schema.task import Task, TaskStatus


def obstacle_to_merge(main: MainCheckout, task: Task) -> SowError | None:
    """Return what a merge of a task alone would be refused for; None where nothing is found.

    What passes is nothing: the merge itself waits for it.
    """
    return _refusal(lambda: _try(main, task))


def obstacle_to_bring(main: MainCheckout, task: Task) -> SowError | None:
    """Return what keeps a task's branch from coming here from its clone; None where nothing does.

    Work that waits for a verdict comes here by that. What passes is nothing.
    """
    if task.status is TaskStatus.NEEDS_REVIEW:
        return _refusal(lambda: refuse_newer(main, task))
    return _refusal(lambda: refuse_to_bring(main, task, main.place(task)))


def _refusal(act: Callable[[], object]) -> SowError | None:
    try:
        act()
    except SowError as error:
        return None if passing_fault(error) is not None else error
    return None


def _try(main: MainCheckout, task: Task) -> None:
    branch = project_branch(main)
    onto, place = branch_tip(main, branch), main.place(task)
    refuse_to_bring(main, task, place)
    commit = branch_commit(main.repository, place.branch)
    if commit is None:
        return
    wanted = TaskCommit(task.id, task.name, commit, place.since(place.base or commit))
    merge = compute_merge(main.repository, onto, wanted)
    if merge.commit is None:
        if state_of(place) is CloneState.WHOLE:
            refuse_update(place, main.repository, copied_to(main, place))
        raise MergeConflict(task, branch, merge.conflicts, ())
    if merge.commit != onto:
        changes = changes_between(view_of(main.repository.top), onto, merge.commit)
        if last_commit(main, place) == commit:  # what came since may have put it right
            candidate = Candidate(task, place, commit)
            refuse_lost_links(main.repository, candidate, merge.commit, changes)
        refuse_dirty(main.repository, branch, changes)
