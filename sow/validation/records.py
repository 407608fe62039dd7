"""What a project and its tasks have on record, held against the files that it is about.

Owns feedback, listed files, approvals, references and times. Reads files, changes none.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET

from sow.paths import Workspace
from sow.schema.project import Artifact, Project
from sow.schema.task import Task, TaskStatus
from sow.state.artifacts import Side, content_of, listed
from sow.state.lifecycle import unit_content_at
from sow.state.numbered_feedback import NUMBERED
from sow.state.project_feedback import feedback_of
from sow.state.transitions import TERMINAL
from sow.validation.kinds import Defect, Kind
from sow.validation.log_entries import completed_at
from sow.validation.tree import ProjectTree, StateFile, TaskFolder

NAMED = re.compile(r"(?:.*/)?([0-9]{3,9}\.md)")
"""How an entry of `feedback` names its file; an older one may have written more."""
SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


def record_defects(workspace: Workspace, tree: ProjectTree) -> Iterator[Defect]:
    """Yield what the project's records and its tasks' say of files that are otherwise."""
    if tree.state is not None:
        yield from _project_feedback(tree, tree.state)
        yield from _listed_files(workspace, tree.state)
        yield from _units(workspace, tree, tree.state)
    for folder in tree.tasks:
        if folder.state is not None:
            yield from _task_feedback(folder, folder.state)
            yield from _references(workspace, folder, folder.state)
            yield from _times(folder, folder.state)


def _project_feedback(tree: ProjectTree, state: StateFile[Project]) -> Iterator[Defect]:
    notes = feedback_of(state.content)
    for number, note in enumerate(notes):
        keys = ("project", "feedback", number)
        if note.id in [earlier.id for earlier in notes[:number]]:
            same = note in notes[:number]
            what = f"feedback {note.id} is listed twice"
            yield state.defect(Kind.LISTED_TWICE, *keys, what=what, is_mended=same)
        elif note.file not in tree.feedback:
            what = f"there is no file feedback/{note.file}"
            yield state.defect(Kind.FEEDBACK_MISSING, *keys, what=what)
    review = state.content.review
    named = {note.file for note in notes}
    if (
        review is not UNSET
        and review.feedback is not UNSET
        and f"{review.feedback}.md" not in named
    ):
        what = f"the review names feedback {review.feedback}, which the project does not have"
        yield state.defect(Kind.FEEDBACK_MISSING, "project", "review", "feedback", what=what)
    remedy = "Give it again (`sow feedback add --file FILE`), or remove the file."
    yield from _unnamed(tree.folder, tree.feedback, named, remedy)


def _task_feedback(folder: TaskFolder, state: StateFile[Task]) -> Iterator[Defect]:
    entries = state.content.feedback
    named: set[str] = set()
    for number, entry in enumerate(entries):
        name = file_of(entry)
        keys = ("task", "feedback", number)
        if name and name in named:
            same = entry in entries[:number]
            what = f"feedback {name} is listed twice"
            yield state.defect(Kind.LISTED_TWICE, *keys, what=what, is_mended=same)
        elif name and name not in folder.feedback:
            what = f"there is no file feedback/{name}"
            yield state.defect(Kind.FEEDBACK_MISSING, *keys, what=what)
        named |= {name} if name else set()
    path = f"{folder.folder.name}/feedback"
    remedy = f"Give the verdict again (`sow review correct {folder.id} --file FILE`), or remove the"
    yield from _unnamed(folder.folder, folder.feedback, named, f"{remedy} file in {path}.")


def file_of(entry: Any) -> str:
    """Return the file that an entry of a task's feedback names; empty where it names none."""
    text = entry.get("file") if isinstance(entry, Mapping) else entry
    found = NAMED.fullmatch(text) if isinstance(text, str) else None
    return found[1] if found else ""


def _unnamed(folder: Path, files: Sequence[str], named: set[str], remedy: str) -> Iterator[Defect]:
    for name in files:
        if name not in named and re.fullmatch(NUMBERED, name):
            yield Defect(
                kind=Kind.FEEDBACK_UNNAMED,
                path=folder / "feedback" / name,
                line=1,
                what="no state names this feedback",
                remedy=remedy,
            )


def _listed_files(workspace: Workspace, state: StateFile[Project]) -> Iterator[Defect]:
    for side in Side:
        found = listed(state.content, side)
        for number, artifact in enumerate(found):
            keys = ("project", side.field, number)
            if artifact.path in [earlier.path for earlier in found[:number]]:
                same = artifact in found[:number]
                what = f"{artifact.path} is listed twice"
                yield state.defect(Kind.LISTED_TWICE, *keys, what=what, is_mended=same)
            else:
                yield from _listed_file(workspace, state, side, artifact, number)


