"""Who makes a change, as the entry in the log that tells of it names them.

Owns the reading of what sow tells its agents of their job. Imports next to
nothing: `sow agent log` passes through here.
"""

from collections.abc import Mapping

from sow import env_vars
from sow.plain_record import PlainRecord

PERSON = "person"
ORCHESTRATOR = "orchestrator"
"""Who works with sow without a terminal: an agent of a person's, or a script."""
ID_DIGITS = 12
"""Of an entry in a log, which are hexadecimal."""
_HEXADECIMAL = frozenset("0123456789abcdef")
LONGEST_NUMBER = 18
"""How many digits fit into every record."""


class Author(PlainRecord):
    """Who makes a change, and within which attempt of a job."""

    agent: str = "sow"
    """A role, `person`, or `sow` itself."""
    role: str = ""
    """Where sow itself makes it: the role of the job's agent."""
    job: int | None = None
    attempt: int | None = None
    entry_id: str = ""
    """The id of the entry that tells of the change, where a worker makes it for an agent in a
    sandbox: by this it knows a report that was carried out before."""


SOW = Author()


def author_of(environ: Mapping[str, str], otherwise: str = PERSON) -> Author:
    """Return who runs a command with this environment: an agent by its job, else `otherwise`."""
    agent = environ.get(env_vars.AGENT) or otherwise
    job = environ.get(env_vars.JOB_ID, "")
    parts = environ.get(env_vars.ATTEMPT_ID, "").split(".")  # job, number, random
    attempt = parts[1] if len(parts) == 3 and parts[0] == job else ""
    return Author(agent, "", _number(job), _number(attempt), _entry_id(environ))


def caller_of(environ: Mapping[str, str], *, at_terminal: bool) -> Author:
    """Return who calls: an agent by its job, a person at a terminal, else an orchestrator."""
    return author_of(environ, otherwise=PERSON if at_terminal else ORCHESTRATOR)


def _entry_id(environ: Mapping[str, str]) -> str:
    report = environ.get(env_vars.REPORT, "")
    return report if len(report) == ID_DIGITS and _HEXADECIMAL.issuperset(report) else ""


def _number(text: str) -> int | None:
    """Return the number that a text is; None for what is none or fits into no record."""
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else None
