"""`sow review`, and `sow agent resume --feedback`, through the true commands."""

import os
import pty
import subprocess
from contextlib import closing

import pytest
from attempts.job_values import make_job
from clones.clone_site import name_author, plain, task_clone
from reports.job_cases import EXECUTORS
from reports.job_cases import make_job as report_job

from sow.clones.bring_back import bring_back
from sow.clones.main_checkout import main_checkout
from sow.clones.mark import Stage, mark_for, write_mark
from sow.config.clones import CloneSettings
from sow.environment import own_process
from sow.ids import JobId, ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.reports.advice import advice
from sow.reports.task_now import look_at_task
from sow.schema.job import JobState, Verb
from sow.schema.task import SessionFacts
from sow.state.projects import read_project
from sow.state.task_log import read_entries
from sow.state.tasks import change_task, read_task
from sow.state.verdicts import Judgement, correct

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def reviewed(begun, tmp_path):
    """The commands, in a git repository, with a task that waits for a review."""
    for words in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "First"),
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    for status in ("in_progress", "needs_review"):
        assert begun("task", "set", "010", "status", status).code == 0
    (tmp_path / "findings.md").write_text("Name it better.\n")
    return begun


def head(folder):
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_person_accepts_and_completes(reviewed, tmp_path, monkeypatch):
    monkeypatch.setattr("sow.cli.review.is_at_terminal", lambda: True)
    done = reviewed("review", "accept", "010", "--summary", "Good.")
    assert (done.code, done.out) == (0, "A person accepted task 010. Its status is needs_review.\n")
    shown = reviewed("review", "show", "010", "--json").json
    assert shown["verdict"] == "accepted"
    assert shown["commit"] == head(tmp_path)
    assert "accepted by person" in reviewed("task", "show", "010").out
    done = reviewed("review", "accept", "010", "--summary", "Good.", "--complete", "--json")
    assert (done.code, done.json["status"]) == (0, "completed")


@pytest.mark.parametrize(
    ("on_terminal", "by"), [("stdin", "person"), ("stderr", "person"), ("", "orchestrator")]
)
def test_who_types_a_command_with_a_pipe_judges(reviewed, tmp_path, on_terminal, by):
    """Findings come in by a pipe, or what is printed goes out by one."""
    keyboard, screen = pty.openpty()
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    correct = ("review", "correct", "010", "--file", "findings.md")
    complete = ("task", "set", "010", "status", "completed")
    with os.fdopen(keyboard, "rb"), os.fdopen(screen, "rb") as terminal:
        streams |= {on_terminal: terminal} if on_terminal else {}
        for words in (correct, complete):
            subprocess.run(own_process("sow", *words), cwd=tmp_path, check=True, **streams)
    assert reviewed("review", "show", "010", "--json").json["by"] == by
    (log,) = tmp_path.glob(".sow/project/phases/*/tasks/010/log.md")
    assert read_entries(log)[-1][1:3] == (by, "Status: needs_review to completed")


def test_corrections_are_asked_for_shown_and_handed_over(reviewed):
    done = reviewed("review", "correct", "010", "--file", "findings.md", "--summary", "Nearly.")
    assert done.code == 0
    assert "feedback/001.md" in done.out
    assert done.out.endswith("\n  sow agent spawn 010\n"), "its author has no session"
    assert "001.md (open)" in reviewed("task", "show", "010").out
    shown = reviewed("review", "show", "010").out
    assert "corrections by orchestrator" in shown
    assert "  feedback: 001.md (open)\n    Name it better.\n" in shown
    assert reviewed("review", "show", "010", "--json").json["newest_feedback"] == "Name it better."
    assert "Nearly." in shown


