"""The whole of `.sow` looked through: all checks, in the order of the files.

Owns that order, and that nothing is told of what is only just being written: a
first look takes no lock, and where it finds anything a second one takes the
locks of all writers.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from sow.agents.roles import AGENTS
from sow.files import NotAFile, read_inside
from sow.paths import Workspace
from sow.validation.archives import archive_defects
from sow.validation.completion_defects import completion_defects
from sow.validation.conflicts import (
    Added,
    Marked,
    added_by_both,
    conflict_defects,
    marked_files,
)
from sow.validation.foundation import foundation_defects, known_checks
from sow.validation.history import History
from sow.validation.kinds import Defect, Kind
from sow.validation.knowledge import knowledge_defects
from sow.validation.log_entries import log_defects
from sow.validation.mixed_projects import Mixed, meeting, mixed_defects, mixed_projects
from sow.validation.reading import Hold, held, read_tree, unheld
from sow.validation.records import record_defects
from sow.validation.references import reference_defects
from sow.validation.relations import relation_defects
from sow.validation.same_ids import Pair, pairs_of, same_id_defects
from sow.validation.tree import Tree

TEXT_LIMIT = 1 << 20


class Examined(Struct, frozen=True):
    """What was found, and all that whoever mends it needs."""

    tree: Tree
    history: History
    marked: Sequence[Marked]
    added: Sequence[Added]
    pairs: Sequence[Pair]
    mixed: Sequence[Mixed]
    defects: Sequence[Defect]
    """In the order of files and lines."""


def examine(workspace: Workspace, user_config: Path) -> Examined:
    """Look through `.sow`, and once more under the locks if anything is wrong.

    `user_config` is where the user's settings stand, for words alone. Raises StateLocked.
    """
    found = _look(workspace, user_config, unheld)
    return _look(workspace, user_config, held) if found.defects else found


def _look(workspace: Workspace, user_config: Path, hold: Hold) -> Examined:
    tree, history = read_tree(workspace, hold), History(workspace.root)
    mixed, met = mixed_projects(tree, history), meeting(workspace, history)
    is_project_too = met is not None or any(each.present for each in mixed)
    apart = [*(each.folder for each in mixed), *([workspace.project] if is_project_too else [])]
    marked = [each for each in marked_files(workspace, history) if not _is_in(apart, each.path)]
    added = [pair for each in marked if (pair := added_by_both(each, history)) is not None]
    project = tree.project
    pairs: list[Pair] = []
    found = [
        *tree.defects,
        *conflict_defects(marked, added, history),
        *foundation_defects(tree, user_config),
        *archive_defects(tree),
        *reference_defects(tree),
        *knowledge_defects(workspace),
    ]
    if project is not None:
        present = [pair for pair in added if pair.folder.is_relative_to(workspace.project)]
        pairs = pairs_of(project, present, history)
        roles = [agent.name for agent in AGENTS]
        found += relation_defects(project, roles, known_checks(workspace))
        found += same_id_defects(project, added, pairs)
        found += record_defects(workspace, project)
        found += completion_defects(workspace, project)
    for each in [*([project] if project is not None else []), *tree.archives]:
        for folder in (each.folder, *(task.folder for task in each.tasks)):
            with hold(folder):
                found += log_defects(folder / "log.md")
            found += _unreadable(workspace.root, folder)
    parted = [*mixed_defects(mixed), *([met] if met is not None else [])]
    parted += [each for each in found if not _is_in(apart, each.path)]
    return Examined(tree, history, marked, added, pairs, mixed, in_order(parted))


def _is_in(folders: Sequence[Path], path: Path) -> bool:
    """Whether a path lies in a folder of a project that has to be parted from another first."""
    return any(path.is_relative_to(folder) for folder in folders)


def in_order(defects: Collection[Defect]) -> list[Defect]:
    """Return defects by file, line and kind, each once."""
    once = {(each.path, each.line, each.kind, each.what): each for each in defects}
    return sorted(
        once.values(),
        key=lambda each: (each.path.parts, each.line or 0, each.kind, each.what),
    )


def _unreadable(root: Path, folder: Path) -> Iterator[Defect]:
    """Yield the descriptions and feedback that agents are to read and nobody can."""
    feedback = folder / "feedback"
    words = sorted(feedback.glob("*.md")) if feedback.is_dir() else []
    for path in (folder / "description.md", *words):
        try:
            read_inside(path, root, TEXT_LIMIT)
        except FileNotFoundError:
            continue
        except NotAFile as error:
            what = f"it cannot be read: {error.reason}"
            yield Defect(kind=Kind.UNREADABLE, path=path, what=what)
