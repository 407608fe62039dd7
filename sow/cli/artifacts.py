"""`sow input` and `sow output`: the files that the project takes in and brings forth.

Both groups have the same commands. Each command imports what it needs by itself.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sow.cli import completing, completing_names
from sow.cli import late_click as click
from sow.cli.arguments import here, working_folder
from sow.cli.confirming import author_here
from sow.cli.output import echo_list, echo_result, json_option
from sow.clock import format_time, local_time
from sow.terminal_text import readable

if TYPE_CHECKING:
    from sow.paths import Workspace
    from sow.schema.output.projects import ArtifactView
    from sow.schema.project import Artifact, Project
    from sow.state.artifacts import Side
    from sow.state.output_move import Also


def _side(context: click.Context) -> "Side":
    from sow.state.artifacts import Side

    assert context.parent is not None  # noqa: S101 - each command is in a group
    return Side(str(context.parent.info_name))


@click.command()
@click.argument("path", shell_complete=completing.files)
@click.option(
    "--type", "kind", required=True, help="Its type: design, findings, summary, or another word."
)
@json_option
@click.pass_context
def add(context: click.Context, path: str, kind: str, as_json: bool) -> None:
    """Add the file PATH of this repository to the list."""
    from sow.state.artifacts import add_artifact, path_inside

    workspace, side = here(), _side(context)
    inside = path_inside(workspace, working_folder(), path)
    kind, by = readable(kind).strip(), author_here()
    added = add_artifact(workspace, side, inside, kind, by=by, now=time.time())
    _tell(workspace, side, added, f"{inside} is an {side} of the project ({kind})", as_json=as_json)


@click.command()
@click.argument("path", shell_complete=completing_names.documents)
@json_option
@click.pass_context
def remove(context: click.Context, path: str, as_json: bool) -> None:
    """Remove the file PATH from the list; the file itself stays."""
    from sow.state.artifacts import remove_artifact

    workspace, side = here(), _side(context)
    inside = os.path.relpath(os.path.realpath(working_folder() / path), workspace.root.resolve())
    removed = remove_artifact(workspace, side, inside, by=author_here(), now=time.time())
    _tell(
        workspace, side, removed, f"{inside} is no longer an {side} of the project", as_json=as_json
    )


@click.command("list")
@json_option
@click.pass_context
def list_all(context: click.Context, as_json: bool) -> None:
    """List the files, and who has approved the current form of each."""
    from sow.state.artifacts import listed
    from sow.state.projects import read_project

    workspace, side = here(), _side(context)
    views = [_view(workspace, side, found) for found in listed(read_project(workspace), side)]
    none = f"No {side} yet: sow {side} add PATH --type TYPE"
    echo_list(views, ("TYPE", "PATH", "APPROVED"), _row, none=none, as_json=as_json)


@click.command()
@click.argument("path", shell_complete=completing_names.documents)
@click.option(
    "--to",
    "folder",
    shell_complete=completing.files,
    help="The folder. Default: from the settings for its type, else knowledge/TYPE.",
)
@json_option
@click.pass_context
def move(context: click.Context, path: str, folder: str | None, as_json: bool) -> None:
    """Move the output PATH to a folder that is kept after the project; its approval stays."""
    from sow.config.artifact_places import check_places
    from sow.config.checks import read_repository
    from sow.state.artifacts import kept_folder, listed, path_inside
    from sow.state.output_move import move_output
    from sow.state.projects import read_project

    workspace, side = here(), _side(context)
    inside = path_inside(workspace, working_folder(), path)
    project = read_project(workspace)
    kinds = {found.path: found.type for found in listed(project, side)}
    target = folder
    if not target:
        source = read_repository(workspace.repository_config)
        check_places(source)
        target = kept_folder(kinds.get(inside, ""), source.content.artifacts or {})
    by = author_here()
    also = _with_verdict(workspace, project)
    moved = move_output(workspace, inside, readable(target), by=by, now=time.time(), also=also)
    _tell(workspace, side, moved, f"{inside} is {moved.path} now", as_json=as_json)


def _with_verdict(workspace: "Workspace", project: "Project") -> "Also":
    """Return what keeps a verdict on the whole, and its check: sow's own move is no other work."""
    from msgspec import UNSET

    from sow.state.output_move import nothing_else

    if project.review is UNSET and project.check is UNSET:
        return nothing_else
    # Few projects are judged when their documents move.
    from sow.clones.project_work import work_in
    from sow.state.lifecycle import carried_over

    work = work_in(workspace.root)
    if work is None:
        return nothing_else

    def also(now: "Project", source: Path, moved_to: Path) -> Mapping[str, object]:
        return carried_over(now, work.content, work.after_move(source, moved_to).content)

    return also


def _row(view: "ArtifactView") -> tuple[str, str, str]:
    from sow.clock import parse_time

    if view.approved_by is None or view.approved_at is None:
        return (view.type, view.path, "no")
    who = f"{view.approved_by}, {local_time(parse_time(view.approved_at))}"
    return (view.type, view.path, who if view.is_approved else f"no: changed since ({who})")


def _view(workspace: "Workspace", side: "Side", artifact: "Artifact") -> "ArtifactView":
    from msgspec import UNSET

    from sow.schema.output.projects import ArtifactView
    from sow.state.artifacts import is_approved

    approved = None if artifact.approved is UNSET else artifact.approved
    return ArtifactView(
        path=artifact.path,
        type=artifact.type,
        side=side.value,
        by=artifact.by,
        at=format_time(artifact.at.timestamp()),
        approved_by=approved.by if approved else None,
        approved_at=format_time(approved.at.timestamp()) if approved else None,
        is_approved=is_approved(workspace, artifact),
    )


def _tell(
    workspace: "Workspace", side: "Side", artifact: "Artifact", line: str, *, as_json: bool
) -> None:
    echo_result(_view(workspace, side, artifact), line, as_json=as_json)
