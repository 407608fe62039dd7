"""What a client may read by its address: where the project and its tasks stand, and the logs.

Owns the addresses. Each is one command line that only reads; what it prints is
the resource.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sow.errors import StateError
from sow.mcp_server.answer_size import cut_text
from sow.mcp_server.tool import Line

JSON = "application/json"
JSON_LINES = "application/x-ndjson"


class Resource(Struct, frozen=True):
    """An address, or with `{…}` in it the form of many."""

    address: str
    name: str
    description: str
    mime_type: str
    words: tuple[str, ...]
    """The command; what stands in the place of `{…}` is its last word."""


OF_PROJECT = (
    Resource(
        "sow://status", "status", "Where the project stands, and what is next.", JSON, ("status",)
    ),
    Resource("sow://project", "project", "The project's state.", JSON, ("project", "status")),
    Resource("sow://log", "log", "All logs, the oldest entry first.", JSON_LINES, ("log",)),
)
OF_TASKS = (
    Resource(
        "sow://tasks/{task}/state", "task {task}", "The task's state.", JSON, ("task", "show")
    ),
    Resource(
        "sow://tasks/{task}/log",
        "log of task {task}",
        "The task's log.",
        JSON_LINES,
        ("task", "log"),
    ),
)
OF_JOBS = (
    Resource(
        "sow://jobs/{job}/logs",
        "logs of job {job}",
        "What the agent of the job said and did.",
        JSON_LINES,
        ("job", "logs"),
    ),
)


def forms_for(*, own_task: str | None) -> Sequence[Resource]:
    """Return the addresses open to a client; an agent's own are those of its task."""
    if own_task is None:
        return (*OF_PROJECT, *OF_TASKS, *OF_JOBS)
    return tuple(of_task(own_task)) if own_task else ()


def of_task(task_id: str) -> Iterator[Resource]:
    """Yield the resources of a task."""
    for form in OF_TASKS:
        yield Resource(
            form.address.replace("{task}", task_id),
            form.name.replace("{task}", task_id),
            form.description,
            form.mime_type,
            form.words,
        )


def line_of(address: str, forms: Sequence[Resource]) -> tuple[Line, Resource]:
    """Return the command line that prints a resource. Raises StateError."""
    for form in forms:
        pattern = re.sub(r"\\\{\w+\\\}", r"([0-9]{1,18})", re.escape(form.address))
        found = re.fullmatch(pattern, address)
        if found is not None:
            last = found.groups() or _named(form)
            return Line((*form.words, "--json", "--", *last)), form
    raise StateError(
        f"no resource: {cut_text(address)}", hint="The lists of resources name them all."
    )


def _named(form: Resource) -> tuple[str, ...]:
    """Return the task in an address that is a task's own."""
    found = re.fullmatch(r"sow://tasks/([0-9]+)/\w+", form.address)
    return found.groups() if found else ()
