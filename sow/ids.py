"""Identifiers, one type each, so that a job's id is never passed for a task's.

Owns what a valid identifier looks like; knows nothing of where it is stored.
"""

import os
import re
from typing import NewType

from sow.errors import StateError, UsageError

TaskId = NewType("TaskId", str)
"""Three or more decimal digits, unique in a project: `010`."""

PhaseName = NewType("PhaseName", str)
"""A lower-case slug and the name of a folder: `implementation`."""

ProjectId = NewType("ProjectId", str)
"""A UUID, made by `sow project new`."""

JobId = NewType("JobId", int)
"""The row id of a job; grows, never reused within one `.sow/run`."""

BatchId = NewType("BatchId", int)
"""The row id of a batch; grows, never reused within one `.sow/run`."""

WorkerId = NewType("WorkerId", str)
"""The name of a worker's lock and log file under `.sow/run/workers`."""

AttemptId = NewType("AttemptId", str)
"""`<job>.<attempt number>.<random hex>`; unique on the machine."""

TASK_ID_PATTERN = r"^[0-9]{3,}$"
SLUG_PATTERN = r"^[a-z][a-z0-9-]*$"
TASK_KEY_PATTERN = r"^[A-Za-z][A-Za-z0-9._/-]{0,99}$"
"""A person's own name for a task. It begins with a letter, so that no key is taken for an id."""


SLUG_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


def is_task_id(text: str) -> bool:
    """Whether a text has the form of `TASK_ID_PATTERN`; who asks need not import `re` for it."""
    return len(text) >= 3 and text.isascii() and text.isdecimal()


def is_slug(text: str) -> bool:
    """Whether a text has the form of `SLUG_PATTERN`, as above."""
    return text[:1].isalpha() and SLUG_CHARACTERS.issuperset(text)


def random_uuid() -> str:
    """Return a random UUID (RFC 9562, version 4); importing `uuid` for it takes a millisecond."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) % 4]
    parts = digits[:8], digits[8:12], "4" + digits[13:16], variant + digits[17:20], digits[20:]
    return "-".join(parts)


def parse_task_id(text: str) -> TaskId:
    """Return `text` as a task id, or refuse it (paths, signs and spaces among the refused)."""
    if not is_task_id(text):
        raise StateError(
            f"not a task id: {text!r}",
            hint=f"{_meant(text)}A task id is three or more digits, such as 010."
            " `sow task list` shows them.",
        )
    return TaskId(text)


def _meant(text: str) -> str:
    """Return the question whether a short number was meant as a task's id."""
    return f"Did you mean {int(text):03d}? " if re.fullmatch("[0-9]{1,2}", text) else ""


def parse_phase(text: str) -> PhaseName:
    """Return `text` as a phase name, or refuse it."""
    if not is_slug(text):
        raise UsageError(
            f"not a phase name: {text!r}",
            hint="A phase is lower-case letters, digits and dashes, such as implementation.",
        )
    return PhaseName(text)
