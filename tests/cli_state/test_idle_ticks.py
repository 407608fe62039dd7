"""What calls, batches and workers read while nothing happens: no more with 1,000 jobs than 50."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import NOW, make_job

from sow.batches.gathering import Seen
from sow.batches.item_facts import Standing
from sow.batches.planning import Plan
from sow.calls.batch_wait import BatchLook
from sow.calls.caller import Caller
from sow.calls.wait import Progress, Waiter
from sow.cli import happenings, job_rows
from sow.cli.batch_waiting import BatchProgress
from sow.cli.job_rows import JobRows, LiveBlock
from sow.cli.progress import WaitingView
from sow.ids import BatchId, JobId, ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.changed_jobs import LiveJobs
from sow.jobs.database import Database, QueueFile, open_queue
from sow.paths import Workspace
from sow.schema.amounts import Amounts
from sow.schema.batch import Batch, ItemState, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.job import Budgets, JobState

FEW, MANY = 50, 1000
BATCH = BatchId(7)


class Counting(QueueFile):
    """The database, with a count of the statements that read and of the rows that they gave."""

    def __init__(self, other: QueueFile) -> None:
        super().__init__(other.path, other.connection, other._marks, other._name)
        self.read: tuple[int, int] = (0, 0)

    def rows(self, sql: str, parameters: Any = ()) -> list[Any]:
        found = super().rows(sql, parameters)
        self.read = (self.read[0] + 1, self.read[1] + len(found))
        return found

    def row(self, sql: str, parameters: Any = ()) -> Any:
        found = super().row(sql, parameters)
        self.read = (self.read[0] + 1, self.read[1] + (found is not None))
        return found


class Queue:
    """A queue with so many live jobs, of which a worker in this process runs four."""

    def __init__(self, workspace: Workspace, database: Database, count: int) -> None:
        self.workspace = workspace
        with database.transaction():
            for number in range(1, count + 1):
                self._place(database, number)
        self.database = Counting(database)
        self.numbers = [JobId(number) for number in range(1, count + 1)]

    def _place(self, database: Database, number: int) -> None:
        runs = number <= 4
        state = JobState.RUNNING if runs else JobState.QUEUED
        budgets = Budgets(project=Amounts(usd=1.0))
        fields = {"state": state, "started_at": NOW, "batch": BATCH, "budgets": budgets}
        job = make_job(task_id=TaskId(f"{number:04}"), **fields)
        job = jobs.insert_job(database, job)
        if runs:
            worker = f"w{os.getpid()}-aaaaaa"
            values = (job.id, worker, job.id, job.executor_name, NOW)
            database.run("insert into lease values (?, ?, ?, ?, ?)", values)

    def changes(self, number: int) -> None:
        state = jobs.get_job(self.database, JobId(number)).state
        other = JobState.PARKED if state is JobState.QUEUED else JobState.QUEUED
        jobs.change_job(self.database, JobId(number), state=other)


Tick = Callable[[], object]


def waiting(queue: Queue, *, on_terminal: bool) -> Tick:
    view = WaitingView(queue.workspace, queue.database, as_json=False)
    view.is_terminal, view.began_at = on_terminal, 0.0
    return lambda: view.show(Progress(queue.numbers))


def batch(queue: Queue) -> Tick:
    view = BatchProgress(queue.workspace, queue.database, as_json=True)
    view.is_terminal = True
    view._rows = JobRows(queue.workspace, queue.database, LiveBlock(lambda _: None))
    made = Batch(
        id=BATCH,
        project_id=ProjectId("p"),
        name="",
        selection=Selection(),
        policy=BatchPolicy(),
        path_variable="",
        made_at=NOW,
    )
    plan = Plan(standings=(Standing(task="0001", state=ItemState.RUNNING),))
    caller = Caller(workspace=queue.workspace, environ={}, cwd=queue.workspace.root)
    found = BatchLook(made, plan, Seen(queue.workspace), caller.load_configuration())
    return lambda: view.show(found)


def worker(queue: Queue) -> Tick:
    live = LiveJobs(queue.database)
    screen = job_rows._Screen(queue.workspace, LiveBlock(lambda _: None))
    rows = JobRows(queue.workspace, queue.database, LiveBlock(lambda _: None))
    return lambda: screen._draw(rows, *job_rows._parted(queue.database, live.read(at=0.0)))


TICKS: dict[str, Callable[[Queue], Tick]] = {
    "a call on a terminal": lambda queue: waiting(queue, on_terminal=True),
    "a call in a pipe": lambda queue: waiting(queue, on_terminal=False),
    "a batch": batch,
    "a worker": worker,
}


@contextmanager
def queue(folder: Path, count: int) -> Iterator[Queue]:
    workspace = Workspace(folder)
    workspace.run.mkdir(parents=True)
    with closing(open_queue(workspace)) as database:
        yield Queue(workspace, database, count)


@pytest.fixture(scope="module")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[Queue]]:
    folders = tmp_path_factory.mktemp("few"), tmp_path_factory.mktemp("many")
    with queue(folders[0], FEW) as few, queue(folders[1], MANY) as many:
        yield few, many


def read_by(queue: Queue, tick: Tick) -> tuple[int, int]:
    """Return how many statements a tick runs to read, and how many rows these give."""
    queue.database.read = (0, 0)
    tick()
    return queue.database.read


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    at_stop = signal.getsignal(signal.SIGTSTP)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setattr(happenings, "LOOK_SECONDS", 1e9)  # that look has a time of its own
    yield
    signal.signal(signal.SIGTSTP, at_stop)


@pytest.mark.slow
@pytest.mark.parametrize("name", TICKS)
def test_a_tick_reads_no_more_with_many_jobs(name: str, queues: Sequence[Queue]) -> None:
    idle, busy = [], []
    for found in queues:
        tick = TICKS[name](found)
        first = read_by(found, tick)
        assert first[1] >= len(found.numbers), "it has read them once"
        idle.append(read_by(found, tick))
        for number in (len(found.numbers), len(found.numbers) - 1):
            found.changes(number)
            busy.append(read_by(found, tick))
    assert idle[0] == idle[1]
    assert idle[1][1] < FEW + 50
    assert busy[1] == busy[3], "of the jobs the one that has changed"


@pytest.mark.slow
def test_a_wait_looks_at_its_jobs_only_where_something_was_written(
    queues: Sequence[Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    for found in queues:
        ticks: list[tuple[int, int]] = []

        def tick(_: Progress, found: Queue = found, ticks: list[tuple[int, int]] = ticks) -> None:
            ticks.append(found.database.read)
            found.database.read = (0, 0)
            if len(ticks) == 3:
                found.changes(len(found.numbers))
            if len(ticks) == 4:
                raise KeyboardInterrupt

        caller = Caller(found.workspace, {}, found.workspace.root)
        with Waiter(caller, found.database) as waiter, suppress(KeyboardInterrupt):
            waiter.begin(found.numbers)
            monkeypatch.setattr(waiter.bell, "wait", lambda _: None)
            waiter.wait(seconds=None, on_tick=tick)
        _, *idle, busy = ticks
        assert idle == [(1, 1), (1, 1)], "the sign of the file"
        assert busy[1] > len(found.numbers)


def test_a_worker_shows_its_own_jobs_and_counts_the_others(queues: Sequence[Queue]) -> None:
    few, _ = queues
    other = "w1-bbbbbb"
    few.database.run("update lease set worker_id = ? where job_id = 4", (other,))
    ours, others = job_rows._parted(few.database, jobs.active_jobs(few.database))
    assert [job.id for job in ours] == [1, 2, 3]
    assert [job.id for job in others] == few.numbers[3:]
    mine = f"w{os.getpid()}-aaaaaa"
    few.database.run("update lease set worker_id = ? where job_id = 4", (mine,))
