"""When an attempt has ended, who is asked to end it, and what is settled (§6, §8)."""

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

import msgspec
import pytest
from attempt_cases import is_running, wait_until
from attempts.job_values import CLAUDE
from capabilities import skip_or_fail
from watch_cases import SESSION, WatchSite, dead_process

from sow.jobs import elsewhere, jobs, leases
from sow.jobs.database import ConstraintFailed
from sow.jobs.doorbell import is_held
from sow.paths import AttemptPaths
from sow.processes import cgroup, process_facts
from sow.processes.procfs import read_stat
from sow.schema.job import Cause, JobState
from sow.schema.task import TaskStatus
from worker import monitor as monitor_module
from worker.attempt_processes import ask_to_end, has_ended
from worker.settle import settle_attempt

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")
OTHER = "w2-bbbbbb"


def test_an_attempt_whose_supervisor_lives_has_not_ended(site: WatchSite) -> None:
    job = site.job()
    site.lease(job)
    site.run(job, "exec sleep 600")
    assert not has_ended(site.adopt(job))


def test_an_attempt_has_ended_when_exit_json_exists(site: WatchSite) -> None:
    """ "An attempt has *ended* when `exit.json` exists or its supervisor is gone"."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exit 3")
    wait_until(attempt.paths.exit.exists)
    assert has_ended(site.adopt(job))


@pytest.mark.parametrize("forged", ["touch void", "mkdir exit.json", "echo '{}' >exit.json"])
def test_an_agent_at_work_has_not_ended_whatever_it_has_made_of_its_records(
    site: WatchSite, forged: str
) -> None:
    """It would be run again, or its task given to another, while it goes on."""
    job = site.job()
    site.lease(job)
    folder = site.workspace.attempt(job.id, 1).folder
    attempt = site.run(job, f"(cd {folder} && {forged}); echo $$ >x; mv x forged; exec sleep 600")
    pid = attempt.pid_in("forged")
    running = site.adopt(job)
    assert not has_ended(running)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: has_ended(running))


def test_an_agent_without_its_supervisor_is_left_running_and_watched(site: WatchSite) -> None:
    """ "Supervisor gone but agent alive: left running and watched"."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    attempt.started[0].kill()
    attempt.started[0].wait()
    running = site.adopt(job)
    assert not has_ended(running)
    assert is_running(attempt.agent_pid())
    os.kill(attempt.agent_pid(), signal.SIGKILL)
    wait_until(lambda: has_ended(running))


def test_a_held_lock_proves_life_though_nobody_carries_the_id(site: WatchSite) -> None:
    """ "It is *dead* when `alive.lock` … is free **and** no process carries its id"."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    fd = os.open(attempt.paths.alive_lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    running = site.adopt(job)
    assert not has_ended(running)
    assert not attempt.paths.void.exists()
    os.close(fd)
    assert has_ended(running)


def test_a_free_lock_proves_no_death_while_somebody_carries_the_id(site: WatchSite) -> None:
    """ "a free one alone does not prove death, since programs close inherited descriptors"."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec 3>&- 4>&- 5>&- 6>&-; exec sleep 600")
    attempt.started[0].kill()
    attempt.started[0].wait()
    wait_until(lambda: not is_held(attempt.paths.alive_lock))
    assert not has_ended(site.adopt(job))


def test_an_attempt_of_which_nothing_is_left_is_given_up_for_good(site: WatchSite) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    assert has_ended(site.adopt(job))
    late = attempt.start_prepared("/usr/bin/touch", str(attempt.file("ran")))
    late.wait()
    assert not attempt.file("ran").exists()


