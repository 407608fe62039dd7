"""Make `form-N`: what a sow of that form leaves in `.sow`, by its own commands.

    python tests/validation/golden/make_trees.py 1

Form 1 is made by the sow that was released first, as this repository's history has it; form 2 by
the sow that is here. A tree is never made anew once it is committed: it is what such folders looked
like. The folder is not called `.sow`, so that no command takes it for a workspace.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from journeys.first_form import install_first_sow

HERE = Path(__file__).parent
TASKS = """
- {key: api/login, name: Log in, agent: implementer, checks: [unit], priority: 3}
- {key: api/logout, name: Log out, agent: tester, depends_on: [api/login]}
"""


def main(form: int) -> None:
    base = Path(tempfile.mkdtemp(prefix="sow-golden-"))
    root = base / "repo"
    (root / ".git").mkdir(parents=True)
    program = (
        install_first_sow(base / "first") if form == 1 else Path(sys.executable).with_name("sow")
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(base)}

    def sow(*words: str) -> None:
        subprocess.run([str(program), *words], cwd=root, env=environment, check=True)

    try:
        {1: make_first, 2: make_second}[form](root, sow)
        shutil.rmtree(root / ".sow/run", ignore_errors=True)
        shutil.copytree(root / ".sow", HERE / f"form-{form}")
    finally:
        shutil.rmtree(base)


def make_first(root: Path, sow) -> None:
    sow("init")
    (root / ".sow/config.yaml").write_text("worker: {concurrency: 2}\nartifacts: {designs: docs}\n")
    sow("project", "new", "Sign-in", "--description", "Users log in")
    sow("task", "add", "Log in", "--agent", "implementer")
    sow("task", "add", "Log out", "--agent", "tester", "--depends-on", "010")
    sow("task", "add", "Given up", "--agent", "reviewer", "--phase", "review")
    for status in ("in_progress", "needs_review", "completed"):
        sow("task", "set", "010", "status", status)
    sow(
        "agent", "log", "Added it", "--task", "010", "--file", "a.py", "--body", "Text.\n---\nMore."
    )
    sow("agent", "log", "yes: begun")
    sow("task", "set", "020", "metadata.estimate", "3")
    sow("task", "set", "020", "status", "in_progress")
    (root / ".sow/project/phases/implementation/tasks/020/feedback/001.md").write_text("Shorter.\n")
    sow("task", "set", "020", "feedback", "feedback/001.md")
    sow("task", "abandon", "030")


def make_second(root: Path, sow) -> None:
    sow("init")
    (root / ".sow/config.yaml").write_text("checks: {unit: make test, default: [unit]}\n")
    sow("project", "new", "Before", "--type", "exploration")
    sow("task", "add", "Topic", "--agent", "researcher")
    sow("project", "abandon")
    sow("project", "new", "Sign-in", "--type", "design")
    (root / "tasks.yaml").write_text(TASKS)
    sow("task", "import", "tasks.yaml")
    draft = ".sow/project/context/draft.md"
    (root / draft).write_text("# Draft\n")
    sow("output", "add", draft, "--type", "design")
    sow("feedback", "add", "Shorter")
    sow("feedback", "add", "Longer")
    sow("feedback", "settle", "001")
    for status in ("in_progress", "needs_review"):
        sow("task", "set", "010", "status", status)
    sow("review", "correct", "010", "--file", draft)
    sow(
        "agent", "log", "Added it", "--task", "010", "--file", "a.py", "--body", "Text.\n---\nMore."
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
