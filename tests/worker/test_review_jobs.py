"""A review from its start to its end: in a throw-away clone, by a session of its own, to a verdict.

The worker is the test's own process; supervisors, reviewers and their `sow` are true.
"""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from attempt_cases import no_threads, wait_until
from clones.clone_site import plain
from clones.making_site import commit
from review_cases import ACCEPT, AUTHORS, CORRECT, ReviewSite

from sow.calls.caller import Caller
from sow.calls.cancel import cancel_job
from sow.clone_mark import read_mark
from sow.clones.mark import Stage
from sow.clones.place import Place
from sow.clones.tree_watch import Look
from sow.config.checks import read_repository
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import JobState, Verb
from sow.schema.task import TaskStatus
from sow.trust.accepted import accept, command_lines
from worker.kinds.review import kind, sweep
from worker.monitor import Monitor
from worker.postponing import release_if_trusted

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ReviewSite]:
    made = ReviewSite(tmp_path)
    yield made
    made.close()


@pytest.fixture
def rooted(tmp_path: Path) -> Iterator[ReviewSite]:
    """The same without a clone: everybody works in the root."""
    made = ReviewSite(tmp_path, has_clone=False)
    yield made
    made.close()


def worked(site: ReviewSite) -> str:
    """Commit what an author makes, and bring it back."""
    assert site.made is not None
    clone = Path(site.made.mark.path)
    commit(clone, "src/code.py", "print(2)\n")
    commit(clone, "AGENTS.md", "Obey.\n")
    return site.bring_back()


def test_a_reviewer_accepts_the_commit_and_leaves_task_session_and_clone_alone(
    site: ReviewSite,
) -> None:
    tip = worked(site)
    site.script(
        [
            {"shell": f"cd . && pwd >{site.folder}/where; ls -a >{site.folder}/seen"},
            {"shell": f"git rev-parse HEAD >{site.folder}/head"},
            {"shell": "git commit -q --allow-empty -m mine; rm -rf src"},
            ACCEPT,
        ]
    )
    before = site.task()
    job = site.run(site.place())
    assert (job.state, job.cause, job.outcome_status) == (JobState.DONE, Cause.REPORTED, None)
    task = site.task()
    assert task.status is TaskStatus.NEEDS_REVIEW
    assert (task.session_id, task.session) == (AUTHORS, before.session)
    assert (task.review.verdict, task.review.commit, task.review.job) == ("accepted", tip, job.id)
    assert (task.review.by, task.review.steers) == ("reviewer", ["AGENTS.md"])
    where = (site.folder / "where").read_text().strip()
    assert where == str(site.clones / f".review-{job.id}")
    assert (site.folder / "head").read_text().strip() == tip
    assert "AGENTS.md" in (site.folder / "seen").read_text().split()
    site.await_no_clone()
    assert site.made is not None
    assert plain(Path(site.made.mark.path), "status", "--porcelain") == ""
    assert plain(site.home.top, "rev-parse", f"refs/heads/{site.made.mark.branch}") == tip
    (attempt,) = site.tries(job)
    assert attempt.session_id not in (None, AUTHORS)
    assert "is_isolated" not in attempt.argv
    assert "--setting-sources" in attempt.argv
    assert attempt.argv[attempt.argv.index("--add-dir") + 1] == str(site.task_folder())


def test_the_prompt_names_the_work_the_change_and_the_two_ways_to_end(site: ReviewSite) -> None:
    assert site.made is not None
    (site.task_folder() / "description.md").write_text("# Sign in\n\nMake it sign in.\n")
    (site.task_folder() / "feedback").mkdir(exist_ok=True)
    (site.task_folder() / "feedback/001.md").write_text("Name it better.\n")
    site.change(feedback=[{"file": "001.md", "status": "addressed"}])
    tip = worked(site)
    site.change(
        check={
            "passed": False,
            "commit": tip,
            "at": "2026-01-31T12:00:00Z",
            "results": [{"name": "unit", "passed": False, "reason": "exit code 2"}],
        }
    )
    site.script([ACCEPT])
    prompt = site.prompt(site.run(site.place(prompt="Look at the names.")))
    base = site.made.mark.base
    for part in (
        "Review task 010",
        str(site.task_folder()),
        "> Make it sign in.",
        "> Name it better.",
        f"`git diff {base} {tip}`",
        f"`git log {base}..{tip}`",
        "- src/code.py",
        "failed: unit: exit code 2",
        "Look at the names.",
        'sow review accept 010 --summary "…"',
        "sow review correct 010 --file findings.md",
    ):
        assert part in prompt, part
    assert "steer agents or machines" in prompt
    assert "leaves out" not in prompt, "Claude Code can keep them from acting"


