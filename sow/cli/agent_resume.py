"""`sow agent resume` and `sow agent answer`: both continue the session of a task with some words.

Owns how the words are read: as an argument, on standard input, or from a file.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sow.calls.caller import Caller
from sow.calls.request import Request
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import id_option, named_task, read_given, this_caller
from sow.cli.call_options import WaitOptions, start_options
from sow.cli.calling import preview_or_wait
from sow.errors import UsageError
from sow.ids import TaskId, parse_task_id
from sow.schema.job import Verb
from sow.terminal_text import readable

Command = Callable[..., Any]
EXAMPLE = "Use RS256."


class Kind(NamedTuple):
    """What the words of a command are called, and the messages if they are missing."""

    noun: str
    command: str
    empty: str


PROMPT = Kind(
    noun="prompt",
    command="sow agent resume",
    empty="Say what the agent should do next.",
)
ANSWER = Kind(
    noun="answer",
    command="sow agent answer",
    empty="Answer the agent's question: `sow task log` shows it.",
)


def _file_option(noun: str) -> Callable[[Command], Command]:
    return click.option(
        "--file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help=f"Read the {noun} from a file.",
    )


@click.command()
@click.argument("words", nargs=-1, metavar="[TASK] PROMPT", shell_complete=completing.first_task)
@id_option
@_file_option("prompt")
@click.option("--feedback", is_flag=True, help="Give it the corrections from a review.")
@click.option("--conflict", is_flag=True, help="Let it resolve the conflict in the task's clone.")
@click.option(
    "--anywhere",
    is_flag=True,
    help="Let any host of a shared queue continue it, elsewhere in a new session.",
)
@start_options
def resume(
    words: tuple[str, ...],
    task_option: str | None,
    file: Path | None,
    feedback: bool,
    conflict: bool,
    **given: Any,
) -> int:
    """Continue the session of TASK with PROMPT (an answer, corrections), and wait.

    PROMPT - reads standard input. --feedback hands over the task's open feedback;
    --conflict hands over the conflict that `sow clone update` left in its clone.
    PROMPT can be added to each. sow first writes the prompt into the task's log,
    so that it is never lost.

    Exit: as for spawn; 5 if the executor cannot resume or there is no session.
    """
    if feedback and conflict:
        raise UsageError(
            "--feedback and --conflict are both given",
            hint="Hand over the conflict first, and the corrections after the merge.",
        )
    caller, task_id, text = _read(PROMPT, words, task_option, file, may_lack=feedback or conflict)
    if feedback:
        # Few calls hand over feedback.
        from sow.calls.composed_prompts import feedback_prompt

        text = feedback_prompt(caller, task_id, text)
    elif conflict:
        # Fewer still hand over a conflict, which git is asked for.
        from sow.calls.composed_prompts import conflict_prompt

        text = conflict_prompt(caller, task_id, text)
    return _resume(caller, task_id, text, **given)


@click.command()
@click.argument("words", nargs=-1, metavar="[TASK] ANSWER", shell_complete=completing.first_task)
@id_option
@_file_option("answer")
@start_options
def answer(words: tuple[str, ...], task_option: str | None, file: Path | None, **given: Any) -> int:
    """Answer the question of TASK, which is paused: resume it with ANSWER, and wait.

    ANSWER - reads standard input. It is written into the task's log first. A task
    that is not paused has no question; the refusal names the right command.

    Exit: as for spawn; 4 if nothing is asked, 5 if the executor cannot resume.
    """
    return _resume(*_read(ANSWER, words, task_option, file), answers=True, **given)


def _resume(
    caller: Caller,
    task_id: TaskId,
    text: str,
    *,
    answers: bool = False,
    dry_run: bool,
    verbose: bool,
    options: WaitOptions,
    **others: Any,
) -> int:
    # What else is given is named as the fields are.
    request = Request(verb=Verb.RESUME, task_id=task_id, prompt=text, answers=answers, **others)
    return preview_or_wait(caller, [request], options, dry_run=dry_run, verbose=verbose)


def _read(
    kind: Kind,
    words: tuple[str, ...],
    task_option: str | None,
    file: Path | None,
    *,
    may_lack: bool = False,
) -> tuple[Caller, TaskId, str]:
    """Return who calls, the task and the text; `may_lack`: there may be no text."""
    argument, text = _split(
        kind, words, task_is_named=task_option is not None, has_text=may_lack or file is not None
    )
    caller = this_caller()
    task_id = parse_task_id(named_task(argument, task_option, caller.environ))
    if may_lack and text is None and file is None:
        return caller, task_id, ""
    return caller, task_id, _read_words(kind, text, file)


def _split(
    kind: Kind, words: tuple[str, ...], *, task_is_named: bool, has_text: bool
) -> tuple[str | None, str | None]:
    """Return task and text of the command line's words; either may stand elsewhere."""
    match words:
        case ():
            return None, None
        case (word,) if task_is_named or not (word.isdecimal() or has_text):
            return None, word
        case (task_id,):
            return task_id, None
        case (task_id, text):
            return task_id, text
        case _:
            raise UsageError(
                f"`{kind.command}` takes [TASK] {kind.noun.upper()}, not {len(words)} words",
                hint=f'Quote the {kind.noun}: {kind.command} 010 "{EXAMPLE}"',
            )


def _read_words(kind: Kind, words: str | None, file: Path | None) -> str:
    """Return the text from the argument, standard input or a file. Raises UsageError."""
    if (words is None) == (file is None):
        raise UsageError(
            f"`{kind.command}` needs one {kind.noun}",
            hint='Give it as an argument ("…"), as - for standard input, or with --file.',
        )
    try:
        if file is not None:
            text = read_given(file, "--file").decode("utf-8")
        elif words == "-":
            text = read_given(None, kind.noun).decode("utf-8")
        else:
            text = readable(words or "")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the {kind.noun} is not UTF-8: {error}", hint="Save it as UTF-8."
        ) from error
    if not text.strip():
        raise UsageError(f"the {kind.noun} is empty", hint=kind.empty)
    return text
