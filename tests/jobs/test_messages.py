"""The message of a job: what a caller writes is what huey writes and reads."""

import json
import pickle
from typing import Any

import pytest
from huey_queue import HueyQueue
from hypothesis import given
from hypothesis import strategies as st

from sow.ids import JobId
from sow.jobs import messages
from sow.jobs.database import Database
from sow.paths import Workspace
from worker.broker import JsonSerializer, SowHuey

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.fixture
def huey(database: Database, workspace: Workspace) -> SowHuey:
    return HueyQueue(database, workspace).huey


def test_a_callers_message_is_the_task_that_huey_would_have_made(huey: SowHuey) -> None:
    """§8: "an enqueue by huey's stock API runs": one form on the wire."""
    theirs, ours = huey.deserialize_task(messages.job_message(JobId(7))), huey.run_job.s(7)
    assert type(theirs) is type(ours)
    assert (list(theirs.args), theirs.kwargs) == (list(ours.args), ours.kwargs) == ([7], {})
    settings = ("retries", "retry_delay", "retry_backoff", "eta", "expires", "timeout", "priority")
    for name in settings:
        assert getattr(theirs, name) == getattr(ours, name), name


def test_huey_writes_the_bytes_that_a_caller_writes(huey: SowHuey) -> None:
    task = huey.run_job.s(7)
    task.id = "job-7"
    assert huey.serialize_task(task) == messages.job_message(JobId(7))


def test_the_message_carries_the_number_of_a_job_and_nothing_else() -> None:
    """§6: "the queue carries a job id and nothing else"."""
    assert json.loads(messages.job_message(JobId(7))) == {
        "args": [7],
        "id": "job-7",
        "kwargs": {},
        "name": messages.TASK_NAME,
        "retries": 0,
        "retry_backoff": 0,
        "retry_delay": 0,
    }


def test_the_job_is_read_from_either_form(huey: SowHuey) -> None:
    assert messages.job_of(messages.job_message(JobId(7))) == 7
    assert messages.job_of(huey.serialize_task(huey.run_job.s(7))) == 7
    assert messages.job_of(huey.serialize_task(huey.run_job.s(job_id=7))) == 7


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04garbage",
        pickle.dumps({"name": messages.TASK_NAME, "args": [7]}),
        b"[7]",
        b"7",
        b"null",
        b"{}",
        b'{"name": "worker.broker.other", "args": [7]}',
        b'{"name": "worker.broker.run_job"}',
        b'{"name": "worker.broker.run_job", "args": {"0": 7}}',
        b'{"name": "worker.broker.run_job", "args": ["7"]}',
        b'{"name": "worker.broker.run_job", "args": [7.0]}',
        b'{"name": "worker.broker.run_job", "args": [true]}',
        b'{"name": "worker.broker.run_job", "args": [7, 8]}',
        b'{"name": "worker.broker.run_job", "args": [], "kwargs": [7]}',
        b'{"name": "worker.broker.run_job", "args": [], "kwargs": {}}',
        b"\xff\xfe{}",
    ],
)
def test_other_bytes_ask_for_no_job(data: bytes) -> None:
    assert messages.job_of(data) is None


@given(st.binary())
def test_no_bytes_at_all_make_the_reader_fail(data: bytes) -> None:
    assert messages.job_of(data) is None


@given(st.integers(min_value=1, max_value=2**63 - 1))
def test_any_job_goes_there_and_back(number: int) -> None:
    assert messages.job_of(messages.job_message(JobId(number))) == number


@pytest.mark.slow
@given(JSON)
def test_values_survive_huey_s_serializer(value: Any) -> None:
    serializer = JsonSerializer()
    assert serializer.deserialize(serializer.serialize(value)) == value


def test_pickled_bytes_are_refused_unread() -> None:
    """facts/huey: "pickle. A row written by anyone who can write the file runs code"."""

    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pytest.fail, ("unpickled",))

    with pytest.raises(ValueError, match=r"utf-8|Expecting value"):
        JsonSerializer().deserialize(pickle.dumps(Bomb()))


def test_what_json_cannot_carry_is_refused_when_it_is_enqueued(huey: SowHuey) -> None:
    with pytest.raises(TypeError):
        huey.serialize_task(huey.run_job.s(object()))


def test_a_time_to_run_at_survives(huey: SowHuey) -> None:
    import datetime

    when = datetime.datetime(2031, 5, 1, 12, 30, 15, 250_000)
    task = huey.run_job.s(7)
    task.eta = when
    assert huey.deserialize_task(huey.serialize_task(task)).eta == when
