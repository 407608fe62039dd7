"""Where the files and links of a tree land on the disk, which may take two names for one.

Owns that nothing is written through a link and that none leads out, though the disk ignores case
or has one form for some letters: all folders stand before the first link is made, and each link is
followed once more on the disk itself.
"""

import errno
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sow.refs.inner_links import fault_of

ABOUT_NAMES = (
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.EILSEQ,
    errno.EINVAL,
    errno.ENOENT,
)


def made_folder(top: Path, path: str, folders: set[Path]) -> Path:
    """Return where a file lies, with the folders above it made and noted. Raises OSError."""
    target = top / path
    if target.parent not in folders:
        target.parent.mkdir(parents=True, exist_ok=True)
        for folder in target.parents:
            if folder == top:
                break
            folders.add(folder)
    return target


def name_error(path: str, error: OSError) -> str:
    """Return why the disk has no such name, or has it already; a full disk is raised anew."""
    if error.errno not in ABOUT_NAMES:
        raise error
    return f"{path}: {(error.strerror or str(error)).lower()}"


def write_links(
    top: Path, links: Mapping[str, str], folders: set[Path], left_out: list[str]
) -> None:
    """Make links, by their paths from the top, once all files are written. Raises OSError."""
    places: dict[str, Path] = {}
    for path in links:
        try:
            places[path] = made_folder(top, path, folders)
        except OSError as error:
            left_out.append(name_error(path, error))
    made = [path for path, place in places.items() if _is_made(place, path, links, left_out)]
    faults = {path: _fault_there(top, path) for path in made}
    for path, fault in faults.items():
        if fault:
            places[path].unlink()
            left_out.append(f"{path}: a link that {fault} on this disk")


def _is_made(place: Path, path: str, links: Mapping[str, str], left_out: list[str]) -> bool:
    try:
        place.symlink_to(links[path])
    except OSError as error:
        left_out.append(name_error(path, error))
        return False
    return True


def _fault_there(top: Path, path: str) -> str:
    """Return why a link does not stay inside, as the disk has the links; nothing if it does."""

    def text_at(further: str) -> str | None:
        with suppress(OSError):
            return str((top / further).readlink())
        return None

    return fault_of(path, text_at)
