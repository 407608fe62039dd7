"""Each step of a call's placing, and what each failure of one leaves behind."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from calls.desk import SESSION, Desk, a_dead_process
from msgspec import UNSET
from msgspec.structs import replace
from reports.job_cases import NOW

from sow.calls.caller import WaitsForItself
from sow.calls.cancel import cancel_job
from sow.calls.idempotency import TaskHasJob
from sow.calls.kinds import finish_abandoned, place, work
from sow.calls.kinds.work import JobWasCancelled, insert
from sow.calls.request import Placed, Request
from sow.calls.resolution import resolve
from sow.calls.wait import Waiter
from sow.errors import ExecutorError, ExitCode, StateError
from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.files import NotWritten
from sow.ids import JobId, TaskId
from sow.jobs import database, jobs, statuses, workers
from sow.jobs.database import QueueFile
from sow.jobs.doorbell import Bell
from sow.processes import process_facts
from sow.schema.job import Job, JobState, Verb
from sow.schema.task import TaskStatus
from sow.state import statefiles
from sow.state.kept.store import kept_at
from sow.state.tasks import change_task, find_task
from sow.yamlfile import editing

CURSOR = {"agents": {"bindings": {"implementer": "cursor"}}}
MAKES_A_CHAT = f'case "$1" in create-chat) echo {SESSION};; *) exit 1;; esac'


def put(desk: Desk, request: Request, waiter: Waiter | None = None) -> Placed:
    return place(desk.caller, desk.database, desk.config, request, waiter)


def test_a_spawn_takes_the_task_and_queues_its_job(desk: Desk) -> None:
    desk.task()
    placed = put(desk, desk.spawn(prompt="Mind the tests."))
    task = desk.read()
    assert (placed.attached, placed.owed) == (False, False)
    assert (placed.job.state, placed.job.prior_status) == (JobState.QUEUED, TaskStatus.PENDING)
    assert placed.job.prompt == "Mind the tests."
    assert (task.status, task.session.started) == (TaskStatus.IN_PROGRESS, False)
    assert task.session.executor == "claude-code"


def test_a_spawn_keeps_a_session_that_never_started(desk: Desk) -> None:
    desk.task(status=TaskStatus.PENDING)
    desk.with_session(started=False)
    put(desk, desk.spawn())
    assert desk.read().session_id == SESSION


@pytest.mark.parametrize("started", [True, False])
def test_a_fresh_spawn_takes_another_session_and_names_the_old_one_in_the_log(
    desk: Desk, started: bool
) -> None:
    desk.task(status=TaskStatus.PAUSED)
    desk.with_session(started=started)
    put(desk, desk.spawn(fresh=True))
    assert desk.read().session_id not in (SESSION, UNSET)
    assert f"Started over; the session before was {SESSION}" in desk.log()


def test_another_role_takes_the_task_where_it_is_reassigned(desk: Desk) -> None:
    desk.task()
    put(desk, desk.spawn(agent="tester", reassign=True))
    assert desk.read().assigned_agent == "tester"


def test_a_session_is_made_by_the_executor_s_own_command(desk: Desk) -> None:
    desk.configure(CURSOR)
    desk.program("cursor-agent", MAKES_A_CHAT)
    desk.task()
    put(desk, desk.spawn())
    task = desk.read()
    assert (task.session_id, task.session.dialect) == (SESSION, "print")


@pytest.mark.parametrize(
    "script", ["exit 3", f"echo {SESSION}; exit 3", "echo not an id at all: $$", "kill -9 $$"]
)
def test_a_session_that_cannot_be_made_leaves_nothing(desk: Desk, script: str) -> None:
    desk.configure(CURSOR)
    desk.program("cursor-agent", script)
    desk.task()
    with pytest.raises(ExecutorError), Waiter(desk.caller, desk.database) as waiter:
        put(desk, desk.spawn(), waiter)
    job = desk.job(1)
    assert (job.state, desk.read().status) == (JobState.CANCELLED, TaskStatus.PENDING)
    assert job.reason
    assert not desk.is_owed(1)


def test_an_executor_without_sessions_has_none_on_record(desk: Desk) -> None:
    desk.configure(
        {
            "agents": {
                "executors": {"script": {"type": "command", "settings": {"command": ["claude"]}}},
                "bindings": {"implementer": "script"},
            }
        }
    )
    desk.task(status=TaskStatus.PENDING)
    desk.with_session(started=False)
    put(desk, desk.spawn())
    assert desk.read().session_id is UNSET


def test_a_program_that_is_not_there_is_told_before_anything_is_written(desk: Desk) -> None:
    (desk.base / "bin/claude").unlink()
    desk.task()
    with pytest.raises(ExecutorBinaryNotFound):
        put(desk, desk.spawn())
    assert jobs.newest_id(desk.database) == 0
    assert desk.read().status is TaskStatus.PENDING


def test_a_resume_writes_its_words_into_the_log_first(desk: Desk) -> None:
    desk.task(status=TaskStatus.NEEDS_REVIEW)
    desk.with_session()
    placed = put(desk, desk.resume(prompt="Use RS256."))
    assert placed.job.verb is Verb.RESUME
    assert "Use RS256." in desk.log()
    assert "Resumed with an answer or corrections" in desk.log()
    assert (desk.read().status, desk.read().iteration) == (TaskStatus.IN_PROGRESS, 2)


def test_a_log_that_takes_no_words_leaves_nothing(desk: Desk) -> None:
    desk.task(status=TaskStatus.PAUSED)
    desk.with_session()
    log = find_task(desk.workspace, "010").log
    log.unlink()
    log.mkdir()
    with pytest.raises(StateError):
        put(desk, desk.resume())
    assert (desk.job(1).state, desk.read().status) == (JobState.CANCELLED, TaskStatus.PAUSED)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Have SIGINT raise KeyboardInterrupt, also where a background shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupted_call_leaves_nothing(desk: Desk, interruptible: None) -> None:
    desk.configure(CURSOR)
    desk.program("cursor-agent", "kill -INT $PPID")
    desk.task()
    with pytest.raises(KeyboardInterrupt):
        put(desk, desk.spawn())
    assert (desk.job(1).state, desk.read().status) == (JobState.CANCELLED, TaskStatus.PENDING)
    assert desk.job(1).reason == "its call was interrupted"


def test_a_waiter_waits_from_the_job_s_first_moment_on(desk: Desk) -> None:
    desk.task()
    with Waiter(desk.caller, desk.database) as waiter:
        placed = put(desk, desk.spawn(), waiter)
        assert waiter.job_ids == [placed.job.id]
        assert not desk.is_owed(placed.job.id)
    assert desk.is_owed(placed.job.id)


class Surprise(dict[str, str]):
    """An environment in which something happens the first time that it is asked for PATH."""

    def __init__(self, environ: Mapping[str, str], act: Callable[[], object]) -> None:
        super().__init__(environ)
        self.acts = [act]

    def get(self, name: str, default: Any = None) -> Any:
        if name == "PATH" and self.acts:
            self.acts.pop()()
        return super().get(name, default)


@pytest.mark.parametrize("prompt", ["", "of another call"])
def test_a_call_that_another_one_overtakes_attaches_or_is_refused(desk: Desk, prompt: str) -> None:
    """Both found no job of the task; the other's is on record before ours."""
    desk.task()
    resolved = resolve(desk.caller, desk.config, desk.spawn(prompt=prompt))

    def overtake() -> None:
        insert(desk.caller, desk.database, desk.config, resolved)

    caller = replace(desk.caller, environ=Surprise(desk.caller.environ, overtake))
    if prompt:
        with pytest.raises(TaskHasJob):
            place(caller, desk.database, desk.config, desk.spawn())
    else:
        placed = place(caller, desk.database, desk.config, desk.spawn())
        assert (placed.attached, placed.job.id) == (True, 1)
    assert jobs.newest_id(desk.database) == 1