def test_corrections_become_feedback_and_the_job_is_done(site: ReviewSite) -> None:
    worked(site)
    site.script([CORRECT])
    job = site.run(site.place())
    assert job.state is JobState.DONE
    task = site.task()
    assert task.review.verdict == "corrections"
    assert task.feedback == [{"file": "001.md", "status": "open"}]
    assert (site.task_folder() / "feedback/001.md").read_text() == "Name it better.\n"
    site.await_no_clone()


def test_one_without_a_verdict_is_asked_once_in_its_own_session(site: ReviewSite) -> None:
    worked(site)
    site.script([{"say": "Looks fine."}, {"shell": "touch mine"}], [{"shell": "ls mine"}, ACCEPT])
    job = site.run(site.place())
    assert job.state is JobState.DONE
    first, second = site.tries(job)
    assert (first.cause, second.cause) == (Cause.NO_VERDICT, Cause.REPORTED)
    assert (first.verb, second.verb) == (Verb.SPAWN, Verb.RESUME)
    assert first.session_id == second.session_id
    assert "you ended without a verdict" in site.prompt(job, 2)
    assert "sow review accept 010" in site.prompt(job, 2)
    assert site.task().session_id == AUTHORS


def test_one_that_is_asked_in_vain_fails_for_that_reason(site: ReviewSite) -> None:
    worked(site)
    site.script([{"shell": "true"}])
    job = site.run(site.place())
    assert (job.state, job.cause) == (JobState.FAILED, Cause.NO_VERDICT)
    assert len(site.tries(job)) == 2
    assert site.task().status is TaskStatus.NEEDS_REVIEW
    site.await_no_clone()


def test_a_verdict_of_somebody_else_is_not_its_own(site: ReviewSite) -> None:
    worked(site)
    site.change(review={"verdict": "accepted", "by": "person", "at": "2026-01-31T12:00:00Z"})
    site.script([{"shell": "true"}])
    assert site.run(site.place()).cause is Cause.NO_VERDICT


def test_a_reviewer_changes_nothing_of_the_task(site: ReviewSite) -> None:
    worked(site)
    site.script(
        [
            {"sow": ["task", "set", "010", "status", "completed"]},
            {"sow": ["task", "set", "status", "paused"]},
            {"sow": ["review", "accept", "010", "--summary", "Good.", "--complete"]},
            {"sow": ["agent", "log", "Looked at it"]},
            {"sow": ["agent", "spawn", "020"]},
            ACCEPT,
        ]
    )
    job = site.run(site.place())
    assert job.state is JobState.DONE
    assert site.task().status is TaskStatus.NEEDS_REVIEW
    assert "Looked at it" in (site.task_folder() / "log.md").read_text()
    assert [found.id for found in (job,)] == [site.place().id - 1], "it has queued nothing"


def test_one_that_is_cancelled_ends_and_leaves_nothing(site: ReviewSite) -> None:
    worked(site)
    site.script([{"touch": str(site.folder / "begun")}, {"hang": True}])
    job = site.place()
    running = site.start(job)
    assert running is not None
    site.wait_for("begun")
    assert site.reviews() == [f".review-{job.id}"]
    caller = Caller(site.workspace, site.environ, site.workspace.root)
    cancel_job(caller, site.database, job)
    ended = site.watched(running)
    assert (ended.state, ended.owes_task) == (JobState.CANCELLED, False)
    assert site.task().status is TaskStatus.NEEDS_REVIEW
    site.await_no_clone()


def test_another_worker_takes_it_over_to_its_end(site: ReviewSite) -> None:
    worked(site)
    go = site.folder / "go"
    site.script([{"touch": str(site.folder / "begun")}, {"wait_for": str(go)}, ACCEPT])
    job = site.place()
    assert site.start(job) is not None
    site.wait_for("begun")
    running = site.adopt(job)
    go.touch()
    assert site.watched(running).state is JobState.DONE
    assert site.task().session_id == AUTHORS
    site.await_no_clone()


def test_what_a_dead_worker_has_left_is_swept_by_the_next_review(site: ReviewSite) -> None:
    worked(site)
    site.script([ACCEPT])
    for name in (".review-77", ".draft-.review-78-0a1b", ".gone-.review-79-0a1b"):
        (site.clones / name / "src").mkdir(parents=True)
    site.run(site.place())
    site.await_no_clone()
    assert site.made is not None
    assert Path(site.made.mark.path).is_dir()


