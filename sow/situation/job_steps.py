"""What the queue asks for: what holds it up, what nobody has been told of, what runs.

Pure. Owns how what runs is waited for: each by the call that ends with it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sow.config.clones import SETUP
from sow.lifecycle import guards, task_ways
from sow.lifecycle.lifecycle_facts import WAY_TO_PLAN, Facts, Remedy
from sow.lifecycle.project_verdict import REVIEW
from sow.lifecycle.refusal_steps import after
from sow.lifecycle.stages import WHOLE_PHASE
from sow.schema.task import TaskStatus
from sow.situation.project_steps import LEADS
from sow.situation.situation import BatchNow, Situation
from sow.situation.step import By, Step

if TYPE_CHECKING:  # of projects that have a queue
    from sow.batches.item_facts import Standing
    from sow.schema.job import Job

MOST_NAMED = 8
"""How many tasks one command waits for by their names; of more, the first change is waited for."""
BEGUN = ("paused", "in_progress", "failed")
"""The statuses in which a task's own way on is right, whatever its batch says."""
SHOWS = ("sow merge", "sow review show", "sow task show")
"""What a batch names that shows, or is refused again: the task's own way on is better."""

RAISES = "sow batch resume "
"""What raises the limit of a batch: until then the task's own way on is refused."""


def unblocked(now: Situation) -> Iterator[Remedy]:
    """Yield what lets the queue go on where nothing of it can."""
    held = [job for job in now.queue.live if job.held_for != "dependencies"]
    untrusted = [str(job.id) for job in held if job.state == "held"]
    if untrusted:
        yield Remedy("sow trust", f"held until you accept {_lines_of(untrusted)}")
    if not _is_needed(now):
        return
    if now.queue.paused_since:
        yield Remedy("sow queue resume", f"the queue is paused since {now.queue.paused_since}")
    for reason, waiting in now.queue.unserved.items():
        yield Remedy("sow hosts list", f"{reason}: job {', '.join(map(str, waiting))}")
    if not now.queue.is_staffed:
        yield Remedy("sow worker --background", "no worker runs, and none is started by itself")


def unaccepted(now: Situation) -> Iterator[Remedy]:
    """Yield what a person does before jobs are held for their word."""
    if now.unaccepted:
        keys = ", ".join(now.unaccepted)
        why = f"jobs that need a command line that you have not accepted are held: {keys}"
        yield Remedy("sow trust", why)


def holds_spawn(now: Situation) -> bool:
    """Whether an agent that begins now would be held: its clone needs a command line."""
    clones = "never" if now.facts is None else now.facts.clones
    return SETUP in now.unaccepted and clones in task_ways.IN_CLONES


def _lines_of(job_ids: Sequence[str]) -> str:
    if len(job_ids) == 1:
        return f"its command lines: job {job_ids[0]}"
    more = len(job_ids) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"their command lines: jobs {', '.join(job_ids[:MOST_NAMED])}{rest}"


def _is_needed(now: Situation) -> bool:
    """Whether a worker has something to do."""
    return any(job.state != "held" for job in now.queue.live) or any(
        not batch.rests for batch in now.queue.batches
    )


def owed(now: Situation) -> Iterator[Remedy]:
    """Yield what shows how jobs have ended whose callers have gone away."""
    live = {task for job in now.queue.live for task in job.tasks}
    tasks = [task for task, _ in now.queue.owed if task and task not in live]
    if tasks:
        names = ", ".join(tasks)
        why = f"it has ended, and no command has shown how yet: task {names}"
        yield Remedy(f"sow agent wait {' '.join(dict.fromkeys(tasks))}", why)
    of_whole = [job_id for task, job_id in now.queue.owed if not task]
    if of_whole and all(job.tasks for job in now.queue.live):
        why = "a check of the project has ended, and no command has shown how yet"
        yield Remedy(f"sow job wait {of_whole[-1]}", why)