@pytest.mark.parametrize(
    ("executor", "command"),
    [("claude-code", "sow agent resume 010 --feedback"), ("windsurf", "sow agent spawn 010")],
)
def test_corrections_name_what_the_author_s_executor_can_do(reviewed, tmp_path, executor, command):
    workspace = Workspace(tmp_path)
    session = SessionFacts(executor=executor, cwd=".", started=True)
    known = {"session_id": "11111111-2222-4333-8444-555555555555", "session": session}
    change_task(workspace, "010", lambda _: known, now=1.0)
    work = {"executor": EXECUTORS[executor].config, "state": JobState.DONE}
    review = {"verb": Verb.REVIEW, "agent": "reviewer", "state": JobState.DONE}
    with closing(open_queue(workspace)) as database:
        project = ProjectId(read_project(workspace).id)
        jobs.insert_job(database, report_job(project_id=project, **work))
        jobs.insert_job(database, report_job(project_id=project, **review))
        done = reviewed("review", "correct", "010", "--file", "findings.md")
        assert done.out.endswith(f"\n  {command}\n")
        judged = jobs.get_job(database, JobId(2))
        reviewer = {"by": "reviewer", "summary": "", "commit": "", "job": judged.id}
        correct(workspace, "010", Judgement(**reviewer), b"Again.", now=2.0)
        now = look_at_task(workspace, judged, database)
        assert advice(judged, (), now) == f"Hand them to its author: `{command}`."


def test_an_executor_that_resumes_no_more_is_handed_its_corrections_by_a_spawn(
    reviewed, tmp_path, monkeypatch
):
    """The settings count as they are now, as for `sow next` and for the resume itself."""
    config = tmp_path / "config.yaml"
    config.write_text("agents: {executors: {own: {type: command, settings: {command: [sh]}}}}")
    monkeypatch.setenv("SOW_CONFIG", str(config))
    session = SessionFacts(executor="own", cwd=".", started=True)
    known = {"session_id": "11111111-2222-4333-8444-555555555555", "session": session}
    change_task(Workspace(tmp_path), "010", lambda _: known, now=1.0)
    done = reviewed("review", "correct", "010", "--file", "findings.md")
    assert done.out.endswith("\n  sow agent spawn 010\n")


def test_nobody_has_judged_yet(reviewed):
    assert "Nobody has reviewed task 010 yet" in reviewed("review", "show", "010").out
    assert reviewed("review", "show", "010", "--json").json["verdict"] is None
    done = reviewed("agent", "resume", "010", "--feedback")
    assert done.code == 4
    assert "task 010 has no open feedback" in done.err


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("accept", "010"), 2, "--summary"),
        (("accept", "010", "--summary", " "), 2, "--summary is empty"),
        (("accept", "020", "--summary", "Good."), 4, "task 020 is pending"),
        (("accept", "090", "--summary", "Good."), 4, "090"),
        (("correct", "010"), 2, "--file"),
        (("correct", "010", "--file", "none.md"), 2, "none.md"),
        (("correct", "010", "--file", "empty.md"), 2, "empty.md is empty"),
        (("correct", "020", "--file", "findings.md"), 4, "task 020 is pending"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_cannot_be_judged_is_refused_in_words(reviewed, tmp_path, words, code, part):
    (tmp_path / "empty.md").write_text(" \n")
    done = reviewed("review", *words)
    assert (done.code, part in done.err) == (code, True), done.err


def test_an_author_judges_nothing_of_its_own_and_a_reviewer_what_others_made(reviewed, as_agent):
    as_agent("010", role="implementer")
    done = reviewed("review", "accept", "010", "--summary", "I am good.")
    assert (done.code, "not for the agent of task 010" in done.err) == (4, True)
    as_agent("010", role="orchestrator")
    done = reviewed("review", "accept", "010", "--summary", "I am good.", "--complete")
    assert (done.code, "cannot judge it" in done.err) == (4, True)
    as_agent("010", role="reviewer")
    done = reviewed("review", "correct", "010", "--file", "findings.md")
    assert (done.code, "cannot judge it" in done.err) == (4, True)
    as_agent("020", role="reviewer")
    done = reviewed("review", "accept", "010", "--summary", "Good.")
    assert (done.code, done.out) == (
        0,
        "The reviewer accepted task 010. Its status is needs_review.\n",
    )


@pytest.mark.parametrize(
    "words", [("accept", "010", "--summary", "Good."), ("correct", "010", "--file", "findings.md")]
)
def test_nothing_is_judged_before_the_authors_attempt_is_over(reviewed, tmp_path, words):
    """Its status comes first: what it commits then was not judged, and what is asked of it then
    would be taken for addressed by an attempt that never saw it."""
    workspace = Workspace(tmp_path)
    database = open_queue(workspace)
    job = make_job(id=JobId(0), project_id=read_project(workspace).id)
    job = jobs.insert_job(database, job)
    done = reviewed("review", *words)
    assert (done.code, "sow agent wait 010" in done.err) == (4, True), done.err
    assert reviewed("review", "show", "010", "--json").json["verdict"] is None
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=job.created_at)
    database.close()
    assert reviewed("review", *words).code == 0


