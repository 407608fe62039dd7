"""Writes docs/lifecycle.md: `python tests/lifecycle/lifecycle_page.py`.

Every diagram and every guard of it is taken from the tables in `sow.lifecycle`.
`test_lifecycle_page.py` fails where the committed page differs.
"""

from collections.abc import Iterator
from pathlib import Path

from sow.lifecycle.stages import BEFORE_PLAN
from sow.lifecycle.types import LIFECYCLES, Event, Lifecycle

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lifecycle.md"

INTRODUCTION = """# The lifecycle of a project

A project is of one of five types, and always in one state of its type. `sow advance` takes it to
the next one when all that must be true first is true; a refusal names each condition that is not
met, and the command that meets it. `sow advance --list` shows them, `sow next` says what to do.
The type follows from the name of the branch, or from `sow project new NAME --type TYPE`. This page
is drawn by `python tests/lifecycle/lifecycle_page.py` from the tables that sow itself goes by
(`sow/lifecycle`), and a test fails where the two differ.

Approvals and the verdict on the whole are against haste: by default a person at a terminal gives
them. With `approve: agents` in your own configuration an orchestrator may as well. They hold for
what was approved: a plan that gains a task, or a document that is edited, is to be approved anew;
the verdict on the whole and the outcome of its checks hold as long as the work outside of `.sow`
is the same, and the outcome of checks as long as their command lines are, too. A project has to
pass the checks under `checks.default`, and all where none is the default. No guard counts the tasks
of the phase `project`: they are about the project as a whole.

The gate of a plan holds for whatever begins work: `sow agent spawn`, `resume`, `answer`, `open`,
`sow batch run` and a batch's turns refuse a task of the plan until `sow approve plan && sow
advance`. {early}
A person at a terminal overrides the gate with `--before-approval`.
"""


def page() -> str:
    """Return the whole page."""
    return "\n".join(
        [_introduction(), *(part for each in LIFECYCLES.values() for part in _part(each))]
    )


def _introduction() -> str:
    phases = ", ".join(f"`{phase}`" for phase in BEFORE_PLAN)
    early = f"The plan rests on these phases, whose tasks begin before it:\n{phases}."
    return INTRODUCTION.replace("{early}", early)


def _part(lifecycle: Lifecycle) -> Iterator[str]:
    yield f"## {lifecycle.type.capitalize()}\n"
    branch = f" On branches that begin with `{lifecycle.prefix}`." if lifecycle.prefix else ""
    phases = ", ".join(f"`{phase}`" for phase in lifecycle.phases)
    yield f"{lifecycle.about}{branch} Its phases, where none is named: {phases}.\n"
    yield "```mermaid\nstateDiagram-v2"
    yield f"    [*] --> {lifecycle.first}"
    for event in lifecycle.events:
        yield f"    {event.source} --> {event.target}: {event.name}"
    yield f"    {list(lifecycle.states)[-1]} --> [*]: sow project finish"
    yield "```\n"
    yield "| state | what there is to do |\n| --- | --- |"
    yield from (f"| {state} | {words} |" for state, words in lifecycle.states.items())
    yield "\n| event | what must be true first | what meets it |\n| --- | --- | --- |"
    for event in lifecycle.events:
        yield from _rows(event)
    yield ""


def _rows(event: Event) -> Iterator[str]:
    name = f"{event.name}: {event.source} to {event.target}"
    if event.effect is not None:
        name = f"{name}; {event.effect}"
    if not event.guards:
        yield f"| {name} | nothing; it leads back, and must be named | |"
    for number, guard in enumerate(event.guards):
        commands = ", ".join(f"`{command}`" for command in guard.commands)
        yield f"| {'' if number else name} | {guard.sentence} | {commands} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