def is_led_by_agent(now: Situation) -> bool:
    """Whether an agent leads the project that is not the reader, nor above it."""
    return any(job.agent == LEADS and job.phase == WHOLE_PHASE for job in now.queue.live)


def of_batches(now: Situation, facts: Facts) -> Iterator[Remedy]:
    """Yield what the batches that rest want of somebody."""
    for batch in now.queue.batches:
        number = batch.batch.id
        if batch.batch.state == "paused":
            helps = _helps_paused(batch)
            if helps:
                yield from helps
                continue
            why = batch.batch.reason.strip().partition("\n")[0]
            yield Remedy(
                f"sow batch resume {batch.batch.label}", f"batch {number} is paused: {why}"
            )
            continue
        yield from _wishes(batch, facts)


def _helps_paused(now: BatchNow) -> Sequence[Remedy]:
    """Return what helps first where a paused batch would be refused the same again."""
    errors = [error for error in now.refused.values() if error is not None]
    return next((after(error) for error in errors if error.message in now.batch.reason), ())


def _wishes(now: BatchNow, facts: Facts) -> Iterator[Remedy]:
    """Yield what each item of a batch wants of a person, those that have failed last.

    That command lines wait for a person's word is told for all jobs at once (`unblocked`).
    """
    items = [task for task in facts.tasks if task.batch == now.batch.id]
    alone = {task.id: task_ways.alone(task) for task in items}
    begun = {task.id: task.status in BEGUN for task in items}
    helps = {task.id: task.in_the_way for task in items}
    refused = {task: error for task, error in now.refused.items() if error is not None}
    standings = now.plan.standings if now.plan is not None else ()
    wanting = [found for found in standings if wants_person(found)]
    by_command: dict[str, list[Standing]] = {}
    for found in sorted(wanting, key=lambda found: found.state == "failed"):
        if found.command in (task_ways.TRUST, WAY_TO_PLAN):
            continue
        first = helps.get(found.task)
        if not first and found.task in refused:
            first = tuple(after(refused[found.task]))
        if first:
            yield from first
            continue
        command = found.command.replace('"…"', '"<your words>"')
        own = alone.get(found.task)
        is_of_task = begun.get(found.task) and not command.startswith(RAISES)
        if own is not None and (is_of_task or command.startswith(SHOWS)):
            command = own.command
        command = command or f"sow batch resume {now.batch.label}"
        by_command.setdefault(command, []).append(found)
    for command, some in by_command.items():
        yield Remedy(command, _why(some, now))


def _why(some: "Sequence[Standing]", now: BatchNow) -> str:
    """Return why a command is wanted: the reason of the first item that wants it."""
    first = some[0]
    reason = first.reason.strip().partition("\n")[0]
    failed = "has failed: " if first.state == "failed" else ""
    more = f"; also for {', '.join(found.task for found in some[1:])}" if some[1:] else ""
    return f"task {first.task} in batch {now.batch.id}: {failed}{reason}{more}"


def wants_person(found: "Standing") -> bool:
    """Whether an item waits for a person; one that has failed does, as long as it can go on."""
    return found.state == "needs_person" or (found.state == "failed" and bool(found.command))


def ended(now: Situation) -> Iterator[Remedy]:
    """Yield what ends the jobs that keep a project from its end."""
    yield from unblocked(now)
    yield from waits(now)
    for job in now.queue.live:
        yield Remedy(f"sow job cancel {job.id}", f"or end it: job {job.id} has not ended")


def held(now: Situation) -> Iterator[Remedy]:
    """Yield what waits for jobs that are held until what they depend on is done."""
    for task in dict.fromkeys(job.tasks[0] for job in now.queue.live if job.tasks):
        yield Remedy(f"sow agent wait {task}", f"task {task} is held until it can begin")


