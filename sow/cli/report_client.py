"""A command of an agent in a sandbox that changes anything: carried out by a worker, outside.

Owns the agent's side: which commands go there (the rows of `sow.commands` say), what is sent, and
what becomes of a report while no worker listens: it is kept beside the socket, whole and synced,
and the next worker carries it out. What a command reads, a file or its standard input, is read
here: the worker opens no file that an agent names. Imports next to nothing, for `sow agent log`
passes through here.
"""

import _socket as socket
import os
from collections.abc import Sequence

from sow import env_vars
from sow.commands import KEPT, REPORTING, Command, row_of
from sow.report_message import (
    HEAD,
    ID_DIGITS,
    KEPT_SUFFIX,
    MOST_BYTES,
    MOST_WORD_BYTES,
    BadMessage,
    Report,
    length_of,
    pack_report,
    unpack_answer,
)

HELP = frozenset({"--help", "-h"})
CONNECT_SECONDS = 10.0
"""How long the worker may take to take in a report; then it is kept."""
CHUNK_BYTES = 1 << 16
LONGEST_PATH = 100
"""What a socket's address takes, with room to spare (unix(7): 108 bytes)."""

NO_WORKER = "no worker takes reports now"
ENDED = "this attempt has ended: it reports nothing any more"
KEPT_WORDS = (
    "Note: no worker takes reports now. This one is kept; the next worker carries it out,"
    " in the order of the reports.\n"
)


def report(line: Sequence[str]) -> int | None:
    """Have a worker carry out a command that changes anything, and return its exit code.

    None for every other command: it runs here.
    """
    row = row_of(line)
    if row is None or row.right not in REPORTING or HELP.intersection(line):
        return None
    if env_vars.SECRETS in os.environ:
        # Only an agent that was given secrets needs it.
        from sow.cli.own_secrets import without_secrets

        line = without_secrets(line, os.environ)
    try:
        return _report(row, line)
    except KeyboardInterrupt:
        return 130


def _report(row: Command, line: Sequence[str]) -> int:
    address = os.environ[env_vars.REPORT_SOCKET]
    words, stdin = (line, None) if not _takes_text(row) else _with_text(row, line)
    if words is None:
        return 2
    name = os.urandom(ID_DIGITS // 2).hex().encode()
    made = Report(name, [os.fsencode(word) for word in words], stdin)
    if sum(map(len, made.words)) > MOST_WORD_BYTES:
        return _fail(line, "the command line is too long for a report", "Shorten it.", code=2)
    data = pack_report(made)
    try:
        folder = os.open(os.path.dirname(address) or ".", os.O_RDONLY | os.O_DIRECTORY)  # noqa: PTH120
    except OSError:
        return _fail(line, ENDED, "Only a new attempt of the task's job can report.", code=4)
    try:
        was_sent, answer = _ask(folder, address, data)
        if answer is not None:
            return _print(answer)
        if row.right not in KEPT:
            return _not_kept(line, was_sent=was_sent)
        return _keep(folder, line, data, name.decode())
    finally:
        os.close(folder)


def _takes_text(row: Command) -> bool:
    """Whether one of the command's parameters is a text in a file or on standard input."""
    return not isinstance(row.tool, str) and "<" in row.tool.takes


def _with_text(row: Command, line: Sequence[str]) -> tuple[Sequence[str] | None, bytes | None]:
    """Return the line with what it reads as standard input; no line where that cannot be read."""
    # Few reports have a text.
    from sow.cli.reported_text import with_text

    return with_text(row, line)


def _ask(folder: int, address: str, data: bytes) -> tuple[bool, bytearray | None]:
    """Return whether all was sent, and the worker's answer, if there is one."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    was_sent = False
    try:
        if len(os.fsencode(address)) > LONGEST_PATH:
            address = f"/proc/self/fd/{folder}/{os.path.basename(address)}"  # noqa: PTH119
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(address)
        connection.sendall(data)
        was_sent = True
        connection.settimeout(None)
        return was_sent, _receive(connection)
    except (OSError, BadMessage):
        return was_sent, None
    finally:
        connection.close()


def _receive(connection: socket.socket) -> bytearray | None:
    """Return the worker's answer; None where it goes before that. Raises OSError, BadMessage."""
    data = bytearray()
    size = None
    while size is None or len(data) < size:
        most = CHUNK_BYTES if size is not None else HEAD - len(data)
        piece = connection.recv(most if size is None else min(most, size - len(data)))
        if not piece:
            return None
        data += piece
        size = length_of(data)
    return data


def _print(answer: bytearray) -> int:
    """Print what the command has printed, and return its exit code."""
    code, out, err = unpack_answer(answer)
    _write(1, out)
    _write(2, err)
    return code


def _write(number: int, text: bytes) -> None:
    """Write to a standard stream, as far as somebody listens."""
    view = memoryview(text)
    try:
        while view:
            view = view[os.write(number, view) :]
    except OSError:
        return


def _keep(folder: int, line: Sequence[str], data: bytes, name: str) -> int:
    """Keep a report until a worker listens, whole and on the disk, and say so."""
    import time

    # This clock is never set back, and no two reports of an agent that waits for each are alike.
    kept = f"{time.clock_gettime_ns(time.CLOCK_BOOTTIME):020d}-{name}{KEPT_SUFFIX}"
    draft = f".{name}.draft"
    try:
        if len(data) > HEAD + MOST_BYTES:
            raise OSError(0, "it is too large")
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
            os.fsync(file)
            os.rename(draft, kept, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(draft, dir_fd=folder)  # it would take room on a full disk
            raise
        finally:
            os.close(file)
        os.fsync(folder)
    except FileNotFoundError:
        return _fail(line, ENDED, "Only a new attempt of the task's job can report.", code=4)
    except OSError as error:
        hint = "Run the same command again in a minute."
        return _fail(line, f"{NO_WORKER}, and this one cannot be kept: {error.strerror}", hint)
    _write(2, KEPT_WORDS.encode())
    return 0


def _not_kept(line: Sequence[str], *, was_sent: bool) -> int:
    """Say that a command was not carried out, or that nobody can tell."""
    if not was_sent:
        hint = "Run the same command again in a minute: a worker is there then, or soon after."
        return _fail(line, NO_WORKER, hint, code=6)
    words = "the worker has gone before it answered: nobody can tell whether this was done"
    return _fail(line, words, "Look with `sow task list`, then run it again if need be.", code=6)


def _fail(line: Sequence[str], message: str, hint: str, *, code: int = 1) -> int:
    # Its imports are for failures alone.
    from sow.cli.failure import show_failure, wants_json
    from sow.errors import ExitCode

    show_failure(message, hint, ExitCode(code), as_json=wants_json(line))
    return code
