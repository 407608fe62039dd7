"""`sow refs add`: a reference that is new, or that is there already.

Owns that the same call twice is one reference, and that what another has is refused before
anything is fetched.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, ValidationError, convert

from sow.errors import SowError, StateError, UsageError
from sow.paths import Workspace
from sow.refs.cache import Cached, cached, forget, locked
from sow.refs.fetching import Brought, bring_reference, note_use
from sow.refs.folder import locked_refs, refuse_foreign
from sow.refs.index import change_index, read_index
from sow.refs.linking import MakeLink, Presence, link, look, make_link, sweep_drafts
from sow.refs.record import read_record
from sow.refs.refs_errors import LinkPlaceTaken
from sow.refs.sources import normalised
from sow.schema.references import Reference, ReferenceIndex


class Added(Struct, frozen=True):
    """What has become of adding a reference."""

    reference: Reference
    is_new: bool
    is_copy: bool
    brought: Brought


def checked(words_given: Mapping[str, object]) -> Reference:
    """Return the reference of some words; what is None was not given. UsageError."""
    given = {key: value for key, value in words_given.items() if value is not None}
    try:
        return convert(given, Reference)
    except ValidationError as error:
        words = str(error).split(" - at ")
        where = words[1].strip(" `").removeprefix("$.") if len(words) > 1 else ""
        name = f"{where}: " if where else ""
        fault = f"{words[0][:1].lower()}{words[0][1:]}"
        if "matching regex" in fault:
            fault = "is not written as it may be"
        raise UsageError(
            f"{name}{fault}",
            hint="Ids and links are lower-case letters, digits and dashes, such as python-style; a"
            " path is a folder from the repository's root, such as docs/style.",
        ) from None


def add_reference(
    workspace: Workspace, reference: Reference, *, now: float, make: MakeLink = make_link
) -> Added:
    """Fetch a reference, put it into the index, and link it. The same one again is no error.

    Raises StateError, LinkPlaceTaken, RefsFolderTaken, NoSuchRef, NoSuchFolder, TooMuch,
    Unreachable, StateError; the index is as it was then.
    """
    refuse_foreign(workspace)
    place = cached(reference.source)
    known = known_as(read_index(workspace), reference)
    if look(workspace, known or reference, place).presence is Presence.STRANGE:
        raise LinkPlaceTaken(workspace.refs / reference.link)
    with locked(place):
        try:
            brought = bring_reference(place, known or reference, now=now)
        except BaseException:
            _forget_unused(place)
            raise
        note_use(workspace, place, known or reference, brought, now=now)
        with locked_refs(workspace) as folder:
            sweep_drafts(folder)
            is_new = False
            if known is None:
                known, is_new = _put(folder, workspace, reference)
            is_copy = link(folder, workspace, known, place, brought.tree, make)
    return Added(known, is_new, is_copy, brought)


def known_as(index: ReferenceIndex, reference: Reference) -> Reference | None:
    """Return the reference that is the same one already; None for a new one. StateError."""
    for other in index.references:
        if other.id == reference.id and same(other, reference):
            return other
    for field in ("id", "link"):
        for other in index.references:
            if getattr(other, field) == getattr(reference, field):
                value = getattr(reference, field)
                source = other.source
                raise StateError(
                    f"the {field} {value} belongs to another reference, to {source}",
                    hint=f"Choose another: sow refs add URL --{field} {value}-2",
                )
    return None


def same(reference: Reference, other: Reference) -> bool:
    """Whether two mean the same files of the same repository, under the same name."""
    return normalised(reference.source) == normalised(other.source) and (
        reference.ref,
        reference.subfolder,
        reference.link,
    ) == (other.ref, other.subfolder, other.link)


def _put(folder: int, workspace: Workspace, reference: Reference) -> tuple[Reference, bool]:
    """Put a reference at the end of the index, unless somebody has just done so.

    Return it as the index has it, and whether it is new there.
    """
    found: list[Reference | None] = []

    def change(index: ReferenceIndex) -> Sequence[Reference]:
        found.append(known := known_as(index, reference))
        return index.references if known else [*index.references, reference]

    change_index(folder, workspace, change)
    return found[0] or reference, found[0] is None


def _forget_unused(place: Cached) -> None:
    """Delete what was begun for an address that nobody uses. The caller holds the lock."""
    with suppress(SowError):  # what made it fail is told; this is tidying up
        record = read_record(place)
        if record is None or not record.users:
            forget(place)
