"""What the git work on a task's clone must know of it."""

from pathlib import Path

from msgspec import Struct

from sow.git.merge_tree import folded

OWN = ("project", "run", "config.yaml", ".gitignore", ".gitattributes", ".version")
"""What in `.sow` is the state of the project, or steers sow: no task's work."""


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
