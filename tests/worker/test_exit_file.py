"""The records that a supervisor writes: JSON, made without `json`."""

import json

from worker.supervisor.exit_file import as_json


def test_a_record_reads_as_it_was() -> None:
    record = {
        "attempt": "1.1.00c0ffee",
        "fence": '/sys/"a\\b\n\x00é\udcff',
        "code": 0,
        "signal": None,
        "by_request": True,
        "more": False,
        "started_at": 1790000000.123456,
        "cpu_seconds": 1e-07,
    }
    assert json.loads(as_json(record)) == record
    assert as_json(record) == json.dumps(record)
    assert as_json({}) == json.dumps({})
