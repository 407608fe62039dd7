"""The fields of a task that a person or an agent sets on the command line.

Owns which they are and how a text becomes a value of each one's type. The
other fields are sow's own to keep; `state.tasks` writes.
"""

import re
from collections.abc import Callable, Mapping

from sow.schema.task import MOST_PRIORITY, Task, TaskStatus
from sow.state.state_errors import RefusedField
from sow.state.transitions import FieldChanges, enter
from sow.yamlfile import REMOVE

METADATA = "metadata."


def parse_list(text: str) -> list[str]:
    """Return the items of `a, b`, of `[a, b]` or of lines; an empty text is an empty list."""
    inner = text.strip().removeprefix("[").removesuffix("]").replace("\n", ",")
    return [item for part in inner.split(",") if (item := part.strip().strip("\"'"))]


_LISTS: Mapping[str, Callable[[str], list[str]]] = {
    "depends_on": parse_list,
    "references": parse_list,
    "feedback": parse_list,
    "files_modified": parse_list,
    "checks": parse_list,
    "requires": parse_list,
}
SETTABLE = ("name", "status", "assigned_agent", *_LISTS, "priority", "metadata.KEY")

_REFUSED = {
    "id": "the id of a task cannot change",
    "key": "`sow task import` gives a task its key",
    "phase": "the phase of a task cannot change, because its folder is named after it",
    "iteration": "sow counts iterations when it resumes an agent",
    "session_id": "sow sets the session; `sow agent spawn --fresh` starts a new one",
    "session": "sow sets the session; `sow agent spawn --fresh` starts a new one",
    "check": "sow sets the result of the last check; `sow task check` runs a check",
    "created_at": "sow sets the times",
    "updated_at": "sow sets the times",
    "started_at": "sow sets the times",
    "completed_at": "sow sets the times",
    "review": "`sow review accept` and `sow review correct` write it",
    "merged": "`sow merge` writes it",
    "metadata": "give the key too, as in metadata.KEY",
}


def set_field(
    task: Task, field: str, text: str, *, now: float, keep_session: bool = False
) -> FieldChanges:
    """Return what changes when `field` of `task` is set to `text`.

    Lists are written `a,b`; an empty text takes a metadata key away. Raises
    RefusedField and StateError.
    """
    if field.startswith(METADATA) and len(field) > len(METADATA):
        return {field: text if text else REMOVE}
    match field:
        case "status":
            return enter(task, parse_status(text), now=now, keep_session=keep_session)
        case "assigned_agent" if task.session_started and text != task.assigned_agent:
            raise _refused_role(task, text)
        case "name" | "assigned_agent":
            return {field: text}
        case "priority":
            return {field: parse_priority(text) if text else REMOVE}
        case _ if field in _LISTS:
            return {field: _LISTS[field](text)}
        case _:
            raise RefusedField(field, _REFUSED.get(field, "a task has no such field"), SETTABLE)


def _refused_role(task: Task, role: str) -> RefusedField:
    """Return that the session on record is another role's, and what begins one of `role`."""
    why = f"the session of {task.assigned_agent} has started"
    spawn = f"`sow agent spawn {role} {task.id} --fresh --reassign`"
    return RefusedField(
        "assigned_agent", why, SETTABLE, instead=f"To start over as {role}: {spawn}."
    )


def parse_priority(text: str) -> int:
    """Return the priority that `text` names. Raises RefusedField."""
    if not re.fullmatch(r"-?\d{1,4}", text) or abs(int(text)) > MOST_PRIORITY:
        reason = f"{text!r} is not a whole number from -{MOST_PRIORITY} to {MOST_PRIORITY}"
        raise RefusedField("priority", reason, SETTABLE)
    return int(text)


def parse_status(text: str) -> TaskStatus:
    """Return the status that `text` names. Raises RefusedField with the words there are."""
    try:
        return TaskStatus(text.strip())
    except ValueError:
        raise RefusedField("status", f"{text!r} is not a status", list(TaskStatus)) from None
