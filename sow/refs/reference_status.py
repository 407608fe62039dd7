"""The status of a reference: what is linked here, and where its remote is.

Owns the comparison. The remote is really asked, and commits are counted, not times compared.
"""

from enum import StrEnum

from msgspec import Struct

from sow.errors import SowError
from sow.paths import Workspace
from sow.refs.cache import Cached, cached, locked
from sow.refs.fetching import mended, note_head
from sow.refs.linking import Presence, look
from sow.refs.refs_errors import NoSuchRef, Unreachable
from sow.refs.repository import Distance, bring, distance, repository_in, tip_of
from sow.schema.references import Reference

LOOK_SECONDS = 120.0
"""How long a look waits for another process that fetches the same repository."""


class ReferenceStatus(StrEnum):
    """The status of a reference against its remote."""

    CURRENT = "current"
    BEHIND = "behind"
    AHEAD = "ahead"
    """The remote has gone back: what is linked has commits that it has no more."""
    DIVERGED = "diverged"
    UNREACHABLE = "unreachable"
    MISSING = "missing"
    """Nothing is linked on this machine."""
    STRANGE = "strange"
    """Something else lies in the link's place."""


class Compared(Struct, frozen=True):
    """A reference held against its remote."""

    reference: Reference
    standing: ReferenceStatus
    commit: str | None = None
    """What is linked here."""
    remote: str | None = None
    """What the remote has."""
    ahead: int = 0
    behind: int = 0
    reason: str = ""

    @property
    def words(self) -> str:
        """The status in words."""
        match self.standing:
            case ReferenceStatus.BEHIND:
                return f"behind by {self.behind}"
            case ReferenceStatus.AHEAD:
                return f"ahead by {self.ahead}"
            case ReferenceStatus.DIVERGED if self.ahead or self.behind:
                return f"diverged: {self.ahead} here, {self.behind} there"
            case _:
                return self.standing.value


def compare(workspace: Workspace, reference: Reference, *, now: float) -> Compared:
    """Ask a reference's remote, and count what parts the two. Raises StateError, NotWritten."""
    place = cached(reference.source)
    found = look(workspace, reference, place)
    if found.presence is Presence.STRANGE:
        return Compared(reference, ReferenceStatus.STRANGE)
    commit = found.commit
    with locked(place, timeout_seconds=LOOK_SECONDS):
        try:
            return _compared(place, reference, commit, now=now)
        except (Unreachable, NoSuchRef) as error:
            reason = getattr(error, "why", "") or error.message
            return Compared(reference, ReferenceStatus.UNREACHABLE, commit, reason=reason)
        except SowError as error:
            return Compared(reference, ReferenceStatus.UNREACHABLE, commit, reason=error.message)


def _compared(place: Cached, reference: Reference, commit: str | None, *, now: float) -> Compared:
    tip = tip_of(repository_in(place), reference)
    if commit is None:
        return Compared(reference, ReferenceStatus.MISSING, remote=tip.commit)
    note_head(place, reference, tip.commit, now=now)
    if tip.commit == commit:
        return Compared(reference, ReferenceStatus.CURRENT, commit, tip.commit)
    mended(place, tip.commit, lambda there: bring(there, reference, tip))
    apart = distance(repository_in(place), commit, tip.commit)
    return from_distance(reference, commit, tip.commit, apart)


def from_distance(reference: Reference, ours: str, theirs: str, apart: Distance | None) -> Compared:
    """Return what the numbers of commits come to; with None nobody knows them any more."""
    if apart is None:
        return Compared(reference, ReferenceStatus.DIVERGED, ours, theirs)
    ahead, behind = apart
    if ahead and behind:
        standing = ReferenceStatus.DIVERGED
    elif ahead:
        standing = ReferenceStatus.AHEAD
    else:
        standing = ReferenceStatus.BEHIND
    return Compared(reference, standing, ours, theirs, ahead, behind)