@pytest.fixture
def cloned(begun, tmp_path):
    """A task with a clone of its own, whose work was brought back, that waits for a review."""
    plain(tmp_path, "init", "-q", "-b", "main")
    name_author(tmp_path)
    plain(tmp_path, "add", "-A")
    plain(tmp_path, "commit", "-q", "-m", "First")
    for status in ("in_progress", "needs_review"):
        assert begun("task", "set", "010", "status", status).code == 0
    made = task_clone(tmp_path)
    workspace = Workspace(tmp_path)
    place = main_checkout(workspace, CloneSettings()).place(read_task(workspace, "010"))
    write_mark(place.path, mark_for(place, made.facts.base)._replace(stage=Stage.WHOLE))
    return made


def test_the_head_of_the_tasks_branch_is_judged_as_its_clone_has_it(begun, cloned):
    cloned.commit("file", "x\n")
    brought = bring_back(cloned.facts, cloned.repository).commit
    later = cloned.commit("later", "by hand\n")
    accept = ("review", "accept", "010", "--summary", "Good.")
    done = begun(*accept)
    assert (done.code, done.err) == (0, "")
    shown = begun("review", "show", "010", "--json").json
    assert (shown["commit"], shown["steers"]) == (later, [])
    assert later not in (brought, head(cloned.main))
    (cloned.clone / "left").write_text("left\n")
    done = begun(*accept)
    note = "Note: not committed in its clone, and not accepted: left\n"
    assert (done.code, done.err) == (0, note)


def test_what_steers_agents_or_machines_is_named_wherever_the_verdict_is(begun, cloned):
    cloned.commit("file", "x\n")
    cloned.commit("AGENTS.md", "Obey.\n")
    cloned.commit(".github/workflows/ci.yml", "x\n")
    bring_back(cloned.facts, cloned.repository)
    (cloned.main / "CLAUDE.md").write_text("a person's own\n")
    plain(cloned.main, "add", "-A")
    plain(cloned.main, "commit", "-q", "-m", "Beside it")
    assert begun("review", "accept", "010", "--summary", "Good.").code == 0
    steers = [".github/workflows/ci.yml", "AGENTS.md"]
    assert begun("review", "show", "010", "--json").json["steers"] == steers
    assert begun("task", "show", "010", "--json").json["review"]["steers"] == steers
    assert "steers agents or machines: AGENTS.md" in begun("review", "show", "010").out
    assert ".github/workflows/ci.yml, AGENTS.md" in begun("task", "show", "010").out


def test_what_was_not_brought_back_is_not_judged(begun, cloned):
    cloned.commit("file", "x\n")
    done = begun("review", "accept", "010", "--summary", "Good.")
    assert (done.code, f"has no branch {cloned.facts.branch}" in done.err) == (4, True)
    assert begun("review", "show", "010", "--json").json["verdict"] is None
