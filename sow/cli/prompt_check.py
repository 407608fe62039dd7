"""`sow prompt --check`: whether a team's own prompts can be sent, and whether what they say holds.

Owns what is looked at: names, variables, what is included, and every `sow` command that a text
names, on the true command tree.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from sow.cli.findings import echo_findings, finding_record
from sow.cli.named_commands import commands_of, fault_of
from sow.cli.output import echo_json
from sow.errors import ExitCode
from sow.findings import Finding, Level, count
from sow.prompts import variables
from sow.prompts.library import (
    BadPromptFile,
    Part,
    all_parts,
    load_prompt,
    name_of,
    parts_of,
    team_files,
    why_not_included,
)
from sow.prompts.variables import (
    ANYTHING,
    INCLUDE,
    VARIABLES,
    Given,
    UnfilledPrompt,
    includes_of,
    variables_of,
)

LACKING: dict[str, frozenset[Given]] = {
    "greeting/no-workspace": frozenset(Given),
    "greeting/no-project": frozenset({Given.PROJECT, Given.TASK}),
    "greeting/orchestrator": frozenset({Given.TASK}),
    "states/": frozenset({Given.TASK}),
    "templates/": frozenset({Given.HERE}),
}
"""What has no value in the texts whose names begin so: nobody who reads them has it."""
REPORTS = ("sow task set", "sow review")
"""What an agent's guidance has to name: how its run ends."""


def check_team(team: Path, tree: click.Command) -> list[Finding]:
    """Return what is to be said of each file of a team's folder; `tree` is the root command."""
    return [finding for file in team_files(team) for finding in _check_file(file, team, tree)]


def show(findings: Sequence[Finding], *, as_json: bool) -> int:
    """Print them; return the exit code: 3 where one of them is an error."""
    valid = not count(findings, Level.ERROR)
    if as_json:
        echo_json({"valid": valid, "findings": [finding_record(each) for each in findings]})
    elif findings:
        echo_findings(findings)
    else:
        click.echo("There are no prompts of the team's own: .sow/prompts is empty or not there.")
    return int(ExitCode.OK if valid else ExitCode.CONFIGURATION)


def _check_file(file: Path, team: Path, tree: click.Command) -> list[Finding]:
    name = name_of(file, team)
    if name is None:
        remedy = "`sow prompt --where` prints the names; a file is called NAME.md or NAME.add.md."
        return [_finding(Level.WARNING, file, None, "belongs to no prompt", remedy)]
    try:
        part = next(part for part in parts_of(name, team) if part.path == file)
    except BadPromptFile as error:
        return [_finding(Level.ERROR, file, None, error.why, error.hint or "")]
    faults = [
        *_variable_faults(part),
        *_include_faults(part, team),
        *_command_faults(part, tree),
        *_silence(part, team),
    ]
    words = f"{_does(part)} {name}"
    return faults or [Finding(check="prompts", level=Level.OK, text=f"{file}: {words}")]


def _does(part: Part) -> str:
    return "is added to" if part.path.name.endswith(".add.md") else "takes the place of"


def _variable_faults(part: Part) -> Iterator[Finding]:
    found = [kinds for begin, kinds in LACKING.items() if part.name.startswith(begin)]
    lacking = frozenset[Given]().union(*found)
    known = [name for name, each in VARIABLES.items() if each.given not in lacking]
    for line, name in variables_of(part.text):
        if fault := variables.fault_of(name, known):
            why, remedy = fault
            yield _finding(Level.ERROR, part.path, line, f"{{{{{name}}}}} {why}", remedy)


def _include_faults(part: Part, team: Path) -> Iterator[Finding]:
    for line, name in includes_of(part.text):
        if fault := why_not_included(name, (part.name,)):
            why, remedy = fault
            words = f"{{{{include {name}}}}} {why}"
            yield _finding(Level.ERROR, part.path, line, words, remedy)
            return
    try:
        load_prompt(part.name, team, ANYTHING)
    except UnfilledPrompt as error:  # what is included by what it includes
        if error.name.startswith(INCLUDE):
            words = f"{{{{{error.name}}}}} {error.why}"
            yield _finding(Level.ERROR, Path(error.source), error.line, words, error.remedy)
    except BadPromptFile:
        return  # said of that file


def _command_faults(part: Part, tree: click.Command) -> Iterator[Finding]:
    for named in commands_of(part.text):
        if fault := fault_of(named, tree):
            remedy = "An agent that runs it is refused. Correct the text."
            yield _finding(Level.ERROR, part.path, named.line, fault, remedy)


def _silence(part: Part, team: Path) -> Iterator[Finding]:
    """Yield a warning where a role's guidance does not say how a run ends."""
    if not part.name.startswith("guidance/") or not part.name.endswith("/base"):
        return
    try:
        texts = [each.text for each in all_parts(part.name, team)]
    except BadPromptFile:
        return  # said of that file
    if not any(command in text for command in REPORTS for text in texts):
        words = "does not say how its agent reports"
        remedy = "Add the line {{include shared/protocol}}."
        yield _finding(Level.WARNING, part.path, None, words, remedy)


def _finding(level: Level, path: Path, line: int | None, words: str, remedy: str) -> Finding:
    text = f"{path} {words}" if line is None else f"{path}, line {line}: {words}"
    facts = {"path": str(path), "line": line, "words": words}
    return Finding(check="prompts", level=level, text=text, remedy=remedy, facts=facts)
