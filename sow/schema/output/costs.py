"""What was used of tokens and money, with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about

RunsOfCost = Annotated[int, about("how many attempts of agents are counted, running ones too")]


class TokenCount(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens by their kind. Each token is counted once."""

    input: Annotated[int, about("new input tokens, which are not in the other counts")]
    output: Annotated[int, about("output tokens")]
    cache_read: Annotated[int, about("input tokens that were read from the cache")]
    cache_write: Annotated[int, about("input tokens that were written to the cache")]


class CostSum(msgspec.Struct, frozen=True, kw_only=True):
    """What some attempts have used together, as far as it is known."""

    run_count: RunsOfCost
    running: Annotated[
        int, about("how many of them still run; they count as far as their output shows")
    ]
    seconds: Annotated[float, about("how long they have run together")]
    tokens: Annotated[TokenCount, about("the tokens that are known")]
    cost_usd: Annotated[
        float | None,
        about("the known cost in US dollars, with four decimal places; null if nothing is known"),
    ]
    estimated_usd: Annotated[
        float,
        about(
            "the part of it that is estimated: computed from tokens with the price table,"
            " or by a CLI that does not know the model's price"
        ),
    ]
    runs_without_tokens: Annotated[int, about("how many have ended without reporting any tokens")]
    runs_without_cost: Annotated[
        int, about("how many have ended and used something of unknown price")
    ]
    runs_cut_off: Annotated[
        int,
        about(
            "how many ended before they reported their final figures; they have used more"
            " than is counted"
        ),
    ]


class CostGroup(CostSum, frozen=True, kw_only=True):
    """What the attempts of one task, agent, executor, batch, model or day have used."""

    key: Annotated[
        str,
        about("the task's id, the role, the executor, the batch's number, the model or the day"),
    ]


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What the attempts of a project have used (`sow cost`)."""

    by: Annotated[str, about("what the attempts are grouped by")]
    since: Annotated[
        str | None,
        about(
            "attempts that ended before this time are not counted: UTC, ISO 8601; null if all count"
        ),
    ]
    groups: Annotated[tuple[CostGroup, ...], about("one for each group that has used anything")]
    total: Annotated[CostSum, about("the sum of all attempts; one with two models counts once")]
