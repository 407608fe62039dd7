"""What the git work on a task's clone must know of it, and what of its changes is not taken."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from msgspec import Struct

from sow.git.merge_tree import folded
from sow.terminal_text import printable, readable

OWN = ("project", "run", "config.yaml", ".gitignore", ".gitattributes", ".version")
"""What in `.sow` is the state of the project, or steers sow: no task's work."""
SHOWN = 12
NEVER_TAKEN = ("project", "run")
"""What is of one machine, or kept by sow alone, whatever a branch has of it."""


class CloneFacts(Struct, frozen=True):
    """A task's clone: its folder, its branch, where that began, and where the workspace lies."""

    path: Path
    branch: str
    """Without `refs/heads/`, such as `sow/sign-in-1f2e3d4c/010`."""
    base: str
    """The commit that the task's branch began at."""
    inside: str = ""
    """The workspace's root, relative to the repository's; empty where they are the same."""

    @property
    def project_folder(self) -> str:
        """The folder of the project's state in the repository, which is no part of any task."""
        return f"{self._sow_folder}/project"

    @property
    def own_paths(self) -> tuple[str, ...]:
        """What of the repository stays as the project has it, whatever comes in from a task.

        The folder itself is among them: a task may put no file or link in its place.
        """
        return (self._sow_folder, *(f"{self._sow_folder}/{name}" for name in OWN))

    @property
    def _sow_folder(self) -> str:
        return f"{self.inside}/.sow" if self.inside else ".sow"

    def is_own(self, path: str) -> bool:
        """Whether a path of the repository is sow's own: project state, or what steers sow."""
        folder, *own = self.own_paths
        return folded(path) == folded(folder) or any(_is_in(path, each) for each in own)

    @property
    def absent_folders(self) -> tuple[str, ...]:
        """What no clone has checked out: the project's state, and a machine's own records."""
        return self.project_folder, f"{self._sow_folder}/run"

    def holds_state(self, path: str) -> bool:
        """Whether a path of the repository lies in what no clone has checked out."""
        return any(_is_in(path, folder) for folder in self.absent_folders)

    def holds_records(self, path: str) -> bool:
        """Whether a path of the repository is, or lies in, the folder of a machine's records."""
        return _is_in(path, self.absent_folders[1])


def _is_in(path: str, folder: str) -> bool:
    """Whether some disk takes a path for a folder's, or for one in it."""
    return f"{folded(path)}/".startswith(f"{folded(folder)}/")


def left_out_words(facts: CloneFacts, paths: Sequence[str], commit: str) -> str:
    """Return that files were left out, which, and how a person takes those that may be wanted.

    `commit` is one of the task's that has them as its agent left them.
    """
    words = f"left out, because it belongs to sow: {text_of(paths, SHOWN)}"
    command = taking_command(facts, paths, commit)
    return f"{words}; to include it anyway: `{command}`" if command else words


def taking_command(facts: CloneFacts, paths: Sequence[str], commit: str) -> str:
    """Return the command that brings files of the task's into the checkout, removals too.

    It names them from the repository's top. Empty where nobody should take any of the files.
    """
    wanted = taken_by_hand(facts, paths)
    files = " ".join(quote(f":/{path}") for path in wanted)
    source = f"--source={commit[:12]} --staged --worktree"
    return f"git restore {source} -- {files}" if wanted else ""


def taken_by_hand(facts: CloneFacts, paths: Sequence[str]) -> tuple[str, ...]:
    """Return those of the files that a person may want: sow's settings, not its state."""
    folder, *own = facts.own_paths
    files = {path for path in own if path.removeprefix(f"{folder}/") not in NEVER_TAKEN}
    return tuple(path for path in paths if path in files)


def text_of(names: Sequence[str], most: int) -> str:
    """Return some names, and of more than so many how many there are."""
    rest = len(names) - most
    shown = ", ".join(printable(readable(name)) for name in names[:most])
    return shown + (f" and {rest} more" if rest > 0 else "")
