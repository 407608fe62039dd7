"""The entries of `.sow/knowledge/index`: a file each, so that branches do not meet in one.

Owns how they are read and written. A file that cannot be read hides no other.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import UNSET, to_builtins

from sow.errors import SowError
from sow.files import make_folder, read_inside, write_atomically
from sow.paths import Workspace
from sow.schema.knowledge import KnowledgeEntry
from sow.state.statefiles import parse_state

LIMIT = 1 << 16
"""No entry is longer."""
MOST_ENTRIES = 20_000
SUFFIX = ".yaml"
HEADER = b"# Kept by sow: `sow knowledge list`.\n"


class Filed(NamedTuple):
    """An entry, and the id that its file gives it."""

    id: str
    entry: KnowledgeEntry


def read_entries(workspace: Workspace) -> tuple[list[Filed], list[SowError]]:
    """Return the entries by their ids, and what is wrong with the files that are none."""
    found: list[Filed] = []
    errors: list[SowError] = []
    for path in entry_files(workspace):
        try:
            text = read_inside(path, workspace.root, LIMIT)
            found.append(Filed(path.stem, parse_state(text, KnowledgeEntry, path=path)))
        except FileNotFoundError:
            continue  # a merge, or a person, was faster
        except SowError as error:
            errors.append(error)
    return found, errors


def entry_files(workspace: Workspace) -> Iterator[Path]:
    """Yield the files of the index, by their names; a folder that cannot be read has none."""
    try:
        names = sorted(
            path for path in workspace.knowledge_index.iterdir() if path.suffix == SUFFIX
        )
    except OSError:
        return
    yield from (path for path in names[:MOST_ENTRIES] if not path.name.startswith("."))


def write_entry(workspace: Workspace, filed: Filed) -> Path:
    """Write an entry, in place of one of the same id; return its file. Raises NotWritten."""
    # A reader needs no writer.
    from sow.yamlfile.editing import dump_yaml

    plain = to_builtins(filed.entry, builtin_types=(type(filed.entry.at),))
    kept = {key: value for key, value in plain.items() if value not in ("", UNSET)}
    path = workspace.knowledge_index / f"{filed.id}{SUFFIX}"
    make_folder(path.parent)
    write_atomically(path, HEADER + dump_yaml(kept))
    return path
