"""The project's branch brought into a task's clone.

A merge without conflicts is committed, and only the files that it touches are
written. A conflict is left in the clone as git leaves one, with its marks, so
that the task's agent can solve it. A kill at any point is completed by the
next call, and by whoever commits the clone's leftovers.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import astuple

from sow.clones.bringing_along import foreign_paths, write_files
from sow.clones.clone_facts import CloneFacts, left_out_words, text_of
from sow.clones.difference import difference
from sow.clones.gitlinks import Link, links_between
from sow.clones.kept_commits import types_of
from sow.clones.merge_marks import Marks, marks_since, project_side
from sow.clones.steps import no_step, note_path, read_json, remove_note, write_json
from sow.clones.work_tree import absent_paths, hide_absent, links_and_missing, work_tree
from sow.errors import StateError
from sow.git.identity import identity_of
from sow.git.inert_refs import read_head, read_text, remove_file, write_branch, write_file
from sow.git.merge_tree import (
    Change,
    MergedTree,
    changes_between,
    merge_trees,
    scratch_commit,
    side_of,
)
from sow.git.private_view import index_of, name_commit, private_view, real_git_dir
from sow.git.promised import fetch_promised, is_partial
from sow.git.repository import Repository, branch_commit
from sow.git.run import FETCH, LONG_SECONDS, git_into_git
from sow.git.view import View, as_records, view_of

KIND = "updating"
UNFINISHED = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase, or a series of patches,",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
"""What git leaves in its folder while an operation of several steps is under way."""
SHOWN = 12
TEXT_LIMIT = 1 << 20
UTF_8 = ("-c", "i18n.commitEncoding=UTF-8")


class CannotUpdate(StateError):
    """The project's branch cannot be brought into a clone as that is now. Nothing was changed."""

    act = "updated"
    """What cannot be done with the clone."""

    def __init__(
        self, facts: CloneFacts, why: str, paths: Sequence[str] = (), hint: str = ""
    ) -> None:
        self.folder = facts.path
        self.why = why
        self.paths = tuple(paths)
        names = f": {text_of(paths, SHOWN)}" if paths else ""
        super().__init__(
            f"the clone {facts.path} cannot be {self.act}: {why}{names}",
            hint=hint or "Nothing was changed. Fix this in the clone, then run the command again.",
        )


class UpdateNote(MergedTree, frozen=True, kw_only=True):
    """What is being done in a clone."""

    here: str
    """The last commit of the task's branch before."""
    wanted: str
    """The project's commit."""
    commit: str | None
    """The merge; None where there are conflicts."""
    title: str
    """The first line of its message."""


class Updated(Struct, frozen=True):
    """How a clone stands after the project's branch was brought in."""

    commit: str
    """The last commit of the task's branch."""
    merged: str | None
    """The project's commit that was brought in; None where the clone had it."""
    conflicts: tuple[str, ...] = ()
    """The files in conflict, which hold marks now: then nothing was committed yet."""
    words: str = ""
    """What git says of the conflicts."""
    links: tuple[Link, ...] = ()
    """The entries of submodules that have no conflict."""
    notes: tuple[str, ...] = ()
    """What a person should know, in sentences."""
    made_on: str | None = None
    """The commit of the task's branch before, where the main repository has made the merge: it
    need not be brought there. Else None."""


class _Computed(NamedTuple):
    """What a merge comes to, and what the project's own commits of it say."""

    note: UpdateNote
    marks: Marks