def test_a_supervisor_elsewhere_is_never_signalled_and_called_dead_by_its_locks_alone(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "another namespace is `unverifiable`: never called dead, never signalled"."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    pid = attempt.started[0].pid
    identity = process_facts.identify(pid)
    assert identity is not None
    there = msgspec.structs.replace(identity, pid_namespace="1")
    jobs.change_attempt(site.database, job.id, 1, supervisor=there)
    running = site.adopt(job)
    ask_to_end(running)
    assert not has_ended(running)
    attempt.started[0].kill()
    attempt.started[0].wait()
    os.kill(attempt.agent_pid(), signal.SIGKILL)
    wait_until(lambda: not attempt.carriers() and not is_held(attempt.paths.alive_lock))
    with monkeypatch.context() as patched, attempt.paths.stderr.open("a"):
        assert not has_ended(running), "something has its output open"
        patched.setattr(elsewhere, "is_written_to", lambda _: False)
        patched.setattr(elsewhere, "is_local", lambda _: False)
        assert not has_ended(running), "on a shared disk a free lock proves nothing"
    assert not attempt.paths.void.exists()
    assert has_ended(running), "its lock is free, and nothing has its output open"
    assert not attempt.paths.exit.exists()


# what the monitor does


def test_an_adopted_attempt_is_settled_when_it_ends(site: WatchSite) -> None:
    job = site.job()
    site.lease(job)
    site.run(job, "while [ ! -e go ]; do sleep 0.01; done")
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    site.change_task(status=TaskStatus.NEEDS_REVIEW)
    (site.workspace.root / "go").touch()
    ended = site.ended(job)
    assert (ended.state, ended.cause) == (JobState.DONE, Cause.REPORTED)
    assert ended.outcome_status is TaskStatus.NEEDS_REVIEW
    assert monitor.wait_until_idle(60)
    monitor.stop()


def test_an_attempt_that_ended_unseen_is_judged_by_state_and_stream(site: WatchSite) -> None:
    """ "its ending is judged by state and stream"."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    attempt.started[0].kill()
    attempt.started[0].wait()
    event = '{"type":"system","subtype":"init","session_id":"33333333-3333-4333-8333-333333333333"}'
    attempt.paths.output.write_text(event + "\n")
    site.change_task(status=TaskStatus.PAUSED)
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    os.kill(attempt.agent_pid(), signal.SIGKILL)
    assert site.ended(job).outcome_status is TaskStatus.PAUSED
    assert site.task().session_id == "33333333-3333-4333-8333-333333333333"
    monitor.stop()


def test_an_agent_that_died_with_its_supervisor_is_resumed(site: WatchSite) -> None:
    """ "worker died | adopted; if the agent died too, resume; counted apart"."""
    job = site.job()
    site.lease(job)
    site.attempt(job, supervisor=dead_process())
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    wait_until(lambda: site.get(job).state is JobState.QUEUED)
    assert site.last_attempt(job).cause is Cause.WORKER_DIED
    assert (site.get(job).worker_deaths, site.get(job).retries) == (1, 0)
    assert leases.lease_of(site.database, job.id) is None
    assert site.task().session_id == SESSION
    monitor.stop()


def test_watching_an_orphaned_agent_costs_no_processor_time(site: WatchSite) -> None:
    """A pidfd of a dead supervisor stays readable for ever: nobody may wait on it."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    running = site.adopt(job)
    monitor = site.start_monitor()
    monitor.watch(running)
    wait_until(lambda: running.pidfd is not None)
    attempt.started[0].kill()
    attempt.started[0].wait()
    wait_until(lambda: running.pidfd is None, "the pidfd is let go")
    assert monitor.watches(job.id)
    monitor.stop()


def test_an_orphaned_agent_can_be_cancelled_with_its_tree(site: WatchSite) -> None:
    """ "cancelled | … its supervisor ends its tree": the worker does where there is none."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job)
    attempt.script("tool", "trap '' INT; {pid}; exec sleep 600")
    process = attempt.sh("setsid sh tool.sh & wait")
    identity = process_facts.identify(process.pid)
    jobs.change_attempt(site.database, job.id, 1, supervisor=identity)
    tool, agent = attempt.pid_in("tool"), attempt.agent_pid()
    process.kill()
    process.wait()
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    jobs.change_job(site.database, job.id, cancel_requested_at=site.context.now())
    monitor.wake()
    ended = site.ended(job)
    assert (ended.state, ended.outcome_status) == (JobState.CANCELLED, TaskStatus.PAUSED)
    assert not is_running(tool)
    assert not is_running(agent)
    monitor.stop()


def test_what_an_orphaned_agent_leaves_behind_is_ended_after_it(site: WatchSite) -> None:
    """ "an agent that exits by itself: what it left in the background is ended"."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job)
    attempt.script("tool", "{pid}; exec sleep 600")
    process = attempt.sh("setsid sh tool.sh & while [ ! -e go ]; do sleep 0.01; done")
    attempt.agent_pid()
    tool = attempt.pid_in("tool")
    process.kill()
    process.wait()
    running = site.adopt(job)
    monitor = site.start_monitor()
    monitor.watch(running)
    site.change_task(status=TaskStatus.NEEDS_REVIEW)
    (site.workspace.root / "go").touch()
    assert site.ended(job).state is JobState.DONE
    assert not is_running(tool)
    monitor.stop()


def test_an_agent_whose_supervisor_was_not_put_on_record_can_be_cancelled(site: WatchSite) -> None:
    """A worker can die between starting a supervisor and recording it."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job)
    attempt.sh("exec sleep 600")
    agent = attempt.agent_pid()
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    jobs.change_job(site.database, job.id, cancel_requested_at=site.context.now())
    monitor.wake()
    assert site.ended(job).state is JobState.CANCELLED
    assert not is_running(agent)
    monitor.stop()


def test_a_job_that_was_taken_over_is_let_go_of_and_nothing_is_written(site: WatchSite) -> None:
    """ "a write of a fenced owner changes nothing"."""
    job = site.job()
    lease = site.lease(job)
    attempt = site.run(job, "while [ ! -e go ]; do sleep 0.01; done; exit 3")
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    (taken,) = leases.take_over(site.database, lease.worker_id, OTHER, now=0.0)  # type: ignore[arg-type]
    before = site.state_file().read_bytes()
    (site.workspace.root / "go").touch()
    assert monitor.wait_until_idle(60)
    assert attempt.exit()["code"] == 3
    assert leases.lease_of(site.database, job.id) == taken
    assert site.get(job).state is JobState.RUNNING
    assert site.last_attempt(job).cause is None
    assert site.state_file().read_bytes() == before
    monitor.stop()


def test_the_session_seen_in_the_output_is_persisted_while_the_agent_runs(site: WatchSite) -> None:
    """§7: "The id seen in the output wins and is persisted at once"."""
    job = site.job()
    site.lease(job)
    seen = "44444444-4444-4444-8444-444444444444"
    event = f'{{"type":"system","subtype":"init","session_id":"{seen}"}}'
    site.run(job, f"echo '{event}'; exec sleep 600")
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    wait_until(lambda: site.task().session_id == seen)
    assert site.get(job).state is JobState.RUNNING
    monitor.stop()


@pytest.mark.slow
def test_an_attempt_that_cannot_be_settled_now_is_settled_later(site: WatchSite) -> None:
    """The project cannot be read for a moment, as in the middle of a merge."""
    job = site.job()
    site.lease(job)
    site.run(job, "while [ ! -e go ]; do sleep 0.01; done")
    monitor = site.start_monitor()
    running = site.adopt(job)
    monitor.watch(running)
    wait_until(lambda: running.pidfd is not None)
    site.change_task(status=TaskStatus.NEEDS_REVIEW)
    state = site.workspace.project_state
    text = state.read_bytes()
    state.write_bytes(b"n")
    (site.workspace.root / "go").touch()
    wait_until(lambda: running.failures > 0)
    assert running.pidfd is None  # else the thread would spin until then
    assert site.get(job).state is JobState.RUNNING
    state.write_bytes(text)
    assert site.ended(job).outcome_status is TaskStatus.NEEDS_REVIEW
    monitor.stop()


def test_a_supervisor_that_was_stopped_after_its_last_act_is_not_waited_for(
    site: WatchSite,
) -> None:
    """It has written down the end of its agent, and would never leave."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    supervisor = attempt.started[0]
    running = site.adopt(job)
    supervisor.send_signal(signal.SIGSTOP)
    wait_until(lambda: (stat := read_stat(supervisor.pid)) and stat.is_stopped, "it is stopped")
    os.kill(attempt.agent_pid(), signal.SIGKILL)
    attempt.paths.exit.write_text('{"code": 0, "signal": null}')
    site.change_task(status=TaskStatus.NEEDS_REVIEW)
    monitor = site.start_monitor()
    monitor.watch(running)
    assert site.ended(job).state is JobState.DONE
    assert monitor.wait_until_idle(60)
    monitor.stop()


def flood(path: Path) -> None:
    """Fill a file with what takes far longer to read than one look may read."""
    event = '{"type":"assistant","message":{"content":[{"type":"text","text":"word"}]}}\n'
    path.write_text(event * 20_000)


@pytest.fixture
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a flood take so many looks that whoever waits for its end would be seen to."""
    monkeypatch.setattr("worker.running.CHUNK_BYTES", 4096)
    monkeypatch.setattr(monitor_module, "READING_SECONDS", 0.0)
    monkeypatch.setattr(monitor_module, "SHORTEST_READING_SECONDS", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("short_looks")
def test_others_are_seen_to_while_one_is_read(site: WatchSite) -> None:
    """An agent that prints without end must hold up neither ends nor cancels of the others."""
    jobs_ = [site.job(task) for task in ("010", "020", "030")]
    chatty, ending, cancelled = jobs_
    for job in jobs_:
        site.lease(job)
    attempt = site.run(chatty, "exec sleep 600")
    site.run(ending, "while [ ! -e go ]; do sleep 0.01; done")
    site.run(cancelled, "exec sleep 600")
    monitor = site.start_monitor()
    flood(attempt.paths.output)
    watched = [site.adopt(job) for job in jobs_]
    read = watched[0].output
    endless_reading = read.read_for

    asked: list[float] = []

    def never_done(seconds: float) -> None:
        asked.append(seconds)
        endless_reading(seconds)
        read.is_behind = True

    read.read_for = never_done  # type: ignore[method-assign]
    for running in watched:
        monitor.watch(running)
    wait_until(lambda: read.is_behind, "the flood is being read")
    site.change_task("020", status=TaskStatus.NEEDS_REVIEW)
    (site.workspace.root / "go").touch()
    jobs.change_job(site.database, cancelled.id, cancel_requested_at=site.context.now())
    assert site.ended(ending).state is JobState.DONE
    assert site.ended(cancelled).state is JobState.CANCELLED
    assert site.get(chatty).state is JobState.RUNNING
    monitor.stop()
    assert max(asked) == 0.0


@pytest.mark.slow
@pytest.mark.usefixtures("short_looks")
def test_an_attempt_that_has_ended_is_judged_when_all_its_output_was_read(site: WatchSite) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "while [ ! -e go ]; do sleep 0.01; done")
    flood(attempt.paths.output)
    with attempt.paths.output.open("a") as file:
        file.write('{"type":"system","subtype":"init","session_id":"last-word"}')
    (site.workspace.root / "go").touch()
    wait_until(attempt.paths.exit.exists)
    site.change_task(status=TaskStatus.PAUSED)
    running = site.adopt(job)
    monitor = site.start_monitor()
    monitor.watch(running)
    assert site.ended(job).state is JobState.DONE
    assert running.output.seen.last_text == "word"
    assert site.task().session_id == "last-word"
    monitor.stop()


@pytest.mark.parametrize(
    "made",
    [
        "  metadata: {x: !!bool x}\n",
        '"": 1\n',
        "  metadata:\n" + "".join(f"{' ' * at}a:\n{' ' * at}-\n" for at in range(4, 195)),
    ],
    ids=["tag", "key", "deep"],
)
def test_a_state_of_which_yaml_s_library_makes_an_error_of_its_own_is_put_back(
    site: WatchSite, made: str
) -> None:
    """Each was taken for a bug of ours, and the job was settled for ever."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    attempt.paths.exit.write_text('{"code": 0}')
    state = site.state_file()
    made_of_it = state.read_bytes().replace(b"  metadata: {}\n", b"") + made.encode()
    state.write_bytes(made_of_it)
    settle_attempt(site.context, site.adopt(job))
    assert site.last_attempt(job).cause is Cause.STATE_UNREADABLE
    assert site.task().metadata == {}
    (kept,) = state.parent.glob("state.yaml.invalid-*")
    assert kept.read_bytes() == made_of_it


@pytest.mark.parametrize("kind", ["pipe", "folder", "endless", "loop", "large"])
def test_a_state_that_is_no_file_holds_nobody_up_and_is_put_back(
    site: WatchSite, kind: str
) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job)
    state = site.state_file()
    before = state.read_bytes()
    state.unlink()
    make_odd(state, kind)
    identity = dead_process()
    jobs.change_attempt(site.database, job.id, 1, supervisor=identity)
    attempt.paths.exit.write_text('{"code": 0}')
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    wait_until(lambda: site.get(job).state is not JobState.RUNNING)
    assert site.last_attempt(job).cause is Cause.STATE_UNREADABLE
    assert state.read_bytes() == before
    kept = state.with_name(f"state.yaml.invalid-{attempt.attempt_id}")
    assert os.path.lexists(kept)
    monitor.stop()


