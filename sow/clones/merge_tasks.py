"""The work of tasks merged into the project's branch: all that are named, or none of them.

Owns the order of the steps: branches brought in, merges computed one upon the
other, the result judged, the branch moved once, each task's record written, its
clone removed. Killed after any of them, it is begun again from the first: what
is merged is found merged, and only what is missing is done.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from msgspec import UNSET, Struct
from msgspec.structs import replace

from sow.clones.branch_move import KIND, BranchMoved, complete_move, move_branch
from sow.clones.candidates import Candidate, candidates
from sow.clones.clone_facts import left_out_words, text_of
from sow.clones.difference import difference
from sow.clones.main_checkout import MainCheckout, branch_tip, project_branch
from sow.clones.merge_marks import brought_by
from sow.clones.merged_links import refuse_lost_links
from sow.clones.merging import ConflictingFile, Merge, TaskCommit, compute_merge
from sow.clones.own_locks import clear_own_locks
from sow.clones.place import Place
from sow.clones.removal import Removed, remove_clone
from sow.clones.steps import no_step, note_path
from sow.errors import StateError
from sow.faults import passing_fault
from sow.files import NotWritten, locked_folder
from sow.git.identity import note_of_committer, note_of_nobody
from sow.git.merge_tree import Change, changes_between
from sow.git.promised import fetch_promised
from sow.git.view import view_of
from sow.lifecycle.refusal_steps import after
from sow.lifecycle.task_ways import solving
from sow.schema.job_terms import MergeWay
from sow.schema.task import Task, TaskStatus
from sow.state.tasks import change_task
from sow.state.transitions import ALLOWED, FieldChanges, enter, moment

LOCK_SECONDS = 60.0
INDEX_SECONDS = 10.0
"""How long another git is waited for that is at work in the checked-out working tree."""
MOST_TRIES = 5
"""How often a merge is computed anew because somebody has moved the branch meanwhile."""
SHOWN = 12

Check = Callable[[Place, str], None]
"""Judges a commit before the branch moves to it; raises where it must not. It is given a place
beside which it may check the commit out."""


class MergeConflict(StateError):
    """The work of a task does not fit together with what was merged before. Nothing was changed."""

    def __init__(
        self,
        task: Task,
        branch: str,
        files: Sequence[ConflictingFile],
        before: Sequence[str],
        *,
        resumes: bool = True,
    ) -> None:
        self.files = tuple(files)
        self.task_id = task.id
        others = sorted({other for file in files for other in file.tasks})
        with_whom = f"task {', task '.join(others)}" if others else branch
        names = text_of([_named(file) for file in files], SHOWN)
        is_completed = task.status is TaskStatus.COMPLETED
        solve = solving(task.id, is_completed=is_completed, resumes=resumes)
        self.first = tuple(other for other in before if other in others)
        *merge, update = (step.command for step in after(self))
        others_first = f"merge the tasks before it (`{merge[0]}`), " if merge else ""
        super().__init__(
            f"task {task.id} conflicts with {with_whom} in {names}",
            hint=f"Nothing was changed. To solve the conflict: {others_first}merge {branch} into"
            f" the task's clone (`{update}`), and let its agent solve the conflict there"
            f" ({solve}). Check and review the work again, then merge it.",
        )


def _named(file: ConflictingFile) -> str:
    return f"{file.path} (task {', '.join(file.tasks)})" if file.tasks else file.path


class Merged(Struct, frozen=True):
    """What has become of a merge."""

    into: str
    """The branch."""
    commit: str
    """Its last commit when the tasks were in it."""
    tasks: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What a person should know, in sentences."""


class _Part(Struct, frozen=True):
    """One task's part of a merge."""

    candidate: Candidate
    result: str
    """The commit of the project's branch that brings it."""
    onto: str
    """The commit that it was merged onto."""
    changes: tuple[Change, ...] = ()
    """What the result changes."""
    merge: Merge | None = None
    """How it was computed, where that made a commit."""


def merge_tasks(
    main: MainCheckout,
    task_ids: Sequence[str],
    *,
    way: MergeWay,
    check: Check,
    now: float,
    step: Callable[[str], None] = no_step,
    patience: float = INDEX_SECONDS,
    fresh: Collection[str] = (),
) -> Merged:
    """Merge tasks into the project's branch, and complete those that were accepted.

    The caller holds the tasks: no job of theirs is at work. `fresh` are those whose agents do not
    continue their sessions. Raises
    MergeConflict, NotOneByOne, NotMergeable, DirtyFiles, IndexInUse, BranchMoved (after
    MOST_TRIES), what `check` raises (nothing was changed then), GitRefused.
    """
    branch = project_branch(main)
    with _alone(main, branch):
        left = list(complete_move(main.repository, branch, patience=patience))
    for number in range(1, MOST_TRIES + 1):
        onto = branch_tip(main, branch)
        fetch_promised(main.repository, [onto])
        found = candidates(main, task_ids, onto)
        step("branches brought in")
        parts, result = _computed(main, branch, onto, found, way=way, fresh=fresh)
        step("computed")
        if result == onto:
            break
        check(found[0].place, result)
        step("judged")
        try:
            with _alone(main, branch):
                reason = f"sow: merge task {', '.join(task_ids)}"
                moved = move_branch(
                    main.repository,
                    branch,
                    onto,
                    result,
                    reason=reason,
                    step=step,
                    patience=patience,
                    changes=parts[0].changes if len(parts) == 1 else None,
                )
        except BranchMoved:
            if number == MOST_TRIES:
                raise
            continue
        left += moved.left
        break
    step("moved")
    notes = [f"{path} was changed there in the meantime, so it was kept" for path in left]
    if parts:
        notes += _note_of_nobody(main, parts, result)
    for part in parts:
        notes += _left_out(main, part)
        _record(main, branch, part, now)
        step(f"task {part.candidate.task.id} recorded")
    after = _at(main, branch, result)
    for part in parts:
        notes += _removed(after, part, is_merge=way is MergeWay.MERGE and after is not main)
        step(f"clone {part.candidate.task.id} removed")
    return Merged(branch, result, tuple(task_ids), tuple(notes))


