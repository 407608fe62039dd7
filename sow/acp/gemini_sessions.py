"""What keeps gemini from losing a session.

Owns two facts of 0.61.0, both measured. Its file of a session is named by the minute in which it
began, and a session that is loaded within that minute is lost (3 of 3;
google-gemini/gemini-cli#28775): so the minute is waited for. And whenever it loads a session, it
makes a second file of it, without a conversation; its next start finds that one empty, and removes
every file of the session (2 of 2): so the second one is removed here, before a load and after it.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from time import gmtime, strftime

MINUTE = "%Y-%m-%dT%H-%M"
NAME = re.compile(r"session-(\d{4}-\d\d-\d\dT\d\d-\d\d)-")
ID_DIGITS = 8
"""How much of a session's id its file is named by."""
MARGIN_SECONDS = 0.5
ANSWER = b'"type":"gemini"'
"""What stands in a file with an answer of the model."""
MOST_EMPTY = 1 << 20
"""No file without a conversation is larger, in bytes."""


def wait_for_minute(
    session: str,
    environ: Mapping[str, str],
    now: Callable[[], float],
    sleep: Callable[[float], object],
) -> None:
    """Sleep until the minute is over in which a session began, if it is not yet.

    Where no file of it is found, so is that of the present minute.
    """
    at = now()
    began = began_in(session, environ)
    if began is None or began == strftime(MINUTE, gmtime(at)):
        sleep(60 - at % 60 + MARGIN_SECONDS)


def began_in(session: str, environ: Mapping[str, str]) -> str | None:
    """Return the minute in which a session began, as its file has it; None without a file."""
    minutes = [match[1] for path in _files(session, environ) if (match := NAME.match(path.name))]
    return max(minutes, default=None)


def remove_empty_copies(session: str, environ: Mapping[str, str]) -> None:
    """Remove the files of a session that have no conversation, but for its oldest."""
    for path in _files(session, environ)[1:]:
        with suppress(OSError):
            found = path.lstat()
            is_small = S_ISREG(found.st_mode) and found.st_size <= MOST_EMPTY
            if is_small and ANSWER not in path.read_bytes():
                path.unlink()


def _files(session: str, environ: Mapping[str, str]) -> list[Path]:
    """Return the files of a session, the oldest first."""
    home = Path(environ.get("GEMINI_CLI_HOME") or environ.get("HOME") or "/") / ".gemini/tmp"
    short = session[:ID_DIGITS]
    found = home.glob(f"*/chats/session-*-{short}*.jsonl") if short.isalnum() else ()
    return sorted(found, key=lambda path: path.name)
