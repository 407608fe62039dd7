"""The Makefile: what it offers is described, what texts and scripts name is there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from repository.markdown import REPOSITORY, TEXTS, blocks, read

MAKE = shutil.which("make", path=os.environ.get("PATH", os.defpath)) or "make"
PHONY = re.search(r"^\.PHONY: (.+)$", read("Makefile"), re.MULTILINE)


@cache
def make(*words: str, folder: Path = REPOSITORY, ci: bool = False) -> str:
    """Run make and return what it says."""
    environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LANG": "C.UTF-8"}
    done = subprocess.run(
        [MAKE, "--no-print-directory", *words],
        cwd=folder,
        env={**environ, "CI": "true"} if ci else environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def targets() -> set[str]:
    assert PHONY
    return set(PHONY[1].split())


def test_help_describes_every_target_and_is_what_make_does_by_itself() -> None:
    described = dict(re.findall(r"^make ([a-z-]+) +(\S.*\.)$", make("help"), re.MULTILINE))
    assert set(described) == targets()
    assert make() == make("help")


def test_every_target_that_a_text_or_ci_names_is_there() -> None:
    named = set(
        re.findall(
            r"^ *(?:timeout .*? |begin_beside )?make ([a-z-]+)", read(".ci/run"), re.MULTILINE
        )
    )
    for text in TEXTS:
        body = read(str(text))
        named |= set(re.findall(r"`make ([a-z-]+)`", body))
        for block in blocks(body, "bash"):
            named |= set(re.findall(r"^make ([a-z-]+)", block, re.MULTILINE))
    assert {"run", "test", "check", "bench", "proof"} <= named <= targets()


@pytest.mark.slow
def test_ci_runs_the_storms_and_nobody_else_does_unasked() -> None:
    left_out = "not storm and not docker and not browser and not gh and not sshd and not groups"
    assert f'-m "{left_out}"' in make("-n", "test")
    assert "storm" not in make("-n", "test", ci=True)


def test_what_belongs_to_files_is_asked_of_the_script_and_run() -> None:
    plan = make("-n", "test-of", "sow/calls/wait.py", "worker/launch.py")
    asked, _, run = plan.partition(") && ")  # what it refuses is not run
    assert "tests/tests_of.py sow/calls/wait.py worker/launch.py" in asked
    assert ".venv/bin/pytest" in run


def test_ci_ends_with_the_tests() -> None:
    assert read(".ci/run").rstrip().endswith("make test")


def test_check_is_format_lint_types_and_imports() -> None:
    plan = make("-n", "check")
    for tool in ("ruff format --check", "ruff check", "mypy", "lint-imports"):
        assert f".venv/bin/{tool}" in plan


@pytest.mark.parametrize("target", ["run", "test"])
def test_an_old_python_is_refused_by_name(tmp_path: Path, target: str) -> None:
    old = tmp_path / "python3.10"
    pretend = "import sys; sys.version_info = (3, 10, 4); exec(sys.argv[1])"
    old.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c '{pretend}' \"$2\"\n")
    old.chmod(0o755)
    for name in ("Makefile", "pyproject.toml", "scripts"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    output = make(f"PYTHON={old}", target, folder=tmp_path)
    assert f"sow needs Python 3.11 or newer; {old} is 3.10." in output
    assert not (tmp_path / ".venv").exists()


def test_a_folder_with_a_space_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    shutil.copy(REPOSITORY / "Makefile", folder)
    output = make("run", folder=folder)
    assert "holds a space" in output
    assert [path.name for path in folder.iterdir()] == ["Makefile"]
