"""The session law: a session is spawned at most once, everything after is a resume."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports.job_cases import (
    EXECUTORS,
    SESSION_ID,
    SessionState,
    make_attempt,
    make_job,
    make_task,
)

from sow.attempts.plan import choose_verb, plan_attempt, session_of
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Attempt, Cause, Verb
from sow.schema.task import SessionFacts, TaskStatus

IN_PROGRESS = TaskStatus.IN_PROGRESS
SETTLES_THE_SESSION = (Cause.SESSION_IN_USE, Cause.SESSION_UNKNOWN)
LOCATION = ".sow/project/phases/implementation/tasks/010"


def tried(cause: Cause, **fields: Any) -> Attempt:
    """Return an attempt on the task's session."""
    return make_attempt(cause=cause, **{"session_id": SESSION_ID, **fields})


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize("session", [SessionState.UNSTARTED, SessionState.STARTED])
def test_the_first_attempt_does_what_was_asked(verb: Verb, session: SessionState) -> None:
    task = make_task(IN_PROGRESS, session)
    assert choose_verb(make_job(verb=verb), task, (), EXECUTORS["claude-code"]) is verb


@pytest.mark.parametrize("verb", Verb)
def test_a_retry_resumes_a_session_that_started_and_spawns_one_that_did_not(verb: Verb) -> None:
    job, executor = make_job(verb=verb), EXECUTORS["claude-code"]
    started = make_task(IN_PROGRESS, SessionState.STARTED)
    unstarted = make_task(IN_PROGRESS, SessionState.UNSTARTED)
    for cause in set(Cause) - {*SETTLES_THE_SESSION, Cause.SESSION_LOST}:
        history = [tried(cause)]
        assert choose_verb(job, started, history, executor) is Verb.RESUME, cause
        assert choose_verb(job, unstarted, history, executor) is Verb.SPAWN, cause


@pytest.mark.parametrize("session", [SessionState.UNSTARTED, SessionState.STARTED])
def test_the_clis_own_word_on_the_session_decides(session: SessionState) -> None:
    job, task = make_job(), make_task(IN_PROGRESS, session)
    executor = EXECUTORS["claude-code"]
    in_use, unknown = (tried(cause) for cause in SETTLES_THE_SESSION)
    assert choose_verb(job, task, [in_use], executor) is Verb.RESUME
    assert choose_verb(job, task, [unknown], executor) is Verb.SPAWN
    assert choose_verb(job, task, [tried(Cause.SESSION_LOST)], executor) is Verb.SPAWN


def test_a_word_of_the_cli_stands_until_it_says_another() -> None:
    """An agent killed twice, in use in between: what was in use is still there."""
    job, task = make_job(), make_task(IN_PROGRESS, SessionState.UNSTARTED)
    history = [tried(Cause.CRASHED), tried(Cause.SESSION_IN_USE), tried(Cause.CRASHED)]
    assert choose_verb(job, task, history, EXECUTORS["claude-code"]) is Verb.RESUME
    history += [tried(Cause.SESSION_UNKNOWN), tried(Cause.WORKER_DIED)]
    assert choose_verb(job, task, history, EXECUTORS["claude-code"]) is Verb.SPAWN


def test_what_was_said_of_another_session_says_nothing_of_this_one() -> None:
    task = make_task(IN_PROGRESS, SessionState.UNSTARTED)
    history = [tried(Cause.SESSION_IN_USE, session_id="another"), tried(Cause.CRASHED)]
    assert choose_verb(make_job(), task, history, EXECUTORS["claude-code"]) is Verb.SPAWN


def test_an_attempt_that_called_a_tool_has_shown_that_the_session_began() -> None:
    """Even where the state was put back to what it was before."""
    task = make_task(IN_PROGRESS, SessionState.UNSTARTED)
    history = [tried(Cause.SESSION_UNKNOWN), tried(Cause.CRASHED, tool_uses=3)]
    assert choose_verb(make_job(), task, history, EXECUTORS["claude-code"]) is Verb.RESUME


@dataclass
class Cli:
    """A CLI that keeps a session or not yet, and refuses what does not fit."""

    keeps: bool = False

    def run(self, verb: Verb, *, writes: bool, cause: Cause) -> Attempt:
        if verb is Verb.SPAWN and self.keeps:
            return tried(Cause.SESSION_IN_USE, verb=verb)
        if verb is Verb.RESUME and not self.keeps:
            return tried(Cause.SESSION_UNKNOWN, verb=verb)
        self.keeps = self.keeps or writes
        return tried(cause, verb=verb)


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([Cause.CRASHED, Cause.WORKER_DIED]))),
    st.sampled_from([Verb.SPAWN, Verb.RESUME]),
)
def test_no_run_is_refused_once_the_cli_has_told_how_it_stands(
    runs: list[tuple[bool, Cause]], asked: Verb
) -> None:
    """Whatever dies and when: a session that is kept is refused once at most, and so is one
    that is not; whatever follows the last refusal is let in."""
    cli, history = Cli(), list[Attempt]()
    task, job = make_task(IN_PROGRESS, SessionState.UNSTARTED), make_job(verb=asked)
    for writes, cause in runs:
        verb = choose_verb(job, task, history, EXECUTORS["claude-code"])
        history.append(cli.run(verb, writes=writes, cause=cause))
    causes = [attempt.cause for attempt in history]
    assert causes.count(Cause.SESSION_IN_USE) <= 1
    assert causes.count(Cause.SESSION_UNKNOWN) <= 1


