"""When a worker leaves: what wakes its main thread."""

import signal
import threading
from collections.abc import Iterator

import pytest
from watch_cases import WatchSite

from worker.departure import Departure


@pytest.fixture
def own_handlers() -> Iterator[None]:
    """Put back what a departure changes for its whole process."""
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)
    signal.set_wakeup_fd(-1)


@pytest.mark.usefixtures("own_handlers")
def test_a_signal_that_another_thread_is_given_wakes_the_main_thread(site: WatchSite) -> None:
    departure = Departure(site.context, threading.Event())
    departure.leave_at([signal.SIGHUP])
    looks: list[int] = []
    other = threading.Thread(
        target=lambda: signal.pthread_kill(threading.get_ident(), signal.SIGHUP)
    )
    other.start()
    departure.wait(lambda: looks.append(1))
    other.join()
    assert (departure.signals, departure.is_decided, looks) == (1, True, [])
