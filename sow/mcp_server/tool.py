"""A tool as a value: what a client sees of it, and the command line that a call of it comes to.

Owns the rule that nothing of a client becomes an option, a file's name or a
program: its words stand behind `--` or an option's `=`, and long texts go in on standard input.
Knows nothing of click, of the protocol, or of how a command line is run.
"""

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

from msgspec import Struct

from sow.errors import UsageError

Arguments = Mapping[str, Any]
"""What a client gives to a tool; it fits the tool's schema."""

WORD_LIMIT = 100_000
"""In bytes. Linux lets a single argument of a process be 131,072 bytes long."""


class Line(Struct, frozen=True):
    """A command line of sow, without `sow`."""

    words: tuple[str, ...]
    text: str | None = None
    """What it reads on standard input; it has none where this is None."""
    seconds: float | None = None
    """How long it waits at most; None of a command that does not wait."""

    @property
    def command(self) -> str:
        """The command itself, as people call it."""
        return " ".join(("sow", *takewhile(lambda word: word != "--json", self.words)))


class Tool(Struct, frozen=True):
    """A command as a tool."""

    name: str
    command: tuple[str, ...]
    """The words of the command."""
    description: str
    schema: dict[str, Any]
    """Of its arguments, as JSON Schema."""
    line: Callable[[Arguments], Line]
    """The command line of a call. Raises UsageError."""
    only_reads: bool = False
    ends_work: bool = False
    """Whether it ends, gives up or takes away what somebody may have wanted."""
    keeps_last: bool = False
    """Of results that are too long: whether the last are kept, and not the first."""


class UnfitText(UsageError):
    """An argument of a client cannot be a word of a command line."""

    def __init__(self, name: str, why: str, hint: str = "Leave that out.") -> None:
        super().__init__(f"{name}: {why}", hint=hint)


def fit_text(name: str, text: str) -> str:
    """Return a client's text if a process can be given it. Raises UnfitText."""
    if "\0" in text:
        raise UnfitText(name, "a NUL character is in it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnfitText(name, "half of a surrogate pair is in it, which is no text") from None
    return text


def fit_word(name: str, text: str) -> str:
    """Return a client's text if it can be an argument of a process. Raises UnfitText."""
    if len(fit_text(name, text).encode()) > WORD_LIMIT:
        hint = "Put it into a file of the repository, and give its path instead."
        raise UnfitText(name, f"it is longer than {WORD_LIMIT} bytes", hint)
    return text
