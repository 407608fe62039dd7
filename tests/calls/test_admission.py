"""Which calls a status allows: every combination, against the contract's table.

The table is written out here once more, in the contract's own order, so that
neither copy can drift alone.
"""

import itertools
from collections.abc import Callable
from functools import partial

import pytest
from reports.job_cases import EXECUTORS, SessionState, make_task

from sow.calls.admission import (
    RefusedCall,
    admit_resume,
    admit_spawn,
    refuse_unmet,
)
from sow.errors import ExitCode, SowError, StateError
from sow.executors.executor_errors import ResumptionNotSupported, SessionMissing
from sow.schema.task import TaskStatus

TERMINAL = (TaskStatus.COMPLETED, TaskStatus.ABANDONED)
STARTED = (SessionState.STARTED, SessionState.FOREIGN)
WAYS = list(itertools.product(SessionState, EXECUTORS))


def spawn_refusal(
    status: TaskStatus, session: SessionState, executor: str, *, fresh: bool
) -> type[Exception] | None:
    """Return what a spawn gets, read off the contract's table."""
    if status in TERMINAL:
        return RefusedCall  # no: names `sow task reopen`
    if status is TaskStatus.PENDING or fresh:
        return None
    always_respawns = not EXECUTORS[executor].supports_resumption
    if session not in STARTED or always_respawns:
        return None
    return RefusedCall  # only if no session ever started


def resume_refusal(
    status: TaskStatus, session: SessionState, executor: str
) -> type[Exception] | None:
    """Return what a resume gets, read off the contract's table."""
    if status in TERMINAL:
        return RefusedCall
    if not EXECUTORS[executor].supports_resumption:
        return ResumptionNotSupported  # told before a missing session
    if session is SessionState.NONE:
        return SessionMissing
    if status is TaskStatus.PENDING and session is SessionState.UNSTARTED:
        return SessionMissing  # pending: the seeds' error
    return None


def refusal_of(admit: Callable[[], None]) -> type[Exception] | None:
    """Return the error that a call is refused with, or None."""
    try:
        admit()
    except SowError as error:
        return type(error)
    return None


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("status", TaskStatus)
def test_spawn_follows_the_table(status: TaskStatus, fresh: bool) -> None:
    for session, name in WAYS:
        task, executor = make_task(status, session, maker=name), EXECUTORS[name]
        admit = partial(admit_spawn, task, "implementer", executor, fresh=fresh)
        expected = spawn_refusal(status, session, name, fresh=fresh)
        assert refusal_of(admit) is expected, (session, name)


@pytest.mark.parametrize("status", TaskStatus)
def test_resume_follows_the_table(status: TaskStatus) -> None:
    for session, name in WAYS:
        task, executor = make_task(status, session, maker=name), EXECUTORS[name]
        expected = resume_refusal(status, session, name)
        assert refusal_of(partial(admit_resume, task, executor)) is expected, (session, name)


@pytest.mark.parametrize("status", TERMINAL)
def test_terminal_statuses_name_reopen(status: TaskStatus) -> None:
    with pytest.raises(RefusedCall) as spawn:
        admit_spawn(make_task(status), "implementer", EXECUTORS["claude-code"], fresh=True)
    with pytest.raises(RefusedCall) as resume:
        admit_resume(make_task(status), EXECUTORS["claude-code"])
    for refusal in (spawn.value, resume.value):
        assert refusal.exit_code is ExitCode.STATE
        assert "sow task reopen 010" in refusal.hint
        assert status in refusal.message


@pytest.mark.parametrize(("status", "verb"), [("paused", "answer"), ("needs_review", "resume")])
def test_a_refused_spawn_names_the_command_that_goes_on(status: str, verb: str) -> None:
    task = make_task(TaskStatus(status), SessionState.STARTED)
    with pytest.raises(RefusedCall) as refusal:
        admit_spawn(task, "implementer", EXECUTORS["claude-code"], fresh=False)
    assert f"`sow agent {verb} 010 " in refusal.value.hint


@pytest.mark.parametrize("executor", ["windsurf", "script"])
def test_a_session_of_another_executor_is_not_dropped_silently(executor: str) -> None:
    """Never silently a fresh session: it was claude's, and the role is bound to another by now."""
    task = make_task(TaskStatus.NEEDS_REVIEW, SessionState.STARTED, maker="claude-code")
    with pytest.raises(RefusedCall) as refusal:
        admit_spawn(task, "implementer", EXECUTORS[executor], fresh=False)
    assert "--fresh" in refusal.value.hint
    admit_spawn(task, "implementer", EXECUTORS[executor], fresh=True)


def test_another_agent_takes_an_unstarted_task_only_when_told_to() -> None:
    task = make_task(TaskStatus.FAILED, SessionState.UNSTARTED)
    with pytest.raises(StateError, match=", not for") as refusal:
        admit_spawn(task, "architect", EXECUTORS["claude-code"], fresh=False)
    assert refusal.value.exit_code is ExitCode.STATE
    assert refusal.value.message == "task 010 is for implementer, not for architect"
    assert "`sow agent spawn architect 010 --reassign`" in refusal.value.hint
    admit_spawn(task, "architect", EXECUTORS["claude-code"], fresh=False, reassign=True)


def test_another_agent_cannot_take_a_started_session() -> None:
    task = make_task(TaskStatus.PAUSED, SessionState.STARTED)
    with pytest.raises(StateError, match=", whose session has started") as refusal:
        admit_spawn(task, "architect", EXECUTORS["claude-code"], fresh=False)
    assert refusal.value.exit_code is ExitCode.STATE
    assert "implementer" in refusal.value.message
    with pytest.raises(StateError, match=", whose session has started"):
        admit_spawn(task, "architect", EXECUTORS["claude-code"], fresh=False, reassign=True)
    with pytest.raises(StateError, match=", not for") as refused:
        admit_spawn(task, "architect", EXECUTORS["claude-code"], fresh=True)
    assert "`sow agent spawn architect 010 --fresh --reassign`" in refused.value.hint
    admit_spawn(task, "architect", EXECUTORS["claude-code"], fresh=True, reassign=True)


def test_unmet_dependencies_are_all_named() -> None:
    others = [
        make_task(TaskStatus.COMPLETED, id="020"),
        make_task(TaskStatus.ABANDONED, id="030"),
        make_task(TaskStatus.NEEDS_REVIEW, id="040"),
    ]
    with pytest.raises(StateError, match="depends on tasks that are not completed:") as refusal:
        refuse_unmet(make_task(), others)
    assert "030 (abandoned), 040 (needs_review)" in refusal.value.message
    assert "020" not in refusal.value.message
    assert "--ignore-deps" in refusal.value.hint
    refuse_unmet(make_task(), others[:1])
