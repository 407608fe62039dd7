"""What a reader of state asks of the copies: is this what was kept, and is nothing missing.

Owns when the slow way (`putback`) is taken: never while all agrees. Imports
next to nothing before that.
"""

import os
from pathlib import Path

from sow.ids import TaskId
from sow.state.kept.copies import agrees
from sow.state.kept.store import Kept, kept_at


def has_changed(kept: Kept | None, path: Path, data: bytes | None) -> bool:
    """Whether a file that was just read has to be read again: what was taken is put back by now.

    `data` is None for a file that is missing. An agent that writes its state by hand
    makes one file differ, so the first one is seen to alone, and all of them where git has
    taken it. However much differs, two looks by the same `kept` see to all of it.
    """
    if kept is None or kept.is_restored or agrees(kept, kept.name(path), data):
        return False
    if kept.has_found_one:
        restore(kept)
    else:
        # Needed where something differs, as in `restore`.
        from sow.state.kept.putback import sweep_from

        kept.has_found_one = True
        sweep_from(kept, kept.name(path))
    return True


def restore(kept: Kept) -> None:
    """Put back what git has taken of the whole project, where a job lives; keep all else."""
    from sow.state.kept.putback import sweep

    kept.is_restored = True
    sweep(kept)


def restore_project(root: Path) -> None:
    """See to the project in a workspace, if it was kept."""
    kept = kept_at(root)
    if kept is not None:
        restore(kept)


def look_for_project(root: Path) -> None:
    """See to a project whose `state.yaml` is missing, if it was kept."""
    kept = kept_at(root)
    if kept is not None and os.path.exists(kept.copy("project/state.yaml")):  # noqa: PTH110
        restore(kept)


def look_for_task(root: Path, task_id: TaskId) -> bool:
    """See to a task that is missing; False where it was never kept."""
    kept = kept_at(root)
    if kept is None or task_id not in kept_tasks(kept):
        return False
    restore(kept)
    return True


def look_for_tasks(root: Path, present: set[TaskId]) -> bool:
    """See to the tasks that were kept and are not among `present`; False where all are."""
    kept = kept_at(root)
    if kept is None or kept_tasks(kept) <= present:
        return False
    restore(kept)
    return True


def kept_tasks(kept: Kept) -> set[TaskId]:
    """Return the ids of the tasks that were kept."""
    phases = f"{kept.files}/project/phases"
    return {TaskId(task) for phase in _names(phases) for task in _names(f"{phases}/{phase}/tasks")}


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - a text is what is wanted
    except OSError:
        return []
