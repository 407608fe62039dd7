"""Faults of the machine that pass, told from those that stay: a locked file, a full disk, no room.

Owns which errors of the system and of SQLite are such, and finds them behind
the error of ours that they caused. Says nothing of what is to be done.
"""

import errno

from sow.errors import SowError

DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})
PROCESSES = frozenset({errno.EAGAIN})
MEMORY = frozenset({errno.ENOMEM, errno.ENOBUFS})
DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
PASSING = DESCRIPTORS | PROCESSES | MEMORY | DISK | {errno.EINTR}

OUT_OF_MEMORY = "the machine is short of memory"
"""What is said of a MemoryError, which has no words of its own."""

SQLITE_BUSY, SQLITE_LOCKED, SQLITE_NOMEM, SQLITE_IOERR = 5, 6, 7, 10
SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_PROTOCOL = 13, 14, 15
SQLITE_PASSING = frozenset(
    {
        *(SQLITE_BUSY, SQLITE_LOCKED, SQLITE_NOMEM, SQLITE_IOERR),
        *(SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_PROTOCOL),
    }
)
"""Primary result codes (sqlite.org/rescode.html). No file can be opened where descriptors lack."""


def passing_fault(error: BaseException) -> BaseException | None:
    """Return the passing fault that an error is or was caused by; None where there is none."""
    link: BaseException | None = error
    while link is not None:
        if _passes(link):
            return link
        link = link.__cause__
    return None


def what_is_short(error: BaseException) -> str:
    """Return what the machine is short of, if fewer agents would leave more of it; else nothing."""
    fault = passing_fault(error)
    number = fault.errno if isinstance(fault, OSError) else None
    if number in DESCRIPTORS or _sqlite_code(fault) == SQLITE_CANTOPEN:
        return "open files"
    if number in PROCESSES:
        return "processes"
    if isinstance(fault, MemoryError) or number in MEMORY or _sqlite_code(fault) == SQLITE_NOMEM:
        return "memory"
    return ""


def reason_of(error: BaseException) -> str:
    """Return what an error says, in a few words."""
    if isinstance(error, SowError):
        return error.message
    strerror = getattr(error, "strerror", None)
    return (strerror or str(error) or OUT_OF_MEMORY).lower()


def words_of_bug(error: BaseException) -> str:
    """Return what a person is told of an error of ours; its class is for the log."""
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    text = str(error).strip().partition("\n")[0]
    return f"sow itself failed: {text}" if text else "sow itself failed"


def _passes(error: BaseException) -> bool:
    if isinstance(error, SowError):
        return error.passes
    if isinstance(error, OSError):
        return error.errno in PASSING
    return isinstance(error, MemoryError) or _sqlite_code(error) in SQLITE_PASSING


def _sqlite_code(error: BaseException | None) -> int | None:
    """Return SQLite's primary result code; asked for by name, so that nobody has to import it."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF
