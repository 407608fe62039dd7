"""Who makes a change, as the entry in the log that tells of it names them.

Owns the reading of what sow tells its agents of their job. Imports next to
nothing: `sow agent log` passes through here.
"""

from collections.abc import Mapping
from typing import NamedTuple

from sow import env_vars

PERSON = "person"
LONGEST_NUMBER = 18
"""How many digits fit into every record."""


class Author(NamedTuple):
    """Who makes a change, and within which attempt of a job."""

    agent: str = "sow"
    """A role, `person`, or `sow` itself."""
    role: str = ""
    """Where sow itself makes it: the role of the job's agent."""
    job: int | None = None
    attempt: int | None = None


SOW = Author()


def author_of(environ: Mapping[str, str], otherwise: str = PERSON) -> Author:
    """Return who runs a command with this environment: an agent by its job, else `otherwise`."""
    agent = environ.get(env_vars.AGENT) or otherwise
    job = environ.get(env_vars.JOB_ID, "")
    parts = environ.get(env_vars.ATTEMPT_ID, "").split(".")  # job, number, random
    attempt = parts[1] if len(parts) == 3 and parts[0] == job else ""
    return Author(agent, job=_number(job), attempt=_number(attempt))


def _number(text: str) -> int | None:
    """Return the number that a text is; None for what is none or fits into no record."""
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else None
