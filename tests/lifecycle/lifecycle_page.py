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

A project has one of five types, and is in one of its type's states. `sow advance` takes it to the
next state if all conditions are met. Otherwise it names each missing condition and the command that
helps. `sow advance --list` shows the conditions, `sow next` the next commands.

The type follows from the branch's name, or from `sow project new NAME --type TYPE`. `python
tests/lifecycle/lifecycle_page.py` writes this page from sow's own tables (`sow/lifecycle`), and a
test fails if they differ.

Approvals and the verdict on the whole project prevent haste. By default a person at a terminal
gives them; with `approve: agents` in your own configuration an orchestrator may too.

- An approval is valid for the content that was approved. A plan that gets a new task, or a document
  that is edited, needs a new approval.
- The verdict on the whole project, and the result of its checks, stay valid while the work outside
  of `.sow` is the same. The result of checks also needs unchanged command lines.
- A project must pass the checks under `checks.default`, or all checks if there is no default.
- Tasks of the phase `project` are about the whole project, and no condition counts them.

No task of a plan begins before the plan is approved and begun: `sow agent spawn`, `resume`,
`answer`, `open`, `sow batch run` and a running batch refuse it until `sow approve plan && sow
advance`. {early}
A person at a terminal can override this with `--before-approval`.
"""


def page() -> str:
    """Return the whole page."""
    return "\n".join(
        [_introduction(), *(part for each in LIFECYCLES.values() for part in _part(each))]
    )


def _introduction() -> str:
    phases = ", ".join(f"`{phase}`" for phase in BEFORE_PLAN)
    early = f"Tasks of these phases begin before that:\n{phases}."
    return INTRODUCTION.replace("{early}", early)


def _part(lifecycle: Lifecycle) -> Iterator[str]:
    yield f"## {lifecycle.type.capitalize()}\n"
    branch = f" On branches that begin with `{lifecycle.prefix}`." if lifecycle.prefix else ""
    phases = ", ".join(f"`{phase}`" for phase in lifecycle.phases)
    yield f"{lifecycle.about}{branch} Its phases, if you name none: {phases}.\n"
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