def update_clone(
    facts: CloneFacts,
    main: Repository,
    project: str,
    *,
    withheld: Sequence[str] = (),
    step: Callable[[str], None] = no_step,
    solved_by: Callable[[], str] = str,
) -> Updated:
    """Merge the branch `project` of the main repository into the task's branch, in its clone.

    Nothing may be uncommitted there, and no process be at work. `solved_by` tells in words how the
    task's agent solves a conflict that is there already. Raises CannotUpdate, UnsafeClone,
    GitRefused.
    """
    finish_update(facts, main)
    _refuse_unfinished(facts, solved_by)
    wanted = branch_commit(main, project)
    if wanted is None:
        raise CannotUpdate(facts, f"there is no branch {project}")
    fetch_promised(main, [wanted])
    with private_view(facts.path, main) as view:
        here, marks = _here(view, facts, main, wanted)
        if marks == []:
            return Updated(here, None, links=links_between(view, here))
        _refuse_dirty(view, facts, here, withheld)
        computed = _computed_in_main(facts, main, project, here, wanted, marks)
        if computed is None:
            _fetch(view, main, f"refs/heads/{project}", here)
            computed = _merge(view, facts, main, project, here, wanted, marks)
            made_on = None
        else:
            made_on = here
            _hand_over(view, main, computed.note.commit or wanted, here)
        step("objects fetched")
        note = computed.note
        left_out = difference(view, facts, here, wanted, computed.marks).state_files
        changes = _visible(view, facts, note)
        in_the_way = foreign_paths(view, changes)
        if in_the_way:
            raise CannotUpdate(facts, "these files would be overwritten by new ones", in_the_way)
        write_json(note_path(main, KIND, facts.branch), note)
        step("noted")
        links = links_between(
            view, here, note.conflicts, _carry_out(view, facts, note, changes, step)
        )
    remove_note(main, KIND, facts.branch)
    notes = (left_out_words(facts, left_out, here),) if left_out else ()
    return Updated(
        note.commit or here, wanted, note.conflicts, note.words, links, notes, made_on=made_on
    )


def refuse_update(facts: CloneFacts, main: Repository, withheld: Sequence[str]) -> None:
    """Raise what `update_clone` would be refused with for what is in the clone. Changes nothing.

    Raises CannotUpdate, UnsafeClone, GitRefused.
    """
    _refuse_unfinished(facts)
    with private_view(facts.path, main) as view:
        _refuse_dirty(view, facts, _checked_out(facts, view), withheld)


def refuse_unfinished(facts: CloneFacts) -> None:
    """Raise CannotUpdate where a step of git is under way in a clone, or another branch is there.

    Raises UnsafeClone.
    """
    _refuse_unfinished(facts)
    _checked_out(facts)


def is_as_left(facts: CloneFacts, main: Repository, project: str, withheld: Sequence[str]) -> bool:
    """Whether an update has left a conflict in a clone, and nothing was changed there since.

    Raises UnsafeClone, GitRefused.
    """
    git_dir = real_git_dir(facts.path)
    wanted = (read_text(git_dir, "MERGE_HEAD", TEXT_LIMIT) or "").strip()
    head = read_head(git_dir)
    if not wanted or head.commit is None or head.branch != facts.branch:
        return False
    with private_view(facts.path, main) as view:
        if view.commit_of(wanted) != wanted:
            return False
        note = _merge(view, facts, main, project, head.commit, wanted, None).note
        left = work_tree(view, facts, scratch_commit(view, note.tree), withheld)
    return bool(note.conflicts) and not left.paths


def _refuse_dirty(view: View, facts: CloneFacts, here: str, withheld: Sequence[str]) -> None:
    found = work_tree(view, facts, here, withheld)
    if found.paths:
        raise CannotUpdate(facts, "these changes are not committed", found.paths)


def finish_update(facts: CloneFacts, main: Repository) -> None:
    """Complete an update that a kill has interrupted. Raises as `update_clone` does."""
    note = read_json(note_path(main, KIND, facts.branch), UpdateNote)
    if note is None:
        return
    head = read_head(real_git_dir(facts.path))
    if head.branch == facts.branch and head.commit == note.here and not _is_laid(facts, note):
        with private_view(facts.path, main) as view:
            changes = _visible(view, facts, note)
            in_the_way = foreign_paths(view, changes)
            if in_the_way:
                why = "an earlier update was interrupted, and these files were changed since then"
                raise CannotUpdate(facts, why, in_the_way)
            _carry_out(view, facts, note, changes, no_step)
    remove_note(main, KIND, facts.branch)


