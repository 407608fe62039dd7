"""The page of a proof: sums, broken promises and failed tests all stand in it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from proving import need_enough

from proof.report import Place, page, read_results

PLACE = Place("2026-01-02", "0123456789ab", False, "3.11.7", 2, "Linux 6.1 x86_64")
PASSED = '<testcase classname="journeys.test_a" name="test_it[1]" time="61.2"/>'
FAILED = '<testcase classname="journeys.test_a" name="test_it[2]" time="9"><failure/></testcase>'


def storm(seed: int, **broken: int) -> dict[str, Any]:
    none = {"failed": 0, "lost": 0, "doubled": 0, "left": 0}
    return {
        "name": "storm over agents",
        "seed": seed,
        "jobs": 80,
        "agents": 100,
        "kills": [["running", "agent", 7], ["running", "worker", 5], ["at once", "agent", 3]],
        "moments": 1,
        "stops": 0,
        "broken": {**none, **broken},
        "seconds": 60,
    }


def made_of(folder: Path, tests: str, *handed_in: dict[str, Any]) -> str:
    (folder / "tests.xml").write_text(f"<testsuites><testsuite>{tests}</testsuite></testsuites>")
    for number, each in enumerate(handed_in):
        (folder / f"{number}.json").write_text(json.dumps(each))
    return page(PLACE, read_results(folder))


def test_kills_are_summed_by_storm_by_window_and_by_victim(tmp_path: Path) -> None:
    text = made_of(tmp_path, PASSED, storm(2), storm(1, lost=2))
    assert "commit 0123456789ab, with Python 3.11.7" in text
    assert "1 tests in 1 minutes, 30 kills in 160 jobs. **All promises held.**" in text
    assert "| 1 | 80 | 100 | 15 | 1 | 0 | 0 | 2 | 0 | 0 | 60 |\n| 2 | 80 | 100 | 15 |" in text
    assert "| all | 160 | 200 | 30 | 2 | 0 | 0 | 2 | 0 | 0 | 120 |" in text
    assert (
        "| kills by window, seed | running | at once |\n| --- | --- | --- |\n| 1 | 12 | 3 |" in text
    )
    assert "| kills by victim, seed | agent | worker |\n| --- | --- | --- |\n| 1 | 10 | 5 |" in text


def test_a_test_that_failed_before_it_handed_in_anything_is_told(tmp_path: Path) -> None:
    text = made_of(tmp_path, PASSED + FAILED, {"name": "power loss", "seed": 3, "losses": 20})
    assert "**NOT all promises held.**" in text
    assert "| `journeys.test_a::test_it[2]` | failed | 9 |" in text
    assert "| power loss | 3 | losses 20 |" in text


@pytest.mark.parametrize("tests", ["", '<testcase name="test_it" time="1"><skipped/></testcase>'])
def test_nothing_that_was_not_run_is_called_a_promise_held(tmp_path: Path, tests: str) -> None:
    assert "**NOT all promises held.**" in made_of(tmp_path, tests)


def test_a_run_of_some_tests_alone_is_not_called_a_whole_proof(tmp_path: Path) -> None:
    made_of(tmp_path, PASSED)
    text = page(replace(PLACE, narrowed_by="-k 101"), read_results(tmp_path))
    assert "This is no whole proof: it was narrowed by `-k 101`." in text
    assert "no whole proof" not in page(PLACE, read_results(tmp_path))


def test_a_storm_that_killed_too_little_is_no_broken_promise(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception) as failed:
        need_enough(False, "147 of 150 kills")
    words = f"Failed: {failed.value}"
    weak = f'<testcase classname="journeys.a" name="b[31]" time="9"><failure message="{words}"/>'
    text = made_of(tmp_path, f"{PASSED}{weak}</testcase>")
    assert "**No promise was broken, but not all were judged.** Nothing was judged by" in text
    assert "`journeys.a::b[31]`: too little was killed (147 of 150 kills)." in text
    assert "| `journeys.a::b[31]` | not judged | 9 |" in text
    for others in (f"{FAILED}{weak}</testcase>", f"{PASSED}{weak}<error/></testcase>"):
        assert "**NOT all promises held.**" in made_of(tmp_path, others)
    assert "**NOT all promises held.**" in made_of(tmp_path, f"{weak}</testcase>")
    need_enough(True, "")


def test_what_a_machine_cannot_run_is_named_and_breaks_no_promise(tmp_path: Path) -> None:
    left_out = (
        '<testcase classname="containers.test_compose" name="test_it" time="0">'
        '<skipped type="pytest.skip" message="left out: no container engine answers here"/>'
        "</testcase>"
    )
    text = made_of(tmp_path, PASSED + left_out)
    assert "**All promises held.**" in text
    assert "`containers.test_compose::test_it`: no container engine answers here." in text
    assert "**NOT all promises held.**" in made_of(tmp_path, left_out)
    assert "**NOT all promises held.**" in made_of(tmp_path, PASSED + left_out + FAILED)
    skipped = left_out.replace("left out: ", "")
    assert "**NOT all promises held.**" in made_of(tmp_path, PASSED + skipped)
