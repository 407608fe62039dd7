"""`sow refs remove` and `sow refs prune`: what nobody uses goes, and what others use stays.

Owns who counts as a user: a repository that is there, and whose index still names the reference.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sow.clock import format_time
from sow.errors import SowError
from sow.files import NotWritten
from sow.paths import Workspace
from sow.refs.cache import (
    GONE,
    Cached,
    cache_root,
    cached,
    delete_tree,
    forget,
    locked,
)
from sow.refs.fetching import drop_old_trees, old_trees, since_when_unused
from sow.refs.folder import locked_refs, refuse_foreign
from sow.refs.index import change_index, read_index, reference_named
from sow.refs.linking import linked_tree, sweep_drafts, unlink
from sow.refs.record import (
    Use,
    read_record,
    record_of,
    root_of,
    user_of,
    with_users,
    without_use,
    write_record,
)
from sow.refs.repository import sweep
from sow.refs.sources import key_of
from sow.schema.references import Reference

TRY_SECONDS = 0.0


class Removed(Struct, frozen=True):
    """What has become of a reference that was removed."""

    reference: Reference
    was_linked: bool
    """Whether what lay in its place was sow's, and is gone."""
    others: tuple[str, ...]
    """The other repositories that use what was fetched; it stays for them."""
    is_forgotten: bool
    """Whether nothing of it is left on this machine; else others use it, or another reference."""


class Pruned(Struct, frozen=True):
    """What has become of one cached repository."""

    source: str
    users: tuple[str, ...]
    """Who uses it still."""
    gone_users: tuple[str, ...]
    """Who is on record, and uses it no more."""
    trees: int
    """How many trees were removed."""
    is_forgotten: bool
    note: str = ""
    """Why it was left as it is."""


def remove_reference(workspace: Workspace, name: str, *, now: float) -> Removed:
    """Take a reference out of the index, its link away, and what nobody else uses from the disk.

    Raises StateError, RefsFolderTaken, NotWritten.
    """
    refuse_foreign(workspace)
    reference = reference_named(read_index(workspace), name)
    place = cached(reference.source)
    with locked(place):
        with locked_refs(workspace) as folder:
            sweep_drafts(folder)
            change_index(
                folder,
                workspace,
                lambda index: [other for other in index.references if other.id != name],
            )
            was_linked = unlink(folder, workspace, reference, place)
        user, record = user_of(workspace.root), read_record(place)
        if record is not None:
            record = without_use(record, user, name, format_time(now))
            write_record(place, record)
        users = tuple(record.users) if record is not None else ()
        if not users:
            forget(place)
        else:
            drop_old_trees(place, now=now)
    others = tuple(each for each in users if each != user)
    return Removed(reference, was_linked, others, not users)


def prune(*, now: float, dry_run: bool = False) -> Iterator[Pruned]:
    """Remove what no repository of this machine uses any more, one cached repository at a time.

    What another process holds is left for the next time.
    """
    root = cache_root()
    with suppress(OSError):
        for folder in sorted(root.iterdir()):
            if folder.name.startswith(GONE) and not dry_run:
                with suppress(NotWritten):
                    delete_tree(folder)
            elif not folder.name.startswith(".") and folder.is_dir():
                yield _pruned(folder, now=now, dry_run=dry_run)


def _pruned(folder: Path, *, now: float, dry_run: bool) -> Pruned:
    place = Cached(folder.name, folder)
    try:
        with locked(place, timeout_seconds=TRY_SECONDS):
            at = format_time(now)
            record = record_of(place, at)
            users = {user: _live(user, uses, place) for user, uses in record.users.items()}
            kept = {user: uses for user, uses in users.items() if uses}
            gone = tuple(user for user in record.users if user not in kept)
            unused = since_when_unused(place, replace(record, users=kept), now=now)
            going = old_trees(unused, now=now) if kept else unused
            if not kept and not dry_run:
                forget(place)
            elif not dry_run:
                write_record(place, with_users(record, kept, at))
                sweep(place)
                drop_old_trees(place, now=now)
            return Pruned(record.source, tuple(kept), gone, len(going), not kept)
    except SowError as error:
        return Pruned(folder.name, (), (), 0, is_forgotten=False, note=error.message)


def _live(user: str, uses: Mapping[str, Use], place: Cached) -> dict[str, Use]:
    """Return what a repository still uses: what it links, or its index names.

    Another branch may have another index. One that cannot be read names all that it did.
    """
    workspace = Workspace(root_of(user))
    try:
        named = {each.id: key_of(each.source) for each in read_index(workspace).references}
    except SowError:
        named = dict.fromkeys(uses, place.folder.name)
    return {
        name: use
        for name, use in uses.items()
        if named.get(name) == place.folder.name or linked_tree(workspace, use.link, place)
    }