@pytest.mark.parametrize("executor", ["windsurf", "script", "one-shot"])
@pytest.mark.parametrize("history", [(), [make_attempt(cause=Cause.CRASHED)]])
def test_an_executor_that_cannot_resume_spawns_again(
    executor: str, history: Sequence[Attempt]
) -> None:
    task = make_task(IN_PROGRESS, SessionState.STARTED, maker=executor)
    job = make_job(verb=Verb.RESUME, executor=EXECUTORS[executor].config)
    assert choose_verb(job, task, history, EXECUTORS[executor]) is Verb.SPAWN


def test_without_an_id_there_is_nothing_to_resume() -> None:
    job = make_job(verb=Verb.RESUME)
    assert choose_verb(job, make_task(IN_PROGRESS), (), EXECUTORS["claude-code"]) is Verb.SPAWN


def test_a_session_without_facts_counts_as_started() -> None:
    task = make_task(IN_PROGRESS, SessionState.FOREIGN)
    verb = choose_verb(make_job(), task, [tried(Cause.CRASHED)], EXECUTORS["claude-code"])
    assert verb is Verb.RESUME


def test_the_session_carries_its_dialect() -> None:
    facts = SessionFacts(executor="cursor", dialect="chat-id")
    task = msgspec.structs.replace(make_task(IN_PROGRESS, SessionState.STARTED), session=facts)
    session = session_of(task, EXECUTORS["cursor"], Verb.RESUME)
    assert session is not None
    assert (session.id, session.dialect) == (SESSION_ID, "chat-id")


def test_an_executor_without_sessions_is_given_none() -> None:
    task = make_task(IN_PROGRESS, SessionState.STARTED)
    assert session_of(task, EXECUTORS["windsurf"], Verb.RESUME) is None
    assert session_of(make_task(), EXECUTORS["claude-code"], Verb.SPAWN) is None


def test_a_cli_that_makes_ids_itself_is_asked_for_none_where_it_begins() -> None:
    """It told of one and crashed before a word; the next run tells of another."""
    task = make_task(IN_PROGRESS, SessionState.STARTED)
    codex = make_executor(ExecutorConfig(name="codex", type=ExecutorType.CODEX))
    assert session_of(task, codex, Verb.SPAWN) is None
    resumed = session_of(task, codex, Verb.RESUME)
    assert resumed is not None
    assert resumed.id == SESSION_ID
    assert session_of(task, EXECUTORS["claude-code"], Verb.SPAWN) is not None


def test_a_spawn_says_role_task_and_the_callers_words() -> None:
    task = make_task(IN_PROGRESS, SessionState.UNSTARTED)
    job = make_job(prompt="Use RS256.")
    plan = plan_attempt(job, task, (), EXECUTORS["claude-code"], LOCATION)
    assert plan.verb is Verb.SPAWN
    assert f"Execute task 010. Location: {LOCATION}/" in plan.prompt
    assert plan.prompt.endswith("Use RS256.\n")


def test_a_retry_of_a_spawn_warns_that_the_last_command_may_have_run() -> None:
    """A retry of a spawn whose session exists becomes a resume, which says so."""
    task = make_task(IN_PROGRESS, SessionState.STARTED)
    previous = make_attempt(cause=Cause.CRASHED, reason="ended by SIGKILL")
    plan = plan_attempt(make_job(), task, [previous], EXECUTORS["claude-code"], LOCATION)
    assert plan.verb is Verb.RESUME
    assert "check the tree before you repeat it" in plan.prompt
    assert "ended by SIGKILL" in plan.prompt


def test_a_resume_of_an_unknown_session_says_the_callers_words_again() -> None:
    """A resume whose session the CLI does not know, and which never started, becomes a spawn."""
    task = make_task(IN_PROGRESS, SessionState.UNSTARTED)
    job = make_job(verb=Verb.RESUME, prompt="Use RS256.")
    previous = tried(Cause.SESSION_UNKNOWN, verb=Verb.RESUME)
    plan = plan_attempt(job, task, [previous], EXECUTORS["claude-code"], LOCATION)
    assert plan.verb is Verb.SPAWN
    assert "Use RS256." in plan.prompt
    assert f"Execute task 010. Location: {LOCATION}/" in plan.prompt


@pytest.mark.parametrize("history", [(), [tried(Cause.SESSION_IN_USE)]])
def test_a_resume_says_the_callers_words(history: Sequence[Attempt]) -> None:
    task = make_task(IN_PROGRESS, SessionState.STARTED)
    job = make_job(verb=Verb.RESUME, prompt="Use RS256.")
    plan = plan_attempt(job, task, history, EXECUTORS["claude-code"], LOCATION)
    assert plan.verb is Verb.RESUME
    assert "Use RS256." in plan.prompt
    assert "You are run again" not in plan.prompt


@pytest.mark.parametrize("refusal", SETTLES_THE_SESSION)
def test_a_refusal_of_the_cli_in_between_does_not_hide_why_it_is_run_again(refusal: Cause) -> None:
    """The agent never knew of the refused attempt; it knew of the one before."""
    history = [make_attempt(1, Cause.CRASHED, reason="exit code 3"), make_attempt(2, refusal)]
    task = make_task(IN_PROGRESS, SessionState.UNSTARTED)
    plan = plan_attempt(make_job(), task, history, EXECUTORS["claude-code"], LOCATION)
    assert "your program ended in the middle" in plan.prompt
    assert "exit code 3" in plan.prompt
