"""What sow has written where, by content: `installed.json` beside the user's configuration.

Owns that file. It is written before a settings file is, and again after it: who dies in between
leaves a note that says so.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from sow.errors import ConfigurationError
from sow.files import FolderMissing, NotAFile, locked_folder, read_regular, write_atomically
from sow.install.documents import missing_folders, remove_folders
from sow.install.places import record_file
from sow.install.settings_plan import NOTHING, Brought
from sow.paths import display_path

LIMIT = 1 << 22


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `installed.json`."""

    settings: dict[str, Brought] = {}
    """By the settings file's path, links followed."""
    folders: tuple[str, ...] = ()
    """The folders that were made for this file, the outermost first."""


class RecordBroken(ConfigurationError):
    """`installed.json` cannot be read, so nobody knows what sow has brought."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{display_path(path)} cannot be used: {reason}",
            hint=f"Restore it, or move it away: mv {path} {path}.broken. What stands in your"
            " settings as sow writes it counts as sow's then.",
        )


class OpenRecord:
    """The record under its lock: read once, written at each change."""

    def __init__(self, path: Path, made: tuple[str, ...] = ()) -> None:
        self.path = path
        read = _read(path)
        self._record = replace(read, folders=tuple(dict.fromkeys((*read.folders, *made))))

    def of(self, file: Path) -> Brought:
        """Return what was brought into a settings file; NOTHING where none was."""
        return _found(self._record, file)

    def put(self, file: Path, brought: Brought) -> None:
        """Write down what is in a settings file; NOTHING takes it off the record."""
        ours = _keys(file)
        rest = {key: found for key, found in self._record.settings.items() if key not in ours}
        if brought != NOTHING:
            rest[os.path.realpath(file)] = brought
        self._record = replace(self._record, settings=rest)
        if not rest:
            self.path.unlink(missing_ok=True)
            return
        data = msgspec.json.format(msgspec.json.encode(self._record), indent=2) + b"\n"
        write_atomically(self.path, data, mode=0o600)

    def is_named_beside(self, file: Path, marketplace: str) -> bool:
        """Whether another settings file on record, one that is there still, names this folder."""
        return any(
            found.marketplace == marketplace and key not in _keys(file) and Path(key).exists()
            for key, found in self._record.settings.items()
        )

    def leave(self) -> None:
        """Take the folders away that were made for a record, where none is left."""
        if not self.path.exists():
            remove_folders(self._record.folders)


@contextmanager
def open_record(environ: Mapping[str, str], *, dry_run: bool = False) -> Iterator[OpenRecord]:
    """Yield the record, locked: two installs of sow go one after the other. Raises RecordBroken.

    For a dry run it is as it stands, without a lock, for which a folder would have to be made.
    """
    path = record_file(environ)
    if dry_run:
        yield OpenRecord(path)
        return
    with ExitStack() as stack:
        record = OpenRecord(path, _lock(path.parent, stack))
        try:
            yield record
        finally:
            record.leave()


def _lock(folder: Path, stack: ExitStack) -> tuple[str, ...]:
    """Lock the folder, and return which folders were made for it.

    Who takes the last plugin out meanwhile takes the folder away: then it is made anew.
    """
    while True:
        made = missing_folders(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FolderMissing):
            stack.enter_context(locked_folder(folder))
            return made


def brought_into(file: Path, environ: Mapping[str, str]) -> Brought:
    """Return what is on record of a settings file, without a lock. Raises RecordBroken."""
    return _found(_read(record_file(environ)), file)


def _keys(file: Path) -> tuple[str, str]:
    """Return under which names a settings file may stand: it may have become a link since."""
    return os.path.realpath(file), os.path.abspath(file)  # noqa: PTH100 - a link is kept


def _found(record: Record, file: Path) -> Brought:
    return next((record.settings[key] for key in _keys(file) if key in record.settings), NOTHING)


def _read(path: Path) -> Record:
    try:
        return msgspec.json.decode(read_regular(path, LIMIT), type=Record)
    except FileNotFoundError:
        return Record()
    except NotAFile as error:
        raise RecordBroken(path, error.reason) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordBroken(path, str(error)) from error