def make_odd(path: Path, kind: str) -> None:
    """Put there what no reader expects."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "endless":
            path.symlink_to("/dev/zero")
        case "loop":
            path.symlink_to(path)
        case _:
            with path.open("wb") as file:
                file.truncate(60 << 20)


@pytest.mark.parametrize(
    "record", ["[]", '{"code": "abc"}', '{"code": 1e400}', "{", "null", "9" * 70000]
)
def test_a_record_of_the_end_that_nobody_understands_is_none(site: WatchSite, record: str) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    attempt.paths.exit.write_text(record)
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    wait_until(lambda: site.get(job).state is JobState.QUEUED)
    assert site.last_attempt(job).cause is Cause.WORKER_DIED
    monitor.stop()


def test_a_log_that_is_no_file_keeps_no_job_alive(site: WatchSite) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    log = site.state_file().with_name("log.md")
    log.unlink()
    os.mkfifo(log)
    attempt.paths.exit.write_text('{"code": 127}')
    monitor = site.start_monitor()
    monitor.watch(site.adopt(job))
    assert site.ended(job).cause is Cause.MISSING_BINARY
    monitor.stop()


def test_the_group_of_an_attempt_is_removed_when_it_is_settled(site: WatchSite) -> None:
    """The kernel keeps it as long as anybody is in it; nobody else would remove it."""
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "while [ ! -e go ]; do sleep 0.01; done")
    fence = json.loads(attempt.paths.started.read_text())["fence"]
    if not fence:
        skip_or_fail("no group of processes can be made here")
    assert attempt.agent_pid() in cgroup.members(fence)
    running = site.adopt(job)
    site.change_task(status=TaskStatus.NEEDS_REVIEW)
    monitor = site.start_monitor()
    monitor.watch(running)
    (site.workspace.root / "go").touch()
    assert site.ended(job).state is JobState.DONE
    wait_until(lambda: not Path(fence).exists(), "the group is removed")
    monitor.stop()


def test_a_failure_whose_commit_failed_is_the_same_failure_when_it_is_tried_again(
    site: WatchSite,
) -> None:
    """The task says `failed` by then, by our own hand: that is no report of the agent's."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    attempt.paths.exit.write_text('{"code": 127}')
    site.database.run(
        "create trigger refusing before update of state on job when new.state = 'failed' "
        "begin select raise(abort, 'no room'); end"
    )
    running = site.adopt(job)
    with pytest.raises(ConstraintFailed, match="no room"):
        settle_attempt(site.context, running)
    assert site.task().status is TaskStatus.FAILED
    site.database.run("drop trigger refusing")
    settle_attempt(site.context, running)
    assert (site.get(job).state, site.get(job).cause) == (JobState.FAILED, Cause.MISSING_BINARY)


