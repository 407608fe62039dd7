"""`sow prompt`: print what agents and whoever leads them are told. Works anywhere."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sow import env_vars
from sow.cli import completing
from sow.cli.output import echo_json, echo_json_lines, json_option
from sow.errors import ConfigurationError, ExitCode, SowError, StateError, UsageError
from sow.paths import Workspace, find_workspace
from sow.prompts.library import (
    all_parts,
    list_prompts,
    list_templates,
    load_prompt,
    parts_of,
)
from sow.prompts.variables import ANYTHING, VARIABLES, Given, variables_of

if TYPE_CHECKING:
    from sow.calls.caller import Caller
    from sow.prompts.variables import Facts


@click.command()
@click.argument("path", required=False, shell_complete=completing.prompts)
@click.option("--list", "as_list", is_flag=True, help="List the names of all prompts.")
@click.option("--where", is_flag=True, help="Print the files that a prompt, or each, is made of.")
@click.option(
    "--check", is_flag=True, help="Check the team's own prompts. Exit 3: some cannot be used."
)
@json_option
def prompt(path: str | None, as_list: bool, where: bool, check: bool, as_json: bool) -> int:
    """Print what you need to know now, or the prompt called PATH.

    Without PATH it goes by who asks: an agent gets its task, what was asked of
    it, its feedback and its role's guidance; whoever else asks leads the
    project, and gets where it stands and what there is to do.

    A team's own text in .sow/prompts/PATH.md takes the place of sow's own; one
    in .sow/prompts/PATH.add.md comes after it.
    """
    _refuse_two_questions(path, as_list, where, check)
    if as_list:
        _print_names(as_json)
    elif where:
        _print_files(path, as_json)
    elif check:
        return _check(as_json)
    elif path is not None:
        _print_text(path, as_json)
    else:
        _print_composed(as_json)
    return ExitCode.OK


def _refuse_two_questions(path: str | None, as_list: bool, where: bool, check: bool) -> None:
    wanted = sum((as_list, where, check))
    if wanted > 1 or (path is not None and (as_list or check)):
        raise UsageError(
            "give the name of one prompt, --list, --where or --check, or nothing",
            hint="Run `sow prompt --list` to see them all.",
        )


def _team() -> Path | None:
    """Return the folder of the team's own texts, if this is a workspace that has one."""
    workspace = _workspace()
    return workspace.prompts if workspace and workspace.prompts.is_dir() else None


def _workspace() -> Workspace | None:
    try:
        return find_workspace(Path.cwd(), os.environ)
    except (StateError, OSError):
        return None


NARROWEST_FIRST = (Given.TASK, Given.PROJECT, Given.HERE, Given.WORKSPACE)
"""Where a variable has a value, those first that fewest readers fulfil."""


def _print_names(as_json: bool) -> None:
    if as_json:
        echo_json_lines({"name": name} for name in list_prompts())
    else:
        team = _team()
        click.echo("\n".join(_listed(name, team) for name in list_prompts()))


def _listed(name: str, team: Path | None) -> str:
    """Return a prompt's name, and who alone can print it where not everybody can."""
    try:
        load_prompt(name, team, ANYTHING)
    except ConfigurationError:
        return f"{name}  # cannot be used: exit 3; `sow prompt --check` says why"
    named = [each for part in all_parts(name, team) for _, each in variables_of(part.text)]
    given = {VARIABLES[each].given for each in named}
    where = next((each for each in NARROWEST_FIRST if each in given), None)
    return f"{name}  # only {where}; elsewhere exit 3" if where else name


def _print_text(path: str, as_json: bool) -> None:
    team = _team()
    names_any = any(variables_of(part.text) for part in all_parts(path, team))
    text = load_prompt(path, team, _facts() if names_any else None)
    if as_json:
        echo_json({"name": path, "text": text})
    else:
        click.echo(text.encode(), nl=False)  # whatever encoding the agent's shell has


def _facts() -> "Facts":
    """Return what fills the variables for this reader: more for an agent, less for a person."""
    # The state's schema is heavy, and few texts name anything of it.
    from sow.cli.prompt_here import facts_for

    _go_by_record()
    return facts_for(_caller(), os.environ)


def _go_by_record() -> None:
    """Put the variables right of an agent whose job is on record: what it is told goes by that."""
    if env_vars.JOB_ID in os.environ:
        from sow.calls.recorded_agent import agent_by_record  # of agents alone

        agent_by_record(os.environ)


def _print_composed(as_json: bool) -> None:
    _go_by_record()
    # As above: this reads where the project stands, and what comes next.
    from sow.cli.prompt_here import composed_for

    found = composed_for(_caller(), _team(), os.environ)
    if as_json:
        echo_json({"name": None, "made_of": found.names, "text": found.text})
    else:
        click.echo(found.text.encode(), nl=False)


def _caller() -> "Caller | None":
    """Return whose call this is; None where there is no workspace."""
    # As above.
    from sow.cli.arguments import this_caller

    try:
        return this_caller()
    except StateError:
        if _workspace() is None:
            return None
        raise


def _print_files(path: str | None, as_json: bool) -> None:
    team, mine = _team(), _names_here()
    names = [path] if path else [*list_templates(), *list_prompts()]
    records = [_files_of(name, team, mine, with_included=path is not None) for name in names]
    if as_json:
        echo_json_lines(records)
        return
    for record in records:
        now = ", in what `sow prompt` prints here" if record["is_in_yours"] else ""
        for file in record["files"]:
            whose = "the team's" if file["is_teams"] else "sow's own"
            click.echo(f"{file['name']}  {file['path']} ({whose}{now})")


def _names_here() -> tuple[str, ...]:
    """Return the prompts that this reader's is made of; none where that cannot be told."""
    # As above.
    from sow.cli.prompt_here import names_for

    try:
        return names_for(_workspace(), os.environ)
    except SowError:
        return ()


def _files_of(
    name: str, team: Path | None, mine: tuple[str, ...], *, with_included: bool
) -> dict[str, Any]:
    parts = all_parts(name, team) if with_included else parts_of(name, team)
    files = [
        {"name": part.name, "path": str(part.path), "is_teams": part.is_teams} for part in parts
    ]
    return {"name": name, "files": files, "is_in_yours": name in mine}


def _check(as_json: bool) -> int:
    # The command tree is asked for every command that a text names.
    from sow.cli.prompt_check import check_team, show

    team = _team()
    findings = check_team(team, click.get_current_context().find_root().command) if team else []
    return show(findings, as_json=as_json)
