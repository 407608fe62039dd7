"""`sow install`, `sow uninstall` and `sow install status`: what other CLIs get of sow."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sow import __version__
from sow.cli import late_click as click
from sow.cli.config import root_or_folder
from sow.cli.findings import echo_findings, finding_record
from sow.cli.output import echo_json, json_option
from sow.findings import Level, count
from sow.install import claude
from sow.install.agents_md import NAME, remove_from_agents_md, write_agents_md
from sow.install.claude import move_old_prompts, old_prompts
from sow.install.installed_findings import examine_installed, how_to_trust, not_trusted
from sow.install.places import Scope, target_of
from sow.paths import display_path
from sow.schema.output.installing import Installed, MovedPrompt
from sow.terminal_text import printable

if TYPE_CHECKING:
    from sow.install.claude import Done
    from sow.install.documents import Written

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
def install_claude(scope: str, move_agents: bool, dry_run: bool, as_json: bool) -> None:
    """Install sow's plugin into Claude Code, or update it.

    It brings commands (/sow:start, /sow:status, /sow:review, ...), a skill, a
    hook that reports at each turn what has ended or waits, and the permission to
    run the sow commands that lead a project, each by its name. Your changes to it
    are kept. Claude Code loads it at its next start.
    """
    folder = root_or_folder(os.environ)
    target = target_of(Scope(scope), folder, os.environ)
    done = claude.install(target, os.environ, dry_run=dry_run)
    untrusted = claude.needs_trust(target, os.environ)
    moved: list[tuple[Path, Path]] = []
    if move_agents and not dry_run:
        moved = move_old_prompts(folder)
    left = old_prompts(folder)
    verb = "Would install" if dry_run else "Installed"
    change = _of_plugin(done, f"{verb} the plugin of sow {__version__} for {target.words}")
    if as_json:
        echo_json(_view(change, needs_trust=untrusted, moved=moved, dry_run=dry_run))
        return
    _print(change, dry_run=dry_run)
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
        click.echo("Next: restart Claude Code, and type /sow:status")


@click.command()
@scope_options
@dry_run_option
@json_option
def uninstall_claude(scope: str, dry_run: bool, as_json: bool) -> None:
    """Remove from Claude Code what `sow install claude` has installed.

    Files from before, and your later changes, are kept.
    """
    target = target_of(Scope(scope), root_or_folder(os.environ), os.environ)
    done = claude.uninstall(target, os.environ, dry_run=dry_run)
    verb = "Would take" if dry_run else "Took"
    change = _of_plugin(done, f"{verb} the plugin out for {target.words}")
    _show(change, as_json=as_json, dry_run=dry_run)


force_option = click.option(
    "--force", is_flag=True, help="Replace an edited text too; a backup is kept."
)


@click.command()
@force_option
@dry_run_option
@json_option
def install_agents_md(force: bool, dry_run: bool, as_json: bool) -> None:
    """Describe in AGENTS.md how to use sow, for the CLIs that read that file.

    The text is between two markers. The same command updates it. If the text
    was edited, it is not changed, and the difference is shown.
    """
    folder = root_or_folder(os.environ)
    written = write_agents_md(folder, force=force, dry_run=dry_run)
    verb = "Would write" if dry_run else "Wrote"
    change = _of_text(folder / NAME, written, f"{verb} sow's text into")
    _show(change, as_json=as_json, dry_run=dry_run)


@click.command()
@force_option
@dry_run_option
@json_option
def uninstall_agents_md(force: bool, dry_run: bool, as_json: bool) -> None:
    """Remove sow's text from AGENTS.md; remove the file if it has nothing else."""
    folder = root_or_folder(os.environ)
    written = remove_from_agents_md(folder, force=force, dry_run=dry_run)
    verb = "Would take" if dry_run else "Took"
    change = _of_text(folder / NAME, written, f"{verb} sow's text out of")
    _show(change, as_json=as_json, dry_run=dry_run)


class Change(NamedTuple):
    """What a command has changed, or would."""

    what: str
    scope: str
    file: Path
    written: "Written"
    heading: str
    """What is said where the file has changed."""
    changed_settings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _of_plugin(done: "Done", heading: str) -> Change:
    target, plan = done.target, done.plan
    heading = f"{heading}, in {display_path(target.file)}"
    scope = target.scope.value
    return Change("claude", scope, target.file, done.written, heading, plan.changes, plan.notes)


def _of_text(file: Path, written: "Written", heading: str) -> Change:
    return Change("agents-md", "project", file, written, f"{heading} {display_path(file)}")


def _show(change: Change, *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        echo_json(_view(change, dry_run=dry_run))
    else:
        _print(change, dry_run=dry_run)


def _print(change: Change, *, dry_run: bool) -> None:
    written, file = change.written, display_path(change.file)
    click.echo(change.heading if written.is_changed else f"{file} needs no change")
    for changed in change.changed_settings:
        click.echo(f"  {printable(changed)}")
    for note in change.notes:
        click.echo(f"Note: {printable(note)}", err=True)
    if written.backup is not None:
        click.echo(f"What was there before is in {display_path(written.backup)}")
    if dry_run:
        _print_difference(file, written.before, written.after)


def _print_difference(file: str, before: bytes | None, after: bytes | None) -> None:
    """Print what would change of a file, line by line."""
    # Of a dry run alone.
    from difflib import unified_diff

    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    for line in unified_diff(old, new, file, file, lineterm=""):
        click.echo(printable(line))


def _view(
    change: Change,
    *,
    needs_trust: bool = False,
    moved: Sequence[tuple[Path, Path]] = (),
    dry_run: bool,
) -> Installed:
    written = change.written
    return Installed(
        what=change.what,
        scope=change.scope,
        file=str(change.file),
        changed=written.is_changed,
        changed_settings=change.changed_settings,
        notes=change.notes,
        backup=str(written.backup) if written.backup else None,
        needs_trust=needs_trust,
        moved=tuple(MovedPrompt(before=str(old), after=str(new)) for old, new in moved),
        dry_run=dry_run,
    )


@click.command()
@json_option
def status(as_json: bool) -> int:
    """Show what `sow install` has installed, where, and whether it is up to date.

    Exit: 0 all is up to date; 1 something is not.
    """
    findings = list(examine_installed(root_or_folder(os.environ), os.environ))
    amiss = count(findings, Level.WARNING)
    if as_json:
        records = [finding_record(finding) for finding in findings]
        echo_json({"ok": not amiss, "version": __version__, "findings": records})
    else:
        echo_findings(findings)
    return int(bool(amiss))
