"""The references of a task, as its agent is told of them and may read them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sow.paths import Workspace
from sow.prompts.compose import NamedReference
from sow.schema.references import Reference
from sow.schema.task import Task

if TYPE_CHECKING:
    from sow.refs.for_task import TaskReference


def named_references(workspace: Workspace | None, task: Task) -> Sequence[NamedReference]:
    """Return what a prompt says of the references that a task names. Raises nothing."""
    if workspace is None:
        return ()
    return [
        NamedReference(
            name=found.name,
            kind=found.reference.kind.value if found.reference is not None else "",
            folder=str(found.folder) if found.folder is not None else None,
            about=_about(found.reference) if found.reference is not None else "",
        )
        for found in _references_of(workspace, task)
    ]


def _references_of(workspace: Workspace, task: Task) -> "list[TaskReference]":
    """Return the references that a task names, as they are on this machine. Raises nothing."""
    if not task.references:
        return []
    # Few tasks name any.
    from sow.refs.for_task import references_of

    return references_of(workspace, task.references)


def _about(reference: Reference) -> str:
    """Return what a reference is for and what stands in it, as sentences."""
    first, second = reference.description.strip(), reference.summary.strip()
    if first and second and first[-1] not in ".!?:":
        first += "."
    return f"{first} {second}".strip()


def readable_references(workspace: Workspace, task: Task) -> tuple[Path, ...]:
    """Return the folders of the references that a task names, as far as they are here."""
    found = _references_of(workspace, task)
    return tuple(each.readable for each in found if each.readable is not None)


def unwritable_links(workspace: Workspace, task: Task) -> tuple[Path, ...]:
    """Return the folder in which references are linked, for an agent that has some."""
    return (workspace.refs,) if _references_of(workspace, task) else ()
