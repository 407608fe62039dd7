"""The numbered files that feedback lies in, `001.md` and so on: a task's, and the project's own.

Owns their names, and which of them comes next. A file is there before what names it in
`state.yaml`, so one that is named by nothing is what a killed command has left.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from sow.files import NotAFile, read_regular, write_atomically
from sow.state.kept.copies import wrote

FEEDBACK_LIMIT = 1 << 20
"""The largest feedback file that is read, in bytes."""
NUMBERED = re.compile(r"([0-9]{3,9})\.md")


def words_in(path: Path) -> str:
    """Return the words of a feedback file; that they are gone, where they are."""
    try:
        return read_regular(path, FEEDBACK_LIMIT).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotAFile):
        return f"({path.name} cannot be read any more)"


def write_next(folder: Path, on_record: Iterable[str], words: bytes) -> Path:
    """Write the next feedback file into a folder, whose owner's lock is held; return its path.

    `on_record` are the names that the state holds: none of them is given again, though its
    file be gone. A file that a killed command has left is taken up where it says the same.
    """
    folder.mkdir(exist_ok=True)
    on_disk = {number: path for path in folder.iterdir() if (number := number_of(path.name))}
    taken = {number_of(name.rpartition("/")[2]) for name in on_record}
    last = max(on_disk, default=0)
    if last and last not in taken and _says(on_disk[last], words):
        return on_disk[last]
    path = folder / f"{max([last, *taken], default=0) + 1:03d}.md"
    write_atomically(path, words)
    wrote(path, words)
    return path


def number_of(name: str) -> int:
    """Return the number of a feedback file; 0 of a name that no such file has."""
    found = NUMBERED.fullmatch(name)
    return int(found[1]) if found else 0


def _says(path: Path, words: bytes) -> bool:
    try:
        return read_regular(path, FEEDBACK_LIMIT) == words
    except (FileNotFoundError, NotAFile):
        return False
