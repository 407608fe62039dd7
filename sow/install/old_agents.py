"""Prompts in `.claude/agents/` that are older than sow's own roles.

Owns which those are: files with the name of a role, or of a worker that the first drafts of sow
described. Claude Code offers each to its model as a subagent, beside the agents that sow starts.
Moving them is for a person to say; where they go to, no CLI reads them.
"""

from pathlib import Path

from sow.agents.roles import AGENTS
from sow.files import write_new
from sow.files.reading import read_regular

FOLDER = ".claude/agents"
LIMIT = 1 << 20
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

    Returns where each came from and went to. Raises NotAFile, NotWritten.
    """
    moved, to = [], folder / KEPT
    for file in old_prompts(folder):
        data = read_regular(file, LIMIT)
        to.mkdir(parents=True, exist_ok=True)
        place, number = to / file.name, 0
        while True:
            try:
                write_new(place, data)
                break
            except FileExistsError:
                number += 1
                place = to / f"{file.stem}-{number}.md"
        file.unlink()
        moved.append((file, place))
    return moved