def test_what_an_agent_made_of_its_state_is_kept_though_settling_is_tried_again(
    site: WatchSite,
) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    attempt.paths.exit.write_text('{"code": 0}')
    state = site.state_file()
    valid = state.read_bytes()
    state.write_text("task: [")
    site.database.run(
        "create trigger refusing before update of state on job "
        "begin select raise(abort, 'no room'); end"
    )
    running = site.adopt(job)
    with pytest.raises(ConstraintFailed, match="no room"):
        settle_attempt(site.context, running)
    site.database.run("drop trigger refusing")
    settle_attempt(site.context, running)
    assert site.last_attempt(job).cause is Cause.STATE_UNREADABLE
    assert site.get(job).state is JobState.QUEUED
    assert state.read_bytes() == valid
    kept = state.with_name(f"state.yaml.invalid-{attempt.attempt_id}")
    assert kept.read_text() == "task: ["


def test_a_log_that_may_not_be_written_changes_no_cause(site: WatchSite) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    log = site.state_file().with_name("log.md")
    log.unlink()
    log.symlink_to(log)  # refused to root as well
    attempt.paths.exit.write_text('{"code": 127}')
    settle_attempt(site.context, site.adopt(job))
    assert (site.get(job).state, site.get(job).cause) == (JobState.FAILED, Cause.MISSING_BINARY)
    assert site.get(job).outcome_status is TaskStatus.FAILED


