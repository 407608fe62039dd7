"""`make test-of`: every module has tests of its own, and not all of them."""

from pathlib import Path

import pytest
from repository.markdown import REPOSITORY
from tests_of import belonging_to, main

MODULES = sorted(
    path.relative_to(REPOSITORY)
    for folder in ("sow", "worker")
    for path in (REPOSITORY / folder).rglob("*.py")
    if path.name != "__init__.py"
)


def names(path: str) -> set[str]:
    return {test.relative_to(REPOSITORY / "tests").as_posix() for test in belonging_to(Path(path))}


@pytest.mark.slow
def test_every_module_has_tests() -> None:
    assert [module for module in MODULES if not belonging_to(module)] == []


@pytest.mark.slow
def test_they_are_those_that_import_it_and_those_named_after_it() -> None:
    assert {"attempts/test_plan.py"} <= names("sow/attempts/plan.py")
    assert {"journeys/test_agent_open.py"} <= names("sow/cli/agent_open.py")
    assert "state/test_transitions.py" not in names("worker/watchdog.py")
    assert "jobs/test_waiters.py" not in names("sow/calls/wait.py")


@pytest.mark.slow
def test_a_test_is_its_own_and_what_tests_share_belongs_to_its_users() -> None:
    assert names("tests/attempts/test_plan.py") == {"attempts/test_plan.py"}
    assert "journeys/test_agent_open.py" in names("tests/journeys/site.py")


def test_a_text_belongs_to_the_tests_of_the_repository() -> None:
    assert "repository/test_links.py" in names("README.md")
    assert "repository/test_makefile.py" in names("Makefile")


@pytest.mark.parametrize("words", [[], ["sow/no_such_file.py"], ["/etc/passwd"]])
def test_what_is_no_file_of_ours_is_refused(words: list[str]) -> None:
    assert main(words) == 2
