"""`--fix` killed at any of its writes goes on where it was: nothing is lost, nothing done twice."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from validation.conftest import NOON, snapshot
from validation.looking import defects_of

from sow.paths import Workspace
from sow.state.task_log import read_entries
from sow.state.tasks import add_task, list_tasks
from sow.validation.mending import mend

pytestmark = pytest.mark.slow
NOWHERE = Path("/nonexistent/config.yaml")
MOST = 60

KILLED = """
import os, signal, sys
from pathlib import Path
from sow.paths import Workspace
from sow.validation.mending import mend
left = int(sys.argv[1])
def watch(event, arguments):
    global left
    is_log = event == "open" and os.path.basename(str(arguments[0])) == "log.md"
    tells = is_log and arguments[2] & os.O_APPEND
    if tells or event in ("os.rename", "os.remove", "shutil.rmtree"):
        left -= 1
        if left < 0:
            print("copy" if "/.git/" in str(arguments[0]) else event, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
mend(Workspace(Path.cwd()), Path("/nonexistent"), now=1769860900)
"""


def branches(workspace: Workspace, git: Callable[..., str], commit, our_phase: str) -> None:
    """Merge two branches that have both added task 010, and one that depends on it."""
    commit("begun")
    for branch, name, phase in (
        ("theirs", "Theirs", "implementation"),
        ("main", "Ours", our_phase),
    ):
        git("checkout", "-q", *(["-b"] if branch == "theirs" else []), branch)
        add_task(
            workspace,
            name=name,
            agent="tester",
            now=NOON,
            phase=phase,
            new_phase=True,
            description=f"{name}!\n",
        )
        after = {"Theirs": "020", "Ours": "030"}[name]
        add_task(
            workspace,
            name=f"After {name}",
            agent="tester",
            now=NOON,
            phase=phase,
            task_id=after,
            depends_on=["010"],
        )
        commit(branch)
    git("merge", "-q", "-m", "both", "theirs", code=0 if our_phase == "review" else 1)


def logged(folder: Path) -> list[str]:
    return [entry.action for entry in read_entries(folder / "log.md")]


@pytest.mark.one_of
@pytest.mark.parametrize("our_phase", ["implementation", "review"])
def test_it_goes_on_where_it_was_killed(
    workspace: Workspace, git, commit, tmp_path_factory, our_phase: str
) -> None:
    branches(workspace, git, commit, our_phase)
    died_at = set()
    for number in range(MOST):
        copy = Workspace(tmp_path_factory.mktemp("killed") / "repo")
        shutil.copytree(workspace.root, copy.root, symlinks=True)
        argv = [sys.executable, "-P", "-c", KILLED, str(number)]
        done = subprocess.run(argv, cwd=copy.root, capture_output=True, text=True, check=False)
        code = done.returncode
        assert code in (0, -signal.SIGKILL), done
        died_at.add(done.stdout.strip())
        mend(copy, NOWHERE, now=NOON)
        assert defects_of(copy) == []
        assert {task.name: (task.id, task.depends_on) for task in list_tasks(copy)} == {
            "Ours": ("010", []),
            "Theirs": ("040", []),
            "After Theirs": ("020", ["040"]),
            "After Ours": ("030", ["010"]),
        }
        texts = {path.read_text() for path in copy.phases.rglob("description.md")}
        assert {"Ours!\n", "Theirs!\n"} <= texts
        (folder,) = copy.phases.glob("*/tasks/040")
        assert logged(folder) == ["Renumbered: this task was 010 on theirs, and so was another one"]
        assert logged(copy.project) == ["Task 010 of theirs, 'Theirs', is task 040 now"]
        after = snapshot(copy)
        assert mend(copy, NOWHERE, now=NOON) == ([], [])
        assert snapshot(copy) == after
        if code == 0:
            break
    assert 4 < number < MOST - 1
    assert {"open", "os.rename"} <= died_at, "at an entry in a log, and at a file put in place"
