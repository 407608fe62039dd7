"""The entries of logs that cannot be read, each with its line.

Owns how they are told. What is taken for an entry is `state.log_reading`'s; all
else in a log is a person's own text.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from sow.files import NotAFile, read_regular
from sow.state.log_reading import endings_in, heads_in, readings_in
from sow.state.task_log import LOG_LIMIT
from sow.validation.kinds import Defect, Kind
from sow.validation.marks import Hunk


def log_defects(path: Path) -> Iterator[Defect]:
    """Yield what is wrong with a log; nothing where there is none."""
    try:
        text = read_regular(path, LOG_LIMIT).decode("utf-8", "replace")
    except FileNotFoundError:
        return
    except NotAFile as error:
        yield Defect(kind=Kind.UNREADABLE, path=path, what=f"it cannot be read: {error.reason}")
        return
    for reading in readings_in(text.split("\n"), path):
        if reading.entry is None:
            line, what = reading.line + 1, f"an entry cannot be read: {reading.fault}"
            yield Defect(kind=Kind.LOG_ENTRY, path=path, line=line, what=what)


def is_within_entry(lines: Sequence[bytes], hunk: Hunk) -> bool:
    """Whether marks stand within the text of one entry: somebody has logged them."""
    words = [line.decode("utf-8", "replace").rstrip("\n") for line in lines]
    ends = endings_in(words)
    return any(
        head.after <= hunk.first and hunk.after <= ends.get(head.id, -1) for head in heads_in(words)
    )
