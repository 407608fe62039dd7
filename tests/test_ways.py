"""Which modules a way counts as opened."""

import sys
from importlib import import_module
from pathlib import Path

import pytest
from ways import followed

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