def _is_laid(facts: CloneFacts, note: UpdateNote) -> bool:
    """Whether the last step of an update that leaves a conflict is done: its merge is under way.

    What was changed in the clone since is the solving of it. The last step of
    an update without a conflict moves the branch.
    """
    if note.commit is not None:
        return False
    git_dir = real_git_dir(facts.path)
    return read_text(git_dir, "MERGE_HEAD", TEXT_LIMIT) == f"{note.wanted}\n"


def _refuse_unfinished(facts: CloneFacts, solved_by: Callable[[], str] = str) -> None:
    git_dir = real_git_dir(facts.path)
    for name, what in UNFINISHED.items():
        if (git_dir / name).exists():
            raise CannotUpdate(facts, f"{what} is in progress in it")
    if (git_dir / "MERGE_HEAD").exists():
        solve = solved_by()
        by_agent = f"; or let the task's agent do it: {solve}" if solve else ""
        hint = f"Solve its conflicts there and commit{by_agent}."
        raise CannotUpdate(facts, "a merge is in progress in it", hint=hint)


def _here(view: View, facts: CloneFacts, main: Repository, wanted: str) -> tuple[str, Marks | None]:
    """Return the clone's last commit, and what the project's own commits say that it has not.

    They are none where the clone has the project's commit, and None where only the clone's own
    objects can tell them.
    """
    here = _checked_out(facts)
    if _has_all(main, facts, here):
        return here, marks_since(view_of(main.top), wanted, here)
    there = types_of(view, [here, wanted])
    if there.get(here) != "commit":
        raise _other_branch(facts, facts.branch)
    return here, [] if wanted in there and view.is_ancestor(wanted, here) else None


def _has_all(main: Repository, facts: CloneFacts, here: str) -> bool:
    """Whether the main repository has all of a clone's branch."""
    if main.is_shallow or is_partial(main):
        return False
    return branch_commit(main, facts.branch) == here


def _checked_out(facts: CloneFacts, view: View | None = None) -> str:
    """Return the last commit of the task's branch, which is checked out in its clone.

    With a view the clone has to have that object. Raises CannotUpdate.
    """
    head = read_head(real_git_dir(facts.path))
    if head.branch != facts.branch or head.commit is None:
        raise _other_branch(facts, head.branch)
    if view is not None and types_of(view, [head.commit]).get(head.commit) != "commit":
        raise _other_branch(facts, head.branch)
    return head.commit


def _other_branch(facts: CloneFacts, branch: str | None) -> CannotUpdate:
    return CannotUpdate(facts, f"{branch or 'no branch'} is checked out there")


def _fetch(view: View, main: Repository, name: str, here: str) -> None:
    """Bring a commit, or a branch, of the main repository into the clone itself."""
    name_commit(view, "refs/sow/have", here)
    view.text(*FETCH, str(main.common_dir), name, seconds=LONG_SECONDS)


def _hand_over(view: View, main: Repository, commit: str, here: str) -> None:
    """Bring a commit of the main repository, which has all of the clone's branch, into the clone.

    Two processes of git do what six do for a fetch. Objects are checked as a fetch checks them;
    what this way does not succeed with is fetched, and git says why that fails.
    """
    pack = ("pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q")
    unpack = ("index-pack", "--stdin", "--fix-thin", "--strict")
    source = view_of(main.top)
    is_done = git_into_git(
        (source.folder, pack, source.environ()),
        (view.folder, unpack, view.environ()),
        stdin=f"{commit}\n^{here}\n".encode(),
        seconds=LONG_SECONDS,
    )
    if not is_done:
        _fetch(view, main, commit, here)


