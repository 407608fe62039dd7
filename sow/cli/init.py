"""`sow init`: make a `.sow` folder, or complete the one there is."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sow import env_vars
from sow.cli import late_click as click
from sow.cli.arguments import working_folder
from sow.cli.output import echo_json, json_option
from sow.clone_mark import workspace_of_clone
from sow.errors import StateError
from sow.paths import SOW_FOLDER, Workspace, display_path, find_workspace
from sow.state.places import has_project
from sow.state.workspace_init import init_workspace

if TYPE_CHECKING:
    from msgspec import Struct


@click.command()
@json_option
def init(as_json: bool) -> None:
    """Create a .sow folder here, or complete an existing one.

    Existing files do not change. In a fresh clone it also links the references,
    as `sow refs init` does.
    """
    root = _root(working_folder(), os.environ)
    result = init_workspace(root)
    references = _restored(Workspace(root))
    if as_json:
        from msgspec import to_builtins  # for `--json` alone

        views = to_builtins([view for _, view in references])
        made = {"made": result.made, "stood": result.stood}
        echo_json({"root": str(root), **made, "references": views})
        return
    click.echo(display_path(root))
    for path in result.made:
        click.echo(f"  made   {path}")
    for path in result.stood:
        click.echo(f"  stood  {path}")
    for words, _ in references:
        click.echo(f"  {words}")
    if result.made:
        # A fresh clone has its branch's project.
        is_begun = has_project(Workspace(root))
        click.echo(f"Next: {'sow next' if is_begun else 'sow project new NAME'}")


def _restored(workspace: Workspace) -> "Sequence[tuple[str, Struct]]":
    """Link the references of the index, if it is there; return what has become of each."""
    if not os.path.lexists(workspace.reference_index):
        return ()
    from sow.cli.refs_fetch import restored  # a new folder has none

    return list(restored(workspace))


def _root(cwd: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder to hold `.sow`.

    SOW_ROOT if set; in the clone of a task, that task's workspace; a
    repository's own root; the workspace that `cwd` is in; else `cwd`.
    """
    named = environ.get(env_vars.ROOT)
    if named:
        return Path(os.path.abspath(cwd / named))  # noqa: PTH100 - a link in the path is kept
    owner = workspace_of_clone(str(cwd))
    if owner is not None:
        return Path(owner)
    if (cwd / ".git").exists() and f"/{SOW_FOLDER}/" not in f"{cwd}/":
        return cwd
    try:
        return find_workspace(cwd, environ).root
    except StateError:
        return cwd
