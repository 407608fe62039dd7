"""What a command tells of its own call while it runs, whoever has read its line."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sow.errors import UsageError


class ThisCall:
    """The call of one command line."""

    def __init__(self, about: set[str]) -> None:
        self.words = ""
        """The command that runs, as its row names it; empty where none does."""
        self.about = about
        """The tasks that it names: an error can name them too."""
        self.at_end = ExitStack()
        """What is closed when the command has ended."""


_running: list[ThisCall] = []


@contextmanager
def begin_call(about: set[str]) -> Iterator[None]:
    """Take a new call for the one that runs; at the end, close what it has left to be closed."""
    call = ThisCall(about)
    _running.append(call)
    try:
        with call.at_end:
            yield
    finally:
        _running.remove(call)


def this_call() -> ThisCall:
    """Return the call that runs; where none does, one of which nobody hears."""
    return _running[-1] if _running else ThisCall(set())


def usage_error(message: str) -> UsageError:
    """Return the refusal of parameters that do not go together, with the way to the help."""
    return UsageError(message, hint=f"See `sow {this_call().words} --help`.")
