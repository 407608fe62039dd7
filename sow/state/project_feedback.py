"""Feedback on the project as a whole: numbered files in `feedback/`, and where each stands.

Owns the numbers and the steps: the file comes first, so that what stands in
`state.yaml` has its words. A task's own feedback is `state.verdicts`.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET

from sow.errors import StateError
from sow.files import NotAFile, read_inside
from sow.paths import Workspace
from sow.schema.project import NoteStatus, Project, ProjectFeedback
from sow.state.authors import Author
from sow.state.log_writing import LogEntry
from sow.state.numbered_feedback import FEEDBACK_LIMIT, write_next
from sow.state.projects import change_project
from sow.state.status_entries import FEEDBACK, change_entry
from sow.state.transitions import moment


def feedback_of(project: Project) -> list[ProjectFeedback]:
    """Return all feedback on a project, settled or not."""
    return [] if project.feedback is UNSET else project.feedback


def open_feedback(project: Project) -> list[ProjectFeedback]:
    """Return what is still to be settled."""
    return [note for note in feedback_of(project) if note.status is NoteStatus.OPEN]


def words_of(workspace: Workspace, note: ProjectFeedback) -> str:
    """Return the words of some feedback; that they are gone, where they are."""
    try:
        path = workspace.project_feedback / note.file
        data = read_inside(path, workspace.root, FEEDBACK_LIMIT)
    except (FileNotFoundError, NotAFile):
        return f"({note.file} cannot be read any more)"
    return data.decode("utf-8", "replace").strip()


def add_feedback(workspace: Workspace, words: bytes, *, by: Author, now: float) -> ProjectFeedback:
    """Put feedback on record and return it. Raises what `change_project` does."""
    added: list[ProjectFeedback] = []

    def change(project: Project) -> Mapping[str, object]:
        there = feedback_of(project)
        number = write_words(workspace, there, words)
        note = ProjectFeedback(id=number, status=NoteStatus.OPEN, by=by.agent, at=moment(now))
        added[:] = [note]
        return {"feedback": [*there, note]}

    def entries() -> list[LogEntry]:
        text = words.decode("utf-8", "replace")
        return [change_entry(f"Feedback {added[0].id} added", FEEDBACK, by, now=now, text=text)]

    change_project(workspace, change, now=now, entries=entries)
    return added[0]


def settle_feedback(
    workspace: Workspace, numbers: Sequence[str], *, by: Author, now: float
) -> list[ProjectFeedback]:
    """Mark feedback as settled; what is so already stays. Raises StateError."""
    settled: list[str] = []

    def change(project: Project) -> Mapping[str, object]:
        there = feedback_of(project)
        for number in numbers:
            if number not in {note.id for note in there}:
                known = ", ".join(note.id for note in there) or "none yet"
                raise StateError(
                    f"the project has no feedback {number}",
                    hint=f"There is: {known}. `sow feedback list --all` shows it.",
                )
        wanted = [note.id for note in open_feedback(project) if note.id in numbers]
        settled[:] = wanted
        changed = [_settled(note, by, now) if note.id in wanted else note for note in there]
        return {"feedback": changed} if wanted else {}

    def entries() -> list[LogEntry]:
        return [
            change_entry(f"Feedback {number} settled", FEEDBACK, by, now=now) for number in settled
        ]

    project = change_project(workspace, change, now=now, entries=entries)
    return [note for note in feedback_of(project) if note.id in numbers]


def _settled(note: ProjectFeedback, by: Author, now: float) -> ProjectFeedback:
    return msgspec.structs.replace(
        note, status=NoteStatus.SETTLED, settled_by=by.agent, settled_at=moment(now)
    )


def write_words(workspace: Workspace, there: Sequence[ProjectFeedback], words: bytes) -> str:
    """Write the next feedback file and return its number; the project's lock is held."""
    return write_next(workspace.project_feedback, {note.file for note in there}, words).stem
