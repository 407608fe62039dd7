"""Two checkouts of one repository on one machine, each with a true worker: nothing mixes."""

import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from journeys.callers import (
    all_jobs,
    await_end,
    await_runs,
    await_state,
    await_waiters,
    gate,
    good,
    open_gate,
)
from journeys.gitsite import commit, git, make_repository
from journeys.site import Site, wait_until
from standins import read_runs

from sow.schema.job import JobState

PROJECT = ".sow/project/state.yaml"


@pytest.fixture
def first(site: Site) -> Site:
    """Return a repository with a project that is committed."""
    make_repository(site)
    (site.root / ".gitignore").write_text(".standin/\n")
    site.project("010", "020")
    commit(site, "a project")
    return site


@pytest.fixture
def second(first: Site, tmp_path: Path) -> Iterator[Site]:
    """Return another checkout of the same person; `lay_out` makes it."""
    base = tmp_path / "second"
    base.mkdir()
    other = Site(base, first.env)
    yield other
    other.close()


def lay_out(first: Site, second: Site, how: str) -> None:
    if how == "clone":
        git(first, "clone", "-q", str(first.root), str(second.root))
        for name in ("name", "email"):
            git(second, "config", f"user.{name}", f"tester@{name}.invalid")
    elif how == "work tree":
        git(first, "worktree", "add", "-q", "-b", "second", str(second.root))
    else:
        first.sow("queue", "pause")
        first.sow("queue", "resume")  # so that there is a queue
        copy_whole(first, second)
        put_aside(second)


def copy_whole(first: Site, second: Site) -> None:
    """Copy a checkout while somebody works in it: the queue's file by SQLite's own means.

    Its second names come along, as with `cp -a`.
    """
    wait_until(lambda: copy_tree(first.root, second.root), "a copy of all files")
    queue = Path(".sow/run/queue.db")
    (second.root / queue).parent.mkdir(mode=0o700)
    with (
        closing(sqlite3.connect(first.root / queue)) as source,
        closing(sqlite3.connect(second.root / queue)) as copy,
    ):
        source.backup(copy)
    for name in (first.root / ".sow/run").glob("queue.own-*"):
        (second.root / ".sow/run" / name.name).hardlink_to(second.root / queue)


def copy_tree(source: Path, target: Path) -> bool:
    """Copy all but the queue; false where a file went while it was copied."""
    shutil.rmtree(target, ignore_errors=True)
    try:
        ignored = shutil.ignore_patterns("run", ".*.tmp")
        shutil.copytree(source, target, symlinks=True, ignore=ignored)
    except (shutil.Error, FileNotFoundError):
        return False
    return True


def put_aside(site: Site) -> None:
    """Do as the refusal of a copied queue says."""
    refused = site.sow("job", "list", expect=6)
    subprocess.run(["/bin/sh", "-c", command_in(refused.err)], check=True)


def command_in(refusal: str) -> str:
    return next(line.strip() for line in refusal.splitlines() if line.startswith("    "))


def sessions(site: Site) -> dict[str, str | None]:
    return {task: site.task(task).get("session_id") for task in ("010", "020")}


@pytest.mark.one_of
@pytest.mark.parametrize("how", ["clone", "work tree", "copied folder"])
def test_each_has_its_own_queue_workers_sessions_and_bells(
    first: Site, second: Site, how: str
) -> None:
    lay_out(first, second, how)
    for site in (first, second):
        site.script([good(gate("go"))])
    callers = [site.start("agent", "spawn", "implementer", "010") for site in (first, second)]
    for site in (first, second):
        await_waiters(site, "010")
        await_runs(site)
        assert [(job.id, job.task_id) for job in all_jobs(site)] == [(1, "010")]
    workers = [worker["pid"] for site in (first, second) for worker in site.workers()]
    assert len(set(workers)) == 2
    assert sessions(first)["010"] != sessions(second)["010"]

    second.sow("agent", "cancel", "010")
    callers[1].communicate(timeout=240)
    assert callers[1].returncode == 7
    second.sow("worker", "stop")
    assert await_state(first, "010", JobState.RUNNING).id == 1
    assert callers[0].poll() is None, "it still waits, for nobody has rung it"
    open_gate(first, "go")
    out, err = callers[0].communicate(timeout=240)
    assert callers[0].returncode == 0, (out, err)
    assert first.task("010")["status"] == "needs_review"
    assert second.task("010")["status"] == "paused"
    assert len(read_runs(first.root)) == len(read_runs(second.root)) == 1


def test_a_folder_that_is_copied_while_an_agent_runs_leaves_that_agent_alone(
    first: Site, second: Site
) -> None:
    first.script([good(gate("go"))])
    first.sow("agent", "spawn", "implementer", "010", "--detach")
    await_runs(first)
    await_state(first, "010", JobState.RUNNING)
    copy_whole(first, second)
    for words in (
        ("agent", "cancel", "010"),
        ("agent", "spawn", "implementer", "020"),
        ("job", "list"),
        ("queue", "pause"),
        ("worker", "--burst"),
    ):
        refused = second.sow(*words, expect=None)
        assert refused.code in (2, 6), (words, refused)
        if refused.code == 6:
            assert "was not made by you for this folder" in refused.err
            assert shlex.quote(str(second.root / ".sow/run")) in command_in(refused.err)
    put_aside(second)
    second.script([good()])
    second.sow("agent", "spawn", "implementer", "020")
    assert second.task("020")["status"] == "needs_review"
    assert first.task("020")["status"] == "pending"
    open_gate(first, "go")
    assert await_end(first, "010").state is JobState.DONE
    assert first.task("010")["status"] == "needs_review"
    assert len(read_runs(first.root)) == 1


def test_a_session_of_one_checkout_is_not_gone_on_with_in_another(
    first: Site, second: Site
) -> None:
    """Its id travels with the state; the session itself belongs to the folder where it began."""
    first.script([good(), good()])
    first.sow("agent", "spawn", "implementer", "010")
    commit(first, "010 is done")
    lay_out(first, second, "clone")
    assert sessions(second)["010"] == sessions(first)["010"]
    second.script([good()])
    lost = second.sow("agent", "resume", "010", "Go on", expect=5)
    assert "--fresh" in lost.err
    first.sow("agent", "resume", "010", "Go on")
    assert [run.verb for run in read_runs(first.root)] == ["spawn", "resume"]


def branches(site: Site) -> list[str]:
    return git(site, "for-each-ref", "--format=%(refname:short)", "refs/heads/sow").split()


def test_a_second_working_tree_does_not_work_on_the_tasks_of_the_first(
    first: Site, second: Site
) -> None:
    """They share the branches; with a project of its own its tasks have others."""
    lay_out(first, second, "work tree")
    for site in (first, second):
        site.script([good()])
    first.sow("agent", "spawn", "implementer", "010", "--clone")
    (branch,) = branches(first)
    made = git(first, "rev-parse", branch)
    refused = second.sow("agent", "spawn", "implementer", "010", "--clone", expect=4)
    assert f"belongs to the working tree {first.root}, which has the same project" in refused.err
    assert all_jobs(second) == []
    for words in (
        ("project", "abandon", "--remove"),
        ("project", "new", "Another", "--type", "quick"),
        ("task", "add", "Its own", "--agent", "implementer"),
        ("agent", "spawn", "implementer", "010", "--clone"),
    ):
        assert words[0] in refused.err or words[0] in ("task", "agent")
        second.sow(*words)
    assert len(branches(first)) == 2
    assert git(first, "rev-parse", branch) == made
    assert first.task("010")["status"] == second.task("010")["status"] == "needs_review"