def test_faults_that_have_passed_are_forgotten(site: WatchSite) -> None:
    """Else an agent that runs long is left alone ever longer at each of them, cancels and all."""
    job = site.job()
    site.lease(job)
    site.run(job, "exec sleep 600")
    running = site.adopt(job)
    running.failures = 7
    monitor = site.start_monitor()
    monitor.watch(running)
    wait_until(lambda: running.failures == 0, "a look that went well")
    monitor.stop()


@pytest.mark.slow
def test_an_attempt_whose_folder_cannot_be_looked_into_keeps_nobody_from_the_others(
    site: WatchSite, caplog: pytest.LogCaptureFixture
) -> None:
    """The thread that watches all attempts would end with it, and none of them be settled."""
    first, second = site.job("010"), site.job("020")
    for job in (first, second):
        site.lease(job)
    site.run(first, "while [ ! -e go ]; do sleep 0.01; done")
    attempt = site.run(second, "while [ ! -e later ]; do sleep 0.01; done")
    monitor = site.start_monitor()
    lost = site.adopt(first)
    lost.paths = AttemptPaths(site.workspace.root / ("x" * 300))  # as where nobody may enter
    monitor.watch(lost)
    monitor.watch(site.adopt(second))
    (site.workspace.root / "go").touch()
    wait_until(lambda: "cannot be looked at yet" in caplog.text, "the look fails")
    site.change_task("020", status=TaskStatus.NEEDS_REVIEW)
    (site.workspace.root / "later").touch()
    wait_until(attempt.paths.exit.exists)
    assert site.ended(second).state is JobState.DONE
    monitor.stop()


