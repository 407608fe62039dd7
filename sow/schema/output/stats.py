"""What `sow stats` prints with `--json`: how jobs of agents went, in figures."""

from typing import Annotated

import msgspec
from msgspec import Meta

from sow.schema.output.costs import CostSum


class StatsSum(msgspec.Struct, frozen=True, kw_only=True):
    """How some jobs of agents went."""

    job_count: Annotated[int, Meta(description="how many have ended")]
    well: Annotated[
        int, Meta(description="how many of them are done, and did not leave their task failed")
    ]
    failed: Annotated[int, Meta(description="how many failed, or left their task failed")]
    cancelled: Annotated[int, Meta(description="how many were cancelled; they count for no rate")]
    live: Annotated[int, Meta(description="how many have not ended")]
    success_rate: Annotated[
        float | None,
        Meta(description="`well` as a share of `well` and `failed`, from 0 to 1; null for none"),
    ]
    task_count: Annotated[int, Meta(description="how many tasks they were about")]
    iterations: Annotated[
        float | None,
        Meta(description="the iterations of a task, on average; null where none is on record"),
    ]
    most_iterations: Annotated[int | None, Meta(description="those of the task with the most")]
    retries_by_cause: Annotated[
        dict[str, int],
        Meta(description="how often a job was tried again, by the cause for which it was"),
    ]
    seconds_in: Annotated[
        dict[str, float], Meta(description="how long jobs were in each state, all together")
    ]
    used: Annotated[CostSum, Meta(description="what their attempts used")]


class StatsGroup(StatsSum, frozen=True, kw_only=True):
    """How the jobs of one role, executor or month went."""

    key: Annotated[str, Meta(description="the role, the executor, or the month, as 2026-01")]


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """How the jobs of agents went, of all projects of this checkout."""

    by: Annotated[str, Meta(description="what they are grouped by: role, executor or month")]
    since: Annotated[
        str | None,
        Meta(description="what ended before is left out: UTC, ISO 8601; null for nothing"),
    ]
    groups: Annotated[tuple[StatsGroup, ...], Meta(description="one for each that had a job")]
    total: Annotated[StatsSum, Meta(description="all of them")]
