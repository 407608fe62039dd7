"""A call that a signal has detached goes away, also where Python has dropped the exception."""

import signal
from contextlib import suppress

import pytest

from sow.cli.detaching import DETACHING, detaching_signals, leave_if_nobody_waits


@pytest.mark.parametrize("signum", DETACHING)
def test_a_lost_interrupt_is_raised_again_before_the_next_sleep(signum: signal.Signals) -> None:
    with detaching_signals():
        leave_if_nobody_waits()
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signum)
        with pytest.raises(KeyboardInterrupt):
            leave_if_nobody_waits()
    for each in DETACHING:  # ignored from then on, for a call ends after that
        signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)
    with detaching_signals():
        leave_if_nobody_waits()
