"""What `sow stats` prints with `--json`: how jobs of agents went, in figures."""

from typing import Annotated

import msgspec

from sow.schema.output.costs import CostSum
from sow.schema.output.fields import about


class StatsSum(msgspec.Struct, frozen=True, kw_only=True):
    """How some jobs of agents went."""

    job_count: Annotated[int, about("how many have ended")]
    well: Annotated[int, about("how many of them are done, and did not leave their task failed")]
    failed: Annotated[int, about("how many failed, or left their task failed")]
    cancelled: Annotated[int, about("how many were cancelled; they count for no rate")]
    live: Annotated[int, about("how many have not ended")]
    success_rate: Annotated[
        float | None, about("`well` as a share of `well` and `failed`, from 0 to 1; null for none")
    ]
    task_count: Annotated[int, about("how many tasks they were about")]
    iterations: Annotated[
        float | None, about("the iterations of a task, on average; null where none is on record")
    ]
    most_iterations: Annotated[int | None, about("those of the task with the most")]
    retries_by_cause: Annotated[
        dict[str, int], about("how often a job was tried again, by the cause for which it was")
    ]
    seconds_in: Annotated[dict[str, float], about("how long jobs were in each state, all together")]
    used: Annotated[CostSum, about("what their attempts used")]


class StatsGroup(StatsSum, frozen=True, kw_only=True):
    """How the jobs of one role, executor or month went."""

    key: Annotated[str, about("the role, the executor, or the month, as 2026-01")]


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """How the jobs of agents went, of all projects of this checkout."""

    by: Annotated[str, about("what they are grouped by: role, executor or month")]
    since: Annotated[
        str | None, about("what ended before is left out: UTC, ISO 8601; null for nothing")
    ]
    groups: Annotated[tuple[StatsGroup, ...], about("one for each that had a job")]
    total: Annotated[StatsSum, about("all of them")]