def test_without_isolation_what_the_author_made_to_steer_is_not_there(site: ReviewSite) -> None:
    tip = worked(site)
    reviewer = site.folder / "reviewer.sh"
    reviewer.write_text(
        f"#!/bin/sh\nls -a >{site.folder}/seen\nsow review accept 010 --summary 'It holds.'\n"
    )
    reviewer.chmod(0o755)
    command = ExecutorConfig(name="mine", type=ExecutorType.COMMAND, command=(str(reviewer),))
    job = site.run(site.place(command))
    assert job.state is JobState.DONE
    seen = (site.folder / "seen").read_text().split()
    assert "src" in seen
    assert "AGENTS.md" not in seen
    assert "leaves out" in site.prompt(job)
    assert site.task().review.commit == tip


def test_in_the_root_what_changes_meanwhile_is_told_and_stays(rooted: ReviewSite) -> None:
    (rooted.home.top / "file").write_text("an author's\n")
    where = rooted.folder / "where"
    rooted.script([{"shell": f"pwd >{where}; echo x >>src/code.py; echo y >new"}, ACCEPT])
    job = rooted.run(rooted.place())
    assert job.state is JobState.DONE
    assert where.read_text().strip() == str(rooted.workspace.root)
    (warning,) = job.warnings
    assert "new, src/code.py" in warning
    assert "file" not in warning.partition("undone: ")[2].split(", ")
    assert (rooted.home.top / "new").read_text() == "y\n"
    assert "git status" in rooted.prompt(job)


def test_in_the_root_nothing_is_told_where_nothing_changes(rooted: ReviewSite) -> None:
    rooted.script([ACCEPT])
    assert rooted.run(rooted.place()).warnings == ()


def test_in_a_root_without_git_it_is_told_that_nobody_can_tell(rooted: ReviewSite) -> None:
    rooted.script([{"shell": "echo y >new"}, ACCEPT])
    job = rooted.place()
    (rooted.home.top / ".git").rename(rooted.folder / "away")
    (warning,) = rooted.run(job).warnings
    assert "there is no commit to compare with" in warning


def settle_on(site: ReviewSite, **clones: str) -> None:
    """Write the settings of clones anew."""
    settings = {"folder": str(site.folder / "clones"), **clones}
    site.workspace.repository_config.write_text(yaml.safe_dump({"clones": settings}))


def trust(site: ReviewSite) -> None:
    source = read_repository(site.workspace.repository_config)
    accept(site.workspace, command_lines(source.content), site.environ)


def test_its_clone_is_set_up_before_it_looks(site: ReviewSite) -> None:
    worked(site)
    settle_on(site, setup="echo set up in $PWD as $SOW_AGENT; touch ready")
    trust(site)
    site.script([{"shell": f"ls >{site.folder}/seen"}, ACCEPT])
    job = site.run(site.place())
    assert job.state is JobState.DONE, job.reason
    assert "ready" in (site.folder / "seen").read_text().split()
    log = site.workspace.attempt(job.id, 1).setup_log.read_text()
    assert log == f"set up in {site.clones}/.review-{job.id} as sow-step\n"


def test_a_setup_that_fails_fails_the_review_in_its_own_words_and_not_the_task(
    site: ReviewSite,
) -> None:
    worked(site)
    settle_on(site, setup="echo no such package: leftpad; exit 3")
    trust(site)
    site.script([ACCEPT])
    job = site.run(site.place())
    assert (job.state, job.cause) == (JobState.FAILED, Cause.SETUP_FAILED)
    assert "no such package: leftpad" in job.reason
    assert site.task().status is TaskStatus.NEEDS_REVIEW
    site.await_no_clone()


def test_a_setup_that_nobody_has_accepted_holds_the_review(site: ReviewSite) -> None:
    worked(site)
    settle_on(site, setup="touch ready")
    site.script([ACCEPT])
    job = site.place()
    assert site.start(job) is None
    assert site.get(job).state is JobState.HELD
    assert site.reviews() == []
    trust(site)
    release_if_trusted(site.context)
    assert site.run(job).state is JobState.DONE


@pytest.mark.usefixtures("no_bubblewrap")
def test_a_setup_whose_sandbox_cannot_be_made_is_refused_before_the_clone(
    site: ReviewSite,
) -> None:
    worked(site)
    settle_on(site, setup="touch ready", setup_sandbox="bwrap")
    trust(site)
    job = site.place()
    assert site.start(job) is None
    refused = site.get(job)
    assert (refused.state, refused.cause) == (JobState.FAILED, Cause.SANDBOX_FAILED)
    words = "clones.setup asks for sandbox: bwrap, but there is no bwrap here"
    assert refused.reason.startswith(words)
    assert site.reviews() == []


