"""What the git work on a task's clone must know of it."""

from pathlib import Path

from msgspec import Struct


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
        return f"{self.inside}/.sow/project" if self.inside else ".sow/project"

    def holds_state(self, path: str) -> bool:
        """Whether a path of the repository belongs to the project's state."""
        return path == self.project_folder or path.startswith(f"{self.project_folder}/")
