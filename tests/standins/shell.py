"""Runs a command as an agent's shell tool does: by /bin/sh, in a session of its own."""

import os
import signal

ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

running = 0
"""The process group of the command that runs now, for the handler of SIGINT."""


def run_tool(command, env):
    """Run to the end; return (exit code, output). Left-behind children are left alone."""
    global running  # noqa: PLW0603 - a signal handler reads it
    output = _unnamed_file()
    # No signal between the start and the note of it: the handler must know whom to kill.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    running = _start(command, env, output)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    _, status = os.waitpid(running, 0)
    running = 0
    size = os.lseek(output, 0, os.SEEK_END)
    data = os.pread(output, min(size, 30_000), 0)
    os.close(output)
    return os.waitstatus_to_exitcode(status), data.decode(errors="replace")


def leave_behind(command, env):
    """Start a command in a session of its own and do not wait for it; return its pid."""
    output = os.open(os.devnull, os.O_RDWR)
    pid = _start(command, env, output)
    os.close(output)
    return pid


def interrupt_running():
    """Kill the running command, as the real CLI does on SIGINT (and on no other signal)."""
    if running:
        os.killpg(running, signal.SIGKILL)


def _start(command, env, output):
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        return os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", command],
            env,
            setsid=True,
            setsigmask=[],
            setsigdef=[*ENDING, signal.SIGPIPE],
            file_actions=[
                (os.POSIX_SPAWN_DUP2, nothing, 0),
                (os.POSIX_SPAWN_DUP2, output, 1),
                (os.POSIX_SPAWN_DUP2, output, 2),
            ],
        )
    finally:
        os.close(nothing)


def _unnamed_file():
    folder = os.environ.get("TMPDIR", "/tmp")
    path = f"{folder}/standin-{os.getpid()}-{os.urandom(4).hex()}"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    return file
