"""What can go wrong with GitHub, in words that name the remedy."""

from sow.errors import StateError
from sow.terminal_text import printable

LONGEST_QUOTE = 400


class NotLoggedIn(StateError):
    """`gh` has no account for this host, or GitHub does not accept what it has."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"gh is not logged in to GitHub: {why}",
            hint="`gh auth login` logs in, and `gh auth status` shows who is. sow asks for no"
            " token and keeps none.",
        )


class NotFound(StateError):
    """GitHub has no such thing, or does not show it to this account."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"GitHub has no {what.removeprefix('the ')}, or does not show it to this account",
            hint="See that the name is right, and that `gh auth status` names who may see it.",
        )
        self.what = what


class GithubUnreachable(StateError):
    """GitHub gave no answer."""

    passes = True

    def __init__(self, why: str) -> None:
        super().__init__(
            f"GitHub cannot be reached: {quoted(why)}",
            hint="See that this machine has a network and `gh api user` answers; then call again.",
        )


class GithubRefused(StateError):
    """GitHub has said no, or `gh` has."""

    def __init__(self, what: str, why: str, status: int | None = None) -> None:
        super().__init__(
            f"{what} was refused: {quoted(why)}",
            hint="Put right what GitHub says, then call again.",
        )
        self.why = why
        self.status = status


class BadAnswer(StateError):
    """What `gh` has printed is not what GitHub answers."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"the answer to {what} cannot be read: {quoted(why)}",
            hint="See what `gh api user` prints, and that no other program is called gh here. If"
            " something was to be made, the same call again finds it.",
        )


def quoted(text: str) -> str:
    """Return words of `gh` for a message: on one line, shortened."""
    line = " ".join(printable(text).split())
    return line[:LONGEST_QUOTE] or "it gave no reason"
