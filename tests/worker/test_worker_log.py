"""What a worker says: lines with local times for people, objects in UTC for programs."""

import json
import logging
import time
from collections.abc import Iterator

import pytest

from worker.worker_log import JsonLines, Lines

NOON = 1_769_860_805.0
"""2026-01-31T12:00:05Z."""


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.LogRecord]:
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    made = logging.LogRecord("sow.worker", logging.INFO, "", 0, "it goes on", (), None)
    made.created = NOON
    yield made
    monkeypatch.delenv("TZ")
    time.tzset()


def test_people_read_the_local_time_and_its_date(record: logging.LogRecord) -> None:
    assert Lines().format(record) == "2026-01-31 14:00:05  it goes on"


def test_programs_read_utc(record: logging.LogRecord) -> None:
    assert json.loads(JsonLines().format(record))["at"] == "2026-01-31T12:00:05Z"
