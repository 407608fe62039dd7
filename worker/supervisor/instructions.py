"""What a worker tells its fork server and its supervisors: options, and orders.

A supervisor's orders say what to run, where and with which environment. They come on its standard
input, as bytes: fields that end with a NUL, like those of /proc/PID/environ, and first how many
there are, so that orders which a dying worker has cut off are none. Owns these forms. Light: the
supervisor runs on it.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PACKAGES_OPTION = "--packages"
OPEN_FILES_OPTION = "--open-files"
NUL = b"\0"
CHUNK_BYTES = 65_536


class Orders:
    """What one supervisor is to run; all as bytes, as the system takes it."""

    __slots__ = ("argv", "cwd", "environ", "folder", "lease", "limits", "proxy", "secrets")

    def __init__(
        self,
        folder: bytes,
        cwd: bytes,
        argv: "Sequence[bytes]",
        environ: "Mapping[bytes, bytes]",
        secrets: "Sequence[bytes]" = (),
        limits: "Sequence[bytes]" = (),
        proxy: "Sequence[bytes]" = (),
        lease: "Sequence[bytes]" = (),
    ) -> None:
        self.folder = folder
        """The attempt's folder."""
        self.cwd = cwd
        self.argv = argv
        self.environ = environ
        """The agent's whole environment, but for what a command has still to print."""
        self.secrets = secrets
        """What `secret_orders` reads; empty for an agent without secrets."""
        self.limits = limits
        """What `limits` reads; empty for an attempt without limits."""
        self.proxy = proxy
        """What `gate` reads; empty for an agent without a proxy."""
        self.lease = lease
        """What `lease_end` reads; empty for an attempt whose lease has no end."""


def pack(
    folder: str,
    cwd: str,
    argv: "Sequence[str]",
    environ: "Mapping[str, str]",
    secrets: "Sequence[str]" = (),
    limits: "Sequence[str]" = (),
    proxy: "Sequence[str]" = (),
    lease: "Sequence[str]" = (),
) -> bytes:
    """Return orders as they are written. Raises ValueError where a word holds a NUL."""
    variables = [f"{name}={value}" for name, value in environ.items()]
    lists = ((str(len(words)), *words) for words in (argv, secrets, limits, proxy, lease))
    words = [word for words in lists for word in words] + variables
    fields = [os.fsencode(field) for field in (folder, cwd, *words)]
    if any(NUL in field for field in fields):
        raise ValueError("embedded null byte")
    return b"".join(field + NUL for field in (str(len(fields)).encode(), *fields))


def unpack(data: bytes) -> Orders | None:
    """Return the orders, or None where there are none, or not all of them."""
    number, *fields = data.split(NUL)
    if not number or len(fields) != int(number) + 1:
        return None
    folder, cwd, *rest = fields[:-1]
    argv, rest = _counted(rest)
    secrets, rest = _counted(rest)
    limits, rest = _counted(rest)
    proxy, rest = _counted(rest)
    lease, variables = _counted(rest)
    environ = {name: value for name, _, value in (each.partition(b"=") for each in variables)}
    return Orders(folder, cwd, argv, environ, secrets, limits, proxy, lease)


def _counted(fields: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the fields whose number stands before them, and those behind them."""
    end = 1 + int(fields[0])
    return fields[1:end], fields[end:]


def await_orders(fd: int) -> Orders | None:
    """Return what comes until the other end is closed; None when it closes without orders."""
    data = b""
    while chunk := os.read(fd, CHUNK_BYTES):
        data += chunk
    return unpack(data)
