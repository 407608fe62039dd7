"""What the doctor says of queue, workers, their environment and the disk."""

import os
import re
import sqlite3

import pytest
from doctor.clinic import Clinic
from journeys.site import wait_until

pytestmark = pytest.mark.slow


def test_before_the_first_call_there_is_no_queue_and_none_is_made(clinic: Clinic) -> None:
    clinic.site.project("010")
    ended = clinic.examine()
    assert ended.code == 0
    assert "- No queue yet: the first job creates it\n" in ended.out
    assert not (clinic.site.root / ".sow/run/queue.db").exists()


@pytest.mark.slow
def test_a_queue_with_a_worker(clinic: Clinic) -> None:
    clinic.run_once()
    ended = clinic.examine()
    assert ended.code == 0
    (worker,) = clinic.site.workers()
    for line in (
        f"✓ The queue file is intact ({clinic.site.root}/.sow/run/queue.db)",
        f"✓ Worker {worker['worker']} runs (pid {worker['pid']}, sow {worker['version']})",
        f"✓ Worker {worker['worker']} has the environment of this shell",
    ):
        assert f"{line}\n" in ended.out


@pytest.mark.slow
def test_a_file_that_is_no_queue_is_an_error_and_is_left_as_it_is(clinic: Clinic) -> None:
    clinic.run_once()
    clinic.site.sow("worker", "stop")
    file = clinic.site.root / ".sow/run/queue.db"
    file.write_bytes(b"x" * 5000)
    ended = clinic.examine()
    assert ended.code == 1
    assert f"✗ Error: The queue file {file} is not a SQLite database" in ended.out
    assert "mv $(ls -d queue.db queue.db-wal queue.db-shm 2>/dev/null) aside/1/" in ended.out
    assert file.read_bytes() == b"x" * 5000
    file.unlink()


def change(clinic: Clinic, sql: str, *values: object) -> None:
    database = sqlite3.connect(clinic.site.root / ".sow/run/queue.db")
    with database:
        database.execute(sql, values)
    database.close()


@pytest.mark.slow
def test_a_queue_of_another_sow_is_an_error(clinic: Clinic) -> None:
    clinic.run_once()
    clinic.site.sow("worker", "stop")
    change(clinic, "pragma user_version = 99")
    assert "has format 99, made by sow" in clinic.finding("queue")["text"]
    assert clinic.examine().code == 1
    change(clinic, "pragma user_version = 1")


@pytest.mark.slow
def test_damage_inside_the_file_is_an_error(clinic: Clinic) -> None:
    clinic.run_once()
    clinic.site.sow("worker", "stop")
    change(clinic, "pragma wal_checkpoint(truncate)")
    file = clinic.site.root / ".sow/run/queue.db"
    whole = file.read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    file.write_bytes(whole[: 4 * page] + b"\xff" * page + whole[5 * page :])
    found = clinic.finding("queue")
    assert found["level"] == "error", found
    assert clinic.examine().code == 1
    file.write_bytes(whole)


@pytest.mark.slow
def test_what_keeps_jobs_from_running_is_a_warning(clinic: Clinic) -> None:
    clinic.run_once()
    clinic.site.sow("queue", "pause")
    data, reason, at = b"?", "unknown task", 0.0
    change(
        clinic, "insert into aside (data, reason, set_aside_at) values (?, ?, ?)", data, reason, at
    )
    ended = clinic.examine()
    assert ended.code == 0
    assert re.search(r"⚠ Warning: The queue has been paused since \d\d:\d\d", ended.out)
    assert "they belong to no job: 1\n" in ended.out
    assert ended.out.endswith(" warnings.\n")


@pytest.mark.slow
def test_a_dead_worker_and_nobody_else(clinic: Clinic) -> None:
    clinic.run_once()
    (worker,) = clinic.site.workers()
    clinic.site.kill(worker["pid"])
    wait_until(lambda: not clinic.site.workers()[0]["alive"], "the worker's death")
    ended = clinic.examine()
    assert ended.code == 0
    assert f"- Dead workers: {worker['worker']}\n" in ended.out
    assert "- No worker runs; the next call starts one\n" in ended.out
    clinic.site.configure({"worker": {"autostart": False}})
    assert "⚠ Warning: No worker runs, and worker.autostart is off\n" in clinic.examine().out


@pytest.mark.slow
def test_a_worker_of_another_version_is_a_warning(clinic: Clinic) -> None:
    clinic.run_once()
    change(clinic, "update worker set version = '0.0.9'")
    (worker,) = clinic.site.workers()
    out = clinic.examine().out
    assert f"⚠ Warning: Worker {worker['worker']} runs (pid {worker['pid']}, sow 0.0.9), and" in out
    assert f"`sow worker stop {worker['worker']}`" in out


