"""One task as `sow task import` takes it and `sow task export` prints it.

Owns the fields and what each may hold. What a field that is left out means is
`state.bulk.plan`'s.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.output.fields import about
from sow.schema.references import ReferenceId
from sow.schema.task import AgentText, CheckName, PhaseText, Priority, TaskIdText, TaskKeyText


class TaskEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One task of a file. What is left out, or null, stays as it is."""

    key: Annotated[
        TaskKeyText | None, about("its name in the file, by which it is known again")
    ] = None
    id: Annotated[TaskIdText | None, about("its id, three or more digits")] = None
    name: Annotated[Annotated[str, Meta(min_length=1)] | None, about("what it is called")] = None
    agent: Annotated[AgentText | None, about("the role it is for, such as implementer")] = None
    phase: Annotated[PhaseText | None, about("the phase of the project that it belongs to")] = None
    description: Annotated[str | None, about("what is to be done, in Markdown")] = None
    depends_on: Annotated[
        list[str] | None, about("the tasks that must be completed before it, by key or id")
    ] = None
    checks: Annotated[list[CheckName] | None, about("the checks that it is judged by")] = None
    references: Annotated[
        list[ReferenceId] | None,
        about("the references that its agent is to read, by id (sow refs list)"),
    ] = None
    priority: Annotated[
        Priority | None, about("that of its jobs, from -1000 to 1000; 0 without")
    ] = None


FIELDS = TaskEntry.__struct_fields__
