"""Where a machine cannot run the real part: skipped with the reason, but never under CI."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each case starts pytest

HERE = Path(__file__).parent


def run_without_tools(tmp_path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of the namespace where no `unshare` is on PATH."""
    test = f"{HERE / 'test_namespace.py'}::test_only_loopback_is_there"
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--basetemp={tmp_path / 'base'}",
            test,
        ],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path), **environ},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_missing_tool_skips_with_its_reason(tmp_path: Path) -> None:
    done = run_without_tools(tmp_path)
    assert (done.returncode, "1 skipped" in done.stdout) == (0, True), done.stdout
    assert "unshare and nsenter (util-linux) are not installed" in done.stdout


def test_in_ci_a_skip_is_a_failure(tmp_path: Path) -> None:
    done = run_without_tools(tmp_path, CI="true")
    assert (done.returncode, "1 error" in done.stdout) == (1, True), done.stdout
    assert "unshare and nsenter (util-linux) are not installed" in done.stdout
