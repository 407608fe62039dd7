"""A feature is a package that nothing but the registry names, and sow works without it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository.sources import ROOT, text_of

MOST_FILES = 25
"""So many files know the word of a feature: its own, the registry, and the forms of records."""
ROW = re.compile(r"Feature\(\"budget\", .*\)\),")
CONFIGURATION = """
agents:
  executors:
    scripted:
      type: command
      settings:
        command: [/bin/sh, {script}]
  bindings:
    implementer: scripted
worker:
  idle_exit: 1s
"""


def test_few_files_know_of_budgets() -> None:
    found = [
        path.relative_to(ROOT).as_posix()
        for package in ("sow", "worker")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "budget" in text_of(path).lower()
    ]
    own = [name for name in found if name.startswith("sow/budgets/")]
    assert len(own) > 5
    assert len(found) <= MOST_FILES, found


@pytest.mark.slow
def test_a_job_runs_from_spawn_to_end_without_the_feature(tmp_path: Path) -> None:
    """Its row, its package and its worker's module are taken out of a copy of the tree."""
    copy, project = tmp_path / "copy", tmp_path / "project"
    project.mkdir()
    for package in ("sow", "worker"):
        leave_out = shutil.ignore_patterns("__pycache__", "budgets", "budgeting.py")
        shutil.copytree(ROOT / package, copy / package, ignore=leave_out)
    registry = copy / "sow/features.py"
    text, count = ROW.subn("", registry.read_text())
    assert count == 1
    registry.write_text(text)
    script, configuration = tmp_path / "agent.sh", tmp_path / "config.yaml"
    python = f"PYTHONPATH={copy} {sys.executable} -P -m sow"
    script.write_text(f"cat > /dev/null\n{python} task set 010 status needs_review\n")
    configuration.write_text(CONFIGURATION.format(script=script))
    environ = {**os.environ, "PYTHONPATH": str(copy), "SOW_CONFIG": str(configuration)}

    def sow(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "sow", *words],
            cwd=project,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    sow("init")
    sow("project", "new", "P", "--type", "quick")
    sow("task", "add", "T", "--agent", "implementer")
    assert "--budget" not in sow("agent", "spawn", "--help")
    try:
        sow("agent", "spawn", "010")
        assert '"needs_review"' in sow("task", "show", "010", "--json")
        assert '"done"' in sow("job", "show", "1", "--json")
        sow("next")
        sow("status")
        sow("config", "show")
    finally:
        sow("worker", "stop")