def _listed_file(
    workspace: Workspace, state: StateFile[Project], side: Side, artifact: Artifact, number: int
) -> Iterator[Defect]:
    keys = ("project", side.field, number)
    content = _content(workspace, artifact.path)
    if content is None:
        what = f"the {side} {artifact.path} is not a file of this repository"
        remedy = (
            f"Restore it, or remove it from the list: sow {side} remove"
            f" {shlex.quote(artifact.path)}"
        )
        yield state.defect(Kind.FILE_MISSING, *keys, "path", what=what, remedy=remedy)
    elif artifact.approved is not UNSET and artifact.approved.content != content:
        what = f"{artifact.path} has changed since {artifact.approved.by} approved it"
        remedy = (
            f"Look at it, then approve its current form: sow approve {shlex.quote(artifact.path)}"
        )
        yield state.defect(Kind.APPROVAL_OUTDATED, *keys, "approved", what=what, remedy=remedy)


def _content(workspace: Workspace, path: str) -> str | None:
    """Return what tells a file's bytes from others; None for what is no file of the repository."""
    if "\0" in path:
        return None
    root = Path(os.path.realpath(workspace.root))
    if not Path(os.path.realpath(root / path)).is_relative_to(root):
        return None
    return content_of(workspace, path)


def _units(workspace: Workspace, tree: ProjectTree, state: StateFile[Project]) -> Iterator[Defect]:
    units = () if state.content.units is UNSET else state.content.units
    folders = {folder.id: folder for folder in tree.tasks}
    for number, unit in enumerate(units):
        keys = ("project", "units", number)
        folder = folders.get(unit.id)
        if unit.id in [earlier.id for earlier in units[:number]]:
            what = f"unit {unit.id} is listed twice"
            same = unit in units[:number]
            yield state.defect(Kind.LISTED_TWICE, *keys, what=what, is_mended=same)
        elif folder is None:
            what = f"unit {unit.id} is approved, but there is no such task"
            remedy = "Restore the task with git, or remove the approval from `units`."
            yield state.defect(Kind.UNKNOWN_TASK, *keys, "id", what=what, remedy=remedy)
        elif folder.state is not None:
            description = folder.folder / "description.md"
            if unit.content != unit_content_at(workspace, folder.state.content, description):
                what = f"unit {unit.id} has changed since {unit.by} approved it"
                remedy = f"Look at it, then approve its current form: sow approve {unit.id}"
                keys = (*keys, "content")  # type: ignore[assignment]
                yield state.defect(Kind.APPROVAL_OUTDATED, *keys, what=what, remedy=remedy)


def _references(
    workspace: Workspace, folder: TaskFolder, state: StateFile[Task]
) -> Iterator[Defect]:
    for number, entry in enumerate(state.content.references):
        text = entry.get("path", entry.get("file")) if isinstance(entry, Mapping) else entry
        if isinstance(text, str) and _is_path(workspace, text):
            path = re.sub(r"(#.*|:[0-9]+(-[0-9]+)?)$", "", text)
            places = (workspace.root, folder.folder, workspace.project)
            if not any(os.path.lexists(place / path) for place in places):
                what = f"the reference {text} names a file that does not exist"
                remedy = f'Correct it: sow task set {folder.id} references "…"'
                keys = ("task", "references", number)
                yield state.defect(Kind.REFERENCE_MISSING, *keys, what=what, remedy=remedy)


def _is_path(workspace: Workspace, text: str) -> bool:
    """Whether a reference surely means a file of the repository, and not a page or an issue."""
    if (
        not text
        or "://" in text
        or "\0" in text
        or text.startswith("/")
        or re.search(r"\s|#\d", text)
    ):
        return False
    first, *rest = text.split("/")
    if first in (".", ".sow"):
        return True
    last = re.sub(r"(#.*|:[0-9].*)$", "", text.rsplit("/", 1)[-1])
    has_suffix = SUFFIX.fullmatch(Path(last).suffix) is not None
    return bool(rest) and has_suffix and os.path.isdir(workspace.root / first)  # noqa: PTH112


def _times(folder: TaskFolder, state: StateFile[Task]) -> Iterator[Defect]:
    task = state.content
    if task.status is TaskStatus.COMPLETED and task.completed_at is UNSET:
        what = f"task {task.id} is {task.status}, but has no completed_at"
        is_known = completed_at(folder.folder, task) is not None
        yield state.defect(Kind.TIMES, "task", "status", what=what, is_mended=is_known)
    if task.status not in TERMINAL and task.completed_at is not UNSET:  # older sows: abandoned too
        what = f"task {task.id} is {task.status}, but has a completed_at"
        yield state.defect(Kind.TIMES, "task", "completed_at", what=what)
    if task.session is not UNSET and task.session_id is UNSET:
        what = "it describes a session, but has no session_id"
        yield state.defect(Kind.SESSION, "task", "session", what=what)
