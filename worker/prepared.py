"""What an attempt is about to start, as a value: an agent's CLI, or a program of ours.

Owns the form alone. Who fills it in is the kind of the job; what is
done with it, and in which order, is `launch`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sow.executors.base import Executor
from sow.ids import AttemptId
from sow.schema.job import Verb
from sow.schema.task import Task


@dataclass(frozen=True)
class Prepared:
    """One process to be, with what lies beside it."""

    verb: Verb
    argv: Sequence[str]
    cwd: Path
    stdin: str
    """What it reads: an agent's prompt, or the orders of a program of ours."""
    environment: Callable[[AttemptId], Mapping[str, str]]
    """Returns the whole environment of its process."""
    task: Task | None
    """The task as it stands now; None where the job is about no task."""
    does: str
    """What it does, for the worker's log."""
    state_file: Path | None = None
    """The task's state, of which a copy is kept: an agent may leave it broken."""
    session_id: str | None = None
    wrapper: Sequence[str] = ()
    """A program of ours that does something first, and then becomes `argv`; empty for none."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What else lies in the attempt's folder, by name."""
    executor: Executor | None = None
    """What reads its output; None of a program of ours."""
