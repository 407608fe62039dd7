"""What stands around a call: the newest job of a task, its worker, a person's word, the wait."""

import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import msgspec
import pytest
from calls.batch_desk import begin, turn
from calls.desk import WORKER, Desk, a_dead_process
from journeys.site import wait_until
from reports.job_cases import NOW

from sow.calls import autostart
from sow.calls.autostart import (
    MOST_STARTS,
    NoWorker,
    Staffing,
    without_executors_own,
)
from sow.calls.batch_touch import touch_batch
from sow.calls.caller import Caller
from sow.calls.declare_gone import NothingToResolve, declare_gone
from sow.calls.idempotency import TaskHasJob
from sow.calls.kinds import AgentIsEnding, place_in_order, place_when_settled
from sow.calls.last_job import NoJobOnRecord, NoJobYet, find_last_job, open_last_job
from sow.calls.request import Placed
from sow.calls.state_witness import live_job_label
from sow.calls.wait import Progress, Waiter
from sow.errors import QueueError
from sow.files.flock import lock_file_held, lock_within
from sow.ids import TaskId, WorkerId
from sow.jobs import elsewhere, jobs, waiters, workers
from sow.jobs.database import open_queue
from sow.processes import process_facts
from sow.schema.job import Job, JobState, Verb
from sow.schema.task import TaskStatus
from sow.state.state_errors import UnknownTask

CONFIG = {"worker": {"autostart": True}}


@pytest.mark.parametrize(
    ("given", "kept"),
    [("/bin:/usr/b\u00efn::.", "/bin:/usr/b\u00efn::."), ("/bin:/\udcff", "/bin"), ("\udcff", "")],
)
def test_a_folder_of_the_path_that_is_no_text_is_left_out(
    desk: Desk, given: str, kept: str
) -> None:
    caller = Caller(desk.workspace, {"PATH": given}, desk.workspace.root)
    assert caller.path_variable == kept


def test_what_is_the_same_for_all_jobs_of_a_call_is_found_out_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, process = desk.caller.path_variable, desk.caller.process
    assert process == process_facts.identify(os.getpid())
    monkeypatch.setattr(process_facts, "identify", None)
    assert desk.caller.process is process
    assert desk.caller.path_variable is first
    elsewhere = msgspec.structs.replace(desk.caller, environ={"PATH": "/elsewhere"})
    assert elsewhere.path_variable == "/elsewhere"


# The newest job of a task.


def newest(desk: Desk) -> Job:
    return find_last_job(desk.workspace, desk.database, TaskId("010"))


def test_the_newest_job_of_a_task_is_found(desk: Desk) -> None:
    desk.task()
    desk.end(desk.queue().id)
    job = desk.queue()
    assert newest(desk).id == job.id
    database, found = open_last_job(desk.workspace, TaskId("010"))
    database.close()
    assert found.id == job.id


def test_a_task_that_never_had_one_is_told_from_one_whose_records_are_gone(desk: Desk) -> None:
    with pytest.raises(UnknownTask):
        newest(desk)
    desk.task()
    with pytest.raises(NoJobYet):
        newest(desk)
    with pytest.raises(NoJobYet):
        open_last_job(desk.workspace, TaskId("010"))
    desk.change(status=TaskStatus.IN_PROGRESS, started_at=desk.read().created_at)
    with pytest.raises(NoJobOnRecord) as without_session:
        newest(desk)
    assert "sow agent spawn 010" in without_session.value.hint
    desk.with_session()
    with pytest.raises(NoJobOnRecord) as with_session:
        newest(desk)
    assert "sow agent spawn 010" not in with_session.value.hint
    desk.change(status=TaskStatus.PAUSED)
    with pytest.raises(NoJobOnRecord) as reported:
        newest(desk)
    assert "`sow next` shows what to do next" in reported.value.hint


def test_without_a_queue_no_task_has_a_job(desk: Desk) -> None:
    desk.task()
    desk.database.close()
    for path in desk.workspace.run.glob("queue.db*"):
        path.unlink()
    with pytest.raises(NoJobYet):
        open_last_job(desk.workspace, TaskId("010"))


