"""The beats of a worker: again after one that failed, told once, and not without a queue."""

from collections.abc import Callable
from typing import Any

import pytest
from attempt_cases import wait_until
from watch_cases import WatchSite

from sow.errors import QueueError
from sow.ids import JobId, WorkerId
from sow.jobs.faults import QueueChanged
from sow.jobs.store import Beats, Database
from worker.context import WorkerContext
from worker.heartbeat import Heartbeat

AWAY = QueueError("the queue on db cannot be used: no route", hint="")


class Scripted(Beats):
    """Beats, each of which goes as it is scripted, the last one again and again."""

    def __init__(self, *script: Exception | None) -> None:
        self.script = list(script)
        self.count = 0
        self.is_closed = False

    def beat(self) -> list[JobId]:
        self.count += 1
        next_one = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if next_one is not None:
            raise next_one
        return []

    def close(self) -> None:
        self.is_closed = True


class Elsewhere(Database):
    """A queue whose workers beat."""

    def __init__(self, site: WatchSite, beats: Beats) -> None:
        super().__init__(site.workspace.run)
        self._beats = beats

    def beats(self, worker_id: WorkerId) -> Beats:
        return self._beats


@pytest.fixture
def beating(site: WatchSite, request: pytest.FixtureRequest) -> Callable[[Beats], Heartbeat]:
    def begin(beats: Beats) -> Heartbeat:
        known: Any = site.context
        context = WorkerContext(
            site.workspace,
            Elsewhere(site, beats),
            known.worker_id,
            known.configuration,
            known.environ,
        )
        made = Heartbeat(context, beat_seconds=0.01, retry_seconds=0.01)
        made.start()
        request.addfinalizer(lambda: made.stop(60.0))
        return made

    return begin


def test_it_beats_again_and_again_and_leaves_the_store_at_its_end(
    beating: Callable[[Beats], Heartbeat],
) -> None:
    beats = Scripted(None)
    made = beating(beats)
    wait_until(lambda: beats.count > 2, "it beats again")
    made.stop(60.0)
    assert beats.is_closed


def test_a_beat_that_fails_is_tried_again_and_told_once(
    beating: Callable[[Beats], Heartbeat], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    beating(Scripted(AWAY, AWAY, NameError("a bug"), None))
    wait_until(lambda: "hears this worker again" in caplog.text, "a beat succeeds")
    assert caplog.text.count("does not hear this worker: the queue on db cannot be used") == 1


def test_without_its_queue_it_ends(
    beating: Callable[[Beats], Heartbeat],
) -> None:
    beats = Scripted(None, QueueChanged("the queue was removed", hint=""))
    beating(beats)
    wait_until(lambda: beats.is_closed, "it ends")
    assert beats.count == 2


def test_a_queue_in_a_file_needs_no_thread(site: WatchSite) -> None:
    made = Heartbeat(site.context)
    made.start()
    assert made._thread is None
    made.stop(0.0)
