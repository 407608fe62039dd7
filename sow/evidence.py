"""Whether what lies in an attempt's folder is that attempt's own: it bears the attempt's id.

A repository can bring along a folder `.sow/run/jobs/1/1`, and another queue may have had a job of
that number. The id ends with random digits that the queue has given, and nobody else knows.
Attempts of older sows have fewer digits, and what they leave bears no id. Light: the
supervisor runs on it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = "attempt"
"""Under which a record bears the attempt's id."""
DIGITS = 16
"""The random digits of an attempt whose evidence bears its id."""


def is_named(attempt_id: str) -> bool:
    """Whether what this attempt leaves bears its id."""
    return len(attempt_id.rpartition(".")[2]) == DIGITS


def is_of(record: "Mapping[str, object]", attempt_id: str) -> bool:
    """Whether a record is this attempt's own."""
    return not is_named(attempt_id) or record.get(KEY) == attempt_id


def record_of(data: bytes, attempt_id: str) -> "dict[str, object]":
    """Return a record that is this attempt's own; an empty one for anything else."""
    import json  # heavy: most supervisors never find such a record

    try:
        record = json.loads(data)
    except ValueError:
        return {}
    return record if isinstance(record, dict) and is_of(record, attempt_id) else {}


def is_void(data: bytes, attempt_id: str) -> bool:
    """Whether the mark by which an attempt is given up is meant for this one."""
    return not is_named(attempt_id) or data.decode("utf-8", "replace").strip() == attempt_id
