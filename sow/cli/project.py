"""`sow project`: begin the branch's project and see where it stands.

Each command imports what it needs by itself: the group's help and completion need none of it.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sow.cli import completing_names
from sow.cli import late_click as click
from sow.cli.arguments import here, issue_options
from sow.cli.output import echo_json, echo_result, echo_table, json_option
from sow.cli.this_call import usage_error
from sow.errors import SowError, StateError
from sow.terminal_text import printable, printable_lines, readable

if TYPE_CHECKING:
    from sow.lifecycle.stages import ProjectType
    from sow.schema.project import Project

TYPES = ("standard", "exploration", "design", "breakdown", "quick")
"""The words of `ProjectType`; a test compares."""


@click.command()
@click.argument("name", required=False)
@click.option("--description", default="", help="What it is for.")
@click.option(
    "--phase", "phases", multiple=True, help="A phase; repeat it. Default: as its type has them."
)
@click.option(
    "--type",
    "kind",
    type=click.Choice(TYPES),
    help="Default: by the branch's name (explore/, design/, breakdown/), else standard. quick:"
    " only tasks, no plan to approve.",
)
@click.option(
    "--from-breakdown",
    "breakdown",
    metavar="FOLDER",
    shell_complete=completing_names.breakdowns,
    help="Start with the work units that a breakdown has published there, as tasks.",
)
@issue_options
@json_option
def new(
    *,
    name: str | None,
    description: str,
    phases: tuple[str, ...],
    kind: str | None,
    breakdown: str | None,
    issue: str | None,
    repository: str | None,
    as_json: bool,
) -> None:
    """Start the project NAME on this branch.

    With --from-issue NAME is optional: its default is the issue's title. The text
    of the issue is quoted after the description.

    In a standard project no task starts before the plan is approved: add tasks,
    then `sow approve plan && sow advance`. A quick project has only tasks: each
    can start at once.

    With --from-breakdown a standard or quick project gets the work units in
    FOLDER, below .sow/knowledge/breakdown/, as its first tasks: with names,
    roles, descriptions, ids and dependencies.
    """
    from sow.git.checked_out import branch_at
    from sow.ids import ProjectId, random_uuid
    from sow.lifecycle.stages import ProjectType, type_of_branch
    from sow.state.projects import new_project

    workspace = here()
    branch = branch_at(workspace.root)
    chosen = ProjectType(kind) if kind else type_of_branch(branch)
    begun: dict[str, Any] = {}
    if breakdown is not None:
        # Few projects are begun so.
        from sow.cli.beginnings import first_of

        chosen = ProjectType(kind or ProjectType.STANDARD)
        begun = first_of(workspace, breakdown, chosen, phases, now=time.time())
    text = readable(description)
    if issue is not None:
        # Few projects are begun so.
        from sow.cli.beginnings import taken_from

        source = taken_from(workspace, issue, repository)
        name, text = source.name if name is None else name, source.below(text)
        begun["metadata"] = source.metadata
    if name is None:
        raise usage_error("missing argument 'NAME'")
    made = new_project(
        workspace,
        name=readable(name),
        project_id=ProjectId(random_uuid()),
        now=time.time(),
        description=text,
        branch=branch,
        phases=phases or None,
        kind=chosen,
        **begun,
    )
    if as_json:
        from sow.reports.project_views import project_view

        echo_json(project_view(made))
        return
    click.echo(f"Project {printable(made.name)} begun in {_relative(workspace.project)}")
    click.echo(f"Next: {_first_command(chosen, has_tasks=bool(begun))}")


def _first_command(kind: "ProjectType", *, has_tasks: bool) -> str:
    if has_tasks or kind not in ("standard", "quick"):
        return "sow next"
    add = "sow task add NAME --agent implementer"
    plan = "when all tasks are added: sow approve plan && sow advance"
    return f"{add}; {plan}" if kind == "standard" else add


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show the project, its phases, and how many tasks have each status."""
    from sow.reports.project_views import project_standing, tasks_by_phase
    from sow.state.projects import read_project
    from sow.state.tasks import scan_tasks

    workspace = here()
    current = read_project(workspace)
    tasks, errors = scan_tasks(workspace)
    if as_json:
        echo_json(project_standing(current, tasks, [error.message for error in errors]))
    else:
        _show(current, tasks_by_phase(current, tasks))
    _raise_first(errors)


@click.command("set")
@click.argument("field", shell_complete=completing_names.project_fields)
@click.argument("value")
@json_option
def set_field(field: str, value: str, as_json: bool) -> None:
    """Set one FIELD of the project: name, description, branch or metadata.KEY.

    Tasks start from the project's branch and are merged into it. Set `branch` after
    you have renamed it (`git branch -m`).
    """
    from sow.reports.project_views import project_view
    from sow.state.projects import change_project
    from sow.state.state_errors import RefusedField
    from sow.yamlfile import REMOVE

    is_metadata = field.startswith("metadata.") and len(field) > len("metadata.")
    settable = ("name", "description", "branch", "metadata.KEY")
    if field not in settable[:-1] and not is_metadata:
        raise RefusedField(field, "this field cannot change, or does not exist", settable)
    text = readable(value)
    if field == "branch":
        _refuse_no_branch(text)
    new_value = text if text or field in ("name", "branch") else REMOVE
    changed = change_project(here(), lambda _: {field: new_value}, now=time.time())
    echo_result(project_view(changed), f"Project: {field} is {printable(text)}", as_json=as_json)


def _refuse_no_branch(name: str) -> None:
    """Refuse a branch that the repository does not have. Raises StateError."""
    from sow.git.checked_out import branch_at, lacks_branch

    root = here().root
    if name != branch_at(root) and (not name or lacks_branch(root, name)):
        raise StateError(
            f"the repository has no branch {name!r}",
            hint="`git branch` lists its branches. Name one of them:"
            ' `sow project set branch "<branch>"`.',
        )


def _show(current: "Project", counts: dict[str, dict[str, int]]) -> None:
    from sow.schema.task import TaskStatus

    click.echo(printable(current.name))
    rounds = f", iteration {current.round}" if current.round > 1 else ""
    click.echo(f"{current.kind} project, {current.standing}{rounds}")
    if isinstance(current.description, str):
        click.echo("\n".join(printable_lines(current.description)))
    click.echo()
    words = [word.value for word in TaskStatus if any(word in row for row in counts.values())]
    header = ("PHASE", "TASKS", *(word.upper() for word in words))
    rows = [
        (phase, str(sum(row.values())), *(str(row.get(word, "-")) for word in words))
        for phase, row in counts.items()
    ]
    echo_table(header, rows)


def _raise_first(errors: "Sequence[SowError]") -> None:
    if errors:
        raise errors[0]


def _relative(path: Path) -> str:
    return os.path.relpath(path)
