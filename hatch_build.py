"""What a build adds to the tree: the commit that it was made of, for `sow --version`.

An sdist takes the file along, so that a wheel that is made of it names the same commit. Where
neither git nor such a file says it, there is none: the version stands alone.
"""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILE = "sow/COMMIT"


class CommitHook(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Put the commit's file into wheels and sdists; an editable install asks its checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Have the file included: what an unpacked sdist has brought along, or a new one."""
        file = Path(self.root, FILE)
        commit = commit_of(Path(self.root))
        if version == "editable":
            return
        if commit and not file.exists():
            self.drafts = tempfile.TemporaryDirectory()
            file = Path(self.drafts.name, "COMMIT")
            file.write_text(f"{commit}\n", encoding="utf-8")
        if file.exists():
            build_data["force_include"][str(file)] = FILE


def commit_of(root: Path) -> str:
    """Return the commit of a checkout, and whether files differ from it; empty of anything else."""
    if not (root / ".git").exists():
        return ""
    words = ("describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=, changed since")
    try:
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