@pytest.mark.slow
def test_names_and_never_values_of_what_the_worker_was_started_with(clinic: Clinic) -> None:
    """The call that started it had other variables than this shell has."""
    clinic.run_once(ONLY_THERE="secret-1", CHANGED="secret-2", SOW_WAIT="9m", SSH_TTY="x")
    env = {"CHANGED": "secret-3", "ANTHROPIC_API_KEY": "secret-4", "TERM": "dumb"}
    env |= {"SOW_WAIT": "1h", "CLAUDECODE": "1"}  # what no worker inherits
    found = clinic.finding("environment", **env)
    assert found["level"] == "warning"
    assert (found["missing"], found["other"], found["only_there"]) == (
        ["ANTHROPIC_API_KEY"],
        ["CHANGED"],
        ["ONLY_THERE"],
    )
    ended = clinic.examine(**env)
    assert ended.code == 0
    text = "was started without ANTHROPIC_API_KEY; with another CHANGED; with ONLY_THERE\n"
    assert text in ended.out
    assert f"`sow worker stop {found['worker']}`" in ended.out
    assert "secret-" not in ended.out + str(found)


@pytest.mark.slow
def test_the_pythonpath_that_was_put_aside_is_called_by_its_name(clinic: Clinic) -> None:
    clinic.run_once(PYTHONPATH="/nowhere/lib")
    assert clinic.finding("environment")["only_there"] == ["PYTHONPATH"]
    assert clinic.finding("environment", PYTHONPATH="/nowhere/lib")["level"] == "ok"


@pytest.mark.slow
def test_a_variable_that_the_configuration_needs_and_the_worker_lacks_is_an_error(
    clinic: Clinic,
) -> None:
    clinic.run_once()
    section = {"env": {"API_KEY": "${TOKEN}"}}
    clinic.site.configure({"agents": {"executors": {"claude-code": section}}})
    ended = clinic.examine(TOKEN="sk-0815")
    assert ended.code == 1
    assert "lacks TOKEN, which agents.executors.claude-code.env.API_KEY needs" in ended.out
    assert "sk-0815" not in ended.out


@pytest.mark.slow
def test_a_run_folder_that_others_can_read_is_a_warning(clinic: Clinic) -> None:
    clinic.run_once()
    run = clinic.site.root / ".sow/run"
    assert not [each for each in clinic.findings() if each["check_name"] == "permissions"]
    run.chmod(0o755)
    assert clinic.finding("permissions")["remedy"] == f"chmod 700 {run}"


def test_the_disk_is_looked_at_and_nothing_is_written(clinic: Clinic) -> None:
    clinic.site.project("010")
    before = sorted(clinic.site.root.rglob("*"))
    assert clinic.finding("filesystem")["level"] == "ok"
    assert clinic.finding("locks")["level"] == "ok"
    assert sorted(clinic.site.root.rglob("*")) == before


def test_a_lock_that_somebody_holds_is_no_fault(clinic: Clinic) -> None:
    import fcntl

    clinic.site.project("010")
    folder = os.open(clinic.site.root / ".sow", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    assert clinic.finding("locks")["level"] == "ok"
    os.close(folder)


def test_empty_folders_of_another_branch_are_told(clinic: Clinic) -> None:
    clinic.site.project("010")
    for path in clinic.site.root.glob(".sow/project/**/*"):
        if path.is_file():
            path.unlink()
    ended = clinic.examine()
    assert "- This branch has no project: " in ended.out
    assert "has only empty folders" in ended.out
    assert "`sow project new NAME` starts a project" in ended.out


def test_files_without_a_project_are_told(clinic: Clinic) -> None:
    clinic.site.project("010")
    (clinic.site.root / ".sow/project/state.yaml").unlink()
    ended = clinic.examine()
    assert ended.code == 1
    assert "holds files (log.md), but no state.yaml" in ended.out


def test_a_place_for_copies_that_cannot_be_written_is_told_and_hinders_nothing(
    clinic: Clinic,
) -> None:
    git = clinic.site.root / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "sow").write_text("a file where a folder is to be")
    clinic.site.project("010")
    clinic.site.sow("task", "set", "010", "name", "Another")
    clinic.site.sow("agent", "log", "Did it", "--task", "010")
    assert clinic.site.sow("task", "show", "010", "--json").json["name"] == "Another"
    ended = clinic.examine()
    assert "sow cannot keep copies of the tasks' states in " in ended.out
    assert f"Make {git}/sow a folder that you can write to" in ended.out
