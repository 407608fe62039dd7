"""What a project or a task is begun with: the units of a breakdown, or an issue of GitHub.

Nothing of an issue is a command: it becomes a name, and a quotation in a description, without
what steers a terminal.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sow.agents.roles import get_agent
from sow.cli import late_click as click
from sow.cli.arguments import working_folder
from sow.cli.confirming import author_here
from sow.errors import UsageError
from sow.github.quoting import name_from, quoted_issue
from sow.github.requests import find_place, issue_name, read_issue
from sow.lifecycle.stages import STAGES, ProjectType
from sow.paths import Workspace
from sow.state.breakdown import first_tasks, read_units
from sow.state.transitions import moment
from sow.state.units import ISSUE
from sow.terminal_text import readable

UNIT = "unit"
"""The type of such a file among the project's inputs."""


def first_of(
    workspace: Workspace, name: str, kind: ProjectType, phases: Sequence[str], *, now: float
) -> dict[str, Any]:
    """Return what a project is begun with: its first tasks, and the files that they come from.

    Raises NoBreakdown, BadUnit, UnknownAgent, UsageError for a type that has no such tasks.
    """
    if kind not in (ProjectType.STANDARD, ProjectType.QUICK):
        raise UsageError(
            f"--from-breakdown starts a standard or a quick project, but --type is {kind}",
            hint="Leave --type out.",
        )
    units = read_units(workspace, working_folder(), name)
    for found in units:
        get_agent(found.unit.agent)
        for other in found.dropped:
            words = f"unit {found.unit.unit} depended on {other}, which no longer exists"
            click.echo(f"Note: {words}", err=True)
    by = author_here().agent
    inputs = [
        {"path": found.path, "type": UNIT, "by": by, "at": moment(now)}
        for found in units
        if not found.is_outside
    ]
    phase = phases[0] if phases else STAGES[kind].phases[0]
    return {"tasks": first_tasks(units, phase, now=now), "inputs": inputs}


class Taken(NamedTuple):
    """What is taken from an issue."""

    name: str
    quotation: str
    metadata: Mapping[str, str]

    def below(self, description: str) -> str:
        """Return the quotation behind what somebody says of it themselves."""
        own = description.strip()
        return f"{own}\n\n{self.quotation}" if own else self.quotation


def taken_from(workspace: Workspace, text: str, repository: str | None) -> Taken:
    """Read an issue, by its number or address.

    Raises UsageError where two repositories are named, and what `gh` raises.
    """
    named = issue_name(readable(text))
    if repository and named.repository and not _is_same(repository, named.repository):
        raise UsageError(
            f"two repositories are named: {repository} and {named.repository}",
            hint="Leave out --repo if you give the issue's address.",
        )
    wanted = named.repository or (readable(repository) if repository else None)
    place = find_place(workspace.root, wanted)
    issue = read_issue(place, named.number)
    address = f"{place.url}/issues/{issue.number}"
    return Taken(name_from(issue), quoted_issue(issue, place.name), {ISSUE: address})


def _is_same(named: str, other: str) -> bool:
    """Whether two names are of one repository: GitHub tells no small letters from large ones."""
    plain = (name.lower().removeprefix("github.com/") for name in (named, other))
    return len(set(plain)) == 1
