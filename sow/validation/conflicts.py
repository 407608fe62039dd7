"""The files below `.sow` that git has left in conflict, and what may be done about each.

Owns which files are looked through, and what is right for each of them. Where
both sides have added a task of one id, that is `same_ids`' to see to.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import UNSET, Struct

from sow.files import NotAFile, read_regular
from sow.paths import Workspace
from sow.schema.project import ProjectState
from sow.schema.task import Task, TaskState
from sow.state.log_writing import LOG_FILE, LOG_LIMIT
from sow.state.state_errors import InvalidState, NewerState
from sow.state.statefiles import parse_state
from sow.state.version import VERSION_FILE
from sow.validation.field_merge import merge_states
from sow.validation.history import History
from sow.validation.indexes import later_entry, merged_index
from sow.validation.kinds import Defect, Kind
from sow.validation.log_entries import is_within_entry
from sow.validation.marks import Conflict, conflict_in, kept_by_union
from sow.validation.reading import is_leftover
from sow.yamlfile import YamlProblem

LARGEST = 1 << 20
"""Larger files are no text of ours; logs may be larger."""
SKIPPED = ("run", "refs", "worktrees")
"""The folders of `.sow` that belong to this machine; the first sow had the last of them."""
LINES = (".gitattributes", ".gitignore")
REFERENCE_INDEX = (".sow", "refs", "index.yaml")
KNOWLEDGE_INDEX = (".sow", "knowledge", "index")
TASK_FOLDER = re.compile(r"phases/[a-z][a-z0-9-]*/tasks/[0-9]{3,}$")


class Marked(Struct, frozen=True):
    """A file in conflict."""

    path: Path
    text: bytes
    conflict: Conflict


class Added(Struct, frozen=True):
    """A task's state file in which both sides have added a task of their own."""

    folder: Path
    line: int
    ours: bytes
    theirs: bytes
    our_task: Task
    their_task: Task


def marked_files(workspace: Workspace, history: History) -> Iterator[Marked]:
    """Yield the files in conflict, in the order of their paths."""
    for path in _files(workspace):
        is_log = path.name == LOG_FILE
        try:
            text = read_regular(path, LOG_LIMIT if is_log else LARGEST)
        except (FileNotFoundError, NotAFile):
            continue
        conflict = conflict_in(text)
        if conflict is not None and (_counts(path, text, conflict) or path in history.unmerged):
            yield Marked(path, text, conflict)


def _counts(path: Path, text: bytes, conflict: Conflict) -> bool:
    """Whether marks are git's, and not what somebody has written down of some other file."""
    if path.name == LOG_FILE:
        return not all(is_within_entry(conflict.lines, hunk) for hunk in conflict.hunks)
    return path.suffix != ".md" or conflict_in(text, is_prose=True) is not None


def _files(workspace: Workspace) -> Iterator[Path]:
    for folder, folders, files in os.walk(workspace.sow):
        if folder == str(workspace.sow):
            folders[:] = [name for name in folders if name not in SKIPPED]
        folders[:] = sorted(name for name in folders if not is_leftover(Path(name), True))
        yield from (
            Path(folder, name) for name in sorted(files) if not is_leftover(Path(name), False)
        )
    index = workspace.reference_index  # all else in its folder is this machine's
    if index.is_file() and not (index.is_symlink() or workspace.refs.is_symlink()):
        yield index


def added_by_both(marked: Marked, history: History) -> Added | None:
    """Return the two tasks where both sides have added one; None for any other conflict."""
    if marked.path.name != "state.yaml" or not TASK_FOLDER.search(marked.path.parent.as_posix()):
        return None
    ours, theirs = marked.conflict.ours, marked.conflict.theirs
    try:
        mine = parse_state(ours, TaskState, path=marked.path).task
        its = parse_state(theirs, TaskState, path=marked.path).task
    except (InvalidState, NewerState):
        return None
    if mine.id != its.id or (mine.created_at, mine.name) == (its.created_at, its.name):
        return None
    added = history.was_added_by_both(marked.path)
    if added is False or (added is None and mine.created_at == its.created_at):
        return None
    return Added(marked.path.parent, marked.conflict.line, ours, theirs, mine, its)


