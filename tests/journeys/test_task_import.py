"""A file of tasks, by the true commands: imported under SIGKILL, worked off, imported again."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from journeys.callers import await_end, statuses
from journeys.gitsite import commit, git, make_repository
from journeys.site import Site, wait_until
from journeys.staff import shell_executor

COMPLETES = """
    echo "$SOW_TASK_ID" >>"$SOW_ROOT/order"
    sed -i 's/status: in_progress/status: completed/' "$1/state.yaml"
"""
WORKS = """
    echo "work of $SOW_TASK_ID" >"made-$SOW_TASK_ID"
    ls >"seen-by-$SOW_TASK_ID"
    sow task set status needs_review
"""


def entry(key: str, *depends_on: str, **fields: Any) -> dict[str, Any]:
    known = {"key": key, "name": f"Task {key}", "agent": "implementer"}
    return {**known, "depends_on": list(depends_on), **fields}


def layers(count: int) -> list[dict[str, Any]]:
    """Return diamonds upon diamonds: each layer of three waits for the whole one before."""
    rows = [[f"t{row}-{column}" for column in range(3)] for row in range(count)]
    waits = [[], *rows]
    return [entry(key, *waits[row]) for row, keys in enumerate(rows) for key in keys]


def begin(site: Site, script: str) -> None:
    executors = {"brief": shell_executor(site, "brief", script)}
    site.configure({"agents": {"executors": executors, "bindings": {"implementer": "brief"}}})
    site.project()


def write(site: Site, tasks: list[dict[str, Any]]) -> Path:
    path = site.base / "tasks.yaml"
    path.write_text(yaml.safe_dump(tasks))
    return path


def test_layers_are_imported_spawned_once_and_run_in_order(site: Site) -> None:
    begin(site, COMPLETES)
    file = write(site, layers(4))
    assert site.sow("task", "import", str(file)).out.endswith("12 added\n")
    tasks = site.sow("task", "list", "--json").json_lines
    ids = [task["task"] for task in tasks]
    assert [task["standing"] for task in tasks] == ["ready"] * 3 + ["waiting"] * 9
    site.sow("agent", "spawn", *reversed(ids), "--when-ready", "--detach")
    for task in ids:
        await_end(site, task)
    assert statuses(site, ids) == ["completed"] * 12
    order = (site.root / "order").read_text().split()
    row_of = {task["task"]: int(task["key"][1]) for task in tasks}
    assert [row_of[task] for task in order] == sorted(row_of[task] for task in order)
    assert site.sow("task", "import", str(file)).out == "12 unchanged\n"
    exported = site.sow("task", "export").out
    assert site.sow("task", "import", "-", stdin=exported).out == "12 unchanged\n"
    again = site.sow("task", "import", str(write(site, [entry("t0-0", name="Other")])))
    assert (
        "Task 010 (t0-0): not changed, because it was started; the file differs: name" in again.out
    )


@pytest.mark.one_of
@pytest.mark.parametrize("tasks", [0, 20, 45])
def test_an_import_that_is_killed_at_any_moment_is_whole_or_nothing(site: Site, tasks: int) -> None:
    begin(site, COMPLETES)
    file = write(site, layers(20))
    folder = site.root / ".sow/project/phases/implementation/tasks"
    journal = site.root / ".sow/project/.import.json"
    caller = site.start("task", "import", str(file))
    wait_until(lambda: journal.exists() or caller.poll() is not None, "it happens, or is over")
    wait_until(
        lambda: len(list(folder.glob("*"))) >= tasks or caller.poll() is not None, "it is midway"
    )
    caller.send_signal(signal.SIGKILL)
    caller.wait(timeout=240)
    found = site.sow("task", "list", "--json").json_lines
    assert len(found) == 60
    assert not journal.exists()
    assert list(folder.glob(".*")) == []
    assert site.sow("task", "import", str(file)).out == "60 unchanged\n"


def test_a_clone_begins_with_the_work_of_what_it_waited_for(site: Site) -> None:
    make_repository(site)
    begin(site, WORKS)
    (site.root / ".sow/config.yaml").write_text("clones: {use: always}\n")
    commit(site, "a project")
    lines = [entry("first"), entry("second", "first")]
    stdin = "\n".join(map(json.dumps, lines))
    site.sow("task", "import", "-", stdin=stdin)
    site.sow("agent", "spawn", "020", "--when-ready", "--detach")
    site.sow("agent", "spawn", "010")
    site.sow("review", "accept", "010", "--summary", "Good.", "--complete")
    await_end(site, "020")
    branch = site.task("020")["clone"]["branch"]
    assert "made-010" in git(site, "show", f"{branch}:seen-by-020").split()
