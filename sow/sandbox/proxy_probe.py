"""Whether there is a proxy for sandboxes with `network: allow`: tinyproxy, found and new enough.

Owns the one question to it, `tinyproxy -v`, which is noted for the life of this process. That it
starts is for each attempt to see.
"""

import re
import shutil
from functools import cache

from sow.sandbox.probe import PLACES, Fault, NoAnswer, SandboxUnavailable, answer_of, no_answer
from sow.sandbox.proxy_settings import PROGRAM

OLDEST = (1, 11, 0)
"""Measured was 1.11.1. Older ones are not tried; 1.10 is the first that asks for a password."""
VERSION = re.compile(r"tinyproxy (\d+)\.(\d+)(?:\.(\d+))?")
PACKAGE = "Debian, Ubuntu: apt-get install tinyproxy-bin"
INSTALL = f"Install it ({PACKAGE})."


class ProxyUnavailable(SandboxUnavailable):
    """There is no proxy here, and without it nothing is started that asks for one."""

    asks_for, what = "network: allow", "proxy (network: allow)"


def usable_proxy(whose: str, places: str = PLACES) -> str:
    """Return the path of tinyproxy. Raises ProxyUnavailable, in words for `whose`."""
    try:
        found = _looked_at(places)
    except NoAnswer as error:
        found = no_answer(PROGRAM, "-v", error)
    if isinstance(found, Fault):
        raise ProxyUnavailable(whose, found.reason, found.remedy)
    return found


@cache
def _looked_at(places: str) -> str | Fault:
    """Return a tinyproxy, or why there is none. It is asked once. Raises NoAnswer."""
    program = shutil.which(PROGRAM, path=places)
    if program is None:
        where = places.replace(":", ", ")
        return Fault(f"there is no {PROGRAM} in {where} ({PACKAGE})", INSTALL)
    text = answer_of(program, "-v")
    number = VERSION.match(text)
    if number is None or tuple(int(part or 0) for part in number.groups()) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        first = (text.splitlines() or ["of no known version"])[0]
        return Fault(f"{program} is {first}, and {needed} is needed", INSTALL)
    return program