# A worker.


def caller_in_time(desk: Desk) -> Caller:
    """Return a caller whose clock goes on, as that of the disk does."""
    return msgspec.structs.replace(desk.caller, clock=time.time)


def staffing(desk: Desk) -> Staffing:
    return Staffing(caller_in_time(desk), desk.config, desk.database)


def test_where_a_worker_lives_none_is_started(desk: Desk) -> None:
    desk.staff()
    care = staffing(desk)
    care.ensure()
    assert care.starts == 0


def test_a_worker_on_record_whose_lock_is_free_is_none(desk: Desk) -> None:
    desk.staff()
    os.close(desk.held.pop())
    with pytest.raises(NoWorker):
        staffing(desk).ensure()


def test_a_call_whose_workers_keep_dying_gives_up_and_names_the_log(desk: Desk) -> None:
    desk.configure(CONFIG)
    desk.task()
    desk.queue()
    care = staffing(desk)
    care.starts = MOST_STARTS
    with pytest.raises(QueueError, match="the job is queued, but its worker has died") as refusal:
        care.ensure()
    assert "Run `sow worker` to see why" in refusal.value.hint
    desk.workspace.workers.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(("w1-a.log", "w2-b.log")):
        path = desk.workspace.workers / name
        path.touch()
        os.utime(path, (number, number))
    (desk.workspace.workers / "w3-gone.log").symlink_to("nowhere")
    with pytest.raises(QueueError, match="the job is queued, but its worker has died") as refusal:
        care.ensure()
    assert str(desk.workspace.workers / "w2-b.log") in refusal.value.hint


def test_while_another_call_starts_a_worker_it_is_waited_for_and_none_is_started(
    desk: Desk,
) -> None:
    """The call may go away next: it would leave a job behind that nobody runs."""
    desk.configure(CONFIG)
    desk.workspace.workers.mkdir(parents=True, exist_ok=True)
    lock = desk.workspace.start_lock
    fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    care, staffed = staffing(desk), list[bool]()

    def ensure() -> None:
        care.ensure()
        staffed.append(bool(workers.staff(desk.database, desk.workspace)))

    call = threading.Thread(target=ensure)
    call.start()
    wait_until(lambda: len(descriptors_of(lock)) == 2 or not call.is_alive())
    desk.staff()
    os.close(fd)
    call.join()
    assert (staffed, care.starts) == ([True], 0)


def descriptors_of(path: Path) -> list[Path]:
    """Return this process's descriptors of a file."""
    entries = list(Path("/proc/self/fd").iterdir())
    return [entry for entry in entries if os.path.lexists(entry) and entry.readlink() == path]


@pytest.mark.slow
def test_a_worker_that_dies_at_its_start_is_followed_by_another_at_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is for a call that looks once: it says what has become of the workers."""
    desk.configure(CONFIG)
    desk.task()
    desk.queue()
    care = staffing(desk)
    (desk.base / "config.yaml").write_text("not: [valid")
    monkeypatch.setattr(autostart, "RETRY_SECONDS", 0.0)
    with pytest.raises(QueueError, match=f"its worker has died {MOST_STARTS} times"):
        care.ensure()
    logs = [log.read_text() for log in desk.workspace.workers.glob("w*.log")]
    assert len(logs) == MOST_STARTS
    assert all("config.yaml" in log for log in logs)


@pytest.fixture
def held_start(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Another call has started a worker, which is coming to life."""
    desk.configure(CONFIG)
    monkeypatch.setattr(autostart, "LOCK_SECONDS", 0.05)
    with lock_file_held(desk.workspace.start_lock):
        yield desk.workspace.start_lock


def began(lock: Path, seconds: float) -> None:
    """Have the last start be so many seconds ago."""
    then = time.time() - seconds
    os.utime(lock, (then, then))


@dataclass
class Starts:
    """Stands for starts of a worker: whether one works, and how long each was waited for."""

    desk: Desk
    works: bool
    waits: list[float] = field(default_factory=list)

    def __call__(self, caller: Caller, lock: int) -> Self:
        return self

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        if self.works:
            self.desk.staff()


