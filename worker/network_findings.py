"""What is told of an agent's proxy when its attempt has ended: which hosts it refused.

Owns the words. The hosts are in `refused`, by the forwarder; the agent has chosen them.
"""

from collections.abc import Sequence
from contextlib import suppress

from sow.blanking import LOST
from sow.files import NotAFile, read_regular
from worker.gathering import named
from worker.running import Running

RECORD_LIMIT = 1 << 16


def refusals_of(running: Running) -> Sequence[str]:
    """Return what a person should know, a sentence each."""
    data = b""
    with suppress(FileNotFoundError, NotAFile):
        data = read_regular(running.paths.refused, RECORD_LIMIT)
    lines = (line.partition(" ")[::2] for line in data.decode("utf-8", "replace").splitlines())
    words = dict.fromkeys(word for attempt, word in lines if running.owns(attempt))
    hosts = [word for word in words if word != LOST.decode()]
    found = []
    if hosts:
        found.append(f"the agent asked for {named(hosts)}, which `network: allow` does not name")
    if LOST.decode() in words:
        found.append(
            "the proxy of `network: allow` ended before the agent, which reached no host from then"
            " on; each attempt gets a new proxy"
        )
    return found
