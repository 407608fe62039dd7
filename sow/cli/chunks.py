"""A file of any size that commands print, read a piece at a time."""

import os
from collections.abc import Iterator
from pathlib import Path

from sow.files import open_regular, unreadable

CHUNK_BYTES = 1 << 18
"""How much is read, and held, at once."""


def chunks_of(path: Path, position: int) -> Iterator[bytes]:
    """Yield what a file holds from `position` on; nothing where there is none. Raises NotAFile."""
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        while chunk := os.pread(descriptor, CHUNK_BYTES, position):
            position += len(chunk)
            yield chunk
    finally:
        os.close(descriptor)
