"""Running `gh` so that it asks nothing, and telling by its ending what has happened.

Owns its variables, how long it may take, and what its words and exit codes mean (gh 2.23: 0 done, 1
failed, 2 cancelled, 4 not logged in).
"""

import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sow.errors import SowError, StateError
from sow.github.github_errors import (
    GithubRefused,
    GithubUnreachable,
    NotFound,
    NotLoggedIn,
    quoted,
)
from sow.surrounding_programs import users_environment

MOST_BYTES = 64 << 20
"""Of each of its two outputs: some ten thousand issues."""
CHUNK = 1 << 16
PIPE = 512
"""So many bytes go into a pipe that can be written to without waiting, on every system."""
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


def run_gh(
    folder: Path,
    words: Sequence[str],
    what: str,
    stdin: bytes | None,
    seconds: float,
    environ: Mapping[str, str],
    holds: int | None = None,
) -> tuple[int, bytes, str]:
    """Run `gh` in a process group of its own; return its exit code, output and complaint.

    Whatever ends the call ends also what `gh` has started. `what` is the request in words.
    Raises StateError.
    """
    try:
        process = subprocess.Popen(
            ["gh", *words],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            pass_fds=() if holds is None else (holds,),
        )
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise StateError(
            "gh, GitHub's command-line program, is not installed, or is not on the PATH",
            hint="Install it (https://cli.github.com; Debian: apt install gh), then: gh auth login",
        ) from error
    except OSError as error:
        raise StateError(
            f"gh cannot be started: {(error.strerror or str(error)).lower()}",
            hint="See that `gh --version` answers here, then call again.",
            passes=True,
        ) from error
    try:
        output, complaint = _talk(process, stdin or b"", what, time.monotonic() + seconds)
    except subprocess.TimeoutExpired as error:
        raise StateError(
            f"{what} was not answered within {seconds:g} s",
            hint="Call again. If something was to be made, the same call again finds it.",
            passes=True,
        ) from error
    finally:
        _end(process)
    if process.returncode < 0:
        raise StateError(
            f"gh was ended by signal {(-process.returncode)} during {what}",
            hint="See what ended it (the machine's memory, say), then call again.",
            passes=True,
        )
    return process.returncode, output, complaint.decode("utf-8", "replace")


def _talk(
    process: "subprocess.Popen[bytes]", stdin: bytes, what: str, deadline: float
) -> tuple[bytes, bytes]:
    """Give a process its input and read both outputs to their ends, and wait for its own.

    Raises TimeoutExpired at the deadline (monotonic), and StateError.
    """
    assert process.stdout is not None  # noqa: S101 - it was asked for
    assert process.stderr is not None  # noqa: S101 - it was asked for
    output, complaint, left = bytearray(), bytearray(), memoryview(stdin)
    with selectors.DefaultSelector() as streams:
        streams.register(process.stdout, selectors.EVENT_READ, output)
        streams.register(process.stderr, selectors.EVENT_READ, complaint)
        if process.stdin is not None:
            streams.register(process.stdin, selectors.EVENT_WRITE)
        while streams.get_map():
            ready = streams.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired("gh", 0)
            for key, _ in ready:
                if key.data is None:
                    left = left[_write(key.fd, left[:PIPE]) :]
                    ended = not left
                else:
                    ended = not _read(key.fd, key.data, what)
                if ended:
                    streams.unregister(key.fileobj)
                if ended and key.fileobj is process.stdin:
                    process.stdin.close()
    process.wait(timeout=max(0.0, deadline - time.monotonic()))
    return bytes(output), bytes(complaint)


def _write(fd: int, part: memoryview) -> int:
    """Write a part of the input; all of it counts as written where nobody reads it any more."""
    try:
        return os.write(fd, part)
    except BrokenPipeError:
        return len(part)


def _read(fd: int, into: bytearray, what: str) -> bool:
    """Read on; return whether there was more. Raises StateError."""
    part = os.read(fd, CHUNK)
    into += part
    if len(into) > MOST_BYTES:
        most = MOST_BYTES
        raise StateError(
            f"gh has printed more than {most >> 20} MB for {what}",
            hint="See with `gh --version` that it is GitHub's gh that is on the PATH, and with"
            " `gh api user` that it prints an answer and no more.",
        )
    return bool(part)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process that has not ended, and all that it has started in its group."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


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
