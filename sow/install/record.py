"""What sow has written where, by content: `installed.json` beside the user's configuration.

Owns that file. It is written before a settings file is, and again after it: who dies in between
leaves a note that says so.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from sow.errors import ConfigurationError
from sow.files import NotAFile, locked_folder, read_regular, write_atomically
from sow.install.places import record_file
from sow.install.settings_plan import NOTHING, Brought
from sow.paths import display_path

LIMIT = 1 << 22


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `installed.json`."""

    settings: dict[str, Brought] = {}
    """By the settings file's path, links followed."""


class RecordBroken(ConfigurationError):
    """`installed.json` cannot be read, so nobody knows what sow has brought."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{display_path(path)} cannot be used: {reason}",
            hint=f"Restore it, or move it away: mv {path} {path}.broken. What was installed"
            " before then counts as yours, and stays when you uninstall.",
        )


class OpenRecord:
    """The record under its lock: read once, written at each change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._record = _read(path)

    def of(self, file: Path) -> Brought:
        """Return what was brought into a settings file; NOTHING where none was."""
        return self._record.settings.get(os.path.realpath(file), NOTHING)

    def put(self, file: Path, brought: Brought) -> None:
        """Write down what is in a settings file; NOTHING takes it off the record."""
        rest = dict(self._record.settings)
        rest.pop(os.path.realpath(file), None)
        if brought != NOTHING:
            rest[os.path.realpath(file)] = brought
        self._record = Record(settings=rest)
        if not rest:
            self.path.unlink(missing_ok=True)
            return
        data = msgspec.json.format(msgspec.json.encode(self._record), indent=2) + b"\n"
        write_atomically(self.path, data, mode=0o600)

    def names(self, marketplace: str) -> bool:
        """Whether any settings file on record names this folder."""
        return any(found.marketplace == marketplace for found in self._record.settings.values())


@contextmanager
def open_record(environ: Mapping[str, str]) -> Iterator[OpenRecord]:
    """Yield the record, locked: two installs of sow go one after the other. Raises RecordBroken."""
    path = record_file(environ)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked_folder(path.parent):
        yield OpenRecord(path)


def brought_into(file: Path, environ: Mapping[str, str]) -> Brought:
    """Return what is on record of a settings file, without a lock. Raises RecordBroken."""
    found = _read(record_file(environ)).settings.get(os.path.realpath(file))
    return found if found is not None else NOTHING


def _read(path: Path) -> Record:
    try:
        return msgspec.json.decode(read_regular(path, LIMIT), type=Record)
    except FileNotFoundError:
        return Record()
    except NotAFile as error:
        raise RecordBroken(path, error.reason) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordBroken(path, str(error)) from error
