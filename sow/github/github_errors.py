"""What can go wrong with GitHub, in words that name the remedy."""

from sow.errors import StateError
from sow.terminal_text import printable

LONGEST_QUOTE = 400


class GhMissing(StateError):
    """There is no `gh` on the PATH."""

    def __init__(self) -> None:
        super().__init__(
            "gh, GitHub's command-line program, is not installed, or is not on the PATH",
            hint="Install it (https://cli.github.com; Debian: apt install gh), then: gh auth login",
        )


class GhNotStarted(StateError):
    """There is a `gh`, and the machine does not start it."""

    passes = True

    def __init__(self, why: str) -> None:
        super().__init__(
            f"gh cannot be started: {why}",
            hint="See that `gh --version` answers here, then call again.",
        )


class GhTooOld(StateError):
    """The installed `gh` does not know what sow asks of it."""

    def __init__(self, version: str, complaint: str) -> None:
        super().__init__(
            f"gh {version} is too old for this: {quoted(complaint)}",
            hint="Install gh 2.20 or newer (https://cli.github.com).",
        )


class NotLoggedIn(StateError):
    """`gh` has no account for this host, or GitHub does not accept what it has."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"gh is not logged in to GitHub: {why}",
            hint="`gh auth login` logs in, and `gh auth status` shows who is. sow asks for no"
            " token and keeps none.",
        )


class NoRemote(StateError):
    """Nothing says which repository of GitHub is meant."""

    def __init__(self, complaint: str) -> None:
        super().__init__(
            f"no repository of GitHub is known here: {quoted(complaint)}",
            hint="Name it by --repo OWNER/NAME, or add a remote: git remote add origin"
            " https://github.com/OWNER/NAME.git (of another host than github.com: set GH_HOST).",
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


class RateLimited(StateError):
    """GitHub takes no more requests of this account for a while."""

    passes = True

    def __init__(self, why: str) -> None:
        super().__init__(
            f"GitHub takes no more requests for now: {quoted(why)}",
            hint="Wait a while (`gh api rate_limit` says how long), then call again: what was done"
            " stands and is not done twice.",
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


class GhTookTooLong(StateError):
    """`gh` did not end in the time that it was given, and was ended."""

    passes = True

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(
            f"{what} was not answered within {seconds:g} s",
            hint="Call again. If something was to be made, the same call again finds it.",
        )


class GhKilled(StateError):
    """`gh` was ended by a signal, so that it has given no answer."""

    passes = True

    def __init__(self, what: str, number: int) -> None:
        super().__init__(
            f"gh was ended by signal {number} during {what}",
            hint="See what ended it (the machine's memory, say), then call again.",
        )


def quoted(text: str) -> str:
    """Return words of `gh` for a message: on one line, shortened."""
    line = " ".join(printable(text).split())
    return line[:LONGEST_QUOTE] or "it gave no reason"
