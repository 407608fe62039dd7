"""A project that begins with a breakdown's units, killed at each of its steps: whole or nothing."""

import signal
import subprocess
import sys
import time

import pytest
from journeys.site import DEADLINE_SECONDS, Site
from proving import drawn

from sow.ids import ProjectId
from sow.jobs.database import open_queue
from sow.lifecycle.stages import ProjectType
from sow.paths import Workspace
from sow.state import units
from sow.state.projects import new_project
from sow.state.tasks import add_task, list_tasks

PROGRAM = """
import os, signal, sys
from sow.__main__ import main
from sow.state import projects

moment, name, count = sys.argv[1].split()
act, left = getattr(projects, name), int(count)


def fatal(*arguments, **named):
    global left
    left -= 1
    if moment == "before" and not left:
        os.kill(os.getpid(), signal.SIGKILL)
    result = act(*arguments, **named)
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return result


setattr(projects, name, fatal)
sys.argv = ["sow", *sys.argv[2:]]
main()
"""
FILES = 3 * 3 + 2
"""State, description and log of each of three tasks, and the log and state of the project."""
NOTHING = [
    *("before share_logs 1", "after share_logs 1", "before _build 1"),
    *(f"{moment} write_atomically {count}" for moment in ("before", "after") for count in (1, 5)),
    *(f"{moment} write_atomically {FILES}" for moment in ("before", "after")),
    *("before remove_empty 1", "after remove_empty 1", "before move 1"),
]
"""The points up to which there is no project."""
WHOLE = [
    *("after move 1", "before sync_folder 1", "after sync_folder 1", "after _build 1"),
    *("before _keep 1", "after _keep 1", "before _note 1", "after _note 1"),
]
BREAKDOWN = ProjectId("0b5f4b7e-2d1a-4b58-9d8e-0e0e0e0e0e0e")
BEGIN = ("project", "new", "The move", "--from-breakdown")


@pytest.fixture
def folder(site: Site) -> str:
    """Return the folder in which a breakdown of three units was published that has ended."""
    site.project()
    workspace = Workspace(site.root)
    open_queue(workspace).close()
    workspace.project.rename(site.base / "begun for nothing")
    project = new_project(
        workspace,
        name="Big move",
        project_id=BREAKDOWN,
        now=time.time(),
        kind=ProjectType.BREAKDOWN,
    )
    before: list[str] = []
    for name in ("Move the data", "Switch over", "Tell them"):
        task = add_task(
            workspace, name=name, agent="implementer", now=time.time(), depends_on=before
        )
        before = [task.id]
    units.publish(workspace, project, list_tasks(workspace))
    workspace.project.rename(site.base / "the breakdown")
    return units.folder_of(project)


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


def is_begun_once(site: Site) -> None:
    """The project is whole, with its tasks and what they came from, and nothing lies about."""
    tasks = site.sow("task", "list", "--json").json_lines
    assert [(task["task"], task["name"], task["depends_on"]) for task in tasks] == [
        ("010", "Move the data", []),
        ("020", "Switch over", ["010"]),
        ("030", "Tell them", ["020"]),
    ]
    shown = site.sow("project", "status", "--json").json
    assert (shown["type"], shown["state"], len(shown["inputs"])) == ("standard", "planning", 3)
    assert site.sow("validate").code == 0
    assert not list((site.root / ".sow").glob(".*.tmp"))
    changes = site.sow("changes", "--json").json_lines
    noted = [change["task"] for change in changes if change["project"] != BREAKDOWN]
    assert sorted(noted) == ["010", "020", "030"], "each on record once"


@pytest.mark.parametrize("point", drawn(*NOTHING))
def test_killed_before_it_is_in_place_there_is_none_and_the_same_call_begins_it(
    site: Site, folder: str, point: str
) -> None:
    dies(site, point, *BEGIN, folder)
    assert not (site.root / ".sow/project").exists()
    site.sow(*BEGIN, folder)
    is_begun_once(site)


@pytest.mark.parametrize("point", drawn(*WHOLE))
def test_killed_after_that_it_is_whole_and_the_same_call_changes_nothing(
    site: Site, folder: str, point: str
) -> None:
    dies(site, point, *BEGIN, folder)
    again = site.sow(*BEGIN, folder, expect=4)
    assert "a project exists already" in again.err
    is_begun_once(site)
