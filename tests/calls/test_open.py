"""A person takes a session over: what is refused, what is held meanwhile, what is left after."""

from collections.abc import Callable
from typing import Any

import pytest
from calls.desk import SESSION, Desk, a_dead_process
from msgspec.structs import replace

from sow.calls.admission import RefusedCall
from sow.calls.caller import WaitsForItself
from sow.calls.idempotency import TaskHasJob
from sow.calls.job_end import is_deserted, release
from sow.calls.open import open_session
from sow.calls.start import prepare_opening
from sow.executors.executor_errors import (
    ExecutorBinaryNotFound,
    OpeningNotSupported,
    SandboxNotOpened,
    SessionMissing,
)
from sow.files.flock import lock_file_held
from sow.ids import TaskId
from sow.jobs import jobs
from sow.processes import process_facts
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.task import TaskStatus

SET_STATUS = 'sed -i "s/^  status: .*/  status: {status}/" {state}'


@pytest.fixture
def paused(desk: Desk) -> Desk:
    """A desk whose task has a session that waits for an answer."""
    desk.task(status=TaskStatus.PAUSED)
    desk.with_session()
    return desk


def open_it(desk: Desk) -> tuple[Job, int]:
    return open_session(desk.caller, desk.database, desk.config, TaskId("010"))


def test_the_session_runs_here_and_its_end_is_on_record(paused: Desk) -> None:
    record = paused.base / "told"
    paused.program("claude", f'echo "$@" > {record}; echo $SOW_TASK_ID $SOW_JOB_ID >> {record}')
    job, code = open_it(paused)
    assert (code, job.state, job.cause) == (0, JobState.DONE, Cause.CLOSED)
    assert (job.verb, job.outcome_status) == (Verb.OPEN, TaskStatus.PAUSED)
    words, variables = record.read_text().splitlines()
    assert f"--resume {SESSION}" in words
    assert variables == "010 1"
    (attempt,) = jobs.attempts(paused.database, job.id)
    assert (attempt.exit_code, attempt.session_id) == (0, SESSION)


def test_the_task_is_in_progress_while_it_is_open(paused: Desk) -> None:
    (state,) = paused.workspace.project.glob("phases/*/tasks/010/state.yaml")
    paused.program("claude", f"grep 'status: in_progress' {state}")
    assert open_it(paused)[1] == 0
    assert paused.read().status is TaskStatus.PAUSED


@pytest.mark.parametrize("status", [TaskStatus.NEEDS_REVIEW, TaskStatus.FAILED])
def test_a_status_that_is_set_in_it_stays(paused: Desk, status: TaskStatus) -> None:
    (state,) = paused.workspace.project.glob("phases/*/tasks/010/state.yaml")
    paused.program("claude", SET_STATUS.format(status=status, state=state))
    job, _ = open_it(paused)
    assert (job.cause, job.outcome_status) == (Cause.REPORTED, status)
    assert paused.read().status is status


def test_a_cli_that_fails_gives_the_task_back_too(paused: Desk) -> None:
    paused.program("claude", "exit 3")
    job, code = open_it(paused)
    assert (code, job.state) == (3, JobState.DONE)
    assert paused.read().status is TaskStatus.PAUSED


NAP = "sleep 0.01 & wait $!"
"""A nap in a fork: dash 0.5.12 drops a signal that reaches it while it starts a plain command by
vfork."""


def test_a_signal_to_end_is_passed_on_and_one_of_the_keyboard_is_not(paused: Desk) -> None:
    paused.program(
        "claude",
        "trap 'exit 7' TERM; kill -INT $PPID; kill -TERM $PPID\n"
        f"for _ in $(seq 3000); do {NAP}; done",
    )
    assert open_it(paused)[1] == 7


