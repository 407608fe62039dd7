"""What others have said of a task's work, kept from its author: verdict, check, merge.

While an author's job lives, nobody judges, checks or merges the task. So what has changed of
these in its `state.yaml` was written by hand, and is put back as it was when the attempt began.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import UNSET

from sow.errors import StateError
from sow.files import NotAFile, read_regular
from sow.schema.kinds import kind_of
from sow.schema.task import Task, TaskState
from sow.state.statefiles import STATE_LIMIT, parse_state
from sow.yamlfile import REMOVE
from worker.context import tell
from worker.running import Running
from worker.task_state import Change

OF_OTHERS = ("review", "check", "merged")


def puts_back_judgements(running: Running) -> Change:
    """Return the change that puts back what an author has written of these by hand.

    A person in a session of their own may be the one who judges, and is left alone.
    """
    kind = kind_of(running.job)
    before = _at_the_start(running) if kind.makes_work and not kind.is_interactive else None

    def change(task: Task) -> Mapping[str, Any]:
        if before is None:
            return {}
        found = {name: (getattr(task, name), getattr(before, name)) for name in OF_OTHERS}
        back = {name: was for name, (now, was) in found.items() if now != was}
        if back:
            named = ", ".join(back)
            tell(running.job, f"its author has written {named} into its state; that is put back")
        return {name: REMOVE if was is UNSET else was for name, was in back.items()}

    return change


def _at_the_start(running: Running) -> Task | None:
    """Return the task as it was when the attempt began; None where that was not kept.

    Read from the attempt's folder: a worker that has adopted it knows the task since then only.
    """
    path = running.paths.last_valid_state
    with suppress(FileNotFoundError, NotAFile, StateError):
        return parse_state(read_regular(path, STATE_LIMIT), TaskState, path=path).task
    return None
