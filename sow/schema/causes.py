"""The words for why an attempt can end. What follows from each is `cause_table`.

Apart, for most commands read the word of an ending, and few what follows from it.
"""

from enum import StrEnum


class Cause(StrEnum):
    """Why an attempt ended, in the order in which they are tested."""

    CANCELLED = "cancelled"
    REPORTED = "reported"
    STATE_UNREADABLE = "state_unreadable"
    TIMED_OUT = "timed_out"
    STALLED = "stalled"
    SESSION_IN_USE = "session_in_use"
    SESSION_UNKNOWN = "session_unknown"
    SESSION_LOST = "session_lost"
    """The CLI has begun another conversation than the one that it was asked to go on with."""
    AUTH = "auth"
    BAD_MODEL = "bad_model"
    TOO_LONG = "too_long"
    """What its model was to read is more than that, or the CLI, takes."""
    BAD_FLAGS = "bad_flags"
    MISSING_BINARY = "missing_binary"
    SETUP_FAILED = "setup_failed"
    SETUP_PREVENTED = "setup_prevented"
    """The same by a fault of the machine that passes: a lock, a full disk."""
    SANDBOX_FAILED = "sandbox_failed"
    """The sandbox could not be made, so nothing of the agent has run."""
    FOLDER_UNUSABLE = "folder_unusable"
    CONFIGURATION = "configuration"
    DENIED = "denied"
    BUDGET_REACHED = "budget_reached"
    MEMORY_LIMIT = "memory_limit"
    """It has used more than its executor's `limits.memory`; and so with the three below."""
    CPU_LIMIT = "cpu_limit"
    PROCESS_LIMIT = "process_limit"
    DISK_LIMIT = "disk_limit"
    RATE_LIMITED = "rate_limited"
    API_ERROR = "api_error"
    CRASHED = "crashed"
    NO_STATUS = "no_status"
    NO_VERDICT = "no_verdict"
    WORKER_DIED = "worker_died"
    WORKER_STOPPED = "worker_stopped"
    PASSED = "passed"
    CHECK_FAILED = "check_failed"
    MERGE_CONFLICT = "merge_conflict"
    MERGE_REFUSED = "merge_refused"
    """It cannot be merged as things stand; its own words say what has to be done first."""
    PREVENTED = "prevented"
    """A step was killed, or a fault that passes kept it from its work: nothing is known of that."""
    CLOSED = "closed"
    """A person closed a session that was open on a terminal, without setting a status in it."""
    INTERNAL = "internal"


LIMIT_CAUSES = {
    "memory": Cause.MEMORY_LIMIT,
    "cpu": Cause.CPU_LIMIT,
    "processes": Cause.PROCESS_LIMIT,
    "disk": Cause.DISK_LIMIT,
}
"""By the key of an executor's `limits`, how an attempt has ended that has reached it."""
RAISABLE = frozenset({Cause.BUDGET_REACHED})
"""Endings by a limit: a person raises it, and then the job goes on."""
ON_LIMIT = "budget"
"""What is waited for where a limit is reached: the word of `Wait.on`, and of reasons on record."""
WITHOUT_CALL = "the agent ended without a status and without a single tool call"
"""Said of an empty run besides: the CLI calls it a success though nothing was done."""
