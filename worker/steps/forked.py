"""A program of ours as a fork of its supervisor, where that has imported what the program needs.

Owns what makes the fork like a new interpreter: its files, its group, its signals, and the
environment that it has and shows. Where it could not show its environment, a new interpreter is
started instead: an attempt's processes are found by what they show.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import NoReturn

from sow import quick_start
from sow.environment import own_process
from sow.processes import environment_block
from sow.processes.environment_block import Block
from worker.steps.__main__ import main as run_program
from worker.supervisor.agent_process import REQUESTS
from worker.supervisor.supervise import FILES, STDIN, start_agent

PROGRAM_WORDS = 4
"""How many words of an argv come before the program's name (`sow.environment.own_process`)."""
WORDS_OF_OURS = own_process("worker.steps")[1:]
"""Those of them that stand behind the interpreter, by which a program of ours is known."""


def start(
    folder: str, argv: list[str], environ: Mapping[bytes, bytes], outputs: Sequence[int] = ()
) -> int:
    """Fork the program that `argv` names, on its attempt's files, and return its pid.

    It has `outputs` for its last standard streams, where there are any. What is no program of ours
    is started. Raises OSError.
    """
    is_ours = argv[1:PROGRAM_WORDS] == WORDS_OF_OURS
    block = environment_block.block_for(environ) if is_ours else None
    if block is None:
        return start_agent(folder, argv, environ, outputs)
    with ExitStack() as opened:
        files = []
        for name, flags in FILES[: len(FILES) - len(outputs)]:
            files.append(os.open(folder + name, flags, 0o600))
            opened.callback(os.close, files[-1])
        files += outputs
        pid = os.fork()
        if pid == 0:
            _become(files, argv, environ, block, keeps_lock=len(outputs) < len(FILES))
        with suppress(PermissionError):  # it has done so itself, and is an agent's CLI by now
            os.setpgid(pid, pid)
    return pid


def _become(
    files: Sequence[int],
    argv: list[str],
    environ: Mapping[bytes, bytes],
    block: Block,
    *,
    keeps_lock: bool,
) -> NoReturn:
    """Be the program, and end with it; without the lock, it has no file but its streams."""
    code = 1
    try:
        os.setpgid(0, 0)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        if not keeps_lock:
            os.closerange(len(FILES), os.sysconf("SC_OPEN_MAX"))
        _receive_signals()
        locale = _coerced_locale(environ)
        environment_block.take(environ, block)
        os.environb.update(locale)
        sys.stdin = open(STDIN, closefd=False)  # noqa: SIM115 - the old one was the server's
        code = run_program(*argv[PROGRAM_WORDS:])
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        quick_start.leave(code)


def _coerced_locale(environ: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return what Python sets where there is no locale (PEP 538), for what the program runs.

    Our own interpreter has done so where it was started with the same.
    """
    ours = os.environb
    is_same = all(environ.get(name) == ours.get(name) for name in (b"LC_ALL", b"LANG"))
    if not is_same or b"LC_CTYPE" in environ or b"LC_CTYPE" not in ours:
        return {}
    return {b"LC_CTYPE": ours[b"LC_CTYPE"]}


def _receive_signals() -> None:
    """Have signals act as in a new interpreter."""
    for number in (*REQUESTS, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
