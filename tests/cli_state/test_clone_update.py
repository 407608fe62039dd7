"""`sow clone update`: brought in and committed, in conflict, refused; and told to the agent."""

import os

import pytest
from clones.clone_site import plain
from clones.making_site import commit
from clones.merge_site import make_merge_site
from journeys.json_contract import hold

from sow.calls.caller import find_caller
from sow.calls.composed_prompts import conflict_prompt
from sow.clones.conflicts import conflict_in
from sow.ids import TaskId
from sow.schema.task import SessionFacts, TaskStatus

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path, monkeypatch):
    made = make_merge_site(tmp_path / "home")
    (tmp_path / "user.yaml").write_text("worker: {autostart: false}\n")
    monkeypatch.setenv("SOW_CONFIG", str(tmp_path / "user.yaml"))
    return made


@pytest.fixture
def sow(site, sow, monkeypatch):
    monkeypatch.chdir(site.home.workspace.root)
    return sow


@pytest.fixture
def apart(site):
    """A clone whose work conflicts with what the project's branch has got meanwhile."""
    site.work("file", "ours\n", status=TaskStatus.NEEDS_REVIEW)
    commit(site.top, "file", "theirs\n")
    return site.home.place()


def test_the_projects_branch_is_brought_in(sow, site):
    made = site.work("new", "new\n")
    wanted = commit(site.top, "other", "other\n")
    done = sow("clone", "update", "010", "--json")
    hold("clone update", done.lines)
    path = site.home.place().path
    tip = plain(path, "rev-parse", "HEAD")
    assert (done.code, done.json["merged_commit"], done.json["commit"]) == (0, wanted, tip)
    assert (path / "other").read_text() == "other\n"
    assert plain(path, "rev-parse", "HEAD^") == made
    assert site.tip(site.branch()) == tip, "people see it in the repository"
    again = sow("clone", "update", "010")
    assert again == (0, "010 clone already contains the project's branch.\n", "")


@pytest.mark.parametrize("is_committed", [True, False])
def test_work_that_only_the_clone_has_is_brought_first(sow, site, is_committed):
    """A worker was killed and its queue removed before it saw the end of the agent."""
    made = site.work("new", "new\n", status=TaskStatus.NEEDS_REVIEW)
    path = site.home.place().path
    if not is_committed:
        (path / "late").write_text("late\n")
    assert sow("agent", "review", "010", "--dry-run").code == 4
    first = sow("next").out.splitlines()[0]
    assert first == "sow clone update 010  # the work of task 010 is only in its clone"
    done = sow("clone", "update", "010", "--json")
    hold("clone update", done.lines)
    assert done.code == 0
    assert site.branch() in done.json["notes"][0]
    tip = plain(path, "rev-parse", "HEAD")
    assert site.tip(site.branch()) == tip
    assert (tip == made, plain(path, "status", "--porcelain")) == (is_committed, "")
    assert sow("next").out.startswith("sow agent review 010")


def test_a_conflict_stays_in_the_clone_and_names_the_next_command(sow, site, apart):
    done = sow("clone", "update", "010")
    assert (done.code, done.out) == (4, "010 clone has conflicts:\n  file\n")
    assert "sow agent resume 010 --conflict" in done.err
    assert "<<<<<<< " in (apart.path / "file").read_text()
    assert conflict_in(site.main, apart).unsolved == ("file",)
    again = sow("clone", "update", "010")
    assert again.code == 4
    assert "a merge is in progress" in again.err
    assert "sow agent resume 010 --conflict" in again.err


def test_a_conflict_of_a_completed_task_names_what_reopens_it(sow, site, apart):
    site.change(status=TaskStatus.COMPLETED)
    done = sow("clone", "update", "010")
    assert "`sow task reopen 010`, and then `sow agent spawn 010 --prompt" in done.err
    assert "resume" not in done.err


def test_a_conflict_for_programs(sow, apart):
    done = sow("clone", "update", "010", "--json")
    assert (done.code, done.json["conflicts"]) == (4, ["file"])


def test_a_file_may_have_any_name(sow, site):
    name = "x\x1b[2J\udcff"
    site.work(name, "ours\n")
    commit(site.top, name, "theirs\n")
    assert sow("clone", "update", "010", "--json").json["conflicts"] == ["x\x1b[2J\ufffd"]
    caller = find_caller(os.environ, site.top)
    site.change(status=TaskStatus.NEEDS_REVIEW)
    prompt = conflict_prompt(caller, TaskId("010"), "")
    assert "    x [2J\ufffd\n" in prompt


