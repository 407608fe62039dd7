"""Running git so that nothing in a repository acts by itself, and nothing is asked.

Owns the settings and variables of every git that sow starts. What such a
command line cannot switch off (filters and diff drivers, which a repository
may name as it likes) is `private_view`'s.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypedDict, Unpack

from sow import env_vars
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

FETCH = (
    *("-c", "protocol.version=2", "-c", "protocol.file.allow=always"),
    *("fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head"),
    *("--no-auto-maintenance", "--no-recurse-submodules"),
)
"""A fetch from a folder of this machine that only adds objects. Folder and name come after it."""

VARIABLES = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_DEFAULT_REF_FORMAT": "files",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "LC_ALL": "C",
}

SETTINGS_OF_THE_USER = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM"),
    *("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
)
"""How the variables begin that hold the user's own settings, as `~/.gitconfig` does. Git sets none
of them for a child; `QUIET` beats them."""
FILE_BLOCK = 512
WITHIN = ("sh", "-c", 'ulimit -f "$0"; exec "$@"')
"""What begins the words of a program whose files are limited: how many blocks follow, then it. The
limit is the children's as well. Some shells count in twice as large blocks."""
PASSED_ON = tuple(f"{env_vars.USERS_PREFIX}{name}" for name in SETTINGS_OF_THE_USER)


def git_environment(environ: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return the variables for a git of ours: of the caller's `GIT_*` only the user's settings.

    Nothing is asked.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") or name.startswith(SETTINGS_OF_THE_USER)
    }
    for name, value in environ.items():
        if name.startswith(PASSED_ON):  # an agent's CLI has put another value in its place
            variable = name.removeprefix(env_vars.USERS_PREFIX)
            kept.pop(variable, None)
            kept |= {variable: value} if value else {}
    return {**kept, **VARIABLES, **more}


class Options(TypedDict, total=False):
    """What may be said of one command, whichever function runs it."""

    seconds: float
    """How long it may take; QUICK_SECONDS, if not given."""
    stdin: bytes | None
    settings: Sequence[str]
    """What replaces `QUIET`."""
    largest_file: int | None
    """How large a file of it may become, in bytes; the system ends a git that writes more."""


def git(
    folder: Path,
    *words: str,
    environ: Mapping[str, str] | None = None,
    accepted: Sequence[int] = (0,),
    **options: Unpack[Options],
) -> str:
    """Run git in `folder` and return what it prints, without the last newline.

    `accepted` are the exit codes that are an answer. `environ` replaces
    `git_environment(os.environ)`. Raises GitMissing, GitRefused, GitTookTooLong.
    """
    code, output, complaint = git_answer(folder, *words, environ=environ, **options)
    if code not in accepted:
        raise GitRefused(folder, words, code, complaint)
    return output.decode("utf-8", "surrogateescape").removesuffix("\n")


def git_answer(
    folder: Path,
    *words: str,
    seconds: float = QUICK_SECONDS,
    stdin: bytes | None = None,
    environ: Mapping[str, str] | None = None,
    settings: Sequence[str] = QUIET,
    largest_file: int | None = None,
) -> tuple[int, bytes, str]:
    """Run git in `folder`; return its exit code, what it prints, and what it complains of.

    Git gets a process group of its own, so that a time-out ends also what it
    has started. The rest is `Options`. Raises GitMissing, GitRefused where the
    folder is none, GitKilled and GitTookTooLong.
    """
    process = _start(
        folder,
        words,
        environ,
        settings,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        within=() if largest_file is None else (*WITHIN, str(largest_file // FILE_BLOCK)),
    )
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


@contextmanager
def git_talking(
    folder: Path, *words: str, environ: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run git in `folder` for as long as the block asks it and reads its answers.

    It has ended when the block ends, however that ends. Raises GitMissing, GitRefused.
    """
    process = _start(folder, words, environ, QUIET, stdin=subprocess.PIPE, says_why=False)
    try:
        yield process
    finally:
        _end(process)


def git_bounded(
    folder: Path, *words: str, environ: Mapping[str, str], most: int, seconds: float
) -> bytes | None:
    """Run git in `folder` and return what it prints.

    None where that is more than `most` bytes, or takes longer than `seconds`: no more is kept, and
    git is ended. Raises as `git`.
    """
    with git_talking(folder, *words, environ=environ) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        timer = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
        timer.daemon = True
        timer.start()
        try:
            output = process.stdout.read(most + 1)
            if len(output) > most:
                return None
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its number stays its own
        finally:
            timer.cancel()
        code = process.wait()
    if code == -signal.SIGKILL:
        return None
    if code:
        raise GitRefused(folder, words, code, "")
    return output


Command = tuple[Path, Sequence[str], Mapping[str, str]]
"""A folder, the words of a git that runs there, and its variables."""


def git_into_git(source: Command, target: Command, *, stdin: bytes, seconds: float) -> bool:
    """Run a git that reads what another one prints; whether both have ended well.

    `stdin` is for the one that prints: some lines. What they complain of is lost. Raises
    GitMissing, GitRefused where a folder is none, and GitTookTooLong.
    """
    first = _start(*source, QUIET, stdin=subprocess.PIPE, says_why=False)
    try:
        second = _start(*target, QUIET, stdin=first.stdout, says_why=False)
        try:
            _hand_over(first, stdin)
            second.communicate(timeout=seconds)
            first.communicate(timeout=seconds)  # it has ended, or is about to
        finally:
            if second.returncode is None:
                _end(second)
    except subprocess.TimeoutExpired as error:
        raise GitTookTooLong(target[0], target[1], seconds) from error
    finally:
        if first.returncode is None:
            _end(first)
    return first.returncode == 0 == second.returncode


def _hand_over(process: "subprocess.Popen[bytes]", stdin: bytes) -> None:
    """Give a git its input. What it prints is another one's to read."""
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101 - likewise
    process.stdout.close()
    with suppress(BrokenPipeError), process.stdin:
        process.stdin.write(stdin)
    process.stdin = process.stdout = None


def _start(
    folder: Path,
    words: Sequence[str],
    environ: Mapping[str, str] | None,
    settings: Sequence[str],
    *,
    stdin: int | IO[bytes] | None,
    says_why: bool = True,
    within: Sequence[str] = (),
) -> "subprocess.Popen[bytes]":
    """Start git in a process group of its own. Raises GitMissing, GitRefused."""
    options = [word for setting in settings for word in ("-c", setting)]
    try:
        return subprocess.Popen(
            [*within, "git", *options, *words],
            cwd=folder,
            env=git_environment(os.environ) if environ is None else dict(environ),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if says_why else subprocess.DEVNULL,
            process_group=0,
        )
    except OSError as error:
        if not folder.is_dir():
            complaint = f"{folder} is no folder: {error.strerror}"
            raise GitRefused(folder, words, -1, complaint) from error
        raise GitMissing from error


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a git and all that it has started in its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
