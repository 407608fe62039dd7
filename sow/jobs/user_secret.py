"""This user's secret: random bytes in the user's state folder, where no repository reaches.

Owns the file, and the codes that only its owner can compute. Light: every opening of the
queue asks for it.
"""

import errno
import os
import stat
from contextlib import suppress
from functools import cache

from sow.digest import sha256
from sow.errors import QueueError
from sow.files.file_errors import words_of
from sow.user_folders import BaseFolder, user_folder

FILE = "queue.key"
SIZE = 32
BLOCK = 64
"""The block size of SHA-256, in bytes (RFC 2104)."""


class NoSecret(QueueError):
    """The secret cannot be read or made, so that nobody can tell whose a queue is."""

    def __init__(self, path: str, reason: str, hint: str = "") -> None:
        super().__init__(
            f"{path} cannot be used: {reason}. sow needs this file to know that a queue is yours",
            hint=hint
            or f"Make {os.path.dirname(path)} writable for you. Or set "  # noqa: PTH120
            "XDG_STATE_HOME to a writable folder in each shell that runs sow.",
        )


def secret_path() -> str:
    """Return where the secret lies. Nothing promises that it is there."""
    return f"{user_folder(BaseFolder.STATE)}/{FILE}"


def code_of(*parts: str) -> str:
    """Return the code (HMAC-SHA256, in hexadecimal) of some words. Raises NoSecret."""
    return _code(secret_path(), parts)


@cache
def _code(path: str, parts: tuple[str, ...]) -> str:
    key = _secret(path).ljust(BLOCK, b"\0")
    message = b"\0".join(part.encode("utf-8", "surrogateescape") for part in parts)
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + message).digest()
    code: str = sha256(bytes(byte ^ 0x5C for byte in key) + inner).hexdigest()
    return code


def made_at_ns() -> int:
    """Return when the secret was written, by the clock that `st_ctime` is of; a chmod is no write.

    Raises NoSecret.
    """
    path = secret_path()
    _secret(path)
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError as error:
        raise NoSecret(path, words_of(error)) from error


@cache
def _secret(path: str) -> bytes:
    """Return the secret; make it where there is none. Raises NoSecret."""
    with suppress(FileNotFoundError):
        return _read(path)
    try:
        _make(path)
    except OSError as error:
        raise NoSecret(path, words_of(error)) from error
    try:
        return _read(path)
    except FileNotFoundError as error:
        raise NoSecret(path, words_of(error)) from error


def _read(path: str) -> bytes:
    """Read the secret. Raises FileNotFoundError where there is none, NoSecret for any other."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _remade(path, "it is a link") from error
        raise NoSecret(path, words_of(error)) from error
    try:
        facts = os.fstat(fd)
        secret = os.read(fd, SIZE + 1) if stat.S_ISREG(facts.st_mode) else b""
    except OSError as error:
        raise NoSecret(path, words_of(error)) from error
    finally:
        os.close(fd)
    if len(secret) != SIZE:
        raise _remade(path, "sow did not write its contents")
    if facts.st_uid != os.geteuid():
        raise NoSecret(path, f"it belongs to another user (uid {facts.st_uid})")
    if facts.st_mode & 0o077:
        raise NoSecret(path, "other users can read or write it", f"Run `chmod 600 {path}`.")
    return secret


def _remade(path: str, reason: str) -> NoSecret:
    hint = (
        f"Remove it (`rm {path}`) and run the command again; sow creates a new one. Queues"
        " made with the old one then count as"
    )
    return NoSecret(path, reason, f"{hint} not yours, and sow does not run them.")


def _make(path: str) -> None:
    """Make the secret: whole and on disk before it has its name, and never in another's place."""
    folder = os.path.dirname(path)  # noqa: PTH120
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    draft = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(fd, 0o600)
        os.write(fd, os.urandom(SIZE))
        os.fsync(fd)
        with suppress(FileExistsError):  # another process was first; its secret is the one
            os.link(draft, path)
    finally:
        os.close(fd)
        os.unlink(draft)  # noqa: PTH108
    names = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(names)
    finally:
        os.close(names)
