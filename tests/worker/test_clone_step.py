"""The program that makes a clone ready: what it leaves where it cannot."""

import os
from pathlib import Path

import msgspec
from clones.clone_site import plain
from clones.making_site import Home, commit, make_home

from sow.config.clones import CloneSettings
from sow.paths import AttemptPaths
from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from worker.steps.clone import main
from worker.steps.orders import CloneOrders, DependencyOrder


def orders_of(home: Home, folder: Path, *dependencies: DependencyOrder) -> Path:
    """Write the orders of task 030 as the worker does, and return their file."""
    paths = AttemptPaths(folder)
    paths.folder.mkdir()
    orders = CloneOrders(
        folder=str(folder),
        workspace=str(home.workspace.root),
        task="030",
        cwd=".",
        settings=CloneSettings(folder=str(folder.parent / "clones")),
        base=plain(home.top, "rev-parse", "main"),
        dependencies=dependencies,
    )
    paths.clone_orders.write_bytes(msgspec.json.encode(orders))
    return paths.clone_orders


def change(home: Home, task: str, name: bytes, text: str) -> DependencyOrder:
    """Commit a file of any name on a branch of its own, from the first commit."""
    plain(home.top, "switch", "-q", "-c", task, "main")
    path = os.path.join(os.fsencode(home.top), name)  # noqa: PTH118 - of bytes
    Path(os.fsdecode(path)).write_text(text)
    plain(home.top, "add", "-A")
    plain(home.top, "commit", "-q", "-m", task)
    made = plain(home.top, "rev-parse", "HEAD")
    plain(home.top, "switch", "-q", "main")
    return DependencyOrder(task=task, commit=made)


def test_a_conflict_in_a_file_whose_name_is_no_text_is_told(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    commit(home.top, "more", "more\n")
    dependencies = [change(home, task, b"caf\xe9", task) for task in ("010", "020")]
    orders = orders_of(home, tmp_path / "attempt", *dependencies)

    assert main(str(orders), "/bin/true") == 1

    data = AttemptPaths(tmp_path / "attempt").result.read_bytes()
    result = msgspec.json.decode(data, type=StepResult)
    assert result.cause is Cause.SETUP_FAILED
    assert "the work of task 020, which it depends on, conflicts with task 010" in result.reason
