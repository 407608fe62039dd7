"""The wait that keeps gemini from losing a session.

Its file of a session is named by the minute in which it began, and a session that is loaded within
that minute is lost (measured 3 of 3 with 0.61.0; google-gemini/gemini-cli#28775). In a later minute
it is not. Owns how the minute is found. Opens no file.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from time import gmtime, strftime

MINUTE = "%Y-%m-%dT%H-%M"
NAME = re.compile(r"session-(\d{4}-\d\d-\d\dT\d\d-\d\d)-")
ID_DIGITS = 8
"""How much of a session's id its file is named by."""
MARGIN_SECONDS = 0.5


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
    home = Path(environ.get("GEMINI_CLI_HOME") or environ.get("HOME") or "/") / ".gemini/tmp"
    found = home.glob(f"*/chats/session-*-{session[:ID_DIGITS]}*") if session.isascii() else ()
    minutes = [match[1] for path in found if (match := NAME.match(path.name))]
    return max(minutes, default=None)
