"""The kernel's keyrings, closed to what is started in a sandbox.

A sandbox hides files and processes; keys of the kernel (keyrings(7)) are neither. A program inside
of it has its user's session keyring, and links the keyrings of the same user by their numbers
(measured: a user namespace changes nothing of that). bubblewrap has no option for it, so a filter
for system calls (seccomp(2)) answers `add_key`, `request_key` and `keyctl` as a kernel without
keyrings does. What a process has of it, all have that it starts.

Owns the filter, in the form of the kernel. Light: the supervisor runs on it.
"""

import errno
import os
import sys

FENCE = "bwrap"
"""The program that makes a sandbox, as `sow.sandbox.view` names it."""
FIRST_CALLS = {
    "x86_64": ((0xC000003E, 248), (0x40000003, 286)),
    "i686": ((0x40000003, 286),),
    "aarch64": ((0xC00000B7, 217), (0x40000028, 309)),
    "armv7l": ((0x40000028, 309),),
    "riscv64": ((0xC00000F3, 217),),
    "loongarch64": ((0xC0000102, 217),),
    "ppc64le": ((0xC0000015, 269),),
    "s390x": ((0x80000016, 278),),
}
"""By machine: each way to call its kernel (AUDIT_ARCH), with the number of the first of the three
calls there, which follow each other."""
CALLS = 3
X32 = 0x40000000
"""Marks a call of x86-64's third way, which has the numbers of the first."""
LOAD, AND, IS_EQUAL, IS_LEAST, IS_GREATER, RETURN = 0x20, 0x54, 0x15, 0x35, 0x25, 0x06
NUMBER, ARCHITECTURE = 0, 4
"""Where both stand in what the filter sees (seccomp(2))."""
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER_MODE = 38, 22, 2

Step = tuple[int, int, int, int]
"""An instruction: what it does, how far it jumps if so and if not, and a number."""


def is_fence(program: str) -> bool:
    """Whether a program, by its path, is the one that makes a sandbox."""
    return os.path.basename(program) == FENCE  # noqa: PTH119


def close_keyrings() -> None:
    """Close the keyrings to this process and to all that it starts. Raises OSError.

    None of them gets other rights by a setuid program from now on.
    """
    import ctypes  # the fork server has imported it

    class Program(ctypes.Structure):
        """What the kernel takes for a filter (struct sock_fprog)."""

        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))

    steps = filter_for(os.uname().machine)
    code = ctypes.create_string_buffer(b"".join(map(_packed, steps)))
    program = Program(len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in (
        (PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), ctypes.c_ulong(0)),
        (PR_SET_SECCOMP, ctypes.c_ulong(FILTER_MODE), ctypes.byref(program)),
    ):
        if libc.prctl(*call, ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"the kernel's keyrings stay open: {os.strerror(number)}")


def filter_for(machine: str) -> tuple[Step, ...]:
    """Return the filter for a machine, as uname(2) names it. Raises OSError."""
    if machine not in FIRST_CALLS:
        raise OSError(errno.ENOTSUP, f"sow does not know how a {machine} calls its kernel")
    steps: list[Step] = [(LOAD, 0, 0, ARCHITECTURE)]
    for architecture, first in FIRST_CALLS[machine]:
        block: list[Step] = [
            (LOAD, 0, 0, NUMBER),
            (AND, 0, 0, 0xFFFFFFFF & ~X32),
            (IS_LEAST, 0, 2, first),
            (IS_GREATER, 1, 0, first + CALLS - 1),
            (RETURN, 0, 0, REFUSE),
            (RETURN, 0, 0, ALLOW),
        ]
        steps += [(IS_EQUAL, 0, len(block), architecture), *block]
    return (*steps, (RETURN, 0, 0, ALLOW))


def _packed(step: Step) -> bytes:
    """Return an instruction as the kernel has it (struct sock_filter)."""
    code, if_so, if_not, number = step
    order = sys.byteorder
    return code.to_bytes(2, order) + bytes((if_so, if_not)) + number.to_bytes(4, order)
