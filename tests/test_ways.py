"""Which modules a way counts as opened."""

import io
import logging
import sys
from importlib import import_module
from pathlib import Path

import pytest
from ways import followed

from worker.context import logger
from worker.worker_log import Lines

MODULE = """
class Made:
    values = [number for number in range(2)]

def double(number):
    return 2 * number

FOUR = double(2)
"""


def test_a_module_is_opened_by_a_call_and_not_by_its_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_late.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    with followed("imported_late") as way:
        module = import_module("imported_late")
        by_import = list(way.modules)
        module.double(3)
    monkeypatch.delitem(sys.modules, "imported_late")
    assert by_import == []
    assert way.modules == ["imported_late"]


def test_what_an_earlier_worker_has_left_is_no_part_of_a_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(Lines())
    monkeypatch.setattr(logger, "handlers", [handler])
    with followed("worker.") as way:
        logger.error("a line")
    assert way.modules == []
    assert logger.handlers == [handler]
