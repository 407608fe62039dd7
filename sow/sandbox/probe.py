"""Whether bubblewrap works here: found, new enough, and allowed to make its namespaces.

Owns the one trial, `bwrap … true`, which is noted for the life of this process: what it depends on
(the program, the kernel's settings) seldom changes, and a worker starts many agents. A trial that
a signal has ended, or that took too long, says nothing of that: it is repeated, and never noted.
"""

import re
import shutil
import subprocess
from functools import cache

from sow.errors import ExecutorError
from sow.sandbox.view import BASE, FLAGS, PROGRAM

OLDEST = (0, 4, 0)
"""The first version with all flags that are used; measured were 0.8.0 and no older ones."""
SECONDS = 20.0
TRIALS = 3
"""How often a program is run that a signal ends: where memory is short, the kernel does that."""
LAST_STATUS = 128
"""A greater exit code says that a signal has ended what bubblewrap was to run (bwrap(1))."""
PLACES = "/usr/local/bin:/usr/bin:/bin"
"""Where it is looked for: not on PATH, which may begin with a folder that an agent writes."""
VERSION = re.compile(r"bubblewrap (\d+)\.(\d+)(?:\.(\d+))?")
INSTALL = "Install it (Debian, Ubuntu: apt-get install bubblewrap)"
LONGEST = 300


class SandboxUnavailable(ExecutorError):
    """There can be no sandbox here, and without one nothing is started that asks for it."""

    asks_for, what = "sandbox: bwrap", "sandbox (bwrap)"

    def __init__(self, whose: str, reason: str, remedy: str) -> None:
        self.reason = reason
        super().__init__(f"{whose} asks for {self.asks_for}, but {reason}", hint=remedy)


class Fault(Exception):
    """Why there can be no sandbox, and what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class NoAnswer(Exception):
    """A program that was run has ended by a signal, or not at all: nothing is known of it."""


def usable(whose: str, places: str = PLACES) -> str:
    """Return the path of a bubblewrap that works. Raises SandboxUnavailable, in words for `whose`.

    `whose` is what asks for a sandbox: an executor, or a check.
    """
    try:
        found = _tried(places)
    except NoAnswer as error:
        found = no_answer(PROGRAM, "--version", error)
    if isinstance(found, Fault):
        raise SandboxUnavailable(whose, found.reason, found.remedy)
    return found


def no_answer(program: str, option: str, error: NoAnswer) -> Fault:
    """Return what is told where a program does not come to its end."""
    remedy = f"See why (`{program} {option}`, `dmesg`: is memory short?), then call again."
    return Fault(f"{program} cannot be tried: {error}", remedy)


def answer_of(program: str, option: str) -> str:
    """Return what a program says of its version; empty where it says nothing. Raises NoAnswer."""
    done = _run([program, option])
    return done.stdout.strip() if isinstance(done, subprocess.CompletedProcess) else ""


@cache
def _tried(places: str) -> str | Fault:
    """Return a bubblewrap that works, or why there is none. It is tried once. Raises NoAnswer."""
    program = shutil.which(PROGRAM, path=places)
    if program is None:
        return Fault(f"there is no {PROGRAM} in {places.replace(':', ', ')}", f"{INSTALL}.")
    text = answer_of(program, "--version")
    number = VERSION.match(text)
    if number is None or tuple(int(part or 0) for part in number.groups()) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        return Fault(
            f"{program} is {text or 'of no known version'}, and {needed} is needed", INSTALL
        )
    done = _run([program, *BASE, "--tmpfs", "/tmp", *FLAGS, "--", "/bin/true"])  # noqa: S108
    if isinstance(done, str):
        return Fault(f"{program} cannot be tried: {done}", "Run `bwrap --version` yourself.")
    if done.returncode != 0:
        words = " ".join(done.stderr.split())[:LONGEST] or f"exit code {done.returncode}"
        return Fault(
            f"it cannot make its namespaces here: {words}",
            "User namespaces may be forbidden (sysctl kernel.unprivileged_userns_clone,"
            " kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces), or sow runs"
            " in a container that allows none. Allow them, or set sandbox: none.",
        )
    return program


def _run(argv: list[str]) -> "subprocess.CompletedProcess[str] | str":
    """Run a short command; return how it ended, or why it could not be run. Raises NoAnswer."""
    for _ in range(TRIALS):
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                env={"PATH": PLACES, "LC_ALL": "C"},
                cwd="/",
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NoAnswer(f"it did not end within {SECONDS:.0f} s") from error
        except OSError as error:
            return str(error.strerror)
        if 0 <= done.returncode <= LAST_STATUS:
            return done
    raise NoAnswer(f"a signal ended it {TRIALS} times")
