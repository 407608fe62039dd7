"""What a commit draws, and that `make proof` runs all from which it is drawn."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from proving import Case, drawn_cases, few_of, one_of_each, place_of
from repository.sources import ROOT
from repository.test_makefile import make

from proof.__main__ import TESTS

DRAWS = re.compile(r"^from proving import .*\bdrawn\b", re.MULTILINE)


def test_commits_draw_each_of_several_the_same_commit_always_the_same() -> None:
    places = [place_of(f"{commit:040x}", 12) for commit in range(200)]
    assert set(places) == set(range(12))
    assert places == [place_of(f"{commit:040x}", 12) for commit in range(200)]


def test_commits_draw_each_test_of_a_group_whatever_their_order() -> None:
    groups = {"storms": ["a", "b", "c"], "alone": ["d"]}
    upside_down = {group: names[::-1] for group, names in groups.items()}
    seen = [one_of_each(groups, drawn_by=f"{commit:040x}") for commit in range(60)]
    assert {name for drawn in seen for name in drawn} == {*"abcd"}
    assert {len(drawn) for drawn in seen} == {2}
    assert seen == [one_of_each(upside_down, drawn_by=f"{commit:040x}") for commit in range(60)]


def test_of_many_cases_commits_draw_a_few_in_turn_whatever_their_order() -> None:
    cases = [f"test_it[{number}]" for number in range(9)]
    commits = [f"{commit:040x}" for commit in range(60)]
    seen = [{*few_of(cases, 6, drawn_by=commit)} for commit in commits]
    assert {len(drawn) for drawn in seen} == {6}
    assert {name for drawn in seen for name in drawn} == {*cases}
    assert seen == [{*few_of(cases[::-1], 6, drawn_by=commit)} for commit in commits]
    assert few_of(cases[:6], 6, drawn_by="") == cases[:6]


def test_ci_runs_one_choice_of_a_group_a_few_cases_and_all_that_is_in_none() -> None:
    cases = [
        Case("always"),
        *(Case(f"{cli}: {number}", "real", cli) for cli in "abc" for number in (1, 2)),
        *(Case(f"it[{number}]", most=2) for number in range(5)),
    ]
    runs = [drawn_cases(cases, drawn_by=f"{commit:040x}") for commit in range(60)]
    for names in runs:
        (cli,) = {name[0] for name in names if ": " in name}
        assert {f"{cli}: 1", f"{cli}: 2", "always"} <= names
        assert sum(name.startswith("it[") for name in names) == 2
    assert set().union(*runs) == {case.name for case in cases}


CASES = """
import pytest

MARKED = pytest.param("marked", marks=pytest.mark.docker)
"""
EACH_CASE = """
@pytest.mark.few(1)
@pytest.mark.parametrize("case", [MARKED, "plain"])
def test_few_{number}(case): ...

@pytest.mark.one_of("group {number}")
@pytest.mark.parametrize("case", [MARKED, "plain"])
def test_one_{number}(case): ...
"""


@pytest.mark.slow
def test_what_the_selection_takes_away_is_not_drawn_from(tmp_path: Path) -> None:
    """So many that no commit draws what is left of each by chance."""
    count = 20
    text = CASES + "".join(EACH_CASE.format(number=number) for number in range(count))
    (tmp_path / "test_cases.py").write_text(text)
    here = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "conftest")
    words = ("--collect-only", "-q", "-p", "no:cacheprovider", "--draw", "-m", "not docker")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *here, *words, "test_cases.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "tests"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    names = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(names) == 2 * count, done.stdout + done.stderr
    assert all(name.endswith("[plain]") for name in names)


@pytest.mark.slow
def test_ci_alone_draws_and_the_proof_narrows_nothing() -> None:
    assert "--draw" in make("-n", "test", ci=True)
    assert "--draw" not in make("-n", "test")
    assert "--draw" not in (ROOT / "proof/__main__.py").read_text()


def test_the_proof_runs_each_file_that_draws() -> None:
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/*/test_*.py")]
    draws = {file for file in files if DRAWS.search((ROOT / file).read_text())}
    assert "tests/clones/test_rebasing.py" in draws
    assert {file for file in draws if not file.startswith(TESTS)} == set()
