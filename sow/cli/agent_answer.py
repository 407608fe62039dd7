"""`sow agent answer`."""

from pathlib import Path

import click

from sow.calls.request import Request
from sow.cli import completing
from sow.cli.agent_words import Kind, read_words, split_words
from sow.cli.arguments import named_task
from sow.cli.budget_options import budget_options, given_budget
from sow.cli.calling import place_and_wait
from sow.cli.output import json_option
from sow.cli.task_options import id_option, priority_option
from sow.cli.this_caller import this_caller
from sow.cli.wait_options import call_options, wait_option
from sow.ids import parse_task_id
from sow.schema.job import Verb

ANSWER = Kind(
    noun="answer",
    command="sow agent answer",
    example="Use RS256.",
    missing="an answer is needed, given once",
    empty="Say what the agent has asked for: `sow task log` has its question.",
)


@click.command()
@click.argument("words", nargs=-1, metavar="[TASK] ANSWER", shell_complete=completing.first_task)
@id_option
@click.option(
    "--file",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read the answer from a file.",
)
@click.option("--again", is_flag=True, help="Run anew even where an outcome is owed to you.")
@priority_option
@budget_options
@wait_option
@click.option("--detach", is_flag=True, help="Queue it and return at once.")
@click.option("--dry-run", is_flag=True, help="Show what would be started; start nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Show how the executor was chosen.")
@json_option
def answer(
    words: tuple[str, ...],
    task_option: str | None,
    file: Path | None,
    again: bool,
    priority: int | None,
    budget: str | None,
    unmetered: bool,
    wait: str | None,
    detach: bool,
    dry_run: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Answer the question of TASK, which is paused: resume it with ANSWER, and wait.

    ANSWER - reads standard input. It is written into the task's log first. A
    task that is not paused asks nothing; the refusal names what it takes instead.

    Exit: as for spawn; 4 where nothing is asked, 5 where the executor cannot resume.
    """
    argument, text = split_words(
        ANSWER, words, task_is_named=task_option is not None, has_text=file is not None
    )
    caller = this_caller()
    request = Request(
        verb=Verb.RESUME,
        task_id=parse_task_id(named_task(argument, task_option, caller.environ)),
        prompt=read_words(ANSWER, text, file),
        answers=True,
        again=again,
        budget=given_budget(budget),
        unmetered=unmetered,
        priority=priority,
    )
    if verbose or dry_run:
        # Few calls ask for a preview.
        from sow.cli.preview import show_dry_run, show_resolution

        if verbose:
            show_resolution(caller, request)
        if dry_run:
            show_dry_run(caller, request, as_json=as_json, detach=detach)
            return 0
    return place_and_wait(
        caller, [request], call_options(as_json=as_json, detach=detach, wait=wait)
    )