def test_a_task_that_somebody_completes_meanwhile_is_not_held(paused: Desk) -> None:
    """Between the look and the mark: the CLI is never started."""
    started = paused.base / "started"
    paused.program("claude", f"touch {started}")

    class Meanwhile(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            if name == "PATH" and paused.read().status is TaskStatus.PAUSED:
                paused.change(status=TaskStatus.COMPLETED)
            return super().get(name, default)

    caller = replace(paused.caller, environ=Meanwhile(paused.caller.environ))
    with pytest.raises(RefusedCall):
        open_session(caller, paused.database, paused.config, TaskId("010"))
    assert paused.job(1).state is JobState.DONE
    assert not started.exists()


@pytest.mark.parametrize("status", [TaskStatus.COMPLETED, TaskStatus.ABANDONED])
def test_what_is_over_is_not_opened(paused: Desk, status: TaskStatus) -> None:
    paused.change(status=status)
    with pytest.raises(RefusedCall):
        open_it(paused)


def test_what_never_began_is_not_opened(desk: Desk) -> None:
    desk.task(status=TaskStatus.PAUSED)
    with pytest.raises(SessionMissing):
        open_it(desk)


def test_a_cli_without_a_terminal_mode_is_not_opened(desk: Desk) -> None:
    desk.configure({"agents": {"bindings": {"implementer": "windsurf"}}})
    desk.task(status=TaskStatus.PAUSED)
    with pytest.raises(OpeningNotSupported):
        open_it(desk)


def test_a_session_of_a_sandbox_is_not_opened_outside_of_it(paused: Desk) -> None:
    """Its CLI would run here with a configuration that the agent could write."""
    paused.configure({"agents": {"executors": {"claude-code": {"sandbox": "bwrap"}}}})
    with pytest.raises(SandboxNotOpened):
        open_it(paused)
    with pytest.raises(SandboxNotOpened, match="opens no sandbox on a terminal") as caught:
        prepare_opening(paused.caller, paused.config, "", "A goal")
    assert jobs.newest_id(paused.database) == 0
    assert "Bind the role `orchestrator` to an executor without one" in caught.value.hint
    executors = {"claude-code": {"sandbox": "bwrap"}, "lead": {"type": "claude"}}
    paused.configure({"agents": {"executors": executors, "bindings": {"orchestrator": "lead"}}})
    assert prepare_opening(paused.caller, paused.config, "", "A goal").executor.name == "lead"


def test_a_program_that_is_not_there_holds_nothing(paused: Desk) -> None:
    (paused.base / "bin/claude").unlink()
    with pytest.raises(ExecutorBinaryNotFound):
        open_it(paused)
    assert jobs.newest_id(paused.database) == 0


def test_while_a_job_lives_it_is_refused(paused: Desk) -> None:
    paused.queue()
    with pytest.raises(TaskHasJob):
        open_it(paused)


def test_an_agent_does_not_open_its_own_session(paused: Desk) -> None:
    caller = paused.as_agent_of(paused.run())
    with pytest.raises(WaitsForItself):
        open_session(caller, paused.database, paused.config, TaskId("010"))


def held(desk: Desk, **fields: object) -> Job:
    desk.change(status=TaskStatus.IN_PROGRESS)
    known = {"verb": Verb.OPEN, "state": JobState.RUNNING, "prior_status": TaskStatus.PAUSED}
    return desk.insert(**{**known, **fields})


def test_one_that_was_left_by_the_dead_is_closed_first(paused: Desk) -> None:
    job = held(paused, caller=a_dead_process())
    paused.attempt(job, verb=Verb.OPEN)
    paused.program("claude", "exit 0")
    assert open_it(paused)[0].id == job.id + 1
    assert paused.job(job.id).state is JobState.DONE


def leased(_: Desk, job: Job) -> Job:
    return replace(job, verb=Verb.SPAWN)


def over(_: Desk, job: Job) -> Job:
    return replace(job, state=JobState.DONE)


def of_nobody(_: Desk, job: Job) -> Job:
    return replace(job, caller=None)


def of_one_who_lives(_: Desk, job: Job) -> Job:
    return replace(job, caller=process_facts.identify(1))


def without_attempt(desk: Desk, job: Job) -> Job:
    desk.database.run("delete from attempt")
    return job


@pytest.mark.parametrize("why", [leased, over, of_nobody, of_one_who_lives, without_attempt])
def test_what_is_not_deserted(paused: Desk, why: Callable[[Desk, Job], Job]) -> None:
    job = held(paused, caller=a_dead_process())
    paused.attempt(job, verb=Verb.OPEN)
    assert is_deserted(paused.workspace, paused.database, job)
    assert not is_deserted(paused.workspace, paused.database, why(paused, job))


def test_a_session_of_another_pid_namespace_is_deserted_where_its_lock_is_free(
    paused: Desk,
) -> None:
    elsewhere = replace(a_dead_process(), pid_namespace="1")
    job = held(paused, caller=elsewhere)
    attempt = paused.attempt(job, verb=Verb.OPEN)
    paths = paused.workspace.attempt(job.id, attempt.number)
    assert not is_deserted(paused.workspace, paused.database, job), "it has made no lock yet"
    paths.folder.mkdir(parents=True)
    with lock_file_held(paths.alive_lock):
        assert not is_deserted(paused.workspace, paused.database, job)
    assert is_deserted(paused.workspace, paused.database, job)


def test_completed_in_it_the_session_is_over(paused: Desk) -> None:
    job = held(paused)
    paused.attempt(job, verb=Verb.OPEN)
    paused.change(status=TaskStatus.COMPLETED)
    ended = release(paused.workspace, paused.database, job, code=0, now=1.0)
    assert (ended.cause, ended.outcome_status) == (Cause.REPORTED, TaskStatus.COMPLETED)
    assert not paused.read().session_id


def test_a_task_that_is_gone_is_given_nothing_back(paused: Desk) -> None:
    job = held(paused)
    paused.attempt(job, verb=Verb.OPEN)
    (folder,) = paused.workspace.project.glob("phases/*/tasks/010")
    folder.rename(paused.base / "aside")
    (paused.workspace.root / ".git").mkdir()
    ended = release(paused.workspace, paused.database, job, code=None, now=1.0)
    assert (ended.state, ended.owes_task) == (JobState.DONE, False)
