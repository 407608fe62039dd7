"""What an agent's commands have noted of its secrets inside of its sandbox.

A command of `sow` replaces the value of a secret and notes its name (`sow.cli.own_secrets`). Inside
of a sandbox the attempt's folder is not there, so the note lies beside the socket. Owns how it gets
on the attempt's own record, as that of an agent outside: names alone, and only those of secrets
that the agent was given. What lies there is the agent's own and is believed no further.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from sow.blanking import RECORD, note_blanked
from worker.reports.server_messages import ServedAttempt

MOST_BYTES = 1 << 16
"""How much of the notes is read: each command adds a line, and a few tell all names."""
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def note_on_record(served: ServedAttempt, folder: Path) -> None:
    """Put on record which secrets were replaced inside, by the notes in a folder of reports.

    Who is killed meanwhile does it again: a name counts once.
    """
    noted = {line.partition(b" ")[2] for line in _notes_in(folder).splitlines()}
    for name in served.secrets:
        word = os.fsencode(name)
        if word in noted:
            note_blanked(served.folder, served.id, word)


def _notes_in(folder: Path) -> bytes:
    """Return the beginning of the notes; nothing for what is no regular file."""
    with suppress(OSError):
        descriptor = os.open(f"{folder}{RECORD}", FLAGS)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return os.read(descriptor, MOST_BYTES)
        finally:
            os.close(descriptor)
    return b""