def starts(desk: Desk, monkeypatch: pytest.MonkeyPatch, *, works: bool) -> Starts:
    made = Starts(desk, works)
    monkeypatch.setattr(autostart, "start_in_background", made)
    return made


def test_a_call_that_waits_waits_for_no_start_of_another_call(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, held_start: Path
) -> None:
    """Its own time may be over sooner. It looks again: where that start is stuck, it makes its own,
    and other calls wait for that."""
    made, begun = starts(desk, monkeypatch, works=False), time.monotonic()
    staffing(desk).look_after()
    began(held_start, autostart.STUCK_SECONDS - 10)
    staffing(desk).look_after()
    assert (time.monotonic() - begun < autostart.START_SECONDS / 2, made.waits) == (True, [])
    began(held_start, autostart.STUCK_SECONDS + 1)
    for _ in range(2):
        staffing(desk).look_after()
    assert made.waits == [autostart.LOOK_AFTER_SECONDS]


@pytest.mark.usefixtures("held_start")
def test_a_task_of_a_batch_is_changed_without_a_wait_for_another_call(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = starts(desk, monkeypatch, works=True)
    desk.task()
    begin(desk, "010")
    begun = time.monotonic()
    touch_batch(caller_in_time(desk), desk.read())
    assert (time.monotonic() - begun < autostart.START_SECONDS / 2, made.waits) == (True, [])


def test_a_call_that_goes_away_waits_until_a_start_takes_long_or_is_stuck(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, held_start: Path
) -> None:
    made, begun = starts(desk, monkeypatch, works=True), time.monotonic()
    began(held_start, autostart.START_SECONDS - 0.3)
    staffing(desk).ensure()
    assert (time.monotonic() - begun >= 0.3, made.waits) == (True, [])
    began(held_start, autostart.STUCK_SECONDS + 1)
    staffing(desk).ensure()
    assert made.waits == [autostart.START_SECONDS]


@pytest.fixture
def stops_worker(desk: Desk) -> Iterator[None]:
    """End the worker that the test has started, however the test has ended."""
    yield
    wait_until(lambda: bool(workers.staff(desk.database, desk.workspace)), "it is on record")
    (worker,) = workers.staff(desk.database, desk.workspace)
    os.kill(worker.process.pid, signal.SIGTERM)
    wait_until(lambda: not workers.is_alive(desk.workspace, worker.id), "it has left")


def is_free_within(lock: Path, seconds: float) -> bool:
    with lock.open() as file:
        return lock_within(file.fileno(), seconds, every=0.02)


@pytest.mark.usefixtures("stops_worker")
def test_the_lock_of_a_start_is_the_worker_s_until_that_is_on_record(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever becomes of the call that has started it: no other call starts one beside it."""
    desk.configure(CONFIG)
    monkeypatch.setattr(autostart, "LOOK_AFTER_SECONDS", 0.1)
    lock, care = desk.workspace.start_lock, staffing(desk)
    with closing(open_queue(desk.workspace)) as database, database.transaction():
        care.look_after()
        wait_until(lambda: any(desk.workspace.workers.glob("w*.log")), "it is cut loose")
        assert not is_free_within(lock, 0.0)
    assert is_free_within(lock, 10.0)
    assert workers.staff(desk.database, desk.workspace)
    [start] = care.unreaped

    def is_reaped() -> bool:
        care.look_after()
        return not care.unreaped

    wait_until(is_reaped, "the call that waits has taken the end of its start")
    with pytest.raises(ChildProcessError):
        os.waitpid(start, os.WNOHANG)


def test_a_call_that_waits_starts_a_worker_again_only_at_a_later_look(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first one died of may pass while the call waits."""
    desk.configure(CONFIG)
    desk.task()
    desk.queue()
    made, care = starts(desk, monkeypatch, works=False), staffing(desk)
    for started in range(1, MOST_STARTS + 1):
        care.look_after()
        assert len(made.waits) == started
        if started < MOST_STARTS:
            began(desk.workspace.start_lock, autostart.RETRY_SECONDS * started - 0.5)
            care.look_after()
            assert len(made.waits) == started
            began(desk.workspace.start_lock, autostart.RETRY_SECONDS * started)
    with pytest.raises(QueueError, match=f"its worker has died {MOST_STARTS} times"):
        care.look_after()


@pytest.mark.parametrize("see_to", [Staffing.ensure, Staffing.look_after])
def test_a_worker_that_had_nothing_to_do_has_not_died(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, see_to: Callable[[Staffing], None]
) -> None:
    """With a short `worker.idle_exit` it is gone before the call looks at it."""
    desk.configure(CONFIG)
    desk.task()
    made, care = starts(desk, monkeypatch, works=False), staffing(desk)
    for _ in range(2 * MOST_STARTS + 1):
        see_to(care)
    assert len(made.waits) > MOST_STARTS


def test_a_worker_that_leaves_is_no_staff(desk: Desk) -> None:
    """It may drain for long, and takes no job meanwhile. Its name is free once it is gone."""
    desk.staff()
    workers.say_leaving(desk.database, WORKER, now=NOW)
    workers.say_leaving(desk.database, WORKER, now=NOW)
    assert workers.staff(desk.database, desk.workspace) == []
    with pytest.raises(NoWorker):
        staffing(desk).ensure()
    workers.unregister(desk.database, WORKER)
    assert desk.database.noted(f"worker {WORKER}") is None


def test_nothing_is_noted_of_a_worker_that_is_not_on_record(desk: Desk) -> None:
    """It has struck itself off meanwhile; nobody would remove what was noted."""
    desk.staff()
    workers.unregister(desk.database, WORKER)
    assert not workers.say_leaving(desk.database, WORKER, now=NOW)
    assert desk.database.noted(f"worker {WORKER}") is None


@dataclass
class Older:
    """A worker of the first form that lives; how often it was waited for, and what it leaves at."""

    desk: Desk
    looks: int = 0
    leaves_at: int = 2

    def sleep(self, _: float) -> None:
        self.looks += 1
        if self.looks == self.leaves_at:
            os.close(self.desk.held.pop())


@pytest.fixture
def older(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Older:
    """It was asked to leave just now, by another call."""
    desk.task()
    desk.staff()
    workers.say_leaving(desk.database, WORKER, now=desk.caller.now())
    desk.database.run("update worker set format = 1")
    older = Older(desk)
    monkeypatch.setattr(workers.time, "sleep", older.sleep)
    return older


def place_by_call(desk: Desk) -> None:
    placing = place_in_order(
        *(desk.caller, desk.database, desk.config, [desk.spawn()], None),
        time_left=lambda: None,
        on_tick=lambda _: None,
    )
    assert [type(found) for _, found in placing] == [Placed]


def place_by_batch(desk: Desk) -> None:
    turn(begin(desk, "010"))
    assert desk.job(1).task_id == "010"


@pytest.mark.parametrize("place", [place_by_call, place_by_batch])
def test_a_worker_of_an_older_sow_is_waited_for_whoever_has_asked_it_to_leave(
    desk: Desk, older: Older, place: Callable[[Desk], None]
) -> None:
    """At its signal it claims once more: a job whose sandbox it does not know."""
    place(desk)
    assert older.looks == older.leaves_at


def test_one_that_drains_is_waited_for_no_longer_than_its_last_claim_takes(
    desk: Desk, older: Older
) -> None:
    passed = desk.caller.now() - workers.LEAVE_SECONDS
    desk.database.note(f"worker {WORKER}", f"leaves since {passed}")
    place_by_call(desk)
    desk.database.note(f"worker {WORKER}", "leaves")
    workers.let_older_leave(desk.database, desk.workspace, now=desk.caller.now())
    assert older.looks == 0


def test_a_folder_that_takes_no_lock_is_told(desk: Desk) -> None:
    desk.configure(CONFIG)
    desk.workspace.start_lock.mkdir(parents=True)
    with pytest.raises(QueueError) as refusal:
        staffing(desk).ensure()
    assert "no worker can be started" in refusal.value.message


# A person's word.


@pytest.fixture
def on_shared_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other machines see the disk, so a free lock proves nothing."""
    monkeypatch.setattr(elsewhere, "is_local", lambda _: False)


def doubtful(desk: Desk) -> Job:
    desk.task()
    job = desk.run()
    here = process_facts.identify(1)
    assert here is not None
    desk.attempt(job, supervisor=msgspec.structs.replace(here, pid_namespace="1"))
    return job


def gone(desk: Desk, job: Job) -> Job:
    return declare_gone(desk.caller, desk.database, desk.job(job.id))


@pytest.mark.usefixtures("on_shared_disk")
def test_an_agent_of_which_nobody_can_tell_is_given_up_on_a_person_s_word(desk: Desk) -> None:
    job = doubtful(desk)
    folder = desk.workspace.attempt(job.id, 1)
    folder.folder.mkdir(parents=True)
    assert gone(desk, job).state is JobState.RUNNING
    assert folder.void.exists()
    with pytest.raises(NothingToResolve) as refusal:
        gone(desk, job)
    assert "can see by itself" in refusal.value.message


def test_a_held_lock_is_stronger_than_a_person_s_word(desk: Desk) -> None:
    job = doubtful(desk)
    paths = desk.workspace.attempt(job.id, 1)
    paths.folder.mkdir(parents=True)
    fd = os.open(paths.alive_lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with pytest.raises(NothingToResolve):
        gone(desk, job)
    os.close(fd)


def test_an_agent_whose_locks_are_free_needs_no_word(desk: Desk) -> None:
    with pytest.raises(NothingToResolve) as refusal:
        gone(desk, doubtful(desk))
    assert "can see by itself" in refusal.value.message


def test_what_has_ended_needs_no_word(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    desk.end(job.id)
    with pytest.raises(NothingToResolve) as refusal:
        gone(desk, job)
    assert "has ended (done)" in refusal.value.message


def test_a_call_that_died_elsewhere_is_settled_on_a_person_s_word(desk: Desk) -> None:
    desk.task()
    process = msgspec.structs.replace(a_dead_process(), pid_namespace="1")
    job = desk.insert(caller=process, prior_status=TaskStatus.PENDING)
    assert gone(desk, job).state is JobState.CANCELLED


# A resume of a task whose job has reported, and is only ending.


def resume(desk: Desk, seconds: float | None = None, ends: int = 0) -> Placed:
    def tick(_: Progress) -> None:
        if ends:
            desk.end(ends)

    return place_when_settled(
        desk.caller, desk.database, desk.config, desk.resume(), seconds=seconds, on_tick=tick
    )


def reported(desk: Desk) -> Job:
    desk.task()
    job = desk.run()
    desk.with_session()
    desk.change(status=TaskStatus.NEEDS_REVIEW)
    return job


def test_a_resume_waits_for_the_end_of_a_job_that_has_reported(desk: Desk) -> None:
    job = reported(desk)
    placed = resume(desk, ends=job.id)
    assert (placed.job.id, placed.job.verb) == (job.id + 1, Verb.RESUME)
    assert not desk.is_owed(job.id)


def test_it_waits_no_longer_than_the_call_may(desk: Desk) -> None:
    job = reported(desk)
    with pytest.raises(AgentIsEnding) as refusal:
        resume(desk, seconds=0.0)
    assert f"job {job.id} has set the status needs_review" in refusal.value.message
    assert not desk.is_owed(job.id)


def test_one_that_is_interrupted_while_it_waits_is_owed_nothing(desk: Desk) -> None:
    job = reported(desk)

    def interrupts(_: Progress) -> None:
        assert len(waiters.of_job(desk.database, job.id)) == 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place_when_settled(
            desk.caller, desk.database, desk.config, desk.resume(), on_tick=interrupts
        )
    assert waiters.of_job(desk.database, job.id) == []


def test_a_resume_of_a_job_that_has_not_reported_is_refused_at_once(desk: Desk) -> None:
    reported(desk)
    desk.change(status=TaskStatus.IN_PROGRESS)
    with pytest.raises(TaskHasJob):
        resume(desk)


def test_a_spawn_does_not_wait(desk: Desk) -> None:
    reported(desk)
    with pytest.raises(TaskHasJob):
        place_when_settled(desk.caller, desk.database, desk.config, desk.spawn(prompt="another"))


# The wait.


def test_who_waits_for_an_agent_lends_its_slot_for_so_long(desk: Desk) -> None:
    desk.task("010")
    desk.task("020")
    own = desk.run(task_id="010")
    job = desk.queue(task_id="020", parent=own.id)

    def lent() -> list[int]:
        return [row["on_behalf_of"] for row in desk.database.rows("select * from waiter")]

    with Waiter(desk.as_agent_of(own), desk.database) as waiter:
        waiter.begin([job.id])
        assert lent() == [own.id]
    assert lent() == [None], "the outcome stays owed, the slot does not stay lent"


def test_a_waiter_takes_up_a_job_once(desk: Desk) -> None:
    desk.task()
    job = desk.queue()
    with Waiter(desk.caller, desk.database) as waiter:
        waiter.begin([job.id])
        waiter.take_up([job.id])
        assert waiters.of_job(desk.database, job.id) == [waiter.id]


def test_where_no_bell_can_hang_nothing_is_queued(desk: Desk) -> None:
    desk.workspace.waiters.rmdir()
    desk.workspace.waiters.write_text("")
    with pytest.raises(QueueError) as refusal, Waiter(desk.caller, desk.database):
        pass
    assert "cannot wait" in refusal.value.message


@pytest.mark.parametrize("readable", [True, False])
def test_a_task_whose_job_died_before_it_was_given_back_is_given_back_by_who_waits(
    desk: Desk, readable: bool
) -> None:
    desk.task()
    job = desk.queue()
    fields = {"outcome_status": TaskStatus.PENDING, "owes_task": True}
    jobs.change_job(desk.database, job.id, state=JobState.CANCELLED, **fields)
    if not readable:
        (state,) = desk.workspace.project.glob("phases/*/tasks/010/state.yaml")
        state.write_text("task: [")
    ended: list[Job] = []
    with Waiter(desk.caller, desk.database) as waiter:
        waiter.begin([job.id])
        waiter.wait(seconds=None, on_end=ended.extend)
    assert ended[0].owes_task is not readable


# Who lives.


def test_whose_job_lives_is_asked_of_the_queue_then_of_the_processes(desk: Desk) -> None:
    desk.task()
    root, project = desk.workspace.root, desk.job(desk.queue().id).project_id
    assert live_job_label(root, project) == "job 1"
    assert live_job_label(root, "another") == ""
    desk.database.close()
    desk.workspace.queue_db.write_text("no database at all")
    assert live_job_label(root, project) == "", (
        "nobody can ask the queue, and no process carries it"
    )


def test_a_caller_is_an_agent_of_this_workspace_only(tmp_path: Path, desk: Desk) -> None:
    job = desk.insert()
    assert desk.as_agent_of(job).job_id == job.id
    assert desk.as_agent_of(job, SOW_ROOT=str(tmp_path)).job_id is None
    assert desk.as_agent_of(job, SOW_JOB_ID="seven").job_id is None
    assert WorkerId("w1") == WORKER


def test_a_worker_that_an_agent_starts_gets_nothing_of_its_executors_own(desk: Desk) -> None:
    """The worker serves agents of other executors, who must not see it."""
    path = desk.base / "config.yaml"
    path.write_text(
        "agents:\n  executors:\n    claude-code:\n      env: {URL: 'http://x', KEY: '${KEY}'}\n"
    )
    executor = msgspec.structs.replace(desk.insert().agents_executor, env_names=("URL", "KEY"))
    job = desk.insert(task_id=TaskId("020"), executor=executor, config_file=str(path))
    mine = {"URL": "http://x", "KEY": "secret", "HOME": "/home/me"}
    own = {"SOW_JOB_ID": str(job.id), "SOW_ROOT": str(desk.workspace.root)}
    agent = msgspec.structs.replace(desk.caller, environ={**mine, **own})
    found = without_executors_own(agent, desk.database).environ
    assert {name for name in mine if name in found} == {"KEY", "HOME"}
    person = msgspec.structs.replace(desk.caller, environ=mine)
    assert without_executors_own(person, desk.database) is person
