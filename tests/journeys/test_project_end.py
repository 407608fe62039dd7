"""A project's end, killed at each of its steps: it is carried out once, and nothing is lost."""

import signal
import subprocess
import sys
from contextlib import closing

import pytest
from journeys.callers import queue, report
from journeys.site import DEADLINE_SECONDS, Site

from sow.ids import BatchId
from sow.jobs import batches
from sow.schema.batch import BatchState
from sow.state.task_log import read_entries

PROGRAM = """
import os, signal, sys
from sow.__main__ import main
from sow.calls import ending

moment, name = sys.argv[1].split()
act = getattr(ending, name)


def fatal(*arguments, **named):
    if moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    act(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)


setattr(ending, name, fatal)
sys.argv = ["sow", *sys.argv[2:]]
main()
"""
CARRYING_OUT = [
    *("before _settle", "after _settle", "before log_change", "after log_change"),
    *("before _move", "before sync_folder", "after sync_folder", "after _move"),
]
RECORDING = ["before change_project", "after change_project"]
REMOVING = ["after _move", "before sweep_ended"]


def dies(site: Site, point: str, *words: str) -> None:
    """Run a command that is killed at a point."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, point, *words],
        cwd=site.root,
        env=site.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr


def is_ended_once(site: Site) -> None:
    """The project lies in the archive, whole, and its log tells of its end once."""
    assert not (site.root / ".sow/project").exists()
    (row,) = site.sow("project", "list", "--json").json_lines
    assert row["ended"] == "abandoned"
    folder = site.root / row["folder"]
    assert len(list(folder.parent.iterdir())) == 1
    ends = [entry for entry in read_entries(folder / "log.md") if "abandoned" in entry.action]
    assert [entry.action for entry in ends if entry.action == "Project abandoned"] == [
        "Project abandoned"
    ]
    (task,) = folder.glob("phases/*/tasks/010")
    assert (task / "state.yaml").is_file()
    assert not list((site.root / ".sow").glob(".*.tmp"))


@pytest.mark.one_of
@pytest.mark.parametrize("point", [*RECORDING, *CARRYING_OUT])
def test_a_command_that_is_killed_is_gone_on_with(site: Site, point: str) -> None:
    site.project("010")
    dies(site, point, "project", "abandon")
    if (site.root / ".sow/project").exists():
        steps = [line.split("  #")[0] for line in site.sow("next").out.splitlines()]
        if point != "before change_project":
            assert steps == ["sow project abandon"]
            refused = site.sow("agent", "spawn", "010", expect=4)
            assert "has ended or is ending" in refused.err
        site.sow("project", "abandon")
    is_ended_once(site)
    site.sow("project", "new", "Next")


@pytest.mark.one_of
@pytest.mark.parametrize("point", CARRYING_OUT)
def test_a_worker_that_is_killed_is_followed_by_one_that_carries_it_out(
    site: Site, point: str
) -> None:
    site.configure({"worker": {"autostart": False}})
    site.project("010", agent="orchestrator")
    site.script([[{"sow": ["project", "abandon"]}, report("completed")]], task="010")
    site.sow("agent", "spawn", "010", "--detach")
    dies(site, point, "worker", "--drain")
    site.sow("worker", "--drain")
    is_ended_once(site)
    (folder,) = (site.root / ".sow/knowledge/projects").iterdir()
    (log,) = folder.glob("phases/*/tasks/010/log.md")
    logged = [entry.action for entry in read_entries(log)]
    assert logged.count("Job 1 done: spawn orchestrator, completed") == 1


@pytest.mark.parametrize("option", [[], ["--remove"]])
def test_batches_end_with_their_project_though_whoever_ends_it_dies_right_after_its_folder_moved(
    site: Site, option: list[str]
) -> None:
    site.configure({"worker": {"autostart": False}})
    site.project("010")
    site.sow("batch", "run", "--detach")
    project_id = site.sow("batch", "list", "--json").json["project"]
    dies(site, "after _move", "project", "abandon", *option)
    with closing(queue(site)) as database:
        assert batches.projects_going_on(database) == {project_id}, "the end was not committed"
        site.sow("worker", "--drain")
        assert batches.projects_going_on(database) == set()
        assert batches.get_batch(database, BatchId(1)).state is BatchState.CANCELLED


def test_a_batch_of_a_project_on_another_branch_waits_for_it(site: Site) -> None:
    site.configure({"worker": {"autostart": False}})
    site.project("010")
    site.sow("batch", "run", "--detach")
    folder = site.root / ".sow/project"
    folder.rename(site.base / "elsewhere")
    site.sow("worker", "--drain", expect=None)
    (site.base / "elsewhere").rename(folder)
    assert site.sow("batch", "list", "--json").json["state"] == "running"


@pytest.mark.parametrize("point", REMOVING)
def test_what_a_killed_removal_has_left_is_swept(site: Site, point: str) -> None:
    site.configure({"worker": {"autostart": False}})
    site.project("010")
    dies(site, point, "project", "abandon", "--remove")
    assert not (site.root / ".sow/project").exists()
    assert list((site.root / ".sow").glob(".ended.*.tmp"))
    site.sow("worker", "--drain")
    assert not list((site.root / ".sow").glob(".*.tmp"))
    assert not (site.root / ".sow/knowledge/projects").exists()


def test_a_worker_with_nothing_else_to_do_carries_it_out_before_it_leaves(site: Site) -> None:
    """A drain is over as soon as its last job is, which may be before the next look round."""
    site.configure({"worker": {"autostart": False}})
    site.project("010", agent="orchestrator")
    site.script([[{"sow": ["project", "abandon"]}, report("completed")]], task="010")
    site.sow("agent", "spawn", "010", "--detach")
    site.sow("worker", "--drain")
    is_ended_once(site)
