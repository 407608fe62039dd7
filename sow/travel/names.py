"""What the refs are called by which a task's work travels, and the entries of its log."""

import re

from sow.ids import AttemptId, JobId
from sow.jobs.user_secret import code_of
from sow.schema.travel import Event
from sow.state.authors import ID_DIGITS as ENTRY_DIGITS

REFS = "refs/sow"
"""Below this all of them are."""
ID_DIGITS = 8
COMMIT_DIGITS = 12
MARK = re.compile("[0-9a-f]{1,32}")
"""The random part of an attempt's id."""


def outward_ref(project_id: str, task_id: str, packed: str) -> str:
    """Return the ref of what an agent begins with; its commit makes it one that is made once."""
    return f"{REFS}/tasks/{project_id[:ID_DIGITS]}/{task_id}/{packed[:COMMIT_DIGITS]}"


def attempt_ref(project_id: str, attempt_id: AttemptId) -> str:
    """Return the ref of what an attempt has left.

    It ends with the id's random part: a server that was restored from a backup counts anew.
    """
    return f"{REFS}/attempts/{project_id[:ID_DIGITS]}/{attempt_id.replace('.', '-')}"


def is_attempt_ref(ref: str, project_id: str, job_id: JobId, number: int) -> bool:
    """Whether a ref is what `attempt_ref` returns for an attempt of this number of a job."""
    begins = f"{REFS}/attempts/{project_id[:ID_DIGITS]}/{job_id}-{number}-"
    return ref.startswith(begins) and bool(MARK.fullmatch(ref.removeprefix(begins)))


def entry_id(event: Event, given: str) -> str:
    """Return the id that an entry of a log gets in whose folder an event of another host lands.

    It follows from that which the host has given it, so that no host can choose it: an entry with
    the id of another one would keep that from being written.
    """
    parts = str(event.job_id), str(event.attempt), given
    return code_of("entry", *parts)[:ENTRY_DIGITS]
