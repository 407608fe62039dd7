"""`make test-quick`: what it leaves out, and that what is left still reaches every package."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from repository.sources import ROOT, SOURCES, imports_of, text_of, tree_in
from repository.test_makefile import make

LEFT_OUT = ("storm", "real", "slow", "docker", "browser", "gh", "sshd", "groups")
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
PACKAGES = sorted({".".join(name.split(".")[:2]) for name in SOURCES if name.count(".") > 1})


def test_it_leaves_out_journeys_storms_real_agents_and_what_is_slow() -> None:
    plan = make("-n", "test-quick")
    assert f'-m "{" and ".join(f"not {mark}" for mark in LEFT_OUT)}"' in plan
    assert "--ignore tests/journeys" in plan
    assert "--hypothesis-profile quick" in plan
    assert " --quick " in plan


@pytest.mark.parametrize("ci", [False, True])
def test_the_whole_run_leaves_out_nothing_for_its_seconds(ci: bool) -> None:
    plan = make("-n", "test", ci=ci)
    assert not any(words in plan for words in ("slow", "--ignore", "profile quick", "--quick"))


@pytest.mark.parametrize("package", PACKAGES)
def test_it_reaches_every_package(package: str) -> None:
    assert any(reaches(path, package) and is_quick(path) for path in TESTS)


def test_whatever_is_slow_is_seen_to_be_left_out() -> None:
    """Or the test above could not fail."""
    assert not is_quick(ROOT / "tests/fuzz/test_found.py")
    assert not is_quick(ROOT / "tests/fuzz/test_closed_streams.py")
    assert not is_quick(ROOT / "tests/worker/test_supervisor_tree.py")
    assert not is_quick(ROOT / "tests/journeys/test_main_job.py")
    assert is_quick(ROOT / "tests/state/test_state_concurrency.py")


SLOW_FILES = {
    "test_line.py": "pytestmark = pytest.mark.slow  # it starts a process",
    "test_list.py": "pytestmark = [\n    pytest.mark.one_of,\n    pytest.mark.slow,\n]",
}
QUICK_FILE = """
import pytest

pytestmark = [pytest.mark.few(9)]
SLOW = pytest.param(2, marks=pytest.mark.slow)

@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_slow(number): ...

@pytest.mark.parametrize("number", [1, SLOW])
def test_case(number): ...

class TestGroup:
    def test_method(self): ...
"""


@pytest.mark.slow
def test_what_is_not_imported_for_its_marks_has_no_quick_test(tmp_path: Path) -> None:
    for name, mark in SLOW_FILES.items():
        text = f"import pytest\n{mark}\nraise AssertionError('imported')\n"
        (tmp_path / name).write_text(text)
    (tmp_path / "test_quick.py").write_text(QUICK_FILE)
    here = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "conftest")
    words = ("--collect-only", "-q", "-p", "no:cacheprovider", "-m", "not slow and not real")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *here, *words, "--quick", "."],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "tests"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    names = [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(names) == ["TestGroup::test_method", "test_case[1]"]


@cache
def is_quick(path: Path) -> bool:
    """Whether some test of a file is run."""
    body = tree_in(text_of(path)).body
    if path.is_relative_to(ROOT / "tests/journeys") or any(map(marks_the_file, body)):
        return False
    return any(
        isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not any(map(is_left_out, node.decorator_list))
        for node in body
    )


def marks_the_file(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "pytestmark"
        and is_left_out(node.value)
    )


def is_left_out(mark: ast.expr) -> bool:
    words = ast.unparse(mark)
    return any(f"pytest.mark.{name}" in words for name in LEFT_OUT)


def reaches(path: Path, package: str) -> bool:
    """Whether a file, or what tests share beside it, imports something of a package."""
    return any(imports(file, package) for file in (path, *shared_in(path.parent)))


@cache
def shared_in(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.py") if not path.name.startswith("test_")]


@cache
def imports(path: Path, package: str) -> bool:
    """Only what has the package's word at all is parsed."""
    if package.rpartition(".")[2] not in text_of(path):
        return False
    return any(f"{module}.".startswith(f"{package}.") for module in imports_of(path))
