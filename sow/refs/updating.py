"""`sow refs update` and `sow refs init`: what is linked set to the remote, or linked again.

Owns what becomes of a reference that has diverged: the remote decides, and that is told. Nobody
works in a tree of the cache, so nothing of anybody's is lost by it.
"""

from enum import StrEnum

from msgspec import Struct

from sow.errors import StateError
from sow.git.git_errors import GitRefused
from sow.paths import Workspace
from sow.refs.adding import same
from sow.refs.cache import Cached, cached, locked
from sow.refs.fetching import (
    Brought,
    bring_commit,
    bring_reference,
    drop_old_trees,
    note_use,
)
from sow.refs.folder import locked_refs, refuse_foreign
from sow.refs.index import read_index, reference_named
from sow.refs.linking import MakeLink, Presence, link, look, make_link, sweep_drafts
from sow.refs.record import read_record
from sow.refs.reference_status import Compared, ReferenceStatus, from_distance
from sow.refs.refs_errors import LinkPlaceTaken, NoSuchFolder, Unreachable
from sow.refs.repository import Tip, distance, is_kept, repository_in
from sow.schema.references import Reference


class UpdateResult(StrEnum):
    """What was done with a reference."""

    STOOD = "stood"
    """It was as it should be."""
    LINKED = "linked"
    """It was missing here, and is linked now."""
    UPDATED = "updated"
    RESET = "reset"
    """It had diverged from the remote, or was ahead of it, and is what the remote has now."""


class Updated(Struct, frozen=True):
    """What has become of a reference."""

    reference: Reference
    result: UpdateResult
    before: str | None
    """The commit that was linked here."""
    brought: Brought
    is_copy: bool
    words: str = ""
    """How it stood against the remote before, where it differed."""


def update_reference(
    workspace: Workspace, reference: Reference, *, now: float, make: MakeLink = make_link
) -> Updated:
    """Set a reference to what its remote has.

    Raises as `bring_reference`, and LinkPlaceTaken, StateError.
    """
    place = _ready(workspace, reference)
    with locked(place):
        before = look(workspace, reference, place).commit
        brought = bring_reference(place, reference, now=now)
        return _finish(workspace, place, reference, before, brought, now=now, make=make)


def restore_reference(
    workspace: Workspace, reference: Reference, *, now: float, make: MakeLink = make_link
) -> Updated:
    """Link a reference that is missing here; one that is linked stays as it is.

    What this machine has of it already is linked without asking the remote, so that a fresh clone
    is ready at once and offline. Raises as `update_reference`.
    """
    place = _ready(workspace, reference)
    with locked(place):
        found = look(workspace, reference, place)
        before = found.commit
        brought = _from_cache(place, reference, before)
        if brought is None:
            brought = bring_reference(place, reference, now=now)
        return _finish(workspace, place, reference, before, brought, now=now, make=make)


def _ready(workspace: Workspace, reference: Reference) -> Cached:
    """Return a reference's place in the cache; refuse before anything is fetched."""
    refuse_foreign(workspace)
    place = cached(reference.source)
    if look(workspace, reference, place).presence is Presence.STRANGE:
        raise LinkPlaceTaken(workspace.refs / reference.link)
    return place


def _from_cache(place: Cached, reference: Reference, before: str | None) -> Brought | None:
    """Return what is linked, else what another repository has brought; None for neither.

    Nor where that has no such folder: somebody may have added it since on another machine.
    """
    record = read_record(place)
    head = record.heads.get(reference.ref) if record is not None else None
    commit = before or (head.commit if head is not None else None)
    if commit is None or not place.repository.is_dir():
        return None
    if not is_kept(repository_in(place), commit):
        return None
    try:
        return bring_commit(place, reference, Tip(commit, commit))
    except (GitRefused, NoSuchFolder, Unreachable):
        return None


def _finish(
    workspace: Workspace,
    place: Cached,
    reference: Reference,
    before: str | None,
    brought: Brought,
    *,
    now: float,
    make: MakeLink,
) -> Updated:
    """Note the use and link what was brought, where the index has the reference as it was.

    Raises StateError where somebody has changed it meanwhile.
    """
    compared = _compared(place, reference, before, brought.commit)
    note_use(workspace, place, reference, brought, now=now)
    with locked_refs(workspace) as folder:
        sweep_drafts(folder)
        if not same(reference_named(read_index(workspace), reference.id), reference):
            raise StateError(
                f"the index's entry of {reference.id} was changed while it was fetched: nothing"
                " is linked",
                hint="Call the same again; it does as the index says now.",
                passes=True,
            )
        is_copy = link(folder, workspace, reference, place, brought.tree, make)
    drop_old_trees(place, now=now)
    if before is None:
        result = UpdateResult.LINKED
    elif compared is None:
        result = UpdateResult.STOOD
    else:
        result = (
            UpdateResult.UPDATED
            if compared.standing is ReferenceStatus.BEHIND
            else UpdateResult.RESET
        )
    words = compared.words if compared is not None else ""
    return Updated(reference, result, before, brought, is_copy, words)


def _compared(
    place: Cached, reference: Reference, before: str | None, after: str
) -> Compared | None:
    """Return how what was linked stood against what is linked now; None where it is the same."""
    if before is None or before == after:
        return None
    apart = distance(repository_in(place), before, after)
    return from_distance(reference, before, after, apart)
