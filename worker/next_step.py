"""What follows an attempt that has ended: its verdict and the next step.

Owns the gathering of what `judge` and `retry` decide by: the task as it stands,
what the output told, whether the session is kept, whose fault a death was.
Writes nothing: what it comes to is written by its kind and by `job_end`.
"""

import random
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from sow.attempts.fallback import (
    OBSTACLES,
    RESET_MARGIN_SECONDS,
    Way,
    moved,
    way_of,
)
from sow.attempts.judge import Evidence, judge
from sow.attempts.retry import Next, Step, decide
from sow.attempts.sessions import is_kept, ran_in, warning_of_loss
from sow.errors import StateError
from sow.executors.base import Verdict
from sow.executors.executor_errors import SessionLost
from sow.faults import passing_fault
from sow.ids import TaskId
from sow.jobs import jobs
from sow.schema.cause_table import CAUSES, SESSION_UNKNOWN, WITHOUT_AGENT, RetryRule
from sow.schema.causes import LIMIT_CAUSES, Cause
from sow.schema.job import NOT_BROUGHT_BACK, Attempt, Job
from sow.schema.kinds import kind_of
from sow.schema.step_result import RESULT_LIMIT, StepResult
from sow.schema.task import Task
from sow.state.tasks import read_task
from worker.blame import NOT_COUNTED, excuse_of
from worker.context import WorkerContext
from worker.features import worker_features
from worker.kinds.base import WorkerKind
from worker.limits_met import next_target
from worker.running import Exit, Running, read_record

BEFORE_RESULTS = frozenset(
    {Cause.CANCELLED, Cause.REPORTED, Cause.STATE_UNREADABLE, *LIMIT_CAUSES.values()}
)
"""Causes that count whatever a program of ours has left."""
BEFORE_THE_CLI = frozenset(
    {Cause.SETUP_FAILED, Cause.SETUP_PREVENTED, Cause.CONFIGURATION, Cause.SANDBOX_FAILED}
)
"""What a program of ours leaves that has not become the agent's CLI, or a supervisor without a
secret or a proxy that it was to give."""
PROVES_NO_LIFE = WITHOUT_AGENT | {Cause.WORKER_DIED}
"""Endings after which deaths go on to be counted in a row: no agent has run to another end."""


class AgentKind(WorkerKind):
    """Jobs with an agent: why an attempt of theirs ended, and what follows."""

    def judge(
        self, context: WorkerContext, running: Running, job: Job, exit_facts: Exit | None
    ) -> Verdict:
        """Return why an attempt ended, in words that a person can act on."""
        task: Task | StateError
        try:
            task = read_task(context.workspace, TaskId(job.task_id), context.state.copies)
        except StateError as error:
            if passing_fault(error) is not None:
                raise  # the machine is short of something: that says nothing of the file
            task = error
        evidence = Evidence(
            job=job,
            task=task,
            ending=running.ending(exit_facts),
            seen=running.output.seen,
            ended_for=running.ended_for,
        )
        verdict = judge(evidence, running.agents_executor)
        if verdict.cause not in BEFORE_RESULTS and (result := setup_failure(running)) is not None:
            return Verdict(result.cause, result.reason)
        for feature in worker_features():
            verdict = feature.on_judged(context, running, job, verdict, exit_facts)
        if verdict.cause is Cause.WORKER_DIED:
            excuse = excuse_of(context, running)
            reason = f"{verdict.reason}; {NOT_COUNTED}{excuse}" if excuse else verdict.reason
            return replace(verdict, reason=reason)
        if verdict.cause is Cause.RATE_LIMITED:
            # A limit is rare, and to read its end takes large patterns.
            from sow.attempts.reset_time import with_reset_time

            ended_at = exit_facts.ended_at if exit_facts is not None else None
            now = context.now() if ended_at is None else min(ended_at, context.now())
            return with_reset_time(verdict, running.output.seen.resets_at, now=now)
        if verdict.cause in SESSION_UNKNOWN and _is_kept(context, running):
            return _session_lost(running, verdict)
        return verdict

    def decide(self, context: WorkerContext, running: Running, job: Job, verdict: Verdict) -> Next:
        """Return what follows an attempt that ended so."""
        if job.fallback.next and (move := _move(context, running, job, verdict)) is not None:
            return move
        is_unknown = verdict.cause in SESSION_UNKNOWN
        history = jobs.attempts(context.database, job.id) if is_unknown else ()
        return decide(
            verdict.cause,
            job,
            now=context.now(),
            jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
            resets_at=verdict.resets_at,
            can_resume=running.agents_executor.supports_resumption,
            session_kept=is_unknown and _is_kept(context, running),
            ran_in_session=ran_in(history, running.attempt.session_id or ""),
            on_quota=context.configuration.retry_on_quota,
            most_deaths=context.configuration.retry_worker_deaths,
            excused=NOT_COUNTED in verdict.reason,
            share_left=any(f.may_go_on(context, job, verdict) for f in worker_features()),
            prevented=prevented_before(context, running, verdict),
        )

    def facts(self, running: Running) -> Mapping[str, Any]:
        """Return what the output has told."""
        seen = running.output.seen
        return {
            "session_id": running.session_id,
            "transcript_seen": running.attempt.transcript_seen or running.has_transcript,
            "finished_turn": seen.has_finished_turn,
            "tool_uses": seen.told_tool_uses,
        }


