"""What a program of ours leaves in `result.json` when it has come to an end: the end of a step.

Owns its form. Written by rename as the program's last step, read by the worker
that settles the attempt.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from sow.schema.causes import Cause
from sow.schema.task import CheckRecord

RESULT_LIMIT = 1 << 20
"""The largest result that is read, in bytes: a few short lines for each check."""


class StepResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a step has come to."""

    attempt: str = ""
    """The id of its attempt (`sow.evidence`)."""
    cause: Cause
    reason: str = ""
    """The cause in words; the first line is the shortest."""
    check: CheckRecord | None = None
    """The outcome of a check, as it is to stand in its task's state."""
    work: str = ""
    """Of a check of the whole: what tells the work that was checked from another."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """What it puts into its task's state, by field."""
        return {} if self.check is None else {"check": self.check}
