"""The program that makes a clone ready: what it writes, and what it leaves where it cannot."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from attempts.job_values import NOW, make_job
from clones.clone_site import plain
from clones.making_site import PROJECT_ID, Home, commit, make_home
from msgspec import UNSET
from watch_cases import ME

from sow.clone_mark import read_mark
from sow.clones.locks import CloneLocked, locked_place
from sow.clones.main_checkout import main_checkout
from sow.clones.mark import Stage, write_mark
from sow.clones.record import noted_clone
from sow.config.clones import CloneSettings
from sow.ids import AttemptId, JobId, ProjectId, TaskId
from sow.jobs import jobs, leases
from sow.jobs.database import Database, open_queue
from sow.paths import AttemptPaths
from sow.schema.causes import Cause
from sow.schema.job import Attempt, JobState, Verb
from sow.schema.step_result import StepResult
from sow.state.tasks import change_task, read_task
from sow.yamlfile import REMOVE
from worker.steps.becoming import result_of
from worker.steps.clone import main, make_ready
from worker.steps.program_input import CloneOrders, DependencyOrder

pytestmark = pytest.mark.slow  # process after process


def orders_of(home: Home, folder: Path, *dependencies: DependencyOrder) -> Path:
    """Write the orders of task 030 as the worker does, and return their file."""
    paths = AttemptPaths(folder)
    paths.folder.mkdir()
    orders = CloneOrders(
        folder=str(folder),
        job=1,
        attempt=1,
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


def test_a_fault_that_passes_is_told_from_one_that_stays(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    orders = orders_of(home, tmp_path / "attempt")
    folder = tmp_path / "full"
    folder.mkdir()
    passing = OSError(errno.ENOSPC, "No space left on device", str(folder))
    assert result_of(passing).cause is Cause.SETUP_PREVENTED
    assert result_of(OSError(errno.EACCES, "Permission denied", "x")).cause is Cause.SETUP_FAILED
    found = msgspec.json.decode(orders.read_bytes(), type=CloneOrders)
    place = main_checkout(home.workspace, found.settings).place(read_task(home.workspace, "030"))
    with (
        locked_place(place),
        pytest.raises(CloneLocked) as caught,
        locked_place(place, timeout_seconds=0.0),
    ):
        pass
    assert result_of(caught.value).cause is Cause.SETUP_PREVENTED


def on_record(home: Home, *, settled: int = 0) -> Database:
    """Put a first attempt of a running job of task 030 on record."""
    database = open_queue(home.workspace)
    project = ProjectId(PROJECT_ID)
    wanted = make_job(id=JobId(0), project_id=project, task_id=TaskId("030"))
    job = jobs.insert_job(database, msgspec.structs.replace(wanted, state=JobState.PREPARING))
    leases.enqueue(database, job.id, now=NOW)
    leases.claim(database, ME, total=9, own=9, now=NOW)
    jobs.insert_attempt(
        database,
        Attempt(
            job_id=job.id,
            number=1,
            id=AttemptId("1.1.abc"),
            verb=Verb.SPAWN,
            worker_id=ME,
            created_at=NOW,
        ),
    )
    jobs.change_job(database, job.id, settled=settled)
    return database


def ready(orders: Path) -> Path:
    found = msgspec.json.decode(orders.read_bytes(), type=CloneOrders)
    return make_ready(found, AttemptPaths(orders.parent))


def test_the_clone_is_on_both_records_before_an_agent_is_in_it(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    database = on_record(home)
    root = ready(orders_of(home, tmp_path / "attempt"))
    clone = read_task(home.workspace, "030").clone
    assert clone is not UNSET
    assert clone.path == str(root)
    found = noted_clone(home.repository, PROJECT_ID, "030")
    assert found is not None
    assert (found.path, found.branch, found.base) == (clone.path, clone.branch, clone.base)
    database.close()


def test_the_program_of_a_settled_attempt_writes_nothing_into_the_state(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    database = on_record(home, settled=1)
    with pytest.raises(leases.Fenced):
        ready(orders_of(home, tmp_path / "attempt"))
    assert read_task(home.workspace, "030").clone is UNSET
    assert main(str(tmp_path / "attempt" / "clone.json"), "/bin/true") == 1
    assert not AttemptPaths(tmp_path / "attempt").result.exists()
    database.close()


def test_what_an_agent_has_made_of_the_mark_is_not_put_on_record(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    database = on_record(home)
    orders = orders_of(home, tmp_path / "attempt")
    root = ready(orders)
    before = read_task(home.workspace, "030").clone
    mark = read_mark(str(root))
    assert mark is not None
    write_mark(root, mark._replace(base=commit(root, "hidden", "x\n"), branch="main"))
    ready(orders)
    assert read_task(home.workspace, "030").clone == before
    database.close()


def test_a_clone_whose_agent_says_that_it_is_not_whole_keeps_its_record(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    database = on_record(home)
    orders = orders_of(home, tmp_path / "attempt")
    root = ready(orders)
    before = noted_clone(home.repository, PROJECT_ID, "030")
    mark = read_mark(str(root))
    assert mark is not None
    forged = mark._replace(base=commit(root, "hidden", "x\n"), branch="main", stage=Stage.MADE)
    write_mark(root, forged)
    (root / "own").write_text("an agent's\n")
    found = msgspec.json.decode(orders.read_bytes(), type=CloneOrders)
    settings = msgspec.structs.replace(found.settings, setup="true")
    again = msgspec.structs.replace(found, settings=settings, is_begun=True)
    orders.write_bytes(msgspec.json.encode(again))
    argv = [sys.executable, "-m", "worker.steps", "clone", str(orders), "/bin/true"]
    subprocess.run(argv, check=True, cwd=Path(__file__).parents[2])
    assert noted_clone(home.repository, PROJECT_ID, "030") == before
    after = read_mark(str(root))
    assert after is not None
    assert after.stage == Stage.WHOLE
    database.close()


def test_a_task_made_anew_under_a_number_begins_where_the_project_is(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    database = on_record(home)
    root = ready(orders_of(home, tmp_path / "attempt"))
    shutil.rmtree(root)
    change_task(home.workspace, "030", lambda _: {"clone": REMOVE}, now=NOW)
    newest = commit(home.top, "more", "more\n")
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / "1"
    home = home.with_settings(folder=str(tmp_path / "clones"))
    orders = orders_of(home, again)
    ready(orders)
    clone = read_task(home.workspace, "030").clone
    assert clone is not UNSET
    assert clone.base == newest
    database.close()
