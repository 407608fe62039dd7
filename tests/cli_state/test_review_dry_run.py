"""`sow agent review --dry-run`: what a review would start, and that nothing is made by it."""

import json
import os

import pytest
from clones.clone_site import plain
from clones.making_site import NOON, Home, bring, commit, make_home
from standins import install_standins

from sow.clones.record import record_clone
from sow.jobs.database import open_existing_queue
from sow.schema.task import TaskStatus
from sow.state.tasks import change_task, read_task

AUTHORS = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def home(tmp_path, monkeypatch) -> Home:
    """A repository with a task that waits for a review; a CLI of its reviewer is at hand."""
    made = make_home(tmp_path / "home")
    (tmp_path / "bin").mkdir()
    install_standins(tmp_path / "bin", "python3")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "user.yaml").write_text("worker: {autostart: false}\n")
    monkeypatch.setenv("SOW_CONFIG", str(tmp_path / "user.yaml"))
    change_task(
        made.workspace,
        "010",
        lambda _: {"status": TaskStatus.NEEDS_REVIEW, "session_id": AUTHORS},
        now=NOON,
    )
    return made


@pytest.fixture
def sow(home, sow, monkeypatch):
    monkeypatch.chdir(home.workspace.root)
    return sow


def work(home: Home) -> str:
    """Have the task's author commit in a clone; return the commit, which was brought back."""
    record_clone(home.workspace, home.make().mark, now=NOON)
    judged = commit(home.place().path, "CLAUDE.md", "Be kind.\n")
    assert bring(home) == judged
    return judged


@pytest.mark.slow
def test_it_tells_what_would_run_in_a_clone_that_is_not_made(sow, home):
    judged = work(home)
    before = plain(home.top, "for-each-ref"), read_task(home.workspace, "010")
    done = sow("agent", "review", "010", "--prompt", "Mind the names.", "--dry-run", "--json")
    assert done.code == 0, done.err
    place = home.place()
    assert done.json["cwd"] == str(place.path.with_name(".review-<job>"))
    assert (done.json["job"], done.json["verb"], done.json["agent"]) == (None, "review", "reviewer")
    for words in (judged, "CLAUDE.md", "Mind the names.", "sow review accept"):
        assert words in done.json["prompt"]
    argv = done.json["argv"]
    assert AUTHORS not in argv, "the author's session stays as it is"
    assert "--strict-mcp-config" in argv, "isolated, as it is in the clone"
    assert "SOW_REVIEW" in done.json["env_names"]
    assert not list(place.path.parent.glob(".*review*"))
    assert (plain(home.top, "for-each-ref"), read_task(home.workspace, "010")) == before
    assert open_existing_queue(home.workspace) is None


@pytest.mark.slow
def test_it_says_that_the_review_is_of_newer_commits_and_brings_none(sow, home):
    judged = work(home)
    clone = home.place().path
    commit(clone, "file", "newer\n")
    done = sow("agent", "review", "010", "--dry-run")
    assert done.err.startswith("Note: the clone of task 010 has newer commits"), done
    (clone / "left").write_text("left\n")
    done = sow("agent", "review", "010", "--dry-run")
    assert (done.code, "these changes are not committed: left" in done.err) == (4, True), done
    assert plain(home.top, "rev-parse", f"refs/heads/{home.place().branch}") == judged


def test_without_a_clone_it_works_in_the_root(sow, home):
    done = sow("agent", "review", "010", "--dry-run", "--json")
    assert done.json["cwd"] == str(home.workspace.root)
    assert "--strict-mcp-config" not in done.json["argv"]


def test_people_read_it_too(sow):
    out = sow("agent", "review", "010", "--dry-run").out
    assert out.startswith("Would review task 010 as reviewer\nExecutor: claude-code\n")


def test_it_is_refused_as_the_call_is(sow):
    assert sow("agent", "review", "020", "--dry-run").code == 4
    assert sow("agent", "review", "010", "--agent", "nobody", "--dry-run").code in (2, 4)


def test_the_same_call_before_is_told(sow):
    assert sow("agent", "review", "010", "--detach").code == 0
    again = sow("agent", "review", "010", "--dry-run")
    assert again.out == "Would wait for job 1, which the same command queued\n"
    assert sow("agent", "review", "010", "--prompt", "Else.", "--dry-run").code == 4
    record = json.loads(sow("agent", "review", "010", "--dry-run", "--json").out)
    assert (record["job"], record["argv"]) == (1, None)


@pytest.mark.slow
def test_a_description_that_is_a_link_out_of_the_repository_reaches_no_reviewer(
    sow, home, tmp_path
):
    work(home)
    (tmp_path / "secret.md").write_text("The key is 4711.")
    (description,) = home.top.glob(".sow/project/phases/*/tasks/010/description.md")
    description.unlink()
    description.symlink_to(tmp_path / "secret.md")
    done = sow("agent", "review", "010", "--dry-run", "--json")
    assert (done.code, "The key is 4711." in done.out) == (0, False), done.err
