"""`sow project new --from-breakdown`: what the published units of a breakdown become."""

import os
from collections.abc import Sequence
from typing import Any

import click

from sow.agents.roles import get_agent
from sow.cli.arguments import working_folder
from sow.errors import UsageError
from sow.lifecycle.stages import STAGES, ProjectType
from sow.paths import Workspace
from sow.state.authors import author_of
from sow.state.breakdown import first_tasks, read_units
from sow.state.transitions import moment

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
            f"--from-breakdown begins a standard or a quick project, and --type says {kind}",
            hint="Leave --type out.",
        )
    units = read_units(workspace, working_folder(), name)
    for found in units:
        get_agent(found.unit.agent)
        for other in found.dropped:
            words = f"unit {found.unit.unit} depended on {other}, which is no unit any more"
            click.echo(f"Note: {words}", err=True)
    by = author_of(os.environ).agent
    inputs = [
        {"path": found.path, "type": UNIT, "by": by, "at": moment(now)}
        for found in units
        if not found.is_outside
    ]
    phase = phases[0] if phases else STAGES[kind].phases[0]
    return {"tasks": first_tasks(units, phase, now=now), "inputs": inputs}
