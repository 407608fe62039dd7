"""The numbered files that feedback lies in: `001.md`, `002.md` and so on, in one folder.

Owns which name comes next, and how large such a file may be: what nobody would read is never
written. What a file's number stands for is `state.project_feedback`'s and `state.verdicts`'.
"""

import re
from collections.abc import Collection, Iterable
from itertools import count
from pathlib import Path

from sow.errors import StateError
from sow.files import NotAFile, make_folder, read_regular, refuse_leading_out, write_atomically
from sow.state.kept.copies import wrote

FEEDBACK_LIMIT = 1 << 20
"""The largest feedback file that is written, and read, in bytes."""
NUMBERED = r"([0-9]{3,9})\.md"
LAST = 999_999_999


def write_next(folder: Path, on_record: Collection[str], words: bytes) -> Path:
    """Write the next file of a folder and return it; whoever calls holds the lock above it.

    `on_record` are the names of files that count, whether or not they are there. The newest file,
    where a killed command has left it on no record, is taken up if it says the same. Raises
    StateError, NotAFile where the folder leads elsewhere, LeadsOut, NotWritten.
    """
    if len(words) > FEEDBACK_LIMIT:
        size = len(words)
        raise StateError(
            f"the feedback has {size} bytes, more than the limit of {FEEDBACK_LIMIT >> 20} MiB",
            hint="Put the text into a file of the repository, and give the path of that file in"
            " the feedback.",
        )
    if folder.is_symlink():
        refuse_leading_out(folder)
        raise NotAFile(folder, "it is a symbolic link, and sow does not write through links")
    make_folder(folder)
    on_disk = _by_number(path.name for path in folder.iterdir())
    last = max(on_disk, default=0)
    if last and on_disk[last] not in on_record and _says(folder / on_disk[last], words):
        return folder / on_disk[last]
    taken = {*on_disk, *_by_number(on_record)}
    number = max(taken, default=0) + 1
    if number > LAST:  # nobody has counted so far: somebody has made such a file
        number = next(free for free in count(1) if free not in taken)
    path = folder / f"{number:03d}.md"
    write_atomically(path, words)
    wrote(path, words)
    return path


def _by_number(names: Iterable[str]) -> dict[int, str]:
    return {int(found[1]): name for name in names if (found := re.fullmatch(NUMBERED, name))}


def _says(path: Path, words: bytes) -> bool:
    try:
        return read_regular(path, FEEDBACK_LIMIT) == words
    except (FileNotFoundError, NotAFile):
        return False
