"""A merge from its claim to its end: under a true supervisor, its check, and each way it ends."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
import yaml
from attempt_cases import wait_until
from attempts.job_values import NOW, PROJECT, make_job
from clones.clone_site import name_author, plain
from msgspec import UNSET
from step_cases import CheckSite
from watch_cases import WatchSite

from sow.clones.branch_move import IndexInUse
from sow.clones.main_checkout import main_checkout
from sow.config.checks import CheckCommand
from sow.ids import BatchId, JobId, TaskId
from sow.jobs import batches, jobs, leases
from sow.reports.outcome import exit_code_of, line_of
from sow.reports.views import outcome_of
from sow.sandbox.probe import SandboxUnavailable
from sow.schema.batch import Batch, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.causes import Cause
from sow.schema.job import STEP_RETRIES, Job, JobState, Verb
from sow.schema.job_terms import MergeTerms, MergeWay
from sow.schema.task import TaskStatus
from worker.kinds.merge import program
from worker.kinds.merge.program import merge
from worker.steps.program_input import MergeOrders
from worker.steps.result_file import failure_result

pytestmark = pytest.mark.slow  # process after process


class Merging:
    """Completed tasks with branches of their own, and a worker."""

    def __init__(self, checks: CheckSite) -> None:
        self.checks = checks
        self.site = checks.site
        self.root = checks.site.workspace.root
        plain(self.root, "init", "-q", "-b", "main")
        name_author(self.root)
        (self.root / "file").write_text("one\n")
        plain(self.root, "add", "file")
        plain(self.root, "commit", "-q", "-m", "First")

    def work(self, path: str, text: str, task: str = "010") -> str:
        settings = self.site.context.configuration.clones
        place = main_checkout(self.site.workspace, settings).place(self.site.task(task))
        plain(self.root, "switch", "-q", "-c", place.branch)
        (self.root / path).write_text(text)
        plain(self.root, "add", path)
        plain(self.root, "commit", "-q", "-m", task)
        commit = plain(self.root, "rev-parse", "HEAD")
        plain(self.root, "switch", "-q", "main")
        self.site.change_task(task, status=TaskStatus.COMPLETED)
        return commit

    def settings(self, **clones: object) -> None:
        path = self.site.workspace.repository_config
        content = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({**content, "clones": clones}))
        self.checks.trust()

    def place(self, *tasks: str, batch: BatchId | None = None, **terms: bool) -> Job:
        named = tuple(map(TaskId, tasks or ("010",)))
        job = make_job(
            id=JobId(0),
            project_id=PROJECT,
            task_id=named[0],
            verb=Verb.MERGE,
            agent="",
            executor=None,
            terms=MergeTerms(tasks=named, **terms),
            path_variable=self.site.context.environ["PATH"],
            state=JobState.PREPARING,
            batch=batch,
        )
        job = jobs.insert_job(self.site.database, job)
        leases.enqueue(self.site.database, job.id, now=NOW)
        return job

    def run(self, *tasks: str, **terms: bool) -> Job:
        running = self.checks.start(self.place(*tasks, **terms))
        assert running is not None
        return self.checks.watched(running)

    def tip(self) -> str:
        return plain(self.root, "rev-parse", "main")

    def log(self, job: Job, name: str) -> Path:
        return self.site.workspace.attempt(job.id, 1).check_log(name)


@pytest.fixture
def merging(site: WatchSite) -> Iterator[Merging]:
    checks = CheckSite(site, unit="test -e new && pwd", lint="echo no; exit 3")
    yield Merging(checks)
    checks.close()


def test_a_merge_is_done_and_told(merging: Merging) -> None:
    made = merging.work("new", "new\n")
    job = merging.run()
    assert (job.state, job.cause) == (JobState.DONE, Cause.PASSED), job.reason
    assert job.reason == f"main is at {merging.tip()[:12]}"
    assert merging.site.task().merged.commit == made
    assert merging.site.task().status is TaskStatus.COMPLETED
    line = line_of(outcome_of(job, jobs.attempts(merging.site.database, job.id)), now=NOW)
    assert line.startswith(f"010 merged (merge, job {job.id}")
    assert line.endswith(job.reason)


@pytest.mark.parametrize(("way", "subject"), [("squash", "Sign in"), ("rebase", "010")])
def test_another_way_reaches_the_program(merging: Merging, way: str, subject: str) -> None:
    made = merging.work("new", "new\n")
    job = merging.run(**{way: True})
    assert job.cause is Cause.PASSED, job.reason
    assert plain(merging.root, "log", "-2", "--format=%P|%s").endswith("|First")
    assert plain(merging.root, "log", "-1", "--format=%s") in (subject, merging.site.task().name)
    assert merging.site.task().merged.commit == made


def test_the_result_is_checked_in_a_checkout_that_is_gone_afterwards(merging: Merging) -> None:
    merging.work("new", "new\n")
    (merging.root / ".env").write_text("KEY=1\n")
    merging.settings(merge_check="unit", setup="cat .env >set; test ! -e .draft", copy=[".env"])
    job = merging.run()
    assert job.cause is Cause.PASSED, job.reason
    ran_in = Path(merging.log(job, "unit").read_text().strip())
    assert merging.root not in (ran_in, *ran_in.parents)
    assert not ran_in.exists()
    assert not (merging.root / "set").exists()


def test_a_red_check_moves_nothing_and_exits_with_1(merging: Merging) -> None:
    merging.work("new", "new\n")
    merging.settings(merge_check="lint")
    before = merging.tip()
    job = merging.run()
    assert (job.state, job.cause, exit_code_of(job)) == (JobState.FAILED, Cause.CHECK_FAILED, 1)
    assert job.reason.splitlines() == ["on the merge's result, lint: exit code 3", "  lint | no"]
    assert (merging.tip(), merging.site.task().merged) == (before, UNSET)


def test_a_setup_that_fails_is_told_by_its_name(merging: Merging) -> None:
    merging.work("new", "new\n")
    merging.settings(merge_check="unit", setup="exit 5")
    assert "clones.setup: exit code 5" in merging.run().reason


def test_what_nobody_has_accepted_is_held(merging: Merging) -> None:
    merging.work("new", "new\n")
    merging.settings(merge_check="unit")
    path = merging.site.workspace.repository_config
    path.write_text(path.read_text().replace("pwd", "curl evil"))
    job = merging.place()
    assert merging.checks.start(job) is None
    assert merging.site.get(job).state is JobState.HELD


def test_without_a_check_nothing_has_to_be_accepted(merging: Merging) -> None:
    merging.work("new", "new\n")
    path = merging.site.workspace.repository_config
    path.write_text(path.read_text().replace("pwd", "curl evil"))
    assert merging.run().cause is Cause.PASSED


def test_a_conflict_exits_with_4_and_says_what_to_do(merging: Merging) -> None:
    merging.work("file", "two\n")
    (merging.root / "file").write_text("three\n")
    plain(merging.root, "commit", "-q", "-a", "-m", "Other")
    before = merging.tip()
    job = merging.run()
    assert (job.cause, exit_code_of(job), merging.tip()) == (Cause.MERGE_CONFLICT, 4, before)
    assert job.reason.startswith("task 010 conflicts with main in file\nNothing was changed.")
    next_step = "Solve the conflict that the message above names. Then: `sow merge 010`."
    assert outcome_of(job, ()).next_step == next_step


def test_the_names_of_files_in_a_conflict_steer_no_terminal(merging: Merging) -> None:
    name = "x\x1b[2J\udcff"
    merging.work(name, "two\n")
    (merging.root / name).write_text("three\n")
    plain(merging.root, "add", name)
    plain(merging.root, "commit", "-q", "-m", "Other")
    job = merging.run()
    assert job.cause is Cause.MERGE_CONFLICT
    assert "in x [2J" in job.reason
    assert "\x1b" not in job.reason


def test_a_changed_file_is_named_and_nothing_moves(merging: Merging) -> None:
    merging.work("file", "two\n")
    (merging.root / "file").write_text("mine\n")
    before = merging.tip()
    job = merging.run()
    assert (job.cause, exit_code_of(job), merging.tip()) == (Cause.MERGE_REFUSED, 4, before)
    assert "file" in job.reason.splitlines()[0]
    assert (merging.root / "file").read_text() == "mine\n"


def test_a_merge_that_is_cancelled_in_its_check_moves_nothing(merging: Merging) -> None:
    merging.checks.write(unit=f"touch {merging.root}/begun; sleep 1000")
    merging.work("new", "new\n")
    merging.settings(merge_check="unit")
    before = merging.tip()
    job = merging.place()
    running = merging.checks.start(job)
    assert running is not None
    wait_until((merging.root / "begun").exists, "the check has begun")
    jobs.change_job(merging.site.database, job.id, cancel_requested_at=NOW)
    ended = merging.checks.watched(running)
    assert (ended.state, merging.tip()) == (JobState.CANCELLED, before)


def test_when_all_of_it_is_killed_in_its_check_the_next_try_merges(merging: Merging) -> None:
    root = merging.root
    hangs = f"touch {root}/again; pwd >{root}/where; echo $$ >{root}/x; mv {root}/x {root}/begun"
    merging.checks.write(unit=f"test -e {root}/again || {{ {hangs}; sleep 1000; }}")
    made = merging.work("new", "new\n")
    merging.settings(merge_check="unit")
    before = merging.tip()
    job = merging.place()
    running = merging.checks.start(job)
    assert running is not None
    wait_until((root / "begun").exists, "the check has begun")
    attempt = merging.site.attempts[-1]
    program = attempt.agent_pid()
    attempt.kill_forked()
    for pid in (program, int((root / "begun").read_text())):
        os.kill(pid, signal.SIGKILL)
    attempt.kill_carriers()
    merging.checks.watched(running, until=JobState.QUEUED)
    left = Path((root / "where").read_text().strip())
    assert (merging.tip(), left.exists()) == (before, True)

    again = merging.checks.start(job)
    assert again is not None
    assert merging.checks.watched(again).cause is Cause.PASSED
    assert merging.site.task().merged.commit == made
    assert not left.exists(), "what the killed one has left is swept"
    assert plain(root, "log", "--first-parent", "--format=%s").splitlines()[1:] == ["First"]


def test_a_merge_of_a_batch_that_is_killed_again_and_again_asks_nobody(merging: Merging) -> None:
    root = merging.root
    merging.checks.write(unit=f"test -e {root}/calm || {{ touch {root}/begun; sleep 1000; }}")
    made = merging.work("new", "new\n")
    merging.settings(merge_check="unit")
    of_task = Batch(
        id=BatchId(0),
        project_id=PROJECT,
        name="",
        selection=Selection(tasks=(TaskId("010"),)),
        policy=BatchPolicy(),
        path_variable="",
        made_at=NOW,
    )
    batch = batches.insert_batch(merging.site.database, of_task)
    job = merging.place(batch=batch.id)
    for _ in range(STEP_RETRIES + 2):
        (root / "begun").unlink(missing_ok=True)
        running = merging.checks.start(job)
        assert running is not None
        wait_until((root / "begun").exists, "the check has begun")
        os.kill(merging.site.attempts[-1].agent_pid(), signal.SIGKILL)
        put_off = merging.checks.watched(running, until=JobState.BACKOFF)
        assert (put_off.cause, put_off.retries) == (Cause.PREVENTED, 0)
    (root / "calm").touch()
    again = merging.checks.start(job)
    assert again is not None
    assert merging.checks.watched(again).cause is Cause.PASSED
    assert merging.site.task().merged.commit == made


def test_a_check_without_its_sandbox_says_nothing_of_the_merge(
    merging: Merging, monkeypatch: pytest.MonkeyPatch
) -> None:
    merging.work("new", "new\n")
    before = merging.tip()
    site = merging.site
    orders = MergeOrders(
        folder=str(site.workspace.run),
        root=str(merging.root),
        tasks=("010",),
        way=MergeWay.MERGE,
        settings=site.context.configuration.clones,
        commands=(CheckCommand(name="unit", run="true", timeout_seconds=9.0),),
    )

    def no_sandbox(*_: object) -> NoReturn:
        raise SandboxUnavailable("unit", "there is no bwrap here", "Install it.")

    monkeypatch.setattr(program, "run_command", no_sandbox)
    with pytest.raises(SandboxUnavailable) as caught:
        merge(orders)
    result = failure_result(caught.value, passing=Cause.PREVENTED, lasting=Cause.CRASHED)
    assert (result.cause, merging.tip()) == (Cause.SANDBOX_FAILED, before)
    words = "unit asks for sandbox: bwrap, but there is no bwrap here"
    assert result.reason.splitlines() == [words, "Install it."]


def test_another_git_at_work_puts_a_merge_off_in_words(merging: Merging) -> None:
    merging.work("new", "new\n")
    before = merging.tip()
    lock = merging.root / ".git" / "index.lock"
    lock.touch()
    site = merging.site
    orders = MergeOrders(
        folder=str(site.workspace.run),
        root=str(merging.root),
        tasks=("010",),
        way=MergeWay.MERGE,
        settings=site.context.configuration.clones,
        commands=(),
    )
    with pytest.raises(IndexInUse) as caught:
        merge(orders, patience=0.0)
    result = failure_result(caught.value, passing=Cause.PREVENTED, lasting=Cause.CRASHED)
    assert (result.cause, merging.tip()) == (Cause.PREVENTED, before)
    assert result.reason.startswith(f"another git process works there: {lock} exists")
    assert "IndexInUse" not in result.reason
    lock.unlink()
    assert merge(orders, patience=0.0).cause is Cause.PASSED
