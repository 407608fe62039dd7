"""How the jobs of agents went, from what is kept of them when their records are pruned.

Owns the SQL of these sums (`job_history`, `spending`). Reads only. All projects of the
checkout count: a project that has ended is not forgotten.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from sow.jobs import records
from sow.jobs.database import Database, Row
from sow.jobs.spending import SUMS
from sow.schema.job import FINAL_STATES, JobState
from sow.schema.spending import NOTHING_USED, Used

COUNTS = ("job_count", "well", "failed", "cancelled", "live", "task_count")
"""What is counted of jobs, in the order in which it is told."""
STAYS = tuple(state.value for state in JobState if not state.is_final)
"""The states in which a job stays; of each its history has the seconds that it has spent there."""


class StatsBy(StrEnum):
    """What the sums are grouped by."""

    ROLE = "role"
    EXECUTOR = "executor"
    MONTH = "month"


class SuccessRates(Struct, frozen=True):
    """How many jobs succeeded and failed, and what they used."""

    key: str
    counts: Mapping[str, Any]
    retries: Mapping[str, int]
    seconds_in: Mapping[str, float]
    used: Used


_MONTH = "coalesce(strftime('%Y-%m', coalesce(ended_at, :now), 'unixepoch', 'localtime'), '')"
_KEYS = {StatsBy.ROLE: "agent", StatsBy.EXECUTOR: "executor", StatsBy.MONTH: _MONTH}
_ENDED = records.among("state", sorted(FINAL_STATES))
_WELL = "state = 'done' and coalesce(status, '') <> 'failed'"
_BAD = "(state = 'failed' or state = 'done' and coalesce(status, '') = 'failed')"
_WANTED = "coalesce(ended_at, :since) >= :since"
_TIMES = ", ".join(
    f"total({state} + iif(state = '{state}', max(0.0, :now - since), 0.0)) as in_{state}"
    for state in STAYS
)


def success_rates(
    database: Database, by: StatsBy | None, *, now: float, since: float
) -> Sequence[SuccessRates]:
    """Return the success rates of agents' jobs that ended after `since`, or have not ended.

    What their attempts used counts where these ended: a month may have attempts and no job, and so
    has all that was pruned by a sow that kept attempts alone. Without `by`, all of them together,
    if there are any. Raises QueueError.
    """
    key = _KEYS[by] if by is not None else "''"
    values = {"now": now, "since": since}
    jobs = {row["key"]: row for row in database.rows(_jobs(key), values)}
    rounds = {row["key"]: row for row in database.rows(_rounds(key), values)}
    used = database.rows(
        f"select {key} as key, {SUMS} from spending where {_WANTED} group by 1",  # noqa: S608
        values,
    )
    used_by = {row["key"]: records.from_row(row, Used) for row in used}
    retries = _retries(database, key, values)
    return [
        SuccessRates(
            key=each,
            counts=_counts(jobs.get(each), rounds.get(each)),
            retries=retries[each],
            seconds_in=_seconds_in(jobs.get(each)),
            used=used_by.get(each, NOTHING_USED),
        )
        for each in sorted({*jobs, *used_by})
    ]


def _jobs(key: str) -> str:
    """Return the query for how jobs ended, and how long they were in each state."""
    return f"""
        select {key} as key, sum({_ENDED}) as job_count,
            sum({_WELL}) as well, sum({_BAD}) as failed,
            sum(state = 'cancelled') as cancelled, sum(not {_ENDED}) as live,
            count(distinct iif(task_id = '', null, project_id || ' ' || task_id)) as task_count,
            {_TIMES}
        from job_history where agent <> '' and {_WANTED} group by 1
        """  # noqa: S608 - words of ours


def _counts(jobs: Row | None, rounds: Row | None) -> Mapping[str, Any]:
    return {
        **{name: jobs[name] if jobs is not None else 0 for name in COUNTS},
        "iterations": rounds["average"] if rounds is not None else None,
        "most_iterations": rounds["most"] if rounds is not None else None,
    }


def _seconds_in(jobs: Row | None) -> Mapping[str, float]:
    if jobs is None:
        return {}
    return {state: jobs[f"in_{state}"] for state in STAYS if jobs[f"in_{state}"] > 0}


def _rounds(key: str) -> str:
    """Return the query for the iterations of tasks, each task once."""
    return f"""
        select key, avg(most) as average, max(most) as most from (
            select {key} as key, max(iteration) as most from job_history
            where agent <> '' and task_id <> '' and iteration is not null and {_WANTED}
            group by 1, project_id, task_id
        ) as rounds group by key
        """  # noqa: S608 - words of ours


def _retries(
    database: Database, key: str, values: Mapping[str, Any]
) -> Mapping[str, Mapping[str, int]]:
    """Return how often jobs were tried again, by the cause of the attempt before."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    rows = database.rows(
        f"""
        select {key} as key, coalesce(cause, 'unknown') as cause, count(*) as n from spending
        where {_WANTED} and exists (select 1 from spending as later
            where later.job_id = spending.job_id and later.number > spending.number)
        group by 1, 2 order by 3 desc, 2
        """,  # noqa: S608 - words of ours
        values,
    )
    for row in rows:
        found[row["key"]][row["cause"]] = row["n"]
    return found
