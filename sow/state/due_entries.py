"""The entries in its log that a change of a state file owes: noted before it, written after it.

Owns the note beside the state file. A state is renamed into place and its log is
appended to, and who makes a change may be killed between the two. Then the note
says which entries are missing, and whoever looks next writes them. Each has its
id already, so that none is written twice. Neither the note is synced nor an entry without
text: they outlive every kill, and not the machine's loss of power in that moment. The state
itself tells then what has changed. Imports next to nothing
where no note lies, for `sow agent log` passes through here.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sow.errors import StateError
from sow.state.log_writing import LogEntry, has_entry, write_entry, write_missing_entry

NOTE = ".entries-due.tmp"
"""Its name; what ends so is no part of the repository's contents (`.sow/.gitignore`)."""
STATE = "state.yaml"
LARGEST = 1 << 24
"""The largest note that is read: an entry may hold the words of a feedback file."""


@contextmanager
def owed(folder: Path, entries: Sequence[LogEntry], before: bytes, *, at: str) -> Iterator[None]:
    """Have `entries` written into the log of `folder` if the block changes its state file.

    `before` is what the file holds, `at` the time that it will give as its change's. The
    folder's lock is held. A log that takes no entry keeps nobody from the change.
    """
    if not entries:
        yield
        return
    _make_note(folder, entries, before, at)
    try:
        yield
    except BaseException:
        _settle(folder)  # nothing has changed, or all of it: the file says which
        raise
    _write(folder, entries)


def settle(folder: Path | str) -> None:
    """Write the entries that a killed command owes the log of `folder`. Raises nothing.

    Where somebody holds the folder's lock, they see to it: nobody waits for that.
    """
    if not os.access(f"{folder}/{NOTE}", os.F_OK):
        return
    from sow.files import locked_once

    folder = Path(folder)
    with suppress(StateError, OSError), locked_once(folder, timeout_seconds=0):
        _settle(folder)


def _make_note(folder: Path, entries: Sequence[LogEntry], before: bytes, at: str) -> None:
    """Write the note, not by rename: half of one says that nothing has changed yet."""
    import msgspec

    from sow.files import open_regular

    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with suppress(StateError, OSError, UnicodeEncodeError):
        data = msgspec.json.encode((_digest(before), at, entries))
        descriptor = open_regular(folder / NOTE, flags, 0o600)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)


def _settle(folder: Path) -> None:
    """Write what the note tells of a change that has been made; the lock is held."""
    import msgspec

    from sow.files import NotAFile, read_regular

    path = folder / NOTE
    try:
        data = read_regular(path, LARGEST)
        before, at, entries = msgspec.json.decode(data, type=tuple[str, str, list[LogEntry]])
        if _is_changed(folder / STATE, before, at):
            _write(folder, entries)
            return
    except (FileNotFoundError, NotAFile, msgspec.MsgspecError, UnicodeDecodeError):
        pass  # whoever was killed while writing it has changed nothing yet
    _remove(path)


def _is_changed(state: Path, before: str, at: str) -> bool:
    """Whether a state file is no longer what it was, and has the time of the change."""
    from sow.files import NotAFile, read_regular

    try:
        data = read_regular(state, LARGEST)
    except (FileNotFoundError, NotAFile):
        return False
    return at.encode() in data and _digest(data) != before


def _write(folder: Path, entries: Sequence[LogEntry]) -> None:
    """Write entries, those that are not there yet, and remove the note once they are."""
    with suppress(StateError, OSError):
        for entry in entries:
            if not entry.text:
                write_missing_entry(folder, entry, durable=False)
            elif not has_entry(folder, entry.id, has_text=bool(entry.text.strip())):
                write_entry(folder, entry)
        _remove(folder / NOTE)


def _remove(note: Path) -> None:
    from sow.files import remove_file

    with suppress(OSError, StateError):
        remove_file(note)


def _digest(data: bytes) -> str:
    from sow.digest import sha256  # for changes alone

    return str(sha256(data).hexdigest())
