"""The one table of commands: what its rows must be, and that one row is all a command needs."""

import json
import os
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import click
import pytest
from command_tree import COMMANDS as TREE

import sow
from sow.cli.tree import root
from sow.commands import COMMANDS, rows_beginning, rows_in
from sow.schema.catalogue import printed_by

ROWS = COMMANDS.values()


def test_each_row_is_whole() -> None:
    for row in ROWS:
        if row.right is None:
            assert rows_in(row.words), row.words
            assert (row.prints, row.tool, row.agent_tools) == ("", "", ()), row.words
        else:
            assert row.path in TREE, row.words
            assert row.tool != "", f"{row.words}: it is a tool of MCP, or says why not"
            assert not row.about, f"{row.words}: a command's own docstring says more"
            assert printed_by(row.words), row.words


def test_a_line_of_the_help_is_a_line() -> None:
    for row in ROWS:
        assert row.help[0].isupper(), row.words
        assert row.help.endswith("."), row.words
        widest = max(len(each.path[-1]) for each in rows_in(" ".join(row.path[:-1])))
        assert 2 + widest + 2 + len(row.help) <= 78, row.words


def test_no_two_rows_have_the_same_words() -> None:
    text = Path(sow.__file__).with_name("commands.py").read_text(encoding="utf-8")
    assert text.count('    Command("') == len(COMMANDS)


@pytest.mark.parametrize("group", sorted({"", *(" ".join(row.path[:-1]) for row in ROWS)}))
def test_the_commands_of_a_section_stand_together(group: str) -> None:
    headings = [heading for heading, _ in groupby(row.section for row in rows_in(group))]
    assert rows_in(group)
    assert len(headings) == len(set(headings))
    assert all(headings)


def test_help_prints_the_sections_and_those_of_daily_use_first() -> None:
    text = root.get_help(click.Context(root, info_name="sow"))
    headings = [line[:-1] for line in text.splitlines() if line[:1].isalpha() and line[-1] == ":"]
    assert headings[:2] == ["Options", "Daily work"]
    assert headings[1:] == list(dict.fromkeys(row.section for row in rows_in("")))
    assert all(f"  {row.words} " in text and row.help in text for row in rows_in(""))


def test_each_row_is_found_by_its_first_word() -> None:
    for words, row in COMMANDS.items():
        assert rows_beginning(words.split()[0])[words].code == row.code
    assert rows_beginning("nothing") == {}


def test_the_table_imports_nothing_of_sow_but_the_features() -> None:
    program = (
        "import sys, sow.commands; print(sorted(name for name in sys.modules if 'sow' in name))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['sow', 'sow.commands', 'sow.features', 'sow.plain_record']"


ROW = """
    Command("task burn", "Burn a task.", "Other",
            "task_burn:burn", PLANNERS, "tasks.RemovedTask", Tool("task slowly")),
"""
MODULE = '''"""`sow task burn`: shown as an example."""

from sow.cli import late_click as click
from sow.cli.output import json_option


@click.command()
@click.argument("task")
@click.option("--slowly", is_flag=True, help="Take your time.")
@json_option
def burn(task: str, slowly: bool, as_json: bool) -> None:
    """Burn TASK."""
    click.echo(f"{task} {slowly} {as_json}")
'''
QUESTIONS = """
import json, sys

import click

sys.path.insert(0, sys.argv[1])
import reference
from sow.agents.rights import commands_denied, commands_for
from sow.cli.mcp_tools import tools_for
from sow.cli.tree import root
from sow.mcp_server.tool import Tool
from sow.schema.catalogue import json_schema

group = root.get_command(click.Context(root), "task")
[tool] = [tool for tool in tools_for(root, None, 50.0) if tool.name == "task_burn"]
print(json.dumps({
    "help": group.get_help(click.Context(group, info_name="task")),
    "reference": reference.render(),
    "allowed": [role for role in ("planner", "implementer")
                if ("task", "burn") in commands_for(role)],
    "denied": ("task", "burn") in commands_denied("implementer"),
    "properties": tool.schema["properties"],
    "line": tool.line({"task": "010", "slowly": True}).words,
    "schema": json_schema("task burn"),
}))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree to which a command was added: a row and a module."""
    place = tmp_path_factory.mktemp("scratch")
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(sow.__file__).parent, place / "sow", ignore=leave_out)
    table = place / "sow/commands.py"
    before, begin, rest = table.read_text(encoding="utf-8").partition('    Command("task reopen"')
    assert begin
    table.write_text(f"{before}{ROW.lstrip(chr(10))}{begin}{rest}", encoding="utf-8")
    (place / "sow/cli/task_burn.py").write_text(MODULE, encoding="utf-8")
    return place


def asked(place: Path, *program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", *program],
        env={**os.environ, "PYTHONPATH": str(place)},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_one_row_and_one_module_are_a_command(place: Path) -> None:
    answers = json.loads(asked(place, "-c", QUESTIONS, str(Path(__file__).parent)))
    assert "burn     Burn a task.\n" in answers["help"]
    assert "### sow task burn\n\n`sow task burn [OPTIONS] TASK`" in answers["reference"]
    assert "| `sow task burn` | `RemovedTask` |" in answers["reference"]
    assert answers["allowed"] == ["planner"]
    assert answers["denied"] is True
    assert list(answers["properties"]) == ["task", "slowly"]
    assert answers["line"] == ["task", "burn", "--json", "--slowly", "--", "010"]
    assert "RemovedTask" in answers["schema"]["$defs"]


@pytest.mark.slow
def test_it_runs(place: Path) -> None:
    assert asked(place, "-m", "sow", "task", "burn", "010", "--slowly") == "010 True False\n"
