"""What the Tab key offers for the value of an option."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from reports.job_cases import make_job
from repository.command_tree import COMMANDS

from sow.cli import completing
from sow.cli.tree import root
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.state.projects import read_project

Sow = Callable[..., Any]

OFFERS_BY_OPTION = {
    "--agent": completing.roles,
    "--depends-on": completing.tasks,
    "--id": completing.tasks,
    "--job": completing.jobs,
    "--phase": completing.phases,
    "--status": completing.statuses,
    "--task": completing.tasks,
}
NEW_NAMES = {("project", "new", "--phase"), ("refs", "add", "--id"), ("task", "add", "--id")}
"""What is to be made has no name yet that could be offered."""


def offered(*words: str) -> list[str]:
    """Return what is offered for the last of `words`."""
    question = ShellComplete(root, {}, "sow", completing.VARIABLE)
    return [item.value for item in question.get_completions(list(words[:-1]), words[-1])]


@pytest.fixture
def queued(begun: Sow, tmp_path: Path) -> Sow:
    """Return a function that runs `sow` where a job of task 020 is on record."""
    workspace = Workspace(tmp_path)
    with closing(open_queue(workspace)) as database:
        project = ProjectId(read_project(workspace).id)
        jobs.insert_job(database, make_job(project_id=project, task_id="020"))
    return begun


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("task", "list", "--status", "p"), ["pending", "paused"]),
        (("task", "list", "--phase", ""), ["implementation"]),
        (("task", "add", "X", "--agent", "impl"), ["implementer"]),
        (("task", "add", "X", "--phase", "i"), ["implementation"]),
        (("task", "add", "X", "--depends-on", "01"), ["010"]),
        (("task", "show", "--id", "02"), ["020"]),
        (("agent", "task", "state", "set-status", "--id", "02"), ["020"]),
        (("job", "list", "--task", "0"), ["010", "020"]),
        (("changes", "--task", "02"), ["020"]),
        (("changes", "--job", ""), ["1"]),
        (("agent", "log", "--agent", "ref"), ["refactorer"]),
        (("agent", "log", "--task", "01"), ["010"]),
        (("agent", "wait", "--id", "01"), ["010"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_values_that_there_are_are_offered(
    queued: Sow, words: tuple[str, ...], values: list[str]
) -> None:
    assert offered(*words) == values


def test_every_option_of_a_name_is_completed_as_the_others_are() -> None:
    found = {
        (*words, name): option._custom_shell_complete  # click has no other way to ask
        for words, command in COMMANDS.items()
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
        if name in OFFERS_BY_OPTION and (*words, name) not in NEW_NAMES
    }
    assert len(found) > 15
    assert {at: how for at, how in found.items() if how is not OFFERS_BY_OPTION[at[-1]]} == {}
