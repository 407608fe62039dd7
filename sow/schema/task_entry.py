"""One task as `sow task import` takes it and `sow task export` prints it.

Owns the fields and what each may hold. What a field that is left out means is
`state.bulk.plan`'s.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.output.fields import about
from sow.schema.references import ReferenceId
from sow.schema.task import (
    AgentText,
    CheckName,
    LabelText,
    PhaseText,
    Priority,
    TaskIdText,
    TaskKeyText,
)


class TaskEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One task of a file. Fields that are left out or null stay as they are."""

    key: Annotated[
        TaskKeyText | None, about("its name in the file; a later import finds the task by it")
    ] = None
    id: Annotated[TaskIdText | None, about("its id, three or more digits")] = None
    name: Annotated[Annotated[str, Meta(min_length=1)] | None, about("its name")] = None
    agent: Annotated[AgentText | None, about("its role, such as implementer")] = None
    phase: Annotated[PhaseText | None, about("its phase of the project")] = None
    description: Annotated[str | None, about("what is to be done, in Markdown")] = None
    depends_on: Annotated[
        list[str] | None,
        about("the keys or ids of the tasks that must be completed before it starts"),
    ] = None
    checks: Annotated[list[CheckName] | None, about("its checks")] = None
    references: Annotated[
        list[ReferenceId] | None,
        about("the ids of references for its agent to read (sow refs list)"),
    ] = None
    requires: Annotated[
        list[LabelText] | None,
        about("the labels that a host must have to run its jobs, of a queue that hosts share"),
    ] = None
    priority: Annotated[
        Priority | None, about("the priority of its jobs, from -1000 to 1000; default: 0")
    ] = None


FIELDS = TaskEntry.__struct_fields__