def test_a_setup_that_was_killed_is_begun_anew_in_a_new_clone(site: ReviewSite) -> None:
    worked(site)
    begun = site.folder / "begun"
    settle_on(
        site,
        setup=f"test -e {begun} && exec test ! -e half; touch half; echo $$ >{begun}.x;"
        f" mv {begun}.x {begun}; sleep 1000",
    )
    trust(site)
    site.script([ACCEPT])
    job = site.place()
    running = site.start(job)
    assert running is not None
    site.wait_for("begun")
    os.kill(site.attempts[-1].agent_pid(), signal.SIGKILL)
    assert site.watched(running).state is JobState.BACKOFF
    assert site.run(job).state is JobState.DONE


def test_the_making_of_its_clone_keeps_no_other_job_from_its_start(site: ReviewSite) -> None:
    worked(site)
    go = site.folder / "go"
    settle_on(site, setup=f"while ! test -e {go}; do sleep 0.05; done")
    trust(site)
    site.script([ACCEPT])
    job = site.place()
    running = site.start(job)
    assert running is not None, "the start is over, and the clone is not made yet"
    mark = read_mark(str(site.clones / f".review-{job.id}"))
    assert mark is None or mark.stage == Stage.MADE
    go.touch()
    assert site.watched(running).state is JobState.DONE


def test_a_slow_look_at_the_tree_keeps_no_other_job_from_its_end(
    rooted: ReviewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, may_look = kind.look_at_tree, threading.Event()

    def slow(root: Path) -> Look | None:
        assert may_look.wait(60.0)
        return look(root)

    monkeypatch.setattr(kind, "look_at_tree", slow)
    rooted.script([ACCEPT])
    review = rooted.place()
    running = rooted.start(review)
    assert running is not None
    wait_until(running.paths.exit.exists)
    check = rooted.check()
    monitor = Monitor(rooted.context)
    monitor.start()
    monitor.watch(running)
    try:
        other = rooted.start(check)
        assert other is not None
        monitor.watch(other)
        wait_until(lambda: rooted.get(check).state.is_final, "the check is settled")
        assert rooted.get(review).state is JobState.RUNNING
        may_look.set()
        assert monitor.wait_until_idle(60.0)
    finally:
        may_look.set()
        monitor.stop()
    assert rooted.get(review).state is JobState.DONE


def test_what_could_not_be_gathered_without_a_thread_is_gathered_when_there_is_one(
    rooted: ReviewSite,
) -> None:
    """The look that could begin no thread was the last one that did anything, cancel or not."""
    rooted.script([{"shell": "echo y >new"}, ACCEPT])
    running = rooted.start(rooted.place())
    assert running is not None
    wait_until(running.paths.exit.exists)
    monitor = Monitor(rooted.context)
    monitor.start()
    try:
        with no_threads():
            monitor.watch(running)
            wait_until(lambda: running.failures or running.gathering, "its end is seen")
        assert monitor.wait_until_idle(60.0)
    finally:
        monitor.stop()
    ended = rooted.get(running.job)
    assert ended.state is JobState.DONE
    assert "new" in ended.warnings[0]


def test_a_review_is_started_though_what_others_have_left_cannot_be_swept_now(
    site: ReviewSite,
) -> None:
    worked(site)
    site.script([ACCEPT])
    (site.clones / ".review-77").mkdir()
    with no_threads():
        running = site.start(site.place())
    assert running is not None
    assert site.watched(running).state is JobState.DONE


def test_a_slow_end_of_its_clone_keeps_no_other_job_from_its_end(
    site: ReviewSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, may_end = sweep.remove_review_clone, threading.Event()

    def slow(place: Place) -> None:
        assert may_end.wait(60.0)
        end(place)

    monkeypatch.setattr(sweep, "remove_review_clone", slow)
    worked(site)
    site.script([ACCEPT])
    job = site.place()
    running = site.start(job)
    assert running is not None
    try:
        assert site.watched(running).state is JobState.DONE
        assert site.reviews() == [f".review-{job.id}"]
    finally:
        may_end.set()
    site.await_no_clone()


def test_a_program_that_is_missing_fails_the_review_and_not_the_task(site: ReviewSite) -> None:
    worked(site)
    job = site.run(site.place(path_variable="/nowhere"))
    assert (job.state, job.cause) == (JobState.FAILED, Cause.MISSING_BINARY)
    assert site.task().status is TaskStatus.NEEDS_REVIEW
