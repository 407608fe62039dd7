"""What waits, and for whom or what: people's matters first, then what goes on by itself.

Pure. Owns the words of `Wait.on`.
"""

from collections.abc import Iterator, Sequence

from sow.lifecycle import guards, task_ways
from sow.lifecycle.lifecycle_facts import Facts, TaskFacts
from sow.lifecycle.types import awaited_event, refusals
from sow.schema.causes import ON_LIMIT, RAISABLE, Cause
from sow.schema.output.situation import Wait
from sow.schema.task import Task, TaskStatus
from sow.situation.job_steps import is_led_by_agent, wants_person
from sow.situation.project_steps import asking_about_whole, is_cut_off, leader
from sow.situation.situation import BatchNow, Situation
from sow.situation.step import PERSONS_WORD

YOU, PERSON, TRUST, DEPENDENCY = "you", "person", "trust", "dependency"
ORDER = (YOU, PERSON, TRUST, ON_LIMIT, "queue", "worker", "machine", "slot", "limit", "time")
"""What is told first; dependencies come last."""
CUT_OFF = "was paused by a cancel, and nobody is at it"


def waits_of(now: Situation) -> Sequence[Wait]:
    """Return all that waits."""
    if now.facts is None or now.project is None:
        return ()
    found = [
        *_batches(now),
        *_about_whole(now),
        *_tasks(now, now.facts),
        *_approvals(now, now.facts),
        *_jobs(now),
    ]
    found.sort(key=lambda wait: ORDER.index(wait.on) if wait.on in ORDER else len(ORDER))
    return [*found, *_dependencies(now)]


def _batches(now: Situation) -> Iterator[Wait]:
    for batch in now.queue.batches:
        if batch.batch.state == "paused":
            why = batch.batch.reason.strip().partition("\n")[0]
            yield Wait(on=YOU, what=f"batch {batch.batch.id}", why=f"paused: {why}")
        yield from _items(batch)


def _items(now: BatchNow) -> Iterator[Wait]:
    for found in now.plan.standings if now.plan is not None else ():
        if not wants_person(found) or found.command == task_ways.TRUST:
            continue  # that its job is held is told by itself
        reason = found.reason.strip().partition("\n")[0]
        failed = "has failed: " if found.state == "failed" else ""
        on = ON_LIMIT if found.is_above_limit else YOU
        yield Wait(on=on, what=found.task, why=f"in batch {now.batch.id}: {failed}{reason}")


def _tasks(now: Situation, facts: Facts) -> Iterator[Wait]:
    """Yield the tasks that wait for an answer, a verdict, or a decision."""
    for task in facts.tasks:
        if task.is_at_work or task.held_for or task.batch:
            continue
        if task.status == "paused":
            why = CUT_OFF if task.ended == Cause.CANCELLED else _question(now, task.id)
            yield Wait(on=YOU, what=task.id, why=why)
        elif task.status == "failed":
            on = ON_LIMIT if task.ended in RAISABLE else YOU
            why = f": {task.ended_words}" if task.ended_words else ""
            yield Wait(on=on, what=task.id, why=f"has failed{why}")
        elif task.status == "in_progress":
            yield Wait(on=YOU, what=task.id, why="was begun, and nobody is at it")
        elif task.status == "needs_review":
            yield Wait(on=YOU, what=task.id, why=_verdict(task))
        elif task.is_unmerged:
            yield Wait(on=YOU, what=task.id, why="is completed, and not merged")


def _about_whole(now: Situation) -> Iterator[Wait]:
    """Yield the agent that leads, where it waits for somebody, or another that asks."""
    lead = leader(now)
    if lead is None:
        for task in asking_about_whole(now):
            why = CUT_OFF if is_cut_off(now, task) else _question(now, task.id)
            yield Wait(on=YOU, what=task.id, why=why)
    elif not is_led_by_agent(now):
        yield Wait(on=YOU, what=lead.id, why=_of_leader(now, lead))


def _of_leader(now: Situation, lead: Task) -> str:
    if lead.status is TaskStatus.PAUSED and not is_cut_off(now, lead):
        return _question(now, lead.id)
    if lead.status is TaskStatus.NEEDS_REVIEW:
        return "leads the project, and says that it is done"
    return "leads the project, and nobody is at it"


def _question(now: Situation, task_id: str) -> str:
    words = now.queue.words.get(task_id, "")
    return f"asks: {words}" if words else "asks a question"


def _verdict(task: TaskFacts) -> str:
    if task.clone == "conflict":
        return "conflicts with the project's branch"
    if task.feedback_is_open:
        return "was sent back"
    if task.verdict == "accepted" and task.verdict_holds:
        return "is accepted, and to be merged" if task.has_clone else "is accepted"
    return "is done, and to be judged"


def _approvals(now: Situation, facts: Facts) -> Iterator[Wait]:
    """Yield what somebody has to approve before the next event."""
    event = awaited_event(facts)
    on = YOU if now.reader.may_approve else PERSON
    unmet = refusals(event, facts) if event is not None else []
    is_planned = all(refusal.guard is not guards.HAS_WORK for refusal in unmet)
    for refusal in unmet if is_planned else ():
        for remedy in refusal.remedies:
            if remedy.command.startswith(PERSONS_WORD):
                what = remedy.command.split()[2] if "--project" not in remedy.command else "whole"
                yield Wait(on=on, what=what, why=remedy.why)


def _jobs(now: Situation) -> Iterator[Wait]:
    for job in now.queue.live:
        doing = now.queue.doing.get(job.id)
        on = doing.waits_on if doing is not None else ""
        if on and doing is not None and on != DEPENDENCY:
            yield Wait(on=on, what=", ".join(job.tasks) or f"job {job.id}", why=doing.words)


def _dependencies(now: Situation) -> Iterator[Wait]:
    for task in now.tasks:
        unmet = now.among.unmet(task)
        if unmet:
            named = ", ".join(f"{other} ({word})" for other, word in unmet.items())
            yield Wait(on=DEPENDENCY, what=task.id, why=named)
