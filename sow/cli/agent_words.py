"""The words that a call gives an agent: as an argument, on standard input, or in a file.

Owns how such a command line is read, for the commands that continue a session.
"""

from pathlib import Path
from typing import NamedTuple

from sow.cli.given import read_given
from sow.errors import UsageError
from sow.terminal_text import readable


class Kind(NamedTuple):
    """What the words of a command are called, and what is said where they are missing."""

    noun: str
    command: str
    example: str
    missing: str
    empty: str


def split_words(
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
                hint=f'Quote the {kind.noun}: {kind.command} 010 "{kind.example}"',
            )


def read_words(kind: Kind, words: str | None, file: Path | None) -> str:
    """Return the text from the argument, standard input or a file. Raises UsageError."""
    if (words is None) == (file is None):
        raise UsageError(
            kind.missing,
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
