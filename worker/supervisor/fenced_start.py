"""The start of a program in a sandbox, with the kernel's keyrings closed to it alone.

posix_spawn(3) has no filter for system calls, so it is a fork. Owns what comes between fork and
exec. Light: the supervisor runs on it.
"""

import os
import sys

from worker.supervisor.agent_process import REQUESTS
from worker.supervisor.keyrings import close_keyrings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence

    Environ = Mapping[str, str] | Mapping[bytes, bytes]
else:
    import _signal as signal

NOT_STARTED = 126
"""The exit code of a process that could not become what it was to be."""


def start_fenced(
    argv: "Sequence[str] | Sequence[bytes]", environ: "Environ", files: "Sequence[int]"
) -> int:
    """Start bubblewrap, by its path, on open files for its standard streams; return its pid.

    Where that cannot be, the process says why on the last of them and ends with NOT_STARTED.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setpgid(0, 0)
        for number, descriptor in enumerate(files):
            os.dup2(descriptor, number)
        for signum in (*REQUESTS, signal.SIGPIPE):
            signal.signal(signum, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        close_keyrings()
        os.execve(argv[0], tuple(argv), environ)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(NOT_STARTED)
