"""`sow install agents-md` and `sow uninstall agents-md`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sow.cli.arguments import working_folder
from sow.cli.config_places import workspace_here
from sow.cli.install_claude import dry_run_option, echo_difference
from sow.cli.output import echo_json, json_option
from sow.install.agents_md import NAME, remove_from_agents_md, write_agents_md
from sow.paths import display_path
from sow.schema.output.installing import Installed

if TYPE_CHECKING:
    from sow.install.documents import Written

force_option = click.option(
    "--force", is_flag=True, help="Replace an edited text too; a backup is kept."
)


@click.command()
@force_option
@dry_run_option
@json_option
def install(force: bool, dry_run: bool, as_json: bool) -> None:
    """Describe in AGENTS.md how to use sow, for the CLIs that read that file.

    The text stands between two markers. The same command brings it up to date;
    a text that was edited is left as it is, and the difference is shown.
    """
    folder = _folder()
    written = write_agents_md(folder, force=force, dry_run=dry_run)
    verb = "Would write" if dry_run else "Wrote"
    _show(folder / NAME, written, f"{verb} sow's text into", as_json=as_json, dry_run=dry_run)


@click.command()
@force_option
@dry_run_option
@json_option
def uninstall(force: bool, dry_run: bool, as_json: bool) -> None:
    """Remove sow's text from AGENTS.md; remove the file if it has nothing else."""
    folder = _folder()
    written = remove_from_agents_md(folder, force=force, dry_run=dry_run)
    verb = "Would take" if dry_run else "Took"
    _show(folder / NAME, written, f"{verb} sow's text out of", as_json=as_json, dry_run=dry_run)


def _folder() -> Path:
    """Return the folder whose AGENTS.md is meant: the workspace's root, else the working folder."""
    workspace = workspace_here(os.environ)
    return workspace.root if workspace is not None else working_folder()


def _show(file: Path, written: "Written", heading: str, *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        view = Installed(
            what="agents-md",
            scope="project",
            file=str(file),
            changed=written.is_changed,
            deeds=(),
            notes=(),
            backup=str(written.backup) if written.backup else None,
            needs_trust=False,
            moved=(),
            dry_run=dry_run,
        )
        echo_json(view)
        return
    shown = display_path(file)
    click.echo(f"{heading} {shown}" if written.is_changed else f"{shown} needs no change")
    if written.backup is not None:
        click.echo(f"What was there before is in {display_path(written.backup)}")
    if dry_run:
        echo_difference(shown, written.before, written.after)
