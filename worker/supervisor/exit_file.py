"""What a supervisor writes down: `started.json`, `exit.json`, each whole and by rename; its log.

Owns the promise that an ending is not lost: a full disk is waited for. Light:
the supervisor runs on it.
"""

import os
import sys
import time
from _json import encode_basestring_ascii as quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_RETRY_SECONDS = 0.25
LONGEST_RETRY_SECONDS = 5.0


def exit_of(
    status: int | None, cpu_seconds: float, max_rss_kb: int, by_request: bool
) -> dict[str, object]:
    """Return how an agent ended, from the status that wait4(2) gave."""
    assert status is not None  # noqa: S101 - the tree has ended, and the agent with it
    signaled = os.WIFSIGNALED(status)
    return {
        "code": None if signaled else os.WEXITSTATUS(status),
        "signal": os.WTERMSIG(status) if signaled else None,
        "by_request": by_request,
        "cpu_seconds": round(cpu_seconds, 3),
        "max_rss_kb": max_rss_kb,
    }


def failure_of(
    folder: str, argv: list[str], error: OSError, started_at: float
) -> dict[str, object]:
    """Return that an agent could not be started, with the shell's own exit codes for it."""
    try:
        name = folder + "/stderr.log"
        with open(name, "a", encoding="utf-8", opener=for_its_owner) as file:
            file.write(f"cannot run {argv[0]}: {error.strerror}\n")
    except OSError:
        say(f"cannot run {argv[0]}: {error.strerror}")
    code = 127 if isinstance(error, FileNotFoundError) else 126
    return {"code": code, "signal": None, "started_at": started_at, "ended_at": time.time()}


def leave_cause(folder: str, attempt: str, cause: str, words: str, lock: int) -> None:
    """Leave in `result.json` why an agent was not started, in the words of what failed."""
    record: dict[str, object] = {"attempt": attempt, "cause": cause, "reason": words}
    put_in_place(folder, "result.json", record, lock)
    say(words)


def put_in_place(folder: str, name: str, record: dict[str, object], lock: int) -> None:
    """Put a record in place; where it cannot be written, try until it can.

    Gives up only when the folder of the attempt whose `lock` we hold has been
    removed: then nobody will read it, and a folder of the same name is another attempt's.
    """
    pause = FIRST_RETRY_SECONDS
    while is_ours(folder, lock) and not try_to_put_in_place(folder, name, record):
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_RETRY_SECONDS)


def is_ours(folder: str, lock: int) -> bool:
    """Whether a folder still is the one whose `alive.lock` we hold."""
    try:
        return os.path.samestat(os.stat(folder + "/alive.lock"), os.fstat(lock))  # noqa: PTH116
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it cannot be looked at now


def try_to_put_in_place(folder: str, name: str, record: dict[str, object]) -> bool:
    """Put a record in place whole, by rename; say on the log why it could not be.

    It is not waited for until it is on disk. A loss of power ends agent and supervisor as well:
    what they wrote last may be gone with them, and whoever reads takes a record that is not whole
    for none. What must survive that is the agent's own report, in its task's state.

    What the agent has laid in its way is no hindrance: a pipe would hold us up for ever, and
    over a folder nothing can be renamed.
    """
    draft, target = f"{folder}/.{name}", f"{folder}/{name}"
    try:
        write_new(draft, as_json(record).encode())
        try:
            os.rename(draft, target)  # noqa: PTH104
        except IsADirectoryError:
            clear_away(target)
            os.rename(draft, target)  # noqa: PTH104
    except OSError as error:
        say(f"cannot write {name}: {error.strerror}")
        return False
    return True


def as_json(record: "Mapping[str, object]") -> str:
    """Return a record of texts, numbers, booleans and nulls as JSON.

    `json` takes half a megabyte: its reader compiles regular expressions.
    """
    fields = (f"{quoted(name)}: {_value(value)}" for name, value in record.items())
    return f"{{{', '.join(fields)}}}"


def _value(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    return repr(value).lower() if isinstance(value, bool) else repr(value)


def write_new(path: str, data: bytes) -> None:
    """Write a file of ours anew, whatever has its name. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = for_its_owner(path, flags)
    except FileExistsError:
        clear_away(path)
        descriptor = for_its_owner(path, flags)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


def for_its_owner(path: str, flags: int) -> int:
    """Open a file that is made for its owner alone, whatever the umask that our agent has."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o600)
    os.fchmod(descriptor, 0o600)
    return descriptor


def clear_away(path: str) -> None:
    """Remove whatever has this name; a folder is moved aside, for it may hold anything."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            os.rename(path, f"{path}.aside-{os.urandom(4).hex()}")  # noqa: PTH104
        else:
            os.unlink(path)  # noqa: PTH108
    except FileNotFoundError:
        return


def say(words: str) -> None:
    """Write to the supervisor's log; a full disk is no error here."""
    try:
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()
    except OSError:
        return
