"""What this machine knows of a cached repository: which commits, since when, and who uses it.

Owns the file's form. The caller holds the lock of the cached repository. It is this machine's
business alone, so nothing of it is committed.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from sow.errors import StateError
from sow.files import NotAFile, NotWritten, read_regular, write_atomically
from sow.refs.cache import FOLDER_MODE, Cached

LIMIT = 1 << 24


class Head(msgspec.Struct, frozen=True):
    """Where a ref of the remote stood when it was asked last."""

    commit: str
    at: str


class Use(msgspec.Struct, frozen=True):
    """That a repository has linked a reference."""

    link: str
    tree: str
    """The name of its tree."""
    commit: str
    at: str


class CacheRecord(msgspec.Struct, frozen=True):
    """The whole of `record.json`."""

    source: str
    made_at: str
    asked_at: str
    heads: Mapping[str, Head] = {}
    """By the ref's name."""
    users: Mapping[str, Mapping[str, Use]] = {}
    """By the root of the repository and the reference's id."""
    left_at: Mapping[str, str] = {}
    """Since when a tree is linked by nobody."""

    @property
    def trees(self) -> set[str]:
        """The names of the trees that somebody has linked."""
        return {use.tree for uses in self.users.values() for use in uses.values()}


def read_record(place: Cached) -> CacheRecord | None:
    """Return what is on record; None where nothing is. Raises StateError."""
    try:
        return msgspec.json.decode(read_regular(place.record, LIMIT), type=CacheRecord)
    except FileNotFoundError:
        return None
    except (NotAFile, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StateError(
            f"{place.record} cannot be read: {error}",
            hint=f"Remove the folder {place.folder}, then call `sow refs init` in each repository"
            " that uses it; it is fetched again.",
        ) from error


def record_of(place: Cached, at: str) -> CacheRecord:
    """Return what is on record, a new one at a time `at` where nothing is. Raises StateError."""
    return read_record(place) or CacheRecord(place.source, made_at=at, asked_at=at)


def write_record(place: Cached, record: CacheRecord) -> None:
    """Write what is on record. Raises NotWritten."""
    try:
        place.folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(place.folder, error) from error
    write_atomically(place.record, msgspec.json.encode(record) + b"\n", mode=0o600)


def user_of(root: Path) -> str:
    """Return the name of a repository as a user: its root, without links."""
    path = os.path.realpath(root)
    try:
        path.encode()
    except UnicodeEncodeError:
        return "bytes:" + os.fsencode(path).hex()
    return path


def root_of(user: str) -> Path:
    """Return the root of a repository that uses something."""
    if user.startswith("bytes:"):
        return Path(os.fsdecode(bytes.fromhex(user.removeprefix("bytes:"))))
    return Path(user)


def with_use(record: CacheRecord, user: str, reference: str, use: Use, now: str) -> CacheRecord:
    """Return the record with a reference linked by somebody, in the place of what was before."""
    uses = {**record.users.get(user, {}), reference: use}
    return with_users(record, {**record.users, user: uses}, now)


def without_use(record: CacheRecord, user: str, reference: str, now: str) -> CacheRecord:
    """Return the record with a reference linked by somebody no more."""
    uses = {name: use for name, use in record.users.get(user, {}).items() if name != reference}
    return with_users(record, {**record.users, user: uses}, now)


def with_users(
    record: CacheRecord, users: Mapping[str, Mapping[str, Use]], now: str
) -> CacheRecord:
    """Return the record with other users; it notes since when a tree is linked by nobody."""
    kept = {user: uses for user, uses in users.items() if uses}
    changed = msgspec.structs.replace(record, users=kept)
    left = record.trees - changed.trees
    left_at = {name: at for name, at in record.left_at.items() if name not in changed.trees}
    return msgspec.structs.replace(changed, left_at={**left_at, **dict.fromkeys(left, now)})
