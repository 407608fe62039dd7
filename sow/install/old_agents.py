"""Prompts in `.claude/agents/` that are older than sow's own roles.

Owns which those are: files with the name of a role, or of a worker that the first drafts of sow
described. Claude Code offers each to its model as a subagent, beside the agents that sow starts.
Moving them is for a person to say; where they go to, no CLI reads them.
"""

import os
from itertools import chain, count
from pathlib import Path

from sow.agents.roles import AGENTS
from sow.files import locked_folder, make_folder, refuse_leading_out

FOLDER = ".claude/agents"
KEPT = ".claude/old-agents"


def old_prompts(folder: Path) -> list[Path]:
    """Return such files of a repository, by name."""
    names = {agent.name for agent in AGENTS}
    return sorted(
        file
        for file in (folder / FOLDER).glob("*.md")
        if file.stem in names and file.is_file() and not file.is_symlink()
    )


def move_old_prompts(folder: Path) -> list[tuple[Path, Path]]:
    """Move them to `.claude/old-agents`, each under a name that is free.

    Returns where each came from and went to. Raises LeadsOut, OSError; what has moved by then
    stays moved.
    """
    moved, to = [], folder / KEPT
    for file in old_prompts(folder):
        refuse_leading_out(file, root=folder)
        make_folder(to, root=folder)
        with locked_folder(to):
            moved.append((file, file.rename(_free(to, file))))
    return moved


def _free(folder: Path, file: Path) -> Path:
    """Return a path in a folder, with the file's name or that with a number, where nothing lies."""
    others = (f"{file.stem}-{number}{file.suffix}" for number in count(1))
    paths = (folder / name for name in chain([file.name], others))
    return next(path for path in paths if not os.path.lexists(path))
