"""`sow prompt`: print what agents and whoever leads them are told. Works anywhere.

Without a name it owns who the reader is, which texts those are, and what fills their variables.
An agent is known by the variables that sow gives it; whoever else asks leads the project.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sow import env_vars
from sow.agents.rights import REVIEWING
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.output import echo_json, echo_json_lines, json_option
from sow.errors import ConfigurationError, ExitCode, SowError, StateError, UsageError
from sow.ids import parse_task_id
from sow.paths import Workspace, find_workspace
from sow.prompts.library import (
    all_parts,
    list_prompts,
    list_templates,
    load_prompt,
    parts_of,
)
from sow.prompts.variables import ANYTHING, VARIABLES, Facts, Given, variables_of

if TYPE_CHECKING:
    from sow.calls.caller import Caller

SEPARATOR = "\n\n---\n\n"
"""What stands between two texts."""
ORCHESTRATOR = "orchestrator"
REVIEWER = "reviewer"
NOTHING = "# nothing now"
"""What stands for an empty list of steps."""
NARROWEST_FIRST = (Given.TASK, Given.PROJECT, Given.HERE, Given.WORKSPACE)
"""Where a variable has a value, those first that fewest readers fulfil."""


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

    Without PATH it depends on the caller. An agent gets its task, its
    instructions, its feedback and its role's guidance. Any other caller leads the
    project, and gets its state and what to do next.

    A team's own text in .sow/prompts/PATH.md replaces sow's text; one in
    .sow/prompts/PATH.add.md is added after it.
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
    _go_by_record()
    return facts_for(_caller(), os.environ)


def _go_by_record() -> None:
    """Put the variables right of an agent whose job is on record: what it is told goes by that."""
    if env_vars.JOB_ID in os.environ:
        from sow.calls.recorded_agent import agent_by_record  # of agents alone

        agent_by_record(os.environ)


def _print_composed(as_json: bool) -> None:
    _go_by_record()
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
    from sow.cli.tree import root

    team = _team()
    findings = check_team(team, root) if team else []
    return show(findings, as_json=as_json)


class Composed(NamedTuple):
    """What one reader gets."""

    names: tuple[str, ...]
    """The prompts that it is made of, in their order."""
    text: str


def composed_for(
    caller: "Caller | None", team: Path | None, environ: Mapping[str, str]
) -> Composed:
    """Return what whoever calls needs to know now; without a caller there is no workspace.

    `team` is the folder of the team's own texts, if there is one.
    Raises UnknownPrompt, BadPromptFile, UnfilledPrompt, and what reading the state does.
    """
    names = names_for(caller.workspace if caller else None, environ)
    facts = facts_for(caller, environ)
    texts = (load_prompt(name, team, facts).strip() for name in names)
    return Composed(names, SEPARATOR.join(texts) + "\n")


def names_for(workspace: Workspace | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the prompts that this reader's is made of. Raises what reading the state does."""
    if workspace is None:
        return ("greeting/no-workspace",)
    role = _role(environ)
    if not role:
        return _for_whoever_leads(workspace)
    if not environ.get(env_vars.TASK_ID):
        if role == ORCHESTRATOR and not environ.get(env_vars.JOB_ID):
            return _for_whoever_leads(workspace)  # a session on a terminal (`sow start`)
        raise StateError(
            f"SOW_TASK_ID is not set, and the {role} that calls has no task without it",
            hint=f"`sow prompt guidance/{role}/base` prints the role's guidance.",
        )
    if review := environ.get(env_vars.REVIEW):
        of_whole = review == env_vars.REVIEWS_WHOLE
        judge = role if role in REVIEWING else REVIEWER  # another role's tells how to make work
        greeting = "greeting/whole-review" if of_whole else "greeting/reviewer"
        return (greeting, f"guidance/{judge}/base")
    base = f"guidance/{role}/base"
    if role == ORCHESTRATOR:
        return ("greeting/agent", *_for_whoever_leads(workspace), base)
    return ("greeting/agent", base)


def facts_for(caller: "Caller | None", environ: Mapping[str, str]) -> Facts:
    """Return all that there is to say to this reader; nothing is read before it is asked for."""
    if caller is None:
        return {}
    # The state's schema is heavy, and few texts name anything of it.
    from sow.attempts.prompt_facts import project_facts

    facts = {**project_facts(caller.workspace), "next": lambda: _next(caller)}
    role, task_id = _role(environ), environ.get(env_vars.TASK_ID, "")
    if not role or not task_id:
        return facts
    return {**facts, **_task_facts(caller.workspace, role, task_id)}


def _role(environ: Mapping[str, str]) -> str:
    """Return the role of the agent that reads; nothing for a person, and in a step of ours."""
    role = environ.get(env_vars.AGENT, "")
    return "" if role == env_vars.STEP_ROLE else role


def _for_whoever_leads(workspace: Workspace) -> tuple[str, ...]:
    # As above; an agent's own texts need none of it.
    from sow.state.places import has_project
    from sow.state.projects import read_project

    if not has_project(workspace):
        return ("greeting/no-project",)
    project = read_project(workspace)
    return ("greeting/orchestrator", f"states/{project.kind}/{project.standing}")


def _task_facts(workspace: Workspace, role: str, name: str) -> Facts:
    """Return what there is to say of a task. It is read here: what names none asks for no facts."""
    # As above.
    from sow.attempts.prompt_facts import facts_of
    from sow.state.tasks import find_task, read_task

    task_id = parse_task_id(name)
    folder = str(find_task(workspace, task_id).folder)
    return facts_of(role, read_task(workspace, task_id), folder, workspace)


def _next(caller: "Caller") -> str:
    # What comes next takes git, the queue and the configuration: only greetings say it.
    from sow.cli.confirming import is_at_terminal
    from sow.situation.looking import look
    from sow.situation.next_steps import next_steps
    from sow.situation.step import in_a_line
    from sow.terminal_text import printable

    now = look(caller, is_at_terminal=is_at_terminal() and not _is_agents(caller))
    lines = [printable(in_a_line(step)) for step in next_steps(now)]
    return "\n".join(lines) or NOTHING


def _is_agents(caller: "Caller") -> bool:
    """Whether an agent's CLI reads it, which may have been started on a terminal."""
    return bool(caller.environ.get(env_vars.AGENT))
