"""`sow validate`: whether the whole of `.sow` holds together, and what of it can be put right."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sow.cli import late_click as click
from sow.cli.arguments import here, working_folder
from sow.cli.findings import echo_findings
from sow.cli.output import echo_json, json_option
from sow.cli.prompt_check import check_team
from sow.clock import utc_now
from sow.errors import ExitCode, UsageError
from sow.findings import Finding, Level
from sow.paths import Workspace, user_config_path
from sow.terminal_text import readable
from sow.validation.conflicts import marked_files
from sow.validation.examination import examine, in_order
from sow.validation.history import History
from sow.validation.kinds import Defect, Kind
from sow.validation.mending import Mended, NotMended, mend

FIX = "Fix it: `sow validate --fix`"
README = "README.md"


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--fix", is_flag=True, help="Fix unambiguous problems and list each fix.")
@json_option
def validate(paths: tuple[Path, ...], fix: bool, as_json: bool) -> int:
    """Check all files of .sow, or those at PATH in it, and their references to each other.

    It reads state files, settings, logs, feedback, prompts and archived projects,
    and changes nothing without --fix. It also reports conflict markers of git,
    and tasks that two people added under the same id.

    Exit: 0 nothing is wrong, 1 something is wrong.
    """
    workspace = here()
    wanted = [_inside(workspace, path) for path in paths] or [workspace.sow]
    done: list[Mended] = []
    failed: list[NotMended] = []
    if fix:
        done, failed = mend(
            workspace,
            user_config_path(os.environ),
            now=utc_now(),
            wanted=lambda defect: _is_within(defect.path, wanted),
        )
    # The command tree is asked for every command that a text names.
    from sow.cli.tree import root

    defects = [each for each in defects_of(workspace, root) if _is_within(each.path, wanted)]
    _refuse_nothing(wanted, defects)
    to_add = _solved_but_unmerged(workspace) if done else []
    if as_json:
        echo_json(_record(workspace, defects, done, failed, to_add))
    else:
        _show(workspace, wanted, defects, done, failed, to_add)
    return int(ExitCode.FAILED if defects else ExitCode.OK)


def _inside(workspace: Workspace, path: Path) -> Path:
    """Return a path that a caller names, as the findings have it. Raises UsageError."""
    real = Path(os.path.realpath(working_folder() / path))
    sow = Path(os.path.realpath(workspace.sow))
    if not real.is_relative_to(sow):
        raise UsageError(
            f"{readable(str(path))} is not in {workspace.sow}",
            hint="Give files or folders in it, such as .sow/project, or none to check all.",
        )
    return workspace.sow / real.relative_to(sow)


def _refuse_nothing(wanted: Sequence[Path], defects: Sequence[Defect]) -> None:
    """Raise UsageError for a path at which nothing lies, and of which nothing is to be told."""
    for path in wanted:
        if not os.path.lexists(path) and not any(_is_within(each.path, [path]) for each in defects):
            raise UsageError(
                f"{readable(str(path))}: there is no such file or folder",
                hint="Give files or folders in .sow, such as .sow/project, or none to check all.",
            )


def _is_within(path: Path, wanted: Sequence[Path]) -> bool:
    return any(path.is_relative_to(each) for each in wanted)


def defects_of(workspace: Workspace, tree: click.Command) -> list[Defect]:
    """Return all that is wrong with a workspace, its prompts included. Raises StateLocked.

    `tree` is the root command, on which the commands that prompts name are tried.
    """
    found = examine(workspace, user_config_path(os.environ)).defects
    return in_order([*found, *_prompts(workspace, tree)])


def _prompts(workspace: Workspace, tree: click.Command) -> Iterator[Defect]:
    """Yield what is wrong with the team's own prompts."""
    if not workspace.prompts.is_dir():
        return
    for finding in check_team(workspace.prompts, tree):
        path = Path(finding.facts["path"]) if finding.level is not Level.OK else None
        if path is not None and path.name != README:
            words, line = finding.facts["words"], finding.facts["line"]
            yield Defect(kind=Kind.PROMPT, path=path, line=line, what=words, remedy=finding.remedy)


def _solved_but_unmerged(workspace: Workspace) -> list[Path]:
    """Return the files that git holds for unsolved though no marks are left in them."""
    history = History(workspace.root)
    marked = {found.path for found in marked_files(workspace, history)}
    return sorted(
        path for path in history.unmerged.keys() - marked if path.is_relative_to(workspace.sow)
    )


def _record(
    workspace: Workspace,
    defects: Sequence[Defect],
    done: Sequence[Mended],
    failed: Sequence[NotMended],
    to_add: Sequence[Path],
) -> dict[str, Any]:
    return {
        "valid": not defects,
        "findings": [
            {
                "kind": each.kind.value,
                "path": _name(workspace, each.path),
                "line": each.line,
                "what": readable(each.what),
                "why": each.why,
                "remedy": FIX if each.is_mended else readable(each.advice),
                "fixable": each.is_mended,
            }
            for each in defects
        ],
        "fixed": [
            {"path": _name(workspace, each.path), "what": readable(each.what)} for each in done
        ],
        "not_fixed": [
            {"path": _name(workspace, each.path), "why": readable(each.error.message)}
            for each in failed
        ],
        "to_add": [_name(workspace, path) for path in to_add],
    }


def _name(workspace: Workspace, path: Path) -> str:
    """Return the name of a file for people and programs: from the workspace's root."""
    return readable(path.relative_to(workspace.root).as_posix())


def _show(
    workspace: Workspace,
    wanted: Sequence[Path],
    defects: Sequence[Defect],
    done: Sequence[Mended],
    failed: Sequence[NotMended],
    to_add: Sequence[Path],
) -> None:
    for each in done:
        click.echo(f"Fixed {_name(workspace, each.path)}: {readable(each.what)}")
    for failure in failed:
        click.echo(f"Not fixed {_name(workspace, failure.path)}: {readable(failure.error.message)}")
    if to_add:
        click.echo("Git still lists these files as unmerged; to tell git and commit: git add .sow")
    echo_findings([_finding(workspace, each) for each in defects])
    if not defects:
        click.echo(f"Nothing is wrong in {', '.join(readable(str(path)) for path in wanted)}.")
        return
    number, fixable = len(defects), sum(each.is_mended for each in defects)
    words = f"{number} finding{'' if number == 1 else 's'}"
    click.echo(
        f"\n{words}" + (f", {fixable} of which `sow validate --fix` fixes." if fixable else ".")
    )


def _finding(workspace: Workspace, defect: Defect) -> Finding:
    line = f", line {defect.line}" if defect.line is not None else ""
    advice = FIX if defect.is_mended else readable(defect.advice)
    return Finding(
        check=defect.kind.value,
        level=Level.ERROR,
        text=f"{_name(workspace, defect.path)}{line}: {readable(defect.what)}",
        remedy=f"{defect.why}\n{advice}",
    )
