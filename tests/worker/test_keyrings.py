"""The filter that closes the kernel's keyrings: what it answers, on each machine and here."""

import ctypes
import errno
import os
import sys

import pytest

from worker.supervisor import keyrings
from worker.supervisor.keyrings import ALLOW, CALLS, FIRST_CALLS, REFUSE, X32

OTHER_WAY = 0xC0DE


def answer(machine: str, architecture: int, number: int) -> int:
    """Return what a machine's filter answers to a call, as the kernel goes through it."""
    steps, at, value = keyrings.filter_for(machine), 0, 0
    seen = {keyrings.NUMBER: number, keyrings.ARCHITECTURE: architecture}
    while True:
        code, if_so, if_not, operand = steps[at]
        match code:
            case keyrings.LOAD:
                value, jump = seen[operand], 0
            case keyrings.AND:
                value, jump = value & operand, 0
            case keyrings.IS_EQUAL:
                jump = if_so if value == operand else if_not
            case keyrings.IS_LEAST:
                jump = if_so if value >= operand else if_not
            case keyrings.IS_GREATER:
                jump = if_so if value > operand else if_not
            case _:
                assert code == keyrings.RETURN
                return operand
        at += 1 + jump


@pytest.mark.parametrize("machine", FIRST_CALLS)
def test_exactly_the_three_calls_are_refused(machine: str) -> None:
    for architecture, first in FIRST_CALLS[machine]:
        refused = [n for n in range(600) if answer(machine, architecture, n) != ALLOW]
        assert refused == [*range(first, first + CALLS)]
        assert {answer(machine, architecture, n) for n in refused} == {REFUSE}
        assert answer(machine, architecture, first | X32) == REFUSE
    assert answer(machine, OTHER_WAY, FIRST_CALLS[machine][0][1]) == ALLOW


def test_an_unknown_machine_is_an_error() -> None:
    with pytest.raises(OSError, match="does not know how a vax calls its kernel"):
        keyrings.filter_for("vax")


@pytest.mark.skipif(sys.platform != "linux", reason="keyrings are Linux's")
def test_here_a_process_is_answered_as_by_a_kernel_without_keyrings() -> None:
    first = FIRST_CALLS[os.uname().machine][0][1]

    def refused() -> list[int]:
        """Return which calls this machine does not know."""
        libc = ctypes.CDLL(None, use_errno=True)
        found = []
        for number in range(first, first + CALLS):
            ctypes.set_errno(0)
            if libc.syscall(number, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == errno.ENOSYS:
                found.append(number)
        return found

    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            keyrings.close_keyrings()
            code = 0 if len(refused()) == CALLS else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
