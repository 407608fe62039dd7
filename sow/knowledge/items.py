"""What there is to know: the index, the projects in the archive, and documents in their places.

Owns what counts, and that nothing has to be in the index to be found: an archived project and a
document that lies where documents go appear by themselves. What the index knows is added.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import UNSET

from sow.errors import SowError, StateError
from sow.files import NotAFile, open_regular, read_regular
from sow.knowledge.filling import project_entry
from sow.knowledge.index import Filed, read_entries
from sow.knowledge.texts import HEAD_LIMIT, heading_of, shortened, summary_of
from sow.paths import Workspace
from sow.schema.knowledge import KnowledgeEntry
from sow.state.archive import archived_folders, read_archived
from sow.state.artifacts import LARGEST, is_contents, kept_folder
from sow.terminal_text import readable

SUFFIXES = (".md", ".txt", ".rst", ".adoc")
"""What a document's name ends with."""
MOST_FILES = 20_000
"""No more files are looked at in one place."""
UNIT = "unit"
"""The kind of a work unit that a breakdown has published."""
NOTE = "note"
"""The kind of a document that lies in no folder of a kind."""
NOT_PLACES = ("index", "projects")
"""The folders below `.sow/knowledge` that hold no documents by themselves."""
LONGEST_TITLE = 200


class UnknownKnowledge(StateError):
    """Nothing of this name is known, or several things whose ids begin so."""

    def __init__(self, name: str, known: Sequence[str], beginning: Sequence[str]) -> None:
        from difflib import get_close_matches  # heavy, and for an error's hint alone

        if beginning:
            message = f"{len(beginning)} entries begin with {name!r}"
            hint = f"Write one of them out: {', '.join(beginning[:5])}."
        else:
            near = get_close_matches(name, known, n=1)
            guess = f"Did you mean {near[0]}? " if near else ""
            message = f"nothing is known by the name {name!r}"
            hint = f"{guess}`sow knowledge list` shows all; `sow knowledge search` looks for words."
        super().__init__(message, hint=hint)


class Item(NamedTuple):
    """Something to know: a document, or a project that has ended."""

    id: str
    """Of its entry; of what is in no index, its path. It is a text, whatever the file's name."""
    kind: str
    title: str
    path: str
    """From the root of the workspace."""
    summary: str
    entry: KnowledgeEntry | None
    is_here: bool
    """Whether there is something at its path."""


class Known(NamedTuple):
    """All items, newest projects first, and what is wrong with the index."""

    items: Sequence[Item]
    errors: Sequence[SowError]


def known_items(workspace: Workspace, places: Mapping[str, str]) -> Known:
    """Return all that there is to know.

    `places` are the folders of the repository's settings, by what lies there (`artifacts`).
    """
    filed, errors = read_entries(workspace)
    indexed = _newest_by_path(filed)
    found = {path: _item(workspace, each) for path, each in indexed.items()}
    for item in _archived(workspace, found):
        found[item.path] = item
    for item in _documents(workspace, places, found):
        found[item.path] = item
    return Known(sorted(found.values(), key=_order), errors)


def item_named(known: Known, name: str, inside: str | None) -> Item:
    """Return the item of an id, of a path, or of the one id that begins so.

    `inside` is the name as a path from the root of the workspace. A path may be no UTF-8, and
    counts before an id that only looks like it. Raises UnknownKnowledge.
    """
    for item in known.items:
        if item.path in (name, inside):
            return item
    for item in known.items:
        if name == item.id:
            return item
    beginning = [item for item in known.items if name and item.id.startswith(name)]
    if len(beginning) == 1:
        return beginning[0]
    raise UnknownKnowledge(
        readable(name), [item.id for item in known.items], [item.id for item in beginning]
    )


def files_of(workspace: Workspace, item: Item) -> list[str]:
    """Return the files whose text belongs to an item, from the root of the workspace."""
    place = workspace.root / item.path
    if not (is_inside(workspace, item.path) and is_there(workspace, item.path)):
        return []
    if not place.is_dir():
        return [item.path] if place.is_file() else []
    return list(texts_below(workspace, item.path))


def text_at(workspace: Workspace, path: str) -> str:
    """Return the text of a file; nothing where it cannot be read."""
    if not is_inside(workspace, path):
        return ""
    try:
        return read_regular(workspace.root / path, LARGEST).decode("utf-8", "replace")
    except (OSError, NotAFile):
        return ""


