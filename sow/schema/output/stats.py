"""What `sow stats` prints with `--json`: how jobs of agents went, in figures."""

from typing import Annotated

import msgspec

from sow.schema.output.costs import CostSum
from sow.schema.output.fields import about


class StatsSum(msgspec.Struct, frozen=True, kw_only=True):
    """How jobs of agents ended."""

    job_count: Annotated[int, about("how many have ended")]
    well: Annotated[int, about("how many of them are done and did not leave their task `failed`")]
    failed: Annotated[int, about("how many failed or left their task `failed`")]
    cancelled: Annotated[int, about("how many were cancelled; the rate does not count them")]
    live: Annotated[int, about("how many have not ended")]
    success_rate: Annotated[
        float | None,
        about("`well` divided by `well` plus `failed`, from 0 to 1; null if both are 0"),
    ]
    task_count: Annotated[int, about("how many tasks these jobs were about")]
    iterations: Annotated[
        float | None, about("the average number of iterations of a task; null if none is recorded")
    ]
    most_iterations: Annotated[int | None, about("the largest number of iterations of a task")]
    retries_by_cause: Annotated[dict[str, int], about("how often a job was tried again, by cause")]
    seconds_in: Annotated[dict[str, float], about("how long jobs were in each state, added up")]
    used: Annotated[CostSum, about("what the attempts of these jobs used")]


class StatsGroup(StatsSum, frozen=True, kw_only=True):
    """How the jobs of one role, executor or month ended."""

    key: Annotated[str, about("the role, the executor, or the month, such as 2026-01")]


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """How the jobs of agents in all projects of this checkout ended."""

    by: Annotated[str, about("what the jobs are grouped by: role, executor or month")]
    since: Annotated[
        str | None,
        about("jobs that ended before this time are not counted: UTC, ISO 8601; null if all count"),
    ]
    groups: Annotated[tuple[StatsGroup, ...], about("one for each group that had a job")]
    total: Annotated[StatsSum, about("all of them")]
