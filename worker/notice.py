"""`python -m worker.notice`: runs one command of `notify:` and says how it ended.

Owns the command's tree, its time limit and the end of what it has printed. It
reads its orders from standard input and answers on standard output. It goes on
when whoever started it dies, so that no command runs without a limit. Nothing of
it lies on disk.
"""

import os
import signal
import sys
import tempfile
import time
from contextlib import suppress

import msgspec

from sow.config.units import write_duration
from sow.schema.notification import DeliveryState, NoticeOrders, NoticeResult
from sow.terminal_text import printable_lines, without_sequences
from worker.steps.command_line import Ended, Runner, shell_argv, start_shell

MOST_LINES = 5
LONGEST_LINE = 300
TAIL_BYTES = 1 << 14


def main() -> None:
    """Run the command of the orders."""
    orders = msgspec.json.decode(sys.stdin.buffer.read(), type=NoticeOrders)
    answer = msgspec.json.encode(run(orders))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    with suppress(OSError):  # nobody waits for it any more
        os.write(sys.stdout.fileno(), answer)


def run(orders: NoticeOrders) -> NoticeResult:
    """Run a command to its end, or to the end of its time; return how that was."""
    runner = Runner(orders.spares, orders.packages)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
        given.write(orders.stdin.encode())
        given.seek(0)
        begun = time.monotonic()
        try:
            pid = start_shell(shell_argv(orders.run), stdin=given.fileno(), output=printed.fileno())
        except OSError as error:
            return NoticeResult(state=DeliveryState.FAILED, reason=f"no shell: {error.strerror}")
        ended = runner.follow(pid, begun, seconds=orders.seconds)
        size = os.fstat(printed.fileno()).st_size
        tail = os.pread(printed.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
    return _result(ended, orders, _last_lines(tail))


def _result(ended: Ended, orders: NoticeOrders, output: str) -> NoticeResult:
    state, reason = DeliveryState.FAILED, f"exit code {ended.code}"
    if ended.timed_out:
        state = DeliveryState.TIMED_OUT
        reason = f"it took longer than {write_duration(orders.seconds)} (its timeout)"
    elif ended.signal is not None:
        reason = f"signal {ended.signal}"
    elif ended.code == 0:
        state, reason = DeliveryState.DELIVERED, ""
    return NoticeResult(
        state=state,
        exit_code=ended.code,
        seconds=round(ended.seconds, 3),
        reason=reason,
        output=output,
    )


def _last_lines(data: bytes) -> str:
    text = without_sequences(data.decode("utf-8", "replace"))
    lines = [line[:LONGEST_LINE] for line in printable_lines(text) if line.strip()]
    return "\n".join(lines[-MOST_LINES:])


if __name__ == "__main__":
    main()
