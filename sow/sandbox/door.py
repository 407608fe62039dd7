"""The first program in a sandbox with `network: allow`: it opens the way to the proxy.

    python -I -S door.py PORT PROGRAM ARGUMENT...

The sandbox has a loopback of its own. This program listens there, hands that socket through one
that it has inherited to the attempt's forwarder, which is outside, and gets the variables that name
the proxy. Then it becomes the agent. A socket belongs to the network in which it was made, whoever
holds it (network_namespaces(7)): so neither a process nor a descriptor nor a folder of ours stays
inside. Where the other end is silent, the agent is not started.

Owns these steps. Stands alone: it sees no package of ours.
"""

import _socket as socket
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

VARIABLE = b"SOW_DOOR"
"""The descriptor of the inherited socket (`sow.env_vars`)."""
BACKLOG = 128
CHUNK_BYTES = 4096
NO_WAY, CANNOT_RUN, NOT_FOUND = 1, 126, 127
"""The first is bubblewrap's own where it cannot make a sandbox (`sow.attempts.judge`)."""
DESCRIPTOR_BYTES = 4
RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""What Python ignores, and an agent must not."""


def main(port: int, argv: list[str]) -> int:
    """Open the way and become `argv`; return only where that cannot be."""
    environ = given_environ()
    try:
        environ |= variables_through(int(environ.pop(VARIABLE)), port)
    except (KeyError, OSError) as error:
        sys.stderr.write(f"the proxy of network: allow cannot be reached: {error}\n")
        return NO_WAY
    for number in RESTORED:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(argv[0], argv, environ)
    except OSError as error:
        sys.stderr.write(f"cannot run {argv[0]}: {error.strerror}\n")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN


def given_environ() -> dict[bytes, bytes]:
    """Return the environment that we were given: Python adds a variable where there is no locale.

    A variable without a name cannot be set, and is none.
    """
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123
        pairs = (field.partition(b"=") for field in file.read().split(b"\0"))
    return {name: value for name, _, value in pairs if name}


def variables_through(number: int, port: int) -> dict[bytes, bytes]:
    """Listen on a port, hand the socket over, and return the variables that come back.

    Raises OSError.
    """
    door = socket.socket(fileno=number)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", port))
    listener.listen(BACKLOG)
    descriptor = listener.fileno().to_bytes(DESCRIPTOR_BYTES, sys.byteorder)
    door.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptor)])
    data = b""
    while part := door.recv(CHUNK_BYTES):
        data += part
    door.close()
    listener.close()
    if not data.endswith(b"\0"):
        raise OSError(0, "its forwarder has gone")
    pairs = (field.partition(b"=") for field in data.split(b"\0")[:-1])
    return {name: value for name, _, value in pairs}


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
