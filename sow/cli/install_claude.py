"""`sow install claude` and `sow uninstall claude`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sow import __version__
from sow.cli.arguments import working_folder
from sow.cli.config_places import workspace_here
from sow.cli.output import echo_json, json_option
from sow.install import claude
from sow.install.claude import move_old_prompts, old_prompts
from sow.install.installed_findings import how_to_trust, not_trusted
from sow.install.places import Scope, target_of
from sow.paths import display_path
from sow.schema.output.installing import Installed, MovedPrompt
from sow.terminal_text import printable

if TYPE_CHECKING:
    from sow.install.claude import Done

Command = Callable[..., Any]


def scope_options(function: Command) -> Command:
    """Give a command `--user` and `--project`, passed to it as `scope`."""
    user = click.option(
        "--user", "scope", flag_value="user", default="user", help="For all your sessions; default."
    )
    project = click.option(
        "--project", "scope", flag_value="project", help="For this folder, on this machine alone."
    )
    return user(project(function))


dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Write nothing, and show the difference."
)


@click.command()
@scope_options
@click.option("--move-agents", is_flag=True, help="Move older prompts out of .claude/agents.")
@dry_run_option
@json_option
def install(scope: str, move_agents: bool, dry_run: bool, as_json: bool) -> None:
    """Install sow's plugin into Claude Code, or update it.

    It brings commands (/sow:start, /sow:status, /sow:review, ...), a skill, a
    hook that tells at each turn what has ended or waits, and the permission to
    run sow's commands that lead a project, each by its name. What you have
    changed of it since stays. Claude Code takes it up at its next start.
    """
    target = target_of(Scope(scope), _project_folder(), os.environ)
    done = claude.install(target, os.environ, dry_run=dry_run)
    untrusted = claude.needs_trust(target, os.environ)
    folder, moved = _project_folder(), []
    if move_agents and not dry_run:
        moved = move_old_prompts(folder)
    left = old_prompts(folder)
    if as_json:
        echo_json(_view(done, needs_trust=untrusted, moved=moved, dry_run=dry_run))
        return
    verb = "Would install" if dry_run else "Installed"
    _echo(done, f"{verb} the plugin of sow {__version__} for {target.words}", dry_run=dry_run)
    for before, after in moved:
        click.echo(f"Moved {display_path(before)} to {display_path(after)}")
    if left:
        names = printable(", ".join(file.name for file in left))
        click.echo(f"Note: .claude/agents has prompts of an earlier kind: {names}", err=True)
        click.echo(f"  `{target.command} --move-agents` moves them out of the way.", err=True)
    if untrusted:
        click.echo(f"Note: {not_trusted(target)}", err=True)
        click.echo(f"  {how_to_trust(target)}", err=True)
    if not dry_run:
        click.echo("Next: start Claude Code anew, and type /sow:status")


@click.command()
@scope_options
@dry_run_option
@json_option
def uninstall(scope: str, dry_run: bool, as_json: bool) -> None:
    """Remove from Claude Code what `sow install claude` has installed.

    What was there before, and what you have changed since, stays.
    """
    target = target_of(Scope(scope), _project_folder(), os.environ)
    done = claude.uninstall(target, os.environ, dry_run=dry_run)
    if as_json:
        echo_json(_view(done, needs_trust=False, moved=[], dry_run=dry_run))
        return
    verb = "Would take" if dry_run else "Took"
    _echo(done, f"{verb} the plugin out for {target.words}", dry_run=dry_run)


def _project_folder() -> Path:
    """Return the folder that `--project` means: the workspace's root, else the working folder."""
    workspace = workspace_here(os.environ)
    return workspace.root if workspace is not None else working_folder()


def _echo(done: "Done", heading: str, *, dry_run: bool) -> None:
    file = display_path(done.target.file)
    if not done.written.is_changed:
        click.echo(f"{file} needs no change")
    else:
        click.echo(f"{heading}, in {file}")
    for deed in done.plan.deeds:
        click.echo(f"  {printable(deed)}")
    for note in done.plan.notes:
        click.echo(f"Note: {printable(note)}", err=True)
    if done.written.backup is not None:
        click.echo(f"What was there before is in {display_path(done.written.backup)}")
    if dry_run:
        echo_difference(file, done.written.before, done.written.after)


def echo_difference(file: str, before: bytes | None, after: bytes | None) -> None:
    """Print what would change of a file, line by line."""
    # Of a dry run alone.
    from difflib import unified_diff

    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    for line in unified_diff(old, new, file, file, lineterm=""):
        click.echo(printable(line))


def _view(
    done: "Done", *, needs_trust: bool, moved: list[tuple[Path, Path]], dry_run: bool
) -> Installed:
    return Installed(
        what="claude",
        scope=done.target.scope.value,
        file=str(done.target.file),
        changed=done.written.is_changed,
        deeds=done.plan.deeds,
        notes=done.plan.notes,
        backup=str(done.written.backup) if done.written.backup else None,
        needs_trust=needs_trust,
        moved=tuple(MovedPrompt(before=str(old), after=str(new)) for old, new in moved),
        dry_run=dry_run,
    )