def _at(main: MainCheckout, branch: str, commit: str) -> MainCheckout:
    """Return the checkout after the branch was moved to a commit."""
    if main.repository.branch != branch:
        return main
    return replace(main, repository=replace(main.repository, commit=commit))


@contextmanager
def _alone(main: MainCheckout, branch: str) -> Iterator[None]:
    """Hold the lock of the repository's merges: it is held for moving alone, never for a check."""
    folder = note_path(main.repository, KIND, branch).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(folder, error) from error
    with locked_folder(folder, timeout_seconds=LOCK_SECONDS):
        clear_own_locks(main.repository)
        yield


def _computed(
    main: MainCheckout,
    branch: str,
    onto: str,
    found: Sequence[Candidate],
    *,
    way: MergeWay,
    fresh: Collection[str],
) -> tuple[list[_Part], str]:
    """Return each task's part, and the commit that holds them all.

    Raises MergeConflict, NotOneByOne, NotMergeable.
    """
    parts: list[_Part] = []
    for candidate in found:
        task, place = candidate.task, candidate.place
        facts = place.since(place.base or candidate.commit)
        wanted = TaskCommit(task.id, task.name, candidate.commit, facts)
        merge = compute_merge(main.repository, onto, wanted, way=way)
        if merge.commit is None:
            before = [part.candidate.task.id for part in parts]
            raise MergeConflict(task, branch, merge.conflicts, before, resumes=task.id not in fresh)
        view = view_of(main.repository.top)
        if merge.commit != onto:
            changes = changes_between(view, onto, merge.commit)
            refuse_lost_links(main.repository, candidate, merge.commit, changes)
            parts.append(_Part(candidate, merge.commit, onto, changes, merge))
        else:
            parts.append(_Part(candidate, brought_by(view, onto, candidate.commit), onto))
        onto = merge.commit
    return parts, onto


def _note_of_nobody(main: MainCheckout, parts: Sequence[_Part], result: str) -> tuple[str, ...]:
    """Return that the last commit is by nobody whom git knows, in a sentence; else nothing."""
    made = [part.merge.committer for part in parts if part.merge is not None]
    if made and made[-1] is not None:
        return note_of_committer(made[-1])
    return note_of_nobody(view_of(main.repository.top), result)


def _left_out(main: MainCheckout, part: _Part) -> list[str]:
    """Say what of a task's work is sow's own, and was not merged."""
    commit, place, view = part.candidate.commit, part.candidate.place, view_of(main.repository.top)
    base = place.base or view.text("merge-base", commit, part.onto, accepted=(0, 1)) or commit
    facts = place.since(base)
    marks = part.merge.marks if part.merge is not None else None
    found = difference(view, facts, commit, part.onto, marks)
    if not found.state_files:
        return []
    return [f"task {part.candidate.task.id}: {left_out_words(facts, found.state_files, commit)}"]


def _record(main: MainCheckout, branch: str, part: _Part, now: float) -> None:
    """Write that a task is merged, and complete it. What stands there already stays."""
    commit = part.candidate.commit

    def change(task: Task) -> FieldChanges:
        changes: FieldChanges = {}
        known = task.merged
        if known is UNSET or (known.commit, known.into) != (commit, branch):
            fields = {"commit": commit, "into": branch, "as": part.result, "at": moment(now)}
            changes["merged"] = fields
        if TaskStatus.COMPLETED in ALLOWED[task.status]:
            changes |= enter(task, TaskStatus.COMPLETED, now=now)
        return changes

    change_task(main.workspace, part.candidate.task.id, change, now=now)


def _removed(main: MainCheckout, part: _Part, *, is_merge: bool) -> list[str]:
    """Remove a merged task's clone; say why it stays, if it does.

    `is_merge`: the project's commit in `main` is that of the merge, with the task's below it.
    """
    place, commit = part.candidate.place, part.candidate.commit
    try:
        gone = remove_clone(main, place, discard=False, merged=commit if is_merge else None)
    except StateError as error:
        if passing_fault(error) is not None:
            raise  # begun again, the merge finds itself done, and the clone still there
        return [f"{error.message}; its work is merged"]
    return _told_of(gone) if gone is not None else []


def _told_of(gone: Removed) -> list[str]:
    """Say what of a clone's files was kept, and what went with it."""
    notes = [f"deleted with the clone of task {gone.task}: {words}" for words in gone.goes_along]
    if gone.kept is not None:
        names = text_of(gone.kept.files, SHOWN)
        notes.append(f"kept from the clone of task {gone.task} in {gone.kept.folder}: {names}")
    return notes