def _move(context: WorkerContext, running: Running, job: Job, verdict: Verdict) -> Next | None:
    """Return how another executor goes on after an attempt that ended so; None where none does."""
    if verdict.cause not in OBSTACLES:
        return None
    seen = running.output.seen
    history = jobs.attempts(context.database, job.id)
    works_now = bool(seen.tool_uses or seen.has_finished_turn)
    way = way_of(job, verdict.cause, history, works_now=works_now)
    if way is Way.STAY:
        return None
    target = next_target(context, job, verdict)
    if target is None:
        return None
    if target.until is None:
        return Next(Step.RETRY, way=way, place=target.place)
    at = target.until + RESET_MARGIN_SECONDS
    return Next(Step.PARK, retry_at=at, way=way, place=target.place)


def setup_failure(running: Running) -> StepResult | None:
    """Return why the program that makes a clone ready did not become the agent's CLI, if so."""
    result = read_record(running.paths.result, StepResult, limit=RESULT_LIMIT)
    if result is None or not running.owns(result.attempt):
        return None
    return result if result.cause in BEFORE_THE_CLI else None


def prevented_before(context: WorkerContext, running: Running, verdict: Verdict) -> int:
    """Return how many attempts in a row, before this one, something prevented that passes."""
    if CAUSES[verdict.cause].retry is not RetryRule.PATIENT:
        return 0
    earlier = jobs.attempts(context.database, running.job.id)
    ended = (attempt for attempt in reversed(earlier) if attempt.number < running.attempt.number)
    return sum(1 for _ in takewhile(_was_prevented, ended))


def _was_prevented(attempt: Attempt) -> bool:
    return attempt.cause is not None and CAUSES[attempt.cause].retry is RetryRule.PATIENT


def _is_kept(context: WorkerContext, running: Running) -> bool:
    """Whether the session of an attempt is one that a person has to give up."""
    if not kind_of(running.job).makes_work:
        return False  # it held an opinion, which can be formed anew
    started = _has_started(running)
    if started and running.has_transcript:
        return True
    return is_kept(context.database, running.attempt.session_id or "", started=started)


def _has_started(running: Running) -> bool:
    """Whether the session had begun; taken to be so where the state could not be read."""
    if not kind_of(running.job).makes_work:
        return running.output.seen.has_begun  # the session on the task's record is its author's
    return running.task is None or running.task.session_started or running.output.seen.has_begun


def _session_lost(running: Running, verdict: Verdict) -> Verdict:
    """Say what to do about a session that has started and that its CLI no longer knows."""
    job = running.job
    session_id = running.attempt.session_id or ""
    lost = SessionLost(job.executor_name, job.task_id, session_id, job.agent)
    began = f"; {verdict.reason}" if verdict.cause is Cause.SESSION_LOST else ""
    return replace(verdict, reason=f"{lost.message}{began}\n{lost.hint}")


def tries_after(job: Job, running: Running, verdict: Verdict, next_step: Next) -> dict[str, Any]:
    """Return what the step adds to the job's tries, whatever its kind."""
    tries: dict[str, Any] = {
        "settled": running.attempt.number,
        "retries": job.retries + next_step.retries,
        "worker_deaths": job.worker_deaths + next_step.worker_deaths,
        "excused_deaths": job.excused_deaths + next_step.excused_deaths,
    }
    if next_step.step in (Step.RETRY, Step.PARK) and verdict.cause not in PROVES_NO_LIFE:
        tries["worker_deaths"] = tries["excused_deaths"] = 0
    return tries


def spent_by(job: Job, running: Running, verdict: Verdict, next_step: Next) -> dict[str, Any]:
    """Return what the step adds to the accounts of an agent's job."""
    seen = running.output.seen
    spent = tries_after(job, running, verdict, next_step)
    if verdict.cause in SESSION_UNKNOWN and next_step.step is Step.RETRY:
        lost = running.attempt.session_id or ""
        if _has_started(running):
            spent["warnings"] = (*job.warnings, warning_of_loss(lost))
    if next_step.step is Step.FAIL:
        for feature in worker_features():
            spent |= feature.on_end(job, verdict)
    if next_step.correction:
        spent["corrections"] = (*job.corrections, next_step.correction)
    if seen.denied_tools:
        spent["denied_tools"] = tuple(dict.fromkeys((*job.denied_tools, *seen.denied_tools)))
    if next_step.way is not Way.STAY:
        number, session = running.attempt.number, running.session_id
        way, place = next_step.way, next_step.place
        spent |= moved(job, way, verdict, attempt=number, session=session, place=place)
    result = running.gathering.result if running.gathering is not None else None
    if result is not None:
        warnings = spent.get("warnings", job.warnings)
        spent["warnings"] = with_gathered(warnings, result.warnings)
    if job.executor is not None and job.executor.secret_names:
        # Few executors have any.
        from worker.secret_findings import findings_of

        warnings = (*spent.get("warnings", job.warnings), *findings_of(running))
        spent["warnings"] = tuple(dict.fromkeys(warnings))
    if job.executor is not None and job.executor.allowed_hosts:
        # Few executors have any.
        from worker.network_findings import refusals_of

        warnings = (*spent.get("warnings", job.warnings), *refusals_of(running))
        spent["warnings"] = tuple(dict.fromkeys(warnings))
    return spent


def with_gathered(warnings: Sequence[str], gathered: Sequence[str]) -> tuple[str, ...]:
    """Return a job's warnings with what was found in its clone that a person should look at.

    That an earlier attempt's work was not brought back holds no more: this look took it as well.
    """
    lasting = (words for words in warnings if not words.startswith(NOT_BROUGHT_BACK))
    return tuple(dict.fromkeys((*lasting, *gathered)))
