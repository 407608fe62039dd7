"""Reading the ends of files that others still write, and waiting for more of them.

Owns the position in each file, and that nobody goes on for a reader who has gone.
What the text means is the caller's.
"""

import os
import select
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from sow.files import open_regular

LOOK_SECONDS = 0.2
BLOCK_BYTES = 1 << 16


def last_lines(path: Path, count: int) -> str:
    """Return the last `count` lines of a file, read from its end; none where it is 0."""
    if not count:
        return ""
    with os.fdopen(open_regular(path), "rb") as file:
        file.seek(0, 2)
        position = file.tell()
        data = b""
        while position and data.count(b"\n") <= count:
            step = min(BLOCK_BYTES, position)
            position -= step
            file.seek(position)
            data = file.read(step) + data
    lines = data.splitlines(keepends=True)[-count:]
    return b"".join(lines).decode("utf-8", "replace")


def follow_files(
    paths: Callable[[], Iterable[Path]],
    show: Callable[[Path, str], None],
    *,
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Show the lines that files gain from now on, new files whole, until `until` holds."""
    positions = {path: path.stat().st_size for path in paths()}
    while True:
        done = until()
        for path in paths():
            text, positions[path] = read_from(path, positions.get(path, 0))
            if text:
                show(path, text)
        if done:
            return
        time.sleep(LOOK_SECONDS)


def read_from(path: Path, position: int) -> tuple[str, int]:
    """Return the whole lines that stand in a file from `position` on, and where they end."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            file.seek(position)
            data = file.read()
            data = data[: data.rfind(b"\n") + 1]
    except FileNotFoundError:
        return "", position
    return data.decode("utf-8", "replace"), position + len(data)


def wait_for_more(seconds: float) -> None:
    """Wait so long. Raises BrokenPipeError at once when whoever reads our output has closed it."""
    poller = select.poll()
    try:
        poller.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # no descriptor stands behind it
        select.select([], [], [], seconds)
        return
    if any(event & (select.POLLERR | select.POLLNVAL) for _, event in poller.poll(seconds * 1000)):
        raise BrokenPipeError
