"""The first process of a machine (`machines`): it mounts what makes the machine one, and stays.

    python machine_init.py NAME IDS DISK PLACE

IDS is a folder with the files `boot_id`, `machine-id` and `hosts`, which the machine shows as its
own; DISK is its folder, seen at PLACE, as every machine sees its own there. Ends with its standard
input, and the machine with it: the kernel kills whatever else runs in its namespace of processes.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from contextlib import suppress

SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914  # linux/sockios.h
IFF_UP = 0x1  # linux/if.h
MS_BIND = 0x1000  # linux/mount.h


def main(name: str, ids: str, disk: str, place: str) -> None:
    mount("proc", "/proc", b"proc", 0)
    mount(f"{ids}/boot_id", "/proc/sys/kernel/random/boot_id", None, MS_BIND)
    mount(f"{ids}/machine-id", "/etc/machine-id", None, MS_BIND)
    mount(f"{ids}/hosts", "/etc/hosts", None, MS_BIND)
    mount(disk, place, None, MS_BIND)
    socket.sethostname(name)
    bring_up("lo")
    signal.signal(signal.SIGCHLD, reap)
    print("ready", flush=True)
    sys.stdin.read()


def reap(*_: object) -> None:
    """Take note of the ends of those whose parents have ended before them."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def mount(source: str, target: str, kind: bytes | None, flags: int) -> None:
    """Mount a file system of a kind, or what lies elsewhere. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(os.fsencode(source), os.fsencode(target), kind, flags, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def bring_up(interface: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = interface.encode()
        request = struct.pack("16sh22x", name, 0)
        flags = struct.unpack("16xh22x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[0]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", name, flags | IFF_UP))


if __name__ == "__main__":
    main(*sys.argv[1:])
