"""A batch as people and programs are told of it: its items, what they took, and what they want.

Owns the numbers of the table and the exit code. Changes nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET

from sow.batches.gathering import Seen
from sow.batches.item_facts import Standing
from sow.batches.planning import Plan
from sow.clock import format_time
from sow.errors import ExitCode, StateError
from sow.ids import ProjectId, TaskId
from sow.jobs import batch_summaries, batches, jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.reports.agents_words import words_of_task
from sow.schema.batch import AT_REST, Batch, BatchState, ItemState
from sow.schema.output.batches import BatchDetail, BatchItemView, BatchView
from sow.schema.output.hosts import SilentHost
from sow.schema.task import Task, TaskStatus
from sow.state.verdicts import last_findings


def exit_code_of(batch: Batch, states: Sequence[ItemState], *, rests: bool) -> ExitCode:
    """Return the exit code that tells how a batch stands."""
    if batch.state is BatchState.CANCELLED:
        return ExitCode.CANCELLED
    if not rests:
        return ExitCode.STILL_RUNNING
    good = all(state is ItemState.DONE for state in states)
    return ExitCode.OK if good else ExitCode.FAILED


def view_of(
    batch: Batch, states: Sequence[ItemState], *, rests: bool, waits: str = ""
) -> BatchView:
    """Return a batch in short. `waits`: why nobody can tell more of it now."""
    code = exit_code_of(batch, states, rests=rests)
    return BatchView(
        batch=batch.id,
        name=batch.name,
        project=batch.project_id,
        state=batch.state.value,
        reason=waits or batch.reason,
        rests=rests,
        made_at=format_time(batch.made_at),
        ended_at=format_time(batch.ended_at) if batch.ended_at else None,
        exit_code=int(code),
        counts=dict(Counter(state.value for state in states)),
        continue_with=f"sow batch wait {batch.label}" if code is ExitCode.STILL_RUNNING else None,
    )


def listed(database: Database, project_id: ProjectId, found: Sequence[Batch]) -> list[BatchView]:
    """Return batches of a project in short, as they are on record: no task of theirs is read.

    One that something has happened to since a worker looked at it is said to be behind; so it
    goes on, whatever it did before.
    """
    counts = batch_summaries.counts_of(database, [batch.id for batch in found])
    from sow.jobs import batch_news  # of a list alone

    behind = {batch.id for batch in batch_news.pending(database, project_id, lambda _: None)}
    return [
        msgspec.structs.replace(
            view_of(
                batch,
                [state for state, count in counts[batch.id].items() for _ in range(count)],
                rests=batch.state.has_ended or (batch.rests and batch.id not in behind),
            ),
            is_behind=batch.id in behind,
        )
        for batch in found
    ]


def detail_of(
    workspace: Workspace,
    database: Database,
    batch: Batch,
    plan: Plan | None,
    seen: Seen,
    *,
    rests: bool,
    waits: str = "",
    now: float,
    has_worker: bool = True,
    first: Mapping[str, str] = {},
) -> BatchDetail:
    """Return a batch with its items; without a plan as they were told of last.

    `seen` is what the look has read of tasks that the plan comes from. `first` has the command
    that helps by each task whose next step would be refused again.
    """
    standings = standings_of(database, batch, plan)
    short = view_of(batch, [found.state for found in standings], rests=rests, waits=waits)
    totals = _totals(database, batch, now=now)
    over_hosts = _over_hosts(database, batch, now) if database.is_shared else _OverHosts()
    items = tuple(
        _item(
            workspace,
            database,
            batch,
            _with_command(found, first),
            seen,
            totals.get(TaskId(found.task), NOTHING),
            over_hosts.by_task.get(found.task),
        )
        for found in standings
    )
    policy = msgspec.to_builtins(batch.policy)
    return BatchDetail(
        **msgspec.structs.asdict(short),
        policy=policy,
        items=items,
        has_worker=has_worker,
        unserved=over_hosts.unserved,
        silent_hosts=over_hosts.silent,
    )


class _OverHosts(msgspec.Struct, frozen=True):
    """What the hosts of a shared queue have to do with a batch."""

    by_task: Mapping[str, str] = {}
    """The host that had the newest attempt of a task, as people call it."""
    unserved: dict[str, tuple[str, ...]] = {}
    silent: tuple[SilentHost, ...] = ()


def _over_hosts(database: Database, batch: Batch, now: float) -> _OverHosts:
    # Few queues are shared.
    from sow.jobs.hosts import hosts_of_batch, silent_hosts, unserved
    from sow.reports.live_job_words import silent_view

    live = [job for job in jobs.active_jobs(database) if job.batch == batch.id]
    task_of = {job.id: job.task_id for job in live}
    waiting = unserved(database, live) if live else {}
    return _OverHosts(
        hosts_of_batch(database, batch.id),
        {why: tuple(str(task_of[job_id]) for job_id in some) for why, some in waiting.items()},
        tuple(silent_view(host, now) for host in silent_hosts(database)),
    )


def _with_command(found: Standing, first: Mapping[str, str]) -> Standing:
    """Return where an item stands, with the command that helps first where there is such a one."""
    command = first.get(found.task, "") if found.state is ItemState.NEEDS_PERSON else ""
    return msgspec.structs.replace(found, command=command or found.command)


def standings_of(database: Database, batch: Batch, plan: Plan | None) -> Sequence[Standing]:
    """Return where the items of a batch stand; of one that has ended, how it ended.

    Whatever becomes of its tasks later is not this batch's: another may be at work on them.
    """
    if plan is not None and not batch.state.has_ended:
        return plan.standings
    now = {found.task: found for found in plan.standings} if plan is not None else {}
    last = _told_last(database, batch)
    if not batch.state.has_ended:
        return last
    return [_at_the_end(found, now.get(found.task, found)) for found in last]


def _at_the_end(last: Standing, now: Standing) -> Standing:
    """Return how an item ended, with the command that sees to it where that can be given still."""
    end = last if last.state in AT_REST | {ItemState.WAITING} else now
    is_so = now.state is end.state and not now.command.startswith("sow batch ")
    return Standing(
        task=last.task,
        state=end.state,
        reason=end.reason.partition("\n")[0],
        command=now.command if is_so else "",
    )


def _told_last(database: Database, batch: Batch) -> list[Standing]:
    return [
        Standing(task=item.task_id, state=item.state, reason=item.reason)
        for item in batches.items_of(database, batch.id)
    ]


class Total(msgspec.Struct, frozen=True):
    """What the jobs of an item have taken together."""

    jobs: int = 0
    attempts: int = 0
    seconds: float = 0.0
    tokens: int | None = None
    usd: float | None = None
    is_estimate: bool = False


NOTHING = Total()


def _totals(database: Database, batch: Batch, *, now: float) -> Mapping[TaskId, Total]:
    found = {
        TaskId(row["task_id"]): Total(row["jobs"], row["attempts"], row["seconds"] or 0.0)
        for row in batches.totals_of(database, batch.id, now=now)
    }
    for row in batches.used_in(database, batch.id):
        task_id = TaskId(row["task_id"])
        found[task_id] = msgspec.structs.replace(
            found.get(task_id, NOTHING),
            tokens=row["tokens"] if row["told"] else None,
            usd=row["usd"],
            is_estimate=bool(row["is_estimate"]),
        )
    return found


def _item(
    workspace: Workspace,
    database: Database,
    batch: Batch,
    found: Standing,
    seen: Seen,
    total: Total,
    host: str | None,
) -> BatchItemView:
    task = _read(seen, found.task)
    asks = found.state is ItemState.NEEDS_PERSON and task is not None
    paused = asks and task is not None and task.status is TaskStatus.PAUSED
    command = found.command
    if asks and not command and not batch.state.has_ended:
        command = f"sow batch resume {batch.label}"
    return BatchItemView(
        task=found.task,
        agent=task.assigned_agent if task is not None else None,
        state=found.state.value,
        status=task.status.value if task is not None else None,
        iteration=task.iteration if task is not None else 0,
        job_count=total.jobs,
        attempt_count=total.attempts,
        seconds=round(total.seconds, 3),
        token_count=total.tokens,
        cost_usd=None if total.usd is None else round(total.usd, 4),
        is_estimate=total.is_estimate,
        reason=found.reason,
        question=_question(workspace, database, batch, task) if paused and task else "",
        newest_feedback=_findings(workspace, found, task),
        command=command,
        host=host,
        steers=tuple(task.review.steers) if task is not None and task.review is not UNSET else (),
    )


def _findings(workspace: Workspace, found: Standing, task: Task | None) -> str:
    """Return what the last review asked for, of an item that goes on no more by itself."""
    is_left = found.state in (ItemState.NEEDS_PERSON, ItemState.FAILED)
    return last_findings(workspace, task) if is_left and task is not None else ""


def _read(seen: Seen, task_id: str) -> Task | None:
    try:
        return seen.task(task_id)
    except StateError:
        return None


def _question(workspace: Workspace, database: Database, batch: Batch, task: Task) -> str:
    last = jobs.last_job(database, batch.project_id, TaskId(task.id))
    return words_of_task(workspace, task, last)