def test_an_attempt_that_has_failed_for_hours_is_still_left_alone_for_half_a_minute(
    site: WatchSite,
) -> None:
    """From the 1024th failure on the wait was no number, and the thread that watches ended."""
    job = site.job()
    site.lease(job)
    site.attempt(job, supervisor=dead_process())
    running = site.adopt(job)
    for running.failures in (1_022, 1_023, 100_000):
        running.postpone(30.0)
        assert 0 < running.not_before - time.monotonic() <= 30.0


def test_a_round_that_fails_as_a_whole_ends_no_watch(
    site: WatchSite, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker would go on to start agents that nobody times out, cancels or settles."""
    monkeypatch.setattr(monitor_module, "ROUND_FAILED_SECONDS", 0.01)
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    attempt.paths.exit.write_text('{"code": 127}')
    site.database.run(
        "create trigger refusing before update of state on job "
        "begin select raise(abort, 'no room'); end"
    )
    running = site.adopt(job)
    running.postpone = lambda: next(iter(()))  # type: ignore[method-assign]
    monitor = site.start_monitor()
    monitor.watch(running)
    wait_until(lambda: "cannot be checked now; sow checks them again soon" in caplog.text)
    site.database.run("drop trigger refusing")
    assert site.ended(job).cause is Cause.MISSING_BINARY
    monitor.stop()


NEWS = f'{{"type":"system","subtype":"init","session_id":"{SESSION[:-1]}9"}}'
"""What a session is to be put on record for."""


@pytest.mark.slow
def test_a_broken_state_keeps_no_limit_from_an_agent(site: WatchSite) -> None:
    """It ran on past its time, for its session could not be put on record first."""
    job = site.job(executor=msgspec.structs.replace(CLAUDE, timeout_seconds=1.0))
    site.lease(job)
    attempt = site.run(job, f"echo '{NEWS}'; exec sleep 600")
    running = site.adopt(job)
    site.state_file().write_text("<<<<<<< HEAD\n")
    monitor = site.start_monitor()
    monitor.watch(running)
    wait_until(attempt.paths.exit.exists, "it is ended")
    assert running.ended_for is not None
    assert running.ended_for.cause is Cause.TIMED_OUT
    monitor.stop()


@pytest.mark.slow
def test_a_broken_state_keeps_no_cancel_from_an_agent_without_a_supervisor(
    site: WatchSite,
) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.run(job, f"echo '{NEWS}'; exec sleep 600")
    wait_until(attempt.paths.output.read_bytes, "it has told of its session")
    attempt.started[0].kill()
    attempt.started[0].wait()
    running = site.adopt(job)
    site.state_file().write_text("<<<<<<< HEAD\n")
    monitor = site.start_monitor()
    monitor.watch(running)
    jobs.change_job(site.database, job.id, cancel_requested_at=site.context.now())
    monitor.wake()
    wait_until(lambda: not is_running(attempt.agent_pid()), "it is ended")
    monitor.stop()


def test_a_session_is_put_on_record_when_a_broken_state_is_mended(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr("worker.watchdog.SESSION_SECONDS", 0.1)
    job = site.job()
    site.lease(job)
    site.run(job, f"echo '{NEWS}'; exec sleep 600")
    running = site.adopt(job)
    text = site.state_file().read_bytes()
    site.state_file().write_text("<<<<<<< HEAD\n")
    monitor = site.start_monitor()
    monitor.watch(running)
    wait_until(lambda: "its session cannot be recorded yet" in caplog.text)
    site.state_file().write_bytes(text)
    wait_until(lambda: site.task().session_id == f"{SESSION[:-1]}9")
    assert running.failures == 0
    assert "settled" not in caplog.text
    monitor.stop()
