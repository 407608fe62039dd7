"""The read model as `--json` tells it; the screen for people is made of the same."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import UNSET

from sow.clock import format_time
from sow.lifecycle import guards, task_ways
from sow.lifecycle.lifecycle_facts import Facts
from sow.lifecycle.stages import COMPLETED, PEOPLES_PHASES, ProjectType
from sow.lifecycle.types import LIFECYCLES, awaited_event, refusals
from sow.schema.output.hosts import SilentHost
from sow.schema.output.situation import (
    ApprovalNow,
    BatchRun,
    EndedProject,
    FaultNow,
    GuardNow,
    PhaseNow,
    RunningJob,
    Status,
    StepView,
)
from sow.schema.project import Project
from sow.schema.task import TaskStatus
from sow.situation.situation import BatchNow, Situation
from sow.situation.step import Step
from sow.situation.waiting import waits_of

READY = "ready"


def status_of(now: Situation, steps: Sequence[Step], *, at: float) -> Status:
    """Return how things stand, with the commands that come next; `at` is the time."""
    project, facts = now.project, now.facts
    event = awaited_event(facts) if facts is not None else None
    kind = LIFECYCLES[project.kind] if project is not None else None
    return Status(
        root=str(now.workspace.root) if now.workspace is not None else None,
        branch=now.branch or None,
        project=project.id if project is not None else None,
        name=project.name if project is not None else None,
        description=_description(project),
        type=project.kind.value if project is not None else None,
        state=project.standing if project is not None else None,
        states=tuple(kind.states) if kind is not None else (),
        iteration=project.round if project is not None else None,
        end_asked_for=None
        if project is None or project.ending is UNSET
        else project.ending.how.value,
        phases=tuple(_phases(now, project)) if project is not None else (),
        tasks_by_status=_counts(now),
        approvals=tuple(_approvals(project, facts)) if project is not None and facts else (),
        event=event.name if event is not None else None,
        target=event.target if event is not None else None,
        unmet=_unmet(facts),
        open_feedback=facts.open_feedback if facts is not None else (),
        runs=tuple(_runs(now, at)),
        batches=tuple(map(_batch, now.queue.batches)),
        waits=tuple(waits_of(now)),
        silent_hosts=tuple(_silent(now, at)),
        next=tuple(step_view(step) for step in steps),
        faults=tuple(FaultNow(message=each.message, hint=each.hint or "") for each in now.errors),
        last_project=_ended(now),
    )


def step_view(step: Step) -> StepView:
    """Return one of the next commands."""
    return StepView(command=step.command, why=step.why, by=step.by.value)


def _description(project: Project | None) -> str | None:
    if project is None or project.description is UNSET:
        return None
    return project.description


def _phases(now: Situation, project: Project) -> Iterator[PhaseNow]:
    found = Counter((task.phase, task.status.value) for task in now.tasks)
    finished = () if project.finished_phases is UNSET else project.finished_phases
    for phase in dict.fromkeys([*project.phases, *sorted({task.phase for task in now.tasks})]):
        counts = {word.value: found[phase, word.value] for word in TaskStatus}
        yield PhaseNow(
            phase=phase,
            led_by="people" if phase in PEOPLES_PHASES else "agents",
            is_finished=phase in finished,
            tasks_by_status={word: count for word, count in counts.items() if count},
        )


def _counts(now: Situation) -> dict[str, int]:
    found = Counter(task.status.value for task in now.tasks)
    counts = {word.value: found[word.value] for word in TaskStatus if found[word.value]}
    if now.facts is not None and found[TaskStatus.PENDING.value]:
        counts[READY] = len(task_ways.ready_among(now.facts.tasks, now.facts.clones))
    return counts


def _approvals(project: Project, facts: Facts) -> Iterator[ApprovalNow]:
    """Yield what the present state asks to be approved, and how that stands."""
    asked = {guard.name for event in LIFECYCLES[project.kind].events for guard in event.guards}
    if guards.PLAN_APPROVED.name in asked and facts.state == "planning" and facts.tasks:
        plan = None if project.plan is UNSET else project.plan
        by, at = (plan.by, format_time(plan.at.timestamp())) if plan else (None, None)
        yield ApprovalNow(what="plan", is_approved=facts.plan_is_approved, by=by, at=at)
    if project.review is not UNSET and facts.verdict == "accepted":
        # A completed project is as it was accepted; what the work has become since is not asked.
        holds = (facts.verdict_holds or facts.state == COMPLETED) and facts.verdict_counts
        at = format_time(project.review.at.timestamp())
        yield ApprovalNow(what="whole", is_approved=holds, by=project.review.by, at=at)
    is_asked = guards.OUTPUTS_APPROVED.name in asked
    yield from (each for each in _documents(project, facts) if is_asked or each.is_approved)
    if project.kind is ProjectType.BREAKDOWN:
        units = {} if project.units is UNSET else {unit.id: unit for unit in project.units}
        for task in facts.tasks:
            unit = units.get(task.id)
            by, at = (unit.by, format_time(unit.at.timestamp())) if unit else (None, None)
            yield ApprovalNow(what=task.id, is_approved=task.is_approved, by=by, at=at)


def _documents(project: Project, facts: Facts) -> Iterator[ApprovalNow]:
    outputs = [] if project.outputs is UNSET else project.outputs
    for artifact, found in zip(outputs, facts.outputs, strict=True):
        approved = None if artifact.approved is UNSET else artifact.approved
        by, at = (approved.by, format_time(approved.at.timestamp())) if approved else (None, None)
        yield ApprovalNow(what=found.path, is_approved=found.is_approved, by=by, at=at)


def _unmet(facts: Facts | None) -> tuple[GuardNow, ...]:
    event = awaited_event(facts) if facts is not None else None
    if event is None or facts is None:
        return ()
    return tuple(
        GuardNow(
            guard=refusal.guard.name,
            sentence=refusal.guard.sentence,
            missing=tuple(remedy.why for remedy in refusal.remedies),
        )
        for refusal in refusals(event, facts)
    )


def _runs(now: Situation, at: float) -> Iterator[RunningJob]:
    """Yield the jobs that are at work, the oldest first; what waits is told elsewhere."""
    for job in now.queue.live:
        doing = now.queue.doing.get(job.id)
        if job.state == "held" or (doing is not None and doing.waits_on):
            continue
        yield RunningJob(
            job=job.id,
            tasks=job.tasks,
            verb=job.verb.value,
            agent=job.agent or None,
            executor=job.executor_name or None,
            state=job.state.value,
            doing=doing.words if doing is not None else "",
            seconds=round(max(0.0, at - (job.started_at or at)), 1),
            quiet_seconds=doing.quiet_seconds if doing is not None else None,
            host=doing.host if doing is not None else None,
        )


def _batch(now: BatchNow) -> BatchRun:
    standings = now.plan.standings if now.plan is not None else ()
    return BatchRun(
        batch=now.batch.id,
        name=now.batch.name,
        state=now.batch.state.value,
        reason=now.batch.reason.strip().partition("\n")[0],
        rests=now.rests,
        counts=dict(Counter(found.state.value for found in standings)),
    )


def _silent(now: Situation, at: float) -> Iterator[SilentHost]:
    if now.queue.silent:
        from sow.reports.live_job_words import silent_view  # few queues are shared

        yield from (silent_view(host, at) for host in now.queue.silent)


def _ended(now: Situation) -> EndedProject | None:
    if now.ended is None:
        return None
    at, folder = format_time(now.ended.at), now.ended.folder
    return EndedProject(name=now.ended.name, how=now.ended.how, at=at, folder=folder)
