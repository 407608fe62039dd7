"""`sow agent resume`."""

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
from sow.errors import UsageError
from sow.ids import parse_task_id
from sow.schema.job import Verb

PROMPT = Kind(
    noun="prompt",
    command="sow agent resume",
    example="Use RS256.",
    missing="a resume needs one prompt",
    empty="Say what the agent should do next.",
)


@click.command()
@click.argument("words", nargs=-1, metavar="[TASK] PROMPT", shell_complete=completing.first_task)
@id_option
@click.option(
    "--file",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read the prompt from a file.",
)
@click.option(
    "--feedback", is_flag=True, help="Hand over the corrections that a review has asked for."
)
@click.option(
    "--conflict", is_flag=True, help="Have it solve the conflict that is in the task's clone."
)
@click.option("--again", is_flag=True, help="Run anew even where an outcome is owed to you.")
@priority_option
@budget_options
@wait_option
@click.option("--detach", is_flag=True, help="Queue it and return at once.")
@click.option("--dry-run", is_flag=True, help="Show what would be started; start nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Show how the executor was chosen.")
@json_option
def resume(
    words: tuple[str, ...],
    task_option: str | None,
    file: Path | None,
    feedback: bool,
    conflict: bool,
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
    """Continue the session of TASK with PROMPT (an answer, corrections), and wait.

    PROMPT - reads standard input; --feedback takes the open feedback of the
    task, --conflict the conflict that `sow clone update` has left in its clone,
    and PROMPT may add to either. The words are written into the task's log
    first, so that they survive whatever happens.

    Exit: as for spawn; 5 where the executor cannot resume or there is no session.
    """
    handed_over = feedback or conflict
    if feedback and conflict:
        raise UsageError(
            "--feedback and --conflict are both given",
            hint="Hand over the conflict first: corrections are made on what is merged.",
        )
    argument, prompt = split_words(
        PROMPT, words, task_is_named=task_option is not None, has_text=bool(file) or handed_over
    )
    caller = this_caller()
    task_id = parse_task_id(named_task(argument, task_option, caller.environ))
    has_words = prompt is not None or file is not None
    text = read_words(PROMPT, prompt, file) if has_words or not handed_over else ""
    if feedback:
        # Few calls hand over feedback.
        from sow.calls.feedback_call import feedback_prompt

        text = feedback_prompt(caller, task_id, text)
    elif conflict:
        # Fewer still hand over a conflict, which git is asked for.
        from sow.calls.conflict_call import conflict_prompt

        text = conflict_prompt(caller, task_id, text)
    request = Request(
        verb=Verb.RESUME,
        task_id=task_id,
        prompt=text,
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