def is_inside(workspace: Workspace, path: str) -> bool:
    """Whether a path leads, by whatever links, to contents of the repository."""
    root = Path(os.path.realpath(workspace.root))
    real = Path(os.path.realpath(workspace.root / path))
    return real.is_relative_to(root) and is_contents(root, real)


def is_there(workspace: Workspace, path: str) -> bool:
    """Whether something lies there; nothing does under a name that no disk takes."""
    return os.path.exists(workspace.root / path)  # noqa: PTH110 - it raises nothing


def texts_below(workspace: Workspace, folder: str) -> Iterator[str]:
    """Yield the documents below a folder, by their names; through no link."""
    top, number = workspace.root / folder, 0
    if not is_inside(workspace, folder):
        return
    for above, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(above, name)
            if not _is_document(path):
                continue
            number += 1
            if number > MOST_FILES:
                return
            yield path.relative_to(workspace.root).as_posix()


def _newest_by_path(filed: Sequence[Filed]) -> dict[str, Filed]:
    """Return the entries by their paths: of two that name one file, that of the later project."""
    newest: dict[str, Filed] = {}
    for each in filed:
        there = newest.get(each.entry.path)
        if there is None or each.entry.at >= there.entry.at:
            newest[each.entry.path] = each
    return newest


def _item(workspace: Workspace, filed: Filed) -> Item:
    entry = filed.entry
    is_here = is_inside(workspace, entry.path) and is_there(workspace, entry.path)
    return Item(
        readable(filed.id), entry.kind, entry.title, entry.path, entry.summary, entry, is_here
    )


def _archived(workspace: Workspace, known: Mapping[str, Item]) -> Iterator[Item]:
    """Yield the projects of the archive that the index does not have; those of an older sow."""
    for folder in archived_folders(workspace):
        path = folder.relative_to(workspace.root).as_posix()
        if path in known:
            continue
        try:
            project = read_archived(folder)
        except SowError:
            continue  # `sow validate` tells of it
        if project.ending is not UNSET:
            filed = project_entry(project, project.ending, path)
            yield _item(workspace, filed)._replace(id=readable(path))


def _documents(
    workspace: Workspace, places: Mapping[str, str], known: Mapping[str, Item]
) -> Iterator[Item]:
    seen = {item.path for item in known.values()}
    found = [(NOTE, path) for path in _notes(workspace)]
    for folder, kind in _places(workspace, places).items():
        found += [(kind, path) for path in texts_below(workspace, folder)]
    for kind, path in found:
        if path in seen:
            continue
        seen.add(path)
        text = _head(workspace, path)
        title = shortened(heading_of(text) or readable(Path(path).stem), LONGEST_TITLE)
        yield Item(readable(path), kind, title, path, summary_of(text), None, True)


def _places(workspace: Workspace, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the folders of documents, each with the kind of what lies there."""
    found = {
        Path(os.path.normpath(kept_folder(name, settings))).as_posix(): kind_of(name)
        for name in settings
    }
    own = workspace.knowledge
    above = own.relative_to(workspace.root).as_posix()
    try:
        names = sorted(path.name for path in own.iterdir() if path.is_dir())
    except OSError:
        return found
    for name in names:
        if name not in NOT_PLACES and not name.startswith("."):
            kind = UNIT if name == workspace.breakdowns.name else kind_of(name)
            found.setdefault(f"{above}/{name}", kind)
    return found


def _notes(workspace: Workspace) -> Iterator[str]:
    """Yield the documents that lie in `.sow/knowledge` itself."""
    try:
        paths = sorted(workspace.knowledge.iterdir())
    except OSError:
        return
    for path in paths:
        if _is_document(path) and path.is_file():
            yield path.relative_to(workspace.root).as_posix()


def _is_document(path: Path) -> bool:
    is_hidden = path.name.startswith(".")
    return not is_hidden and path.suffix.lower() in SUFFIXES and not path.is_symlink()


def kind_of(many: str) -> str:
    """Return what one of the documents is called of which a folder bears the name of many."""
    if many.endswith("ies"):
        return f"{many[:-3]}y"
    return many.removesuffix("s") if many not in ("findings",) else many


def _head(workspace: Workspace, path: str) -> str:
    """Return the beginning of a document; nothing where it cannot be read."""
    if not is_inside(workspace, path):
        return ""
    try:
        descriptor = open_regular(workspace.root / path)
    except (OSError, NotAFile):
        return ""
    try:
        return os.read(descriptor, HEAD_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _order(item: Item) -> tuple[float, str, str]:
    at = -item.entry.at.timestamp() if item.entry is not None else 0.0
    return (at, item.kind, item.path)