def _computed_in_main(
    facts: CloneFacts,
    main: Repository,
    project: str,
    here: str,
    wanted: str,
    marks: Marks | None,
) -> _Computed | None:
    """Return a merge without conflicts as the main repository makes it; None where it cannot.

    It has to have all of the clone's branch. The merge is handed over to the clone then, and
    nothing of it has to be brought back.
    """
    if marks is None:
        return None
    computed = _merge(view_of(main.top), facts, main, project, here, wanted, marks)
    return computed if computed.note.commit is not None else None


def _merge(
    view: View,
    facts: CloneFacts,
    main: Repository,
    project: str,
    here: str,
    wanted: str,
    marks: Marks | None,
) -> _Computed:
    """Return what is to be done: only objects are made.

    What is sow's own is as the project has it: no conflict is there.
    """
    if marks is None:
        marks = marks_since(view, wanted, here)
    ours = side_of(view, here, wanted, facts.own_paths)
    theirs = project_side(view, wanted, here, marks)
    if view.folder == facts.path:  # the marks of a conflict name the branches
        sides = {f"heads/{facts.branch}": ours, f"heads/{project}": theirs}
        for name, commit in sides.items():
            name_commit(view, f"refs/{name}", commit)
        ours, theirs = sides
    merged = merge_trees(view, ours, theirs)
    made = None
    title = f"Merge branch '{project}' into {facts.branch}\n"
    if not merged.conflicts:
        words = ("commit-tree", merged.tree, "-p", here, "-p", wanted)
        variables = identity_of(main.top)
        made = view.text(*UTF_8, *words, stdin=title.encode(), variables=variables)
    note = UpdateNote(*astuple(merged), here=here, wanted=wanted, commit=made, title=title)
    return _Computed(note, marks)


def _visible(view: View, facts: CloneFacts, note: UpdateNote) -> list[Change]:
    """Return the changes to the working tree: the project's state is not checked out there."""
    changes = changes_between(view, note.here, note.tree)
    return [change for change in changes if not facts.holds_state(change.path)]


def _carry_out(
    view: View,
    facts: CloneFacts,
    note: UpdateNote,
    changes: Sequence[Change],
    step: Callable[[str], None],
) -> dict[str, str]:
    """Make files, index and branch as the note says: done twice, it changes nothing more.

    `changes` are the note's own that are visible. Return the note's entries for other repositories.
    """
    git_dir = real_git_dir(facts.path)
    view.text("read-tree", note.tree, seconds=LONG_SECONDS)
    write_files(view, changes, git_dir / "sow-draft", has_index=True)
    step("files written")
    _lay_stages(view, note)
    links, missing = links_and_missing(view)
    hide_absent(view, absent_paths(view, facts, missing))
    write_file(git_dir, "index", index_of(view).read_bytes())
    remove_file(git_dir, "index.lock")
    step("index written")
    if note.commit:
        write_branch(git_dir, facts.branch, note.commit)
    else:
        listed = "".join(f"#\t{path}\n" for path in note.conflicts)
        text = f"{note.title}\n# Conflicts:\n{listed}"
        write_file(git_dir, "MERGE_MSG", text.encode("utf-8", "surrogateescape"))
        write_file(git_dir, "MERGE_MODE", b"no-ff")
        step("merge begun")
        write_file(git_dir, "MERGE_HEAD", f"{note.wanted}\n".encode())
    step("branch moved")
    return links


def _lay_stages(view: View, note: UpdateNote) -> None:
    """Put the versions of each file in conflict into the index, as a merge of git's own does."""
    if not note.conflicts:
        return
    none = "0" * len(note.here)
    lines = [f"0 {none}\t{path}" for path in note.conflicts]
    lines += [f"{mode} {name} {stage}\t{path}" for mode, name, stage, path in note.stages]
    view.text("update-index", "-z", "--index-info", stdin=as_records(lines))
