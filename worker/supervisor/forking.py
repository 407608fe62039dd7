"""The fork server: a small process that forks one supervisor for each request of its worker.

A fork costs a millisecond where a new interpreter costs twenty, and what the supervisors have
imported is in memory once. The server has one thread and holds nothing: no lock, no queue, no
file of an attempt. So it may die at any moment and takes nothing along: each supervisor is a
process of its own, in a session of its own, and the worker starts another server.

What is said on the socket, its standard input, is told in `sow.processes.fork_server`, the worker's
side. The server leaves when its worker closes the socket or dies. One that was stopped cannot:
Linux kills it with the thread of the worker that has started it.

What a supervisor has of the server, because a fork inherits it, is listed in `become_supervisor`.
"""

import _socket as socket
import gc
import os
import sys

from worker.supervisor import supervise
from worker.supervisor.instructions import OPEN_FILES_OPTION, PACKAGES_OPTION
from worker.supervisor.own_processes import load_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import ModuleType

    from worker.supervisor.agent_process import Start
else:
    import _signal as signal

STDIN = 0
DESCRIPTOR_BYTES = 4


def main(arguments: list[str], start: "Start" = supervise.start_agent) -> int:
    """Fork supervisors until the worker has gone; return 0. In a supervisor, this never returns.

    Each starts its attempt's process by `start`.
    """
    # Imported once, not in each supervisor: `tree_linux` needs the first, os.wait4() the second.
    import ctypes  # noqa: F401
    import resource  # noqa: F401

    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    tree = load_tree(options.get(PACKAGES_OPTION))
    limit_open_files(options.get(OPEN_FILES_OPTION))
    tree.end_with_parent()
    tree.look_ahead()
    signal.signal(signal.SIGCHLD, collect)
    gc.freeze()  # a collection in a supervisor would copy the memory that all of them share
    requests = socket.socket(fileno=os.dup(STDIN))
    while (orders := await_request(requests)) is not None:
        requests.sendall(b"%d\n" % fork(requests, orders, tree, start))
        os.close(orders)
    requests.close()
    return 0


def await_request(requests: socket.socket) -> int | None:
    """Return the descriptor from which a new process is to read; None once the worker has gone."""
    data, carried, _, _ = requests.recvmsg(1, socket.CMSG_LEN(DESCRIPTOR_BYTES))
    if not data:
        return None
    ((_, _, descriptor),) = carried  # SCM_RIGHTS, unix(7)
    return int.from_bytes(descriptor, sys.byteorder)


def collect(_signum: int, _frame: object) -> None:
    """Collect the supervisors that have ended; so their processor time counts as their worker's."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def fork(requests: socket.socket, orders: int, tree: "ModuleType", start: "Start") -> int:
    """Fork a supervisor that reads its orders there; return its pid, or a negative errno."""
    try:
        pid = os.fork()
    except OSError as error:
        return -(error.errno or 1)
    if pid == 0:
        become_supervisor(requests, orders, tree, start)
    return pid


def become_supervisor(
    requests: socket.socket, orders: int, tree: "ModuleType", start: "Start"
) -> None:
    """Run one attempt in this process, just forked, and end the process.

    Of the server it keeps the environment, the folder, the standard streams (none of them leads
    anywhere), the limits and what was imported. It gives up the server's session, its socket and
    its way with children that end. There are no other threads, locks, timers and open files.
    """
    code = 1
    try:
        os.setsid()
        os.dup2(orders, STDIN)
        os.close(orders)
        requests.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = supervise.main(tree, start)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def limit_open_files(soft: str | None) -> None:
    """Give back the soft limit of open files that the worker has raised for itself."""
    if soft is None:
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(soft), hard))
