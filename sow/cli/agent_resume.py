"""`sow agent resume`."""

from pathlib import Path

import click

from sow.calls.request import Request
from sow.cli import completing
from sow.cli.arguments import named_task, readable
from sow.cli.calling import place_and_wait, this_caller
from sow.cli.given import read_given
from sow.cli.output import json_option
from sow.cli.task_options import id_option
from sow.cli.wait_options import call_options, wait_option
from sow.errors import UsageError
from sow.ids import parse_task_id
from sow.schema.job import Verb


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
    argument, prompt = _split(
        words, task_is_told=task_option is not None, has_prompt=file is not None or handed_over
    )
    caller = this_caller()
    task_id = parse_task_id(named_task(argument, task_option, caller.environ))
    has_words = prompt is not None or file is not None
    text = _read_prompt(prompt, file) if has_words or not handed_over else ""
    if feedback:
        # Few calls hand over feedback.
        from sow.calls.feedback_call import feedback_prompt

        text = feedback_prompt(caller, task_id, text)
    elif conflict:
        # Fewer still hand over a conflict, which git is asked for.
        from sow.calls.conflict_call import conflict_prompt

        text = conflict_prompt(caller, task_id, text)
    request = Request(verb=Verb.RESUME, task_id=task_id, prompt=text, again=again)
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


def _split(
    words: tuple[str, ...], *, task_is_told: bool, has_prompt: bool
) -> tuple[str | None, str | None]:
    """Return task and prompt of the command line's words; either may be told elsewhere."""
    match words:
        case ():
            return None, None
        case (word,) if task_is_told or not (word.isdecimal() or has_prompt):
            return None, word
        case (task_id,):
            return task_id, None
        case (task_id, prompt):
            return task_id, prompt
        case _:
            raise UsageError(
                f"`sow agent resume` takes [TASK] PROMPT, not {len(words)} words",
                hint='Quote the prompt: sow agent resume 010 "Use RS256."',
            )


def _read_prompt(prompt: str | None, file: Path | None) -> str:
    """Return the prompt from the argument, standard input or a file."""
    if (prompt is None) == (file is None):
        raise UsageError(
            "a resume needs one prompt",
            hint='Give it as an argument ("…"), as - for standard input, or with --file.',
        )
    try:
        if file is not None:
            text = read_given(file, "--file").decode("utf-8")
        elif prompt == "-":
            text = read_given(None, "a prompt").decode("utf-8")
        else:
            text = readable(prompt or "")
    except UnicodeDecodeError as error:
        raise UsageError(f"the prompt is not UTF-8: {error}", hint="Save it as UTF-8.") from error
    if not text.strip():
        raise UsageError("the prompt is empty", hint="Say what the agent should do next.")
    return text
