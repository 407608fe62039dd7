"""A reference brought from its remote into the cache and into `.sow/refs`, step by step.

Owns the order: ask, fetch, write the tree, note who uses it, link. A process that is killed
anywhere leaves what the next call goes on from. The caller holds the lock of the cached
repository, and the folder's lock is taken for moments only, never the other way round.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sow.clock import format_time, parse_time
from sow.git.git_errors import GitRefused
from sow.git.own_bare import OwnBare
from sow.paths import Workspace
from sow.refs.cache import Cached, delete_tree, tree_name
from sow.refs.exporting import TreeFacts, tree_of
from sow.refs.linking import linked_tree
from sow.refs.record import (
    CacheRecord,
    Head,
    Use,
    read_record,
    record_of,
    root_of,
    user_of,
    with_use,
    write_record,
)
from sow.refs.repository import Tip, begin_anew, bring, repository_for, repository_in, sweep, tip_of
from sow.schema.references import Reference

T = TypeVar("T")

KEPT_SECONDS = 86_400.0
"""How long a tree stays that nobody links any more: an agent may still read in it."""


class Brought(Struct, frozen=True):
    """A reference whose tree is in the cache."""

    commit: str
    tree: str
    facts: TreeFacts


def bring_reference(place: Cached, reference: Reference, *, now: float) -> Brought:
    """Ask the remote, and have the tree of what it names in the cache. Holds nothing itself.

    Raises NoSuchRef, StateError, Unreachable, NoSuchFolder, TooMuch, GitRefused, NotWritten.
    """
    sweep(place)
    tip = tip_of(repository_in(place), reference)
    brought = bring_commit(place, reference, tip)
    note_head(place, reference, tip.commit, now=now)
    return brought


def bring_commit(place: Cached, reference: Reference, tip: Tip) -> Brought:
    """Have the tree of a commit in the cache. Raises as `bring_reference`."""

    def act(repository: OwnBare) -> TreeFacts:
        bring(repository, reference, tip)
        return tree_of(place, repository, reference, tip.commit)

    facts = mended(place, tip.commit, act)
    return Brought(tip.commit, tree_name(tip.commit, reference.subfolder), facts)


def mended(place: Cached, commit: str, act: Callable[[OwnBare], T]) -> T:
    """Do something with a cached repository that a commit of its remote fits into.

    It is done once more with a new one where that one is broken.
    """
    try:
        return act(repository_for(place, commit))
    except GitRefused:
        return act(begin_anew(place, commit))


def note_head(place: Cached, reference: Reference, commit: str, *, now: float) -> CacheRecord:
    """Put on record where a ref of the remote stands. Raises StateError, NotWritten."""
    at = format_time(now)
    record = record_of(place, at)
    heads = {**record.heads, reference.ref: Head(commit, at)}
    record = replace(record, heads=heads, asked_at=at)
    write_record(place, record)
    return record


def note_use(
    workspace: Workspace, place: Cached, reference: Reference, brought: Brought, *, now: float
) -> None:
    """Put on record that this repository links a tree, before it does: nobody removes it then."""
    at = format_time(now)
    record = record_of(place, at)
    use = Use(link=reference.link, tree=brought.tree, commit=brought.commit, at=at)
    write_record(place, with_use(record, user_of(workspace.root), reference.id, use, at))


def drop_old_trees(place: Cached, *, now: float) -> list[str]:
    """Delete the trees that nobody has linked for so long; return their names.

    Raises StateError, NotWritten.
    """
    record = read_record(place)
    if record is None:
        return []
    left_at = since_when_unused(place, record, now=now)
    old = old_trees(left_at, now=now)
    for name in old:
        delete_tree(place.tree(name))
        del left_at[name]
    if left_at != record.left_at:
        write_record(place, replace(record, left_at=left_at))
    return old


def old_trees(left_at: Mapping[str, str], *, now: float) -> list[str]:
    """Return the trees that nobody has linked for so long."""
    return sorted(name for name, at in left_at.items() if now - parse_time(at) >= KEPT_SECONDS)


def since_when_unused(place: Cached, record: CacheRecord, *, now: float) -> dict[str, str]:
    """Return the trees that nobody links, and since when that is known.

    The record and the links are both asked: whoever is killed between the two has noted what it
    was about to link, and links what it had before.
    """
    if not place.trees.is_dir():
        return {}
    used = record.trees | {
        linked_tree(Workspace(root_of(user)), use.link, place)
        for user, uses in record.users.items()
        for use in uses.values()
    }
    names = {folder.name for folder in place.trees.iterdir() if not folder.name.startswith(".")}
    at = format_time(now)
    return {name: record.left_at.get(name, at) for name in names - used}
