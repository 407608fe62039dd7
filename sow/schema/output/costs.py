"""What was used of tokens and money, with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about

RunsOfCost = Annotated[int, about("how many attempts of agents are counted")]


class TokenCount(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, each counted once."""

    input: Annotated[int, about("read anew: neither from the cache nor into it")]
    output: Annotated[int, about("written by the model")]
    cache_read: Annotated[int, about("read from the cache")]
    cache_write: Annotated[int, about("read and put into the cache")]


class CostSum(msgspec.Struct, frozen=True, kw_only=True):
    """What some attempts have used together, as far as anybody knows."""

    run_count: RunsOfCost
    running: Annotated[int, about("how many of them go on; theirs is as seen so far")]
    seconds: Annotated[float, about("how long they have run, together")]
    tokens: Annotated[TokenCount, about("the tokens that are known")]
    cost_usd: Annotated[
        float | None, about("US dollars that are known, to four places; null if none")
    ]
    estimated_usd: Annotated[
        float,
        about(
            "the part of it that comes from attempts with an estimate: counted from"
            " tokens by the price table, or priced by a CLI that does not know the model"
        ),
    ]
    runs_without_tokens: Annotated[
        int, about("how many of them tell of no tokens at all, so that none are counted")
    ]
    runs_without_cost: Annotated[
        int, about("how many have used something that nobody can tell the price of")
    ]
    runs_cut_off: Annotated[
        int,
        about(
            "how many were ended before they told what they had used: what their"
            " output showed until then is counted, and it was more"
        ),
    ]


class CostGroup(CostSum, frozen=True, kw_only=True):
    """What the attempts of one task, agent, executor, model or day have used."""

    key: Annotated[str, about("the task's id, the role, the executor, the model or the day")]


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What the attempts of a project have used (`sow cost`)."""

    by: Annotated[str, about("what they are grouped by")]
    since: Annotated[
        str | None, about("attempts that ended before are left out: UTC, ISO 8601; null for none")
    ]
    groups: Annotated[tuple[CostGroup, ...], about("one for each that has used anything")]
    total: Annotated[CostSum, about("all of them; an attempt of two models counts once")]