class Solution(Struct, frozen=True):
    """What a file in conflict should hold; without a text, why nobody but a person can say."""

    text: bytes | None
    words: str = ""
    """What was done, or what is in dispute."""


def solve(marked: Marked, history: History) -> Solution:
    """Return the one right answer to a conflict, where there is one."""
    path, conflict = marked.path, marked.conflict
    if path.name == LOG_FILE:
        return _both(conflict, "both sides of the log are kept")
    if path.name == VERSION_FILE:
        return _higher(conflict)
    if path.name in LINES and path.parent.name == ".sow":
        return _both(conflict, "the lines of both sides are kept")
    if path.name == "state.yaml":
        return _merged(marked, history)
    if path.parts[-3:] == REFERENCE_INDEX:
        workspace = Workspace(path.parents[2])
        answer = merged_index(workspace, conflict, history.base_of(path))
        return _solved(answer, "the references of both sides are kept")
    if path.parts[-4:-1] == KNOWLEDGE_INDEX:
        return _solved(later_entry(path, conflict), "the entry with the later end is kept")
    return Solution(None, "")


def _solved(answer: bytes | str, words: str) -> Solution:
    """Return a solution; without a text the answer is why only a person can say."""
    return Solution(None, answer) if isinstance(answer, str) else Solution(answer, words)


def _both(conflict: Conflict, words: str) -> Solution:
    kept = [kept_by_union(hunk) for hunk in conflict.hunks]
    if any(lines is None for lines in kept):
        return Solution(None, "both sides have changed the same lines")
    lines_of = dict(zip([hunk.first for hunk in conflict.hunks], kept, strict=True))
    return Solution(conflict.solved(lambda hunk: lines_of[hunk.first] or ()), words)


def _higher(conflict: Conflict) -> Solution:
    numbers = [text.strip() for text in (conflict.ours, conflict.theirs)]
    if not all(number.isdigit() and len(number) < 10 for number in numbers):
        return Solution(None, "one side is not a number")
    higher = max(map(int, numbers))
    return Solution(f"{higher}\n".encode(), f"the higher number is kept, {higher}")


def _merged(marked: Marked, history: History) -> Solution:
    """Merge a state file by its fields, where the result is one that can be read."""
    path, conflict = marked.path, marked.conflict
    form = TaskState if TASK_FOLDER.search(path.parent.as_posix()) else ProjectState
    for side, text in (("our", conflict.ours), ("their", conflict.theirs)):
        try:
            parse_state(text, form, path=path)
        except (InvalidState, NewerState) as error:
            return Solution(None, f"{side} side cannot be read: {_reason(error)}")
    try:
        merged = merge_states(history.base_of(path), conflict.ours, conflict.theirs, path)
        if merged.text is None:
            return Solution(None, f"both sides have changed {', '.join(merged.disputed)}")
        parse_state(merged.text, form, path=path)
    except (YamlProblem, InvalidState, NewerState) as error:
        return Solution(None, f"the merged file would be invalid: {_reason(error)}")
    return Solution(merged.text, "the two sides are merged field by field")


def _reason(error: Exception) -> str:
    key, reason = getattr(error, "key", ""), getattr(error, "reason", "") or str(error)
    return f"{key}: {reason}" if key else reason


def conflict_defects(
    marked: Sequence[Marked], added: Sequence[Added], history: History
) -> Iterator[Defect]:
    """Yield what is to be told of files in conflict, those of a task that both have added apart."""
    pairs = {pair.folder for pair in added}
    for found in marked:
        if any(found.path.is_relative_to(folder) for folder in pairs):
            continue
        solution = solve(found, history)
        is_mended = solution.text is not None
        words = f": {solution.words}" if solution.words and not is_mended else ""
        yield Defect(
            kind=Kind.CONFLICT,
            path=found.path,
            line=found.conflict.line,
            what=f"it has conflict markers{words}",
            is_mended=is_mended,
        )


def both_words(mine: Task, its: Task) -> str:
    """Return the two tasks of one id, in words."""
    names = [
        task.name if task.key is UNSET else f"{task.name} ({task.key})" for task in (mine, its)
    ]
    return f"two tasks have the id {mine.id}: {names[0]!r} is ours, {names[1]!r} is theirs"