def test_a_conflict_that_is_solved_is_none(sow, site, apart):
    sow("clone", "update", "010")
    (apart.path / "file").write_text("both\n")
    assert conflict_in(site.main, apart).unsolved == ()
    plain(apart.path, "commit", "-q", "-a", "--no-edit")
    assert conflict_in(site.main, apart) is None
    assert sow("clone", "update", "010").code == 0


def test_it_is_refused_while_a_job_of_the_task_lives(sow, site):
    site.work("new", "new\n")
    commit(site.top, "other", "other\n")
    assert sow("merge", "010", "--detach").code == 0
    done = sow("clone", "update", "010")
    assert done.code == 4
    assert "task 010 has a job that has not ended" in done.err
    assert not (site.home.place().path / "other").exists()


def test_what_is_not_committed_is_named(sow, site):
    site.work("new", "new\n")
    commit(site.top, "other", "other\n")
    (site.home.place().path / "forgotten").write_text("x")
    done = sow("clone", "update", "010")
    assert done.code == 4
    assert "forgotten" in done.err


def test_without_a_clone_there_is_nothing_to_update(sow, site):
    done = sow("clone", "update", "010")
    assert (done.code, "task 010 has no clone" in done.err) == (4, True)
    assert not site.home.place().path.parent.exists(), "nothing is made beside it"


def test_no_agent_but_an_orchestrator_updates_a_clone(sow, site, monkeypatch):
    site.work("new", "new\n")
    for name, value in (("JOB_ID", "7"), ("TASK_ID", "010"), ("AGENT", "implementer")):
        monkeypatch.setenv(f"SOW_{name}", value)
    monkeypatch.setenv("SOW_ROOT", str(site.home.workspace.root))
    assert "not for the agent" in sow("clone", "update", "010").err


@pytest.fixture
def resumable(sow, site, apart, tmp_path, monkeypatch):
    """A task with a session, in whose clone a conflict is; no worker ever runs its agent's CLI."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    session = SessionFacts(executor="claude-code", cwd=".", started=True)
    site.change(session_id="11111111-1111-4111-8111-111111111111", session=session)
    assert sow("clone", "update", "010").code == 4
    return site


def test_its_agent_is_asked_to_solve_a_conflict(sow, resumable):
    done = sow("agent", "resume", "010", "--conflict", "Mind the tests.", "--detach", "--json")
    assert done.code == 0, done.err
    prompt = sow("job", "show", "1", "--json").json["prompt"]
    assert prompt.startswith("The project's branch was merged into yours")
    assert "    file\n" in prompt
    assert "merging main into your branch" in prompt
    assert prompt.endswith("Mind the tests.")


def test_the_same_call_is_the_same_job_though_the_conflict_is_solved_meanwhile(
    sow, resumable, apart
):
    words = ("agent", "resume", "010", "--conflict", "--detach")
    assert sow(*words).code == 0
    (apart.path / "file").write_text("both\n")
    plain(apart.path, "commit", "-q", "-a", "--no-edit")
    done = sow(*words)
    assert done.code == 0
    assert "which the same command queued" in done.err


def test_without_a_conflict_nothing_is_asked(sow, site, apart):
    done = sow("agent", "resume", "010", "--conflict")
    assert done.code == 4
    assert "sow clone update 010" in done.err


def test_a_merge_that_lacks_its_commit_alone_is_said_to(sow, resumable, apart):
    (apart.path / "file").write_text("both\n")
    assert sow("agent", "resume", "010", "--conflict", "--detach").code == 0
    assert "what is missing is the commit" in sow("job", "show", "1", "--json").json["prompt"]


def test_a_completed_task_is_reopened_first(sow, resumable):
    resumable.change(status=TaskStatus.COMPLETED)
    done = sow("agent", "resume", "010", "--conflict")
    assert done.code == 4
    assert "`sow task reopen 010`" in done.err
    assert "`sow agent spawn 010 --prompt" in done.err


def test_feedback_and_a_conflict_are_handed_over_one_by_one(sow, resumable):
    assert sow("agent", "resume", "010", "--conflict", "--feedback").code == 2