def test_the_text_of_a_mark_is_made_before_the_job_is_on_record(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From then on its agent waits."""
    desk.task()
    edit, jobs_then = editing.edit_yaml, list[int]()

    def edited(*words: Any, **more: Any) -> bytes:
        jobs_then.append(jobs.newest_id(desk.database))
        return edit(*words, **more)

    monkeypatch.setattr(editing, "edit_yaml", edited)
    put(desk, desk.spawn())
    assert jobs_then == [0]
    assert desk.read().status is TaskStatus.IN_PROGRESS


def drafts(desk: Desk) -> list[str]:
    """Return the names of what was written beside the state of the task and is not in place."""
    return [path.name for path in find_task(desk.workspace, "010").folder.glob(".*.tmp")]


def test_the_file_of_a_mark_is_on_disk_before_the_job_is_on_record(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then nothing is left of it but its name: for the disk, too, its agent would wait."""
    desk.task()
    begin, seen = work.insert, list[int]()

    def insert_then(*words: Any) -> Job:
        (draft,) = drafts(desk)
        seen.append(find_task(desk.workspace, "010").folder.joinpath(draft).stat().st_ino)
        return begin(*words)

    monkeypatch.setattr(work, "insert", insert_then)
    put(desk, desk.spawn())
    assert [find_task(desk.workspace, "010").state.stat().st_ino] == seen
    assert drafts(desk) == []


def test_the_file_of_a_mark_that_is_not_made_goes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task()
    seen: list[list[str]] = []

    def refuse(*_: Any) -> Job:
        seen.append(drafts(desk))
        raise StateError("no job now", hint="")

    monkeypatch.setattr(work, "insert", refuse)
    with pytest.raises(StateError, match="no job now"):
        put(desk, desk.spawn())
    assert [len(each) for each in seen] == [1]
    assert drafts(desk) == []


def two_commits(desk: Desk) -> None:
    """Have a task whose job takes each step for itself, since its session is on record."""
    desk.task()
    desk.with_session(started=False)


COMMITS = "pragma application_id"


def older_worker(desk: Desk) -> None:
    """Have a worker of the first form on record; it marks no task that is still pending."""
    desk.task()
    desk.staff()
    process = msgspec.json.encode(a_dead_process()).decode()
    desk.database.run("update worker set format = 1, process = ?", (process,))


@pytest.mark.parametrize(
    ("prepare", "is_first"),
    [(Desk.task, True), (two_commits, False), (older_worker, False)],
    ids=["first turn", "not", "beside an older worker"],
)
def test_a_worker_is_rung_before_the_disk_is_waited_for_and_the_call_waits_for_it(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[[Desk], object],
    is_first: bool,
) -> None:
    """The worker waits for the disk itself before an agent begins; that makes both durable.

    The first turn of a task is marked after the disk was waited for: no loss of power leaves a
    mark without a job.
    """
    prepare(desk)
    seen: list[tuple[bool, JobState, TaskStatus]] = []
    bell = Bell(desk.workspace.workers / f"w1{workers.BELL_SUFFIX}")
    commits = desk.database.value(COMMITS)

    def synced(_: int) -> None:
        seen.append((bell.wait(0.0), desk.job(1).state, desk.read().status))

    monkeypatch.setattr(database, "SYNC", synced)
    put(desk, desk.spawn())
    status = TaskStatus.PENDING if is_first else TaskStatus.IN_PROGRESS
    assert seen == [(True, JobState.QUEUED, status)]
    assert desk.read().status is TaskStatus.IN_PROGRESS
    assert desk.database.value(COMMITS) == commits + (1 if is_first else 2)
    bell.close()


class Killed(BaseException):
    """Nobody catches it, as nobody outlives a kill."""


def kill_at(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise Killed

    monkeypatch.setattr(module, name, die)


@pytest.mark.parametrize("name", ["insert", "_queued_as"])
def test_a_first_turn_that_is_killed_before_its_commit_leaves_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = desk.task()
    with monkeypatch.context() as patch, Waiter(desk.caller, desk.database) as waiter:
        kill_at(patch, work, name)
        with pytest.raises(Killed):
            put(desk, desk.spawn(), waiter)
        assert waiter.job_ids == []
    assert jobs.newest_id(desk.database) == 0
    assert desk.read() == before
    assert put(desk, desk.spawn()).job.id == 1


@pytest.mark.parametrize(
    ("module", "name"),
    [(workers, "wake"), (QueueFile, "sync"), (statefiles, "write_atomically")],
    ids=["before the ring", "before the disk", "before the mark"],
)
def test_a_first_turn_that_is_killed_before_its_mark_is_queued(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, module: object, name: str
) -> None:
    """A worker marks the task when it comes to it, and the same call goes on with the job."""
    desk.task()
    with monkeypatch.context() as patch, Waiter(desk.caller, desk.database) as waiter:
        kill_at(patch, module, name)
        with pytest.raises(Killed):
            put(desk, desk.spawn(), waiter)
    assert (desk.job(1).state, desk.job(1).prior_status) == (JobState.QUEUED, TaskStatus.PENDING)
    assert desk.read().status is TaskStatus.PENDING
    assert desk.is_owed(1)
    again = put(desk, desk.spawn())
    assert (again.attached, again.job.id) == (True, 1)
    with pytest.raises(TaskHasJob):
        put(desk, desk.spawn(prompt="another"))


def test_a_first_turn_that_is_killed_after_its_mark_is_whole(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task()
    with monkeypatch.context() as patch:
        kill_at(patch, statefiles, "wrote")
        with pytest.raises(Killed):
            put(desk, desk.spawn())
    assert desk.job(1).state is JobState.QUEUED
    assert desk.read().status is TaskStatus.IN_PROGRESS
    assert "Status: pending to in_progress" in desk.log(), "whoever reads the task writes it"


def test_a_mark_that_cannot_be_made_is_told_by_the_worker(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have the job by then."""
    desk.task()

    def full(path: Path, *_: Any, **__: Any) -> None:
        raise NotWritten(path, OSError(28, "No space left on device"))

    monkeypatch.setattr(statefiles, "write_atomically", full)
    placed = put(desk, desk.spawn())
    assert placed.job.state is JobState.QUEUED
    assert desk.read().status is TaskStatus.PENDING
    assert drafts(desk) == []


def test_a_mark_that_is_not_made_is_cancelled_with_its_job(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = desk.task()
    with monkeypatch.context() as patch:
        kill_at(patch, workers, "wake")
        with pytest.raises(Killed):
            put(desk, desk.spawn())
    cancel_job(desk.caller, desk.database, desk.job(1))
    assert desk.job(1).state is JobState.CANCELLED
    assert desk.read() == before


def changed_under_it(desk: Desk, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    """Have the task change once its mark is drafted, before its lock is held for the mark."""
    lock = work.locked_task

    def change_then(*words: Any) -> Any:
        monkeypatch.setattr(work, "locked_task", lock)
        desk.change(**fields)
        return lock(*words)

    monkeypatch.setattr(work, "locked_task", change_then)


def test_a_first_turn_of_a_task_that_changes_meanwhile_keeps_the_change(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task()
    changed_under_it(desk, monkeypatch, name="Renamed")
    commits = desk.database.value(COMMITS)
    put(desk, desk.spawn())
    assert (desk.read().name, desk.read().status) == ("Renamed", TaskStatus.IN_PROGRESS)
    assert desk.database.value(COMMITS) == commits + 1
    assert drafts(desk) == []


def test_a_turn_that_is_not_the_first_any_more_takes_each_step_for_itself(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task()
    changed_under_it(desk, monkeypatch, status=TaskStatus.PAUSED)
    placed = put(desk, desk.spawn())
    assert (placed.job.state, placed.job.prior_status) == (JobState.QUEUED, TaskStatus.PAUSED)
    assert desk.read().status is TaskStatus.IN_PROGRESS
    assert drafts(desk) == []


def test_a_first_turn_that_another_call_has_begun_attaches_to_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though a spawn of what stands there now would be refused: its session has started."""
    desk.task()
    lock = work.locked_task

    def begin_then(*words: Any) -> Any:
        monkeypatch.setattr(work, "locked_task", lock)
        put(desk, desk.spawn())
        desk.with_session()
        return lock(*words)

    monkeypatch.setattr(work, "locked_task", begin_then)
    placed = put(desk, desk.spawn())
    assert (placed.attached, placed.job.id, jobs.newest_id(desk.database)) == (True, 1, 1)


def test_a_first_turn_that_is_refused_by_then_leaves_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task("020")
    desk.task()
    changed_under_it(desk, monkeypatch, depends_on=["020"])
    with pytest.raises(StateError, match="depends on tasks that are not completed"):
        put(desk, desk.spawn())
    assert jobs.newest_id(desk.database) == 0
    assert drafts(desk) == []


def test_the_record_tells_of_the_mark_before_the_queue(desk: Desk) -> None:
    """Though the mark is made after that; and it tells of it once."""
    desk.task()
    statuses.catch_up(desk.workspace, desk.database, now=NOW)
    put(desk, desk.spawn())
    recorded = "select kind from change where kind in ('placed', 'status', 'queued') order by seq"
    kinds = [row["kind"] for row in desk.database.rows(recorded)]
    assert kinds[-3:] == ["placed", "status", "queued"]
    assert not statuses.has_notes(desk.workspace, desk.database), "for a commit of a worker's"
    statuses.catch_up(desk.workspace, desk.database, now=NOW)
    assert len(desk.database.rows(recorded)) == len(kinds)


def test_a_mark_that_was_told_of_and_not_made_is_told_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.task()
    statuses.catch_up(desk.workspace, desk.database, now=NOW)
    with monkeypatch.context() as patch:
        kill_at(patch, workers, "wake")
        with pytest.raises(Killed):
            put(desk, desk.spawn())
    statuses.catch_up(desk.workspace, desk.database, now=NOW)
    sql = "select json_extract(data, '$.status') from change where kind = 'status' order by seq"
    assert [row[0] for row in desk.database.rows(sql)][-2:] == ["in_progress", "pending"]


def test_a_job_that_is_held_and_need_not_be_rings_a_worker(desk: Desk) -> None:
    """Its dependencies are met by then, so it goes into the queue after the ring for others."""
    desk.task("020", status=TaskStatus.COMPLETED)
    desk.task(depends_on=["020"])
    bell = Bell(desk.workspace.workers / f"w1{workers.BELL_SUFFIX}")
    rung: list[bool] = []

    def clock() -> float:
        if jobs.newest_id(desk.database) and desk.job(1).state is JobState.HELD:
            rung.append(bell.wait(0.0))  # so that the next ring is seen
        return NOW

    caller = replace(desk.caller, clock=clock)
    placed = place(caller, desk.database, desk.config, desk.spawn(when_ready=True))
    assert placed.job.state is JobState.QUEUED
    assert True in rung
    assert bell.wait(0.0)
    bell.close()


def test_a_task_that_changes_before_it_is_marked_keeps_the_change(desk: Desk) -> None:
    desk.task()
    renamed: list[int] = []

    def clock() -> float:
        if jobs.newest_id(desk.database) and not renamed:
            renamed.append(1)
            change_task(desk.workspace, "010", lambda _: {"name": "Renamed"}, now=NOW)
        return NOW

    desk.with_session(started=False)

    place(replace(desk.caller, clock=clock), desk.database, desk.config, desk.spawn())
    assert (desk.read().name, desk.read().status) == ("Renamed", TaskStatus.IN_PROGRESS)


def cancel(desk: Desk) -> None:
    """End the job as a cancel does; its task is to be given back."""
    fields = {"outcome_status": TaskStatus.PENDING, "owes_task": True}
    jobs.change_job(desk.database, JobId(1), state=JobState.CANCELLED, **fields)


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("moment", [1, 2], ids=["before its task is taken", "after that"])
def test_a_job_that_is_cancelled_while_it_is_placed_is_not_queued(
    desk: Desk, moment: int, waits: bool
) -> None:
    two_commits(desk)
    before = desk.read()
    looks: list[int] = []

    def clock() -> float:
        """Each step asks for the time: the last one before the task is read under its lock, and
        the first one after that."""
        if jobs.newest_id(desk.database):
            looks.append(1)
        if len(looks) == moment + waits:
            cancel(desk)
        return NOW

    caller = replace(desk.caller, clock=clock)
    with Waiter(caller, desk.database) as waiter, pytest.raises(JobWasCancelled) as refusal:
        place(caller, desk.database, desk.config, desk.spawn(), waiter if waits else None)
    assert refusal.value.exit_code is ExitCode.CANCELLED
    assert desk.job(1).state is JobState.CANCELLED
    assert desk.read().status is TaskStatus.PENDING
    if moment == 1:
        assert desk.read() == before, "it was never taken"
    assert not desk.is_owed(1)


def test_what_the_last_job_owes_the_task_is_the_next_one_s_to_give_back(desk: Desk) -> None:
    desk.task()
    last = desk.insert(
        state=JobState.CANCELLED, owes_task=True, outcome_status=TaskStatus.NEEDS_REVIEW
    )
    desk.owe(last)
    resolved = resolve(desk.caller, desk.config, desk.spawn())
    job = insert(desk.caller, desk.database, desk.config, resolved)
    assert desk.job(job.id).prior_status is TaskStatus.NEEDS_REVIEW
    assert not desk.job(last.id).owes_task
    assert not desk.is_owed(last.id)


def left_preparing(desk: Desk) -> None:
    desk.insert(caller=a_dead_process(), prior_status=TaskStatus.PENDING)


def left_open(desk: Desk) -> None:
    desk.change(status=TaskStatus.IN_PROGRESS)
    job = desk.insert(
        verb=Verb.OPEN,
        state=JobState.RUNNING,
        caller=a_dead_process(),
        prior_status=TaskStatus.PENDING,
    )
    desk.attempt(job, verb=Verb.OPEN)


def left_owing(desk: Desk) -> None:
    desk.change(status=TaskStatus.IN_PROGRESS)
    desk.insert(state=JobState.CANCELLED, owes_task=True, outcome_status=TaskStatus.PENDING)


@pytest.mark.parametrize("left", [left_preparing, left_open, left_owing])
def test_what_a_dead_command_left_is_settled_first(
    desk: Desk, left: Callable[[Desk], None]
) -> None:
    desk.task()
    left(desk)
    finish_abandoned(desk.caller, desk.database, TaskId("010"))
    assert desk.job(1).state.is_final
    assert not desk.job(1).owes_task
    assert desk.read().status is TaskStatus.PENDING
    assert put(desk, desk.spawn()).job.id == 2


def test_a_task_that_never_had_a_job_has_nothing_left_over(desk: Desk) -> None:
    desk.task()
    finish_abandoned(desk.caller, desk.database, TaskId("010"))
    assert desk.read().status is TaskStatus.PENDING


def test_an_agent_does_not_call_itself_nor_who_called_it(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    above = desk.run(task_id="010")
    own = desk.run(task_id="020", parent=above.id)
    caller = desk.as_agent_of(own)
    for task in ("010", "020"):
        with pytest.raises(WaitsForItself) as refusal:
            place(caller, desk.database, desk.config, desk.spawn(task))
        assert f"020 (job {own.id})" in refusal.value.message


def test_an_agent_s_job_knows_which_job_asked_for_it(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    own = desk.run(task_id="010")
    placed = place(desk.as_agent_of(own), desk.database, desk.config, desk.spawn("020"))
    assert placed.job.parent == own.id


@pytest.mark.parametrize(
    ("state", "is_refused"),
    [(JobState.RUNNING, True), (JobState.CANCELLED, True), (JobState.DONE, False)],
)
def test_an_agent_whose_job_is_to_end_queues_nothing_more(
    desk: Desk, state: JobState, is_refused: bool
) -> None:
    desk.task("020")
    own = desk.insert(task_id="010", state=state, cancel_requested_at=1.0)
    caller = desk.as_agent_of(own)
    if is_refused:
        with pytest.raises(StateError, match="so it cannot queue other jobs"):
            place(caller, desk.database, desk.config, desk.spawn("020"))
        assert desk.read("020").status is TaskStatus.PENDING
    else:
        assert place(caller, desk.database, desk.config, desk.spawn("020")).job.parent == own.id


def test_an_agent_whose_job_was_pruned_may_call(desk: Desk) -> None:
    desk.task("020")
    own = desk.insert(task_id="010", state=JobState.DONE)
    caller = desk.as_agent_of(own)
    desk.database.run("delete from job where id = ?", (own.id,))
    assert place(caller, desk.database, desk.config, desk.spawn("020")).job.task_id == "020"


def test_the_caller_is_on_record_while_it_places(desk: Desk) -> None:
    desk.task()
    placed = put(desk, desk.spawn())
    assert placed.job.caller == process_facts.identify(os.getpid())


def test_the_folder_is_the_one_that_was_named_then_the_session_s(desk: Desk) -> None:
    desk.task(status=TaskStatus.PENDING)
    (desk.workspace.root / "src").mkdir()
    assert put(desk, desk.spawn(cwd=Path("src"))).job.cwd == "src"
    desk.end(1, TaskStatus.PAUSED)
    desk.change(session=desk.read().session)
    assert put(desk, desk.resume()).job.cwd == "src"
    with pytest.raises(StateError) as refusal:
        resolve(desk.caller, desk.config, desk.spawn(cwd=Path("nowhere")))
    assert "no such folder" in refusal.value.message


def test_what_was_taken_away_while_nothing_lived_stays_away_once_a_job_lives(desk: Desk) -> None:
    """And a job that lives leaves the decision to who reads a file, and to the worker."""
    for task_id in ("010", "020", "030"):
        desk.task(task_id)
    kept = kept_at(desk.workspace.root)
    assert kept is not None
    removed, later = (find_task(desk.workspace, task_id).log for task_id in ("020", "030"))
    removed.unlink()
    put(desk, desk.spawn(task_id="010"))
    assert not Path(kept.copy(kept.name(removed))).exists()
    later.unlink()
    put(desk, desk.spawn(task_id="020"))
    assert Path(kept.copy(kept.name(later))).exists()
