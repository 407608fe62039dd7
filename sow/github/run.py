"""Running `gh` so that it asks nothing, and telling by its ending what has happened.

Owns its variables, how long it may take, and what its words and exit codes mean (gh 2.23: 0 done, 1
failed, 2 cancelled, 4 not logged in).
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from sow.errors import SowError, StateError
from sow.github.github_errors import (
    GithubRefused,
    GithubUnreachable,
    NotFound,
    NotLoggedIn,
    quoted,
)
from sow.github.process import run_gh
from sow.surrounding_programs import users_environment

SECONDS = 90.0
"""How long a request may take; `gh` itself sets no limit."""
NOT_LOGGED_IN = 4
DROPPED = ("GH_DEBUG", "DEBUG", "GH_FORCE_TTY", "CLICOLOR_FORCE", "GH_PAGER", "PAGER")
VARIABLES = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_PAGER": "cat",
    "NO_COLOR": "1",
    "CLICOLOR": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
STATUS = re.compile(r"\(HTTP (\d{3})\)")
TOO_OLD = ("unknown flag:", "unknown command", "unknown shorthand flag")
NO_REMOTE = (
    "no git remotes",
    "not a git repository",
    "none of the git remotes",
    "unable to expand placeholder",
    "unable to determine",
)
NO_NETWORK = (
    *("error connecting to", "dial tcp", "dial unix", "no such host", "connection refused"),
    *("connection reset", "network is unreachable", "i/o timeout", "TLS handshake", "x509:"),
    *("certificate", "EOF", "context deadline exceeded"),
)
LIMITED = ("rate limit", "abuse detection", "submitted too quickly")
TROUBLE = 500


def gh_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a `gh` of ours: it asks nothing, and prints plain words."""
    kept = users_environment(environ).items()
    return {**{name: value for name, value in kept if name not in DROPPED}, **VARIABLES}


def gh(
    folder: Path,
    *words: str,
    what: str,
    stdin: bytes | None = None,
    seconds: float = SECONDS,
    environ: Mapping[str, str] | None = None,
    holds: int | None = None,
) -> bytes:
    """Run `gh` in `folder` and return what it prints. `what` is the request in words.

    `environ` replaces `os.environ`. `holds` is a descriptor, of a lock say, that stays open as long
    as `gh` lives, though we do not. Raises StateError,
    NotLoggedIn, NotFound, GithubUnreachable, GithubRefused,
    StateError.
    """
    given = os.environ if environ is None else environ
    variables = gh_environment(given)
    code, output, complaint = run_gh(folder, words, what, stdin, seconds, variables, holds)
    if code == 0:
        return output
    if any(sign in complaint for sign in TOO_OLD):
        raise StateError(
            f"gh {_version(folder, variables)} is too old for this:"
            f" {quoted(complaint.splitlines()[0])}",
            hint="Install gh 2.20 or newer (https://cli.github.com).",
        )
    raise failure(what, code, complaint, output.decode("utf-8", "replace"))


def failure(what: str, code: int, complaint: str, output: str = "") -> SowError:
    """Return the error that an ending of `gh` stands for."""
    lines = complaint.strip().splitlines()
    first = lines[0] if lines else ""
    found = STATUS.search(complaint)
    status = int(found[1]) if found else None
    if status is None and any(sign in complaint for sign in NO_REMOTE):
        return StateError(
            f"no repository of GitHub is known here: {quoted(first)}",
            hint="Name it by --repo OWNER/NAME, or add a remote: git remote add origin"
            " https://github.com/OWNER/NAME.git (of another host than github.com: set GH_HOST).",
        )
    if code == NOT_LOGGED_IN or (status is None and "gh auth login" in complaint):
        return NotLoggedIn("no account is known for this host")
    if status == 401:
        return NotLoggedIn("GitHub does not accept its token (HTTP 401)")
    words = f"{complaint} {output}".lower()
    if status == 429 or (status == 403 and any(sign in words for sign in LIMITED)):
        return StateError(
            f"GitHub takes no more requests for now: {quoted(first)}",
            hint="Wait a while (`gh api rate_limit` says how long), then call again: what was done"
            " stands and is not done twice.",
            passes=True,
        )
    if status == 404:
        return NotFound(what)
    if status is not None and status >= TROUBLE:
        return GithubUnreachable(first)
    if status is None and any(sign in complaint for sign in NO_NETWORK):
        return GithubUnreachable(first)
    why = " ".join([*lines, *_details(output, complaint)])
    return GithubRefused(what, why or f"gh ended with exit code {code}", status)


def _details(output: str, complaint: str) -> list[str]:
    """Return what GitHub's own answer says of a refusal, where `gh` has not said it."""
    # Few requests are refused.
    import json

    try:
        errors = json.loads(output).get("errors", ())
        found = [str(each.get("message") or each.get("code") or "") for each in errors]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []
    return [words for words in found if words and words not in complaint]


def _version(folder: Path, variables: Mapping[str, str]) -> str:
    """Return the version of the installed `gh`, in its own words."""
    _, output, _ = run_gh(folder, ("--version",), "its version", None, SECONDS, variables)
    found = re.search(rb"\d+(\.\d+)+", output)
    return found[0].decode() if found else "(of no version)"
