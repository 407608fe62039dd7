"""What can be wrong with a project's files, and what to do about each.

Owns the words; the YAML reader finds the fault, its callers name the file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sow.errors import StateError

if TYPE_CHECKING:
    from sow.yamlfile import YamlProblem

SHOWN_IDS = 12


class InvalidState(StateError):
    """A state file that cannot be read, with the place and the reason."""

    def __init__(self, problem: "YamlProblem") -> None:
        self.path = problem.path
        self.line = problem.line
        self.key = problem.key
        self.reason = problem.reason
        caret = f"{problem.caret}\n\n" if problem.caret else ""
        super().__init__(
            str(problem),
            hint=f"{caret}Nothing was written. Correct that line, or restore the file with git."
            " `sow validate` lists all errors, such as conflict markers of a merge.",
        )


class RefusedChange(StateError):
    """A change that would have made a file invalid. Nothing was written."""

    def __init__(self, problem: "YamlProblem") -> None:
        self.path = problem.path
        self.key = problem.key
        self.reason = problem.reason
        super().__init__(
            f"{problem.key}: {problem.reason}" if problem.key else problem.reason,
            hint=f"Nothing was written. `sow schema {_schema_of(problem.path)}` prints what each"
            " field may hold.",
        )


def _schema_of(path: Path) -> str:
    """Return the word by which `sow schema` prints the form of a file."""
    if path.name != "state.yaml":
        return "references"
    return "task" if path.parent.parent.name == "tasks" else "project"


class MissingState(StateError):
    """A folder of ours without its `state.yaml`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"{path} does not exist",
            hint="`sow next` prints the command that restores it, or that moves its folder away.",
        )


class Misplaced(StateError):
    """A state file that says it belongs elsewhere than where it lies."""

    def __init__(self, path: Path, key: str, says: str, lies: str) -> None:
        self.path = path
        self.key = key
        super().__init__(
            f"{path}, {key}: its value is {says!r}, but its folder is {lies!r}",
            hint="Correct the key or move the folder, so that both are the same.",
        )


LONGEST_VERSION = 40
"""Of what stands where a version should, so many characters are shown."""


class NewerState(StateError):
    """A `.sow` folder that a later sow has written."""

    def __init__(self, path: Path, version: str, supported: int) -> None:
        self.path = path
        self.version = version
        shown = version if len(version) <= LONGEST_VERSION else f"{version[:LONGEST_VERSION]}…"
        super().__init__(
            f"{path} has the version {shown!r}, but this sow reads only version {supported}"
            " and older",
            hint="Upgrade sow: in its clone, `git pull` and `pipx install --force .`",
        )


class NoProject(StateError):
    """The branch has no project yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"there is no project in {path.parent}", hint="Start one: sow project new NAME"
        )


class ProjectWithoutState(NoProject):
    """A project's folder that is not empty and has no `state.yaml`: files of another branch."""

    def __init__(self, path: Path, file: str) -> None:
        self.path = path
        StateError.__init__(
            self,
            f"{path} holds files ({file}), but no state.yaml",
            hint="Restore state.yaml with git. If these files were left by another branch, move"
            " the folder away and start a project: sow project new NAME",
        )


class UnknownTask(StateError):
    """No task has this id."""

    def __init__(self, task_id: str, known: Sequence[str]) -> None:
        self.task_id = task_id
        self.known = tuple(known)
        super().__init__(f"there is no task {task_id}", hint=_known_hint(task_id, known))


def _known_hint(task_id: str, known: Sequence[str]) -> str:
    if not known:
        return "There are no tasks yet. Add one: sow task add NAME --agent implementer"
    if len(known) <= SHOWN_IDS:
        return f"There are: {', '.join(known)}"
    from difflib import get_close_matches  # heavy, and for an error's hint alone

    near = get_close_matches(task_id, known, n=3, cutoff=0.5)
    nearest = f"The nearest: {', '.join(near)}. " if near else ""
    return f"{nearest}`sow task list` shows all {len(known)}."


class LogFull(StateError):
    """A log that agents have made so long that sow soon could not show it any more."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        super().__init__(
            f"{path} has more than {limit >> 20} MiB: nothing more is logged there",
            hint="Report how your work stands by your task's status. A person can move the"
            " oldest entries to another file.",
        )


class WorkArrives(StateError):
    """Another process brings a task's work home from another host; git may take minutes."""

    passes = True

    def __init__(self, task_id: str, lock: Path) -> None:
        self.task_id = task_id
        super().__init__(
            f"another process is bringing the work of task {task_id} home from another host",
            hint=f"Try again when it is done. `fuser {lock}` prints the id of that process.",
        )


class UnknownPhase(StateError):
    """A phase that the project does not have, and that nobody asked to make."""

    def __init__(self, phase: str, known: Sequence[str], *, may_make: bool = True) -> None:
        from difflib import get_close_matches  # heavy, and for an error's hint alone

        self.phase = phase
        near = get_close_matches(phase, known, n=1)
        guess = f"Did you mean {near[0]}? " if near else ""
        more = " `--new-phase` creates a new phase." if may_make else ""
        super().__init__(
            f"the project has no phase {phase}",
            hint=f"{guess}It has: {', '.join(known)}.{more}",
        )


class RefusedDependency(StateError):
    """A dependency on a task that does not exist, or one that closes a circle."""

    def __init__(self, task_id: str, reason: str) -> None:
        self.task_id = task_id
        super().__init__(
            f"task {task_id} cannot have these dependencies: {reason}",
            hint="`sow task list` shows the tasks and what they depend on.",
        )


class RefusedField(StateError):
    """A field that is not set by hand."""

    def __init__(
        self, field: str, reason: str, settable: Sequence[str], *, instead: str = ""
    ) -> None:
        """`instead` is what sets it all the same, as a sentence."""
        self.field = field
        self.settable = tuple(settable)
        hint = instead or f"These can be set: {', '.join(settable)}"
        super().__init__(f"{field}: {reason}", hint=hint)
