"""Running git so that nothing in a repository acts by itself, and nothing is asked.

Owns the settings and variables of every git that sow starts. What such a
command line cannot switch off (filters and diff drivers, which a repository
may name as it likes) is `private_view`'s.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sow.git.git_errors import GitKilled, GitMissing, GitRefused, GitTookTooLong

QUICK_SECONDS = 20.0
"""How long a command may take that reads a few objects."""
LONG_SECONDS = 1800.0
"""How long one may take that copies or checks out a whole repository."""

QUIET = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=true",
    "core.sshCommand=false",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gpg.program=false",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.fsckObjects=true",
    "protocol.ext.allow=never",
    "advice.detachedHead=false",
    "core.quotePath=false",
    "safe.bareRepository=explicit",
)
"""Settings that beat a repository's own, because they stand on the command line."""

VARIABLES = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "LC_ALL": "C",
}


def git_environment(environ: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return the variables for a git of ours: none of the caller's `GIT_*`, no questions."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    return {**kept, **VARIABLES, **more}


def git(
    folder: Path,
    *words: str,
    seconds: float = QUICK_SECONDS,
    stdin: bytes | None = None,
    environ: Mapping[str, str] | None = None,
    accepted: Sequence[int] = (0,),
) -> str:
    """Run git in `folder` and return what it prints, without the last newline.

    `accepted` are the exit codes that are an answer. `environ` replaces
    `git_environment(os.environ)`. Raises GitMissing, GitRefused, GitTookTooLong.
    """
    return (
        git_bytes(folder, *words, seconds=seconds, stdin=stdin, environ=environ, accepted=accepted)
        .decode("utf-8", "surrogateescape")
        .removesuffix("\n")
    )


def git_bytes(
    folder: Path,
    *words: str,
    seconds: float = QUICK_SECONDS,
    stdin: bytes | None = None,
    environ: Mapping[str, str] | None = None,
    accepted: Sequence[int] = (0,),
) -> bytes:
    """Run git in `folder` and return the bytes that it prints. Raises as `git` does."""
    code, output, complaint = git_answer(
        folder, *words, seconds=seconds, stdin=stdin, environ=environ
    )
    if code not in accepted:
        raise GitRefused(folder, words, code, complaint)
    return output


def git_answer(
    folder: Path,
    *words: str,
    seconds: float = QUICK_SECONDS,
    stdin: bytes | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[int, bytes, str]:
    """Run git in `folder`; return its exit code, what it prints, and what it complains of.

    Git gets a process group of its own, so that a time-out ends also what it
    has started. Raises GitMissing, GitRefused where the folder is none, GitKilled
    and GitTookTooLong.
    """
    settings = [word for setting in QUIET for word in ("-c", setting)]
    try:
        process = subprocess.Popen(
            ["git", *settings, *words],
            cwd=folder,
            env=git_environment(os.environ) if environ is None else dict(environ),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
    except OSError as error:
        if not folder.is_dir():
            complaint = f"{folder} is no folder: {error.strerror}"
            raise GitRefused(folder, words, -1, complaint) from error
        raise GitMissing from error
    try:
        output, complaint_bytes = process.communicate(stdin, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        _end(process)
        raise GitTookTooLong(folder, words, seconds) from error
    except BaseException:
        _end(process)
        raise
    if process.returncode < 0:
        raise GitKilled(folder, words, -process.returncode)
    return process.returncode, output, complaint_bytes.decode("utf-8", "replace")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a git and all that it has started in its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
