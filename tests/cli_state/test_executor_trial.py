"""What a trial of an executor makes of a cancelled run, by given records and real processes."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from journeys.site import wait_until

from sow.cli.executor_trial import BEGUN, WAITING, Result, Trial
from sow.cli.own_repository import Answer, OwnRepository
from sow.cli.trial_time import TrialTime
from sow.processes.process_facts import carriers

UNBOUNDED, IS_UP = TrialTime(1.0), TrialTime(1.0, ends_at=0.0)


class Records(OwnRepository):
    """A repository whose commands print what is at hand."""

    records: Mapping[str, Any]

    def ask(self, *words: str) -> Answer:
        record = self.records.get(" ".join(words[:2]), {})
        return Answer(0, (record,) if record else (), "")

    def read(self, *words: str) -> str:
        return ""


def trial(attempt: str, time: TrialTime = UNBOUNDED, **job: Any) -> Trial:
    repository = Records(Path("/nowhere"), {})
    ended = {"ended_at": "2026-01-01T00:00:00Z", "state": "cancelled", **job}
    repository.records = {
        "agent spawn": {"job": 3},
        "task log": {"agent": "implementer", "action": WAITING},
        "job logs": {"text": "sow changes --follow"},
        "job show": {"attempts": [{"id": attempt}], **ended},
    }
    return Trial(repository, True, time, "maple", death_seconds=0.2)


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


def test_of_a_run_that_is_cut_counts_what_it_has_shown() -> None:
    """No promise is broken because the time was up, but for what was seen of it before."""
    job = {"job": 3, "ended_at": None, "state": "running", "session_id": "a"}
    cut = trial("none", IS_UP)
    assert isinstance(cut.repository, Records)
    cut.repository.records = {"job wait": job, "agent spawn": job, "phase list": {"phase": "a"}}
    cut.repository.records |= {"job logs": {"kind": "text"}, "job show": {"denied_tools": []}}
    seen = {each.promise: (each.result, each.reason) for each in cut.promises()}
    words = (Result.NOT_SHOWN, "the time was up")
    assert {promise for promise, each in seen.items() if each == words} == {
        *("spawn", "pause", "resume", "cancel")
    }
    assert seen["deny"][0] is Result.NOT_SHOWN
    cut.repository.records |= {"task log": {"agent": "implementer", "action": BEGUN}}
    assert next(cut.promises()).result is Result.HELD
    cut.repository.records |= {"job wait": {**job, "status": "paused"}}
    assert [each.result for each in cut.promises()][1] is Result.HELD
    cut.repository.records |= {"job wait": {**job, "status": "failed", "ended_at": "2026"}}
    assert [each.result for each in cut.promises()][1] is Result.BROKEN
