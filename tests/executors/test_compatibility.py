"""The committed page is what the contract's table gives."""

import compatibility
from executor_cases import CASES, FAULTS, SESSION_ROWS

from sow.agent_clis.known import AGENT_CLIS
from sow.schema.executor_type import ExecutorType

REMEDY = "run `python tests/executors/compatibility.py`"


def test_the_page_is_current() -> None:
    assert compatibility.PAGE.read_text(encoding="utf-8") == compatibility.render(), REMEDY


def test_what_the_page_calls_refused_is_refused() -> None:
    for kind, *effects in compatibility.SETTINGS:
        for setting, effect in zip(compatibility.SETTINGS_HEADER[1:], effects, strict=True):
            name, _, value = setting.strip("`").partition(":")
            fits = name in AGENT_CLIS[ExecutorType(kind)].settings
            assert (effect == "refused") is not (fits or value == " false"), (setting, kind)
    assert {row[0] for row in compatibility.SETTINGS} == set(ExecutorType)


def test_every_row_is_on_the_page() -> None:
    rows = [line for line in compatibility.render().splitlines() if line.startswith("| ")]
    for title in (each.title for each in (*CASES, *FAULTS)):
        assert any(title in row for row in rows)
    for row in SESSION_ROWS:
        assert any(line.startswith(f"| {row.executor} |") for line in rows)