def waits(now: Situation) -> Iterator[Remedy]:
    """Yield what waits for all that is at work, behind what ends an agent that seems to hang."""
    yield from _hanging(now)
    driven = [batch for batch in now.queue.batches if not batch.rests]
    for batch in driven:
        why = f"batch {batch.batch.id} is driven on{_without_worker(now)}"
        yield Remedy(f"sow batch wait {batch.batch.label}", why)
    in_batches = {
        found.task
        for batch in driven
        for found in (batch.plan.standings if batch.plan is not None else ())
    }
    working = [job for job in now.queue.live if job.state != "held"]
    tasks = list(dict.fromkeys(job.tasks[0] for job in working if job.tasks))
    yield from _wait_for([task for task in tasks if task not in in_batches], now)
    for job in working:
        if not job.tasks:
            from sow.reports.wording import again  # checks of the project are few

            command = again(job).strip("`")
            yield Remedy(command, f"job {job.id} runs; the same call waits for it")


def _without_worker(now: Situation) -> str:
    """Return that no worker is alive, where the call that waits starts one."""
    is_to_start = now.queue.is_staffed and not now.queue.is_manned
    return "; no worker is alive, and this call starts one" if is_to_start else ""


def _hanging(now: Situation) -> Iterator[Remedy]:
    """Yield what ends agents without a sign of life, so that their tasks can go on."""
    for job in now.queue.live:
        stalled = now.queue.stalled.get(job.id)
        if stalled and job.task_id and job.cancel_requested_at is None and not _is_bounded(job):
            why = f"the agent of task {job.task_id} gives {stalled}: this ends it"
            yield Remedy(f"sow agent cancel {job.task_id}", f"{why}, and the task goes on after it")


def _is_bounded(job: "Job") -> bool:
    """Whether sow itself ends an agent that hangs, or the user has said that nobody does."""
    stall = job.executor.stall_timeout_seconds if job.executor is not None else None
    return job.batch is not None or stall is not None


def _wait_for(tasks: Sequence[str], now: Situation) -> Iterator[Remedy]:
    if not tasks:
        return
    if len(tasks) == 1:
        why = f"task {tasks[0]} is being worked on{_without_worker(now)}"
        yield Remedy(f"sow agent wait {tasks[0]}", why)
    elif len(tasks) <= MOST_NAMED:
        why = f"these are being worked on{_without_worker(now)}"
        yield Remedy(f"sow agent wait {' '.join(tasks)} --any", why)
    else:
        command = f"sow agent wait --any --since {now.queue.cursor}"
        yield Remedy(command, f"{len(tasks)} tasks are being worked on; it ends at a change")


def is_running(now: Situation, command: str) -> bool:
    """Whether what a command would begin runs already, or waits: that is waited for instead."""
    if command == REVIEW:
        reviews = {task.id for task in now.tasks if task.judges_whole}
        return any(reviews & set(job.tasks) for job in now.queue.live)
    return command == guards.CHECK and any(not job.tasks for job in now.queue.live)


def in_doubt(now: Situation) -> Iterator[Remedy]:
    """Yield what settles the jobs of which nobody here can tell whether they still run."""
    for job in now.queue.in_doubt:
        why = f"nobody can tell from here whether job {job} runs; only if you know that it is gone"
        yield Remedy(f"sow job resolve {job} --gone", why)


def pause_of_asker(now: Situation, steps: Sequence[Step]) -> Iterator[Step]:
    """Yield how an agent waits that can do nothing but ask a person."""
    if now.reader.job is not None and steps and all(step.by is By.PERSON for step in steps):
        own = next((task for task in now.tasks if task.id == now.reader.task), None)
        if own is not None and own.status is not TaskStatus.IN_PROGRESS:
            yield Step(f"sow task show {own.id}", f"you have reported {own.status}: end here")
            return
        why = 'nothing goes on without a person; before it, `sow agent log "…"` says what you ask'
        yield Step("sow task set status paused", why)
