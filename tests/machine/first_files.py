"""The files that a kernel unpacks into memory for its first program: an archive of cpio's.

Owns its form, "newc" (the kernel's early-userspace/buffer-format.rst). Made here, it needs neither
cpio nor root, although there is a device in it.
"""

import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

CONSOLE = (5, 1)
END = "TRAILER!!!"


def archive(folders: Sequence[str], files: Mapping[str, Path]) -> bytes:
    """Return an archive with empty folders, with files that may be run, and with the console."""
    parts = [_entry(name, stat.S_IFDIR | 0o755) for name in folders]
    parts.append(_entry("dev/console", stat.S_IFCHR | 0o600, device=CONSOLE))
    parts += [_entry(name, stat.S_IFREG | 0o755, path.read_bytes()) for name, path in files.items()]
    return b"".join((*parts, _entry(END, 0)))


def _entry(name: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> bytes:
    """Return a header, the name, and the content, filled up to four bytes each.

    The numbers: inode, mode, owner and group, links, time, size, device, the device that it is,
    the name's length, a sum. An inode counts only for what has several links.
    """
    words = name.encode() + b"\0"
    numbers = (0, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(words), 0)
    header = b"070701" + b"".join(b"%08X" % each for each in numbers)
    return _filled(header + words) + _filled(content)


def _filled(part: bytes) -> bytes:
    return part + b"\0" * (-len(part) % 4)
