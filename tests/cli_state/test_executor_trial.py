"""What a trial of an executor makes of a cancelled run, by given records and real processes."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from journeys.site import wait_until

from sow.cli.executor_trial import WAITING, Result, Trial
from sow.cli.own_repository import Answer, OwnRepository
from sow.processes.process_facts import carriers


class Records(OwnRepository):
    """A repository whose commands print what is at hand."""

    records: Mapping[str, Any]

    def ask(self, *words: str) -> Answer:
        record = self.records.get(" ".join(words[:2]), {})
        return Answer(0, (record,) if record else (), "")


def trial(attempt: str, **job: Any) -> Trial:
    repository = Records(Path("/nowhere"), {})
    ended = {"ended_at": "2026-01-01T00:00:00Z", "state": "cancelled", **job}
    repository.records = {
        "agent spawn": {"job": 3},
        "task log": {"agent": "implementer", "action": WAITING},
        "job logs": {"text": "sow changes --follow"},
        "job show": {"attempts": [{"id": attempt}], **ended},
    }
    return Trial(repository, True, "1s", 1.0, "maple", death_seconds=0.2)


@pytest.fixture
def left() -> Iterator[tuple[str, int]]:
    """A process that carries an attempt's id, and outlives it."""
    attempt = str(uuid4())
    with subprocess.Popen(
        ["/bin/sleep", "60"], env={"SOW_ATTEMPT_ID": attempt}, start_new_session=True
    ) as process:
        # The kernel shows no variables in the first moment after exec.
        wait_until(lambda: carriers("SOW_ATTEMPT_ID", attempt), "its variables are seen")
        yield attempt, process.pid
        process.kill()


@pytest.mark.slow
def test_a_process_that_is_left_breaks_the_promise(left: tuple[str, int]) -> None:
    attempt, pid = left
    for job in ({}, {"ended_at": None, "state": "running"}):
        seen = trial(attempt, **job).cancelled()
        assert seen == (Result.BROKEN, f"processes are left: {pid}")


def test_none_that_is_left_keeps_it() -> None:
    assert trial(str(uuid4())).cancelled().result is Result.HELD


def test_one_that_had_ended_before_shows_nothing(left: tuple[str, int]) -> None:
    seen = trial(left[0], state="done", status="completed", cause="reported").cancelled()
    assert seen.result is Result.NOT_SHOWN
