"""What the screen shows, in the form of `--json`. Pure."""

from collections.abc import Mapping

from sow.schema.amounts import dollars
from sow.schema.output.watching import Watched, WatchedGroup, WatchedRow
from sow.situation.situation import Doing
from sow.watching.lines import elapsed, now_words
from sow.watching.snapshot import Row, Snapshot

NOTHING = Doing()


def watched(found: Snapshot, doing: Mapping[int, Doing], now: float) -> Watched:
    """Return all that a look has found; `now` is in seconds since the epoch."""
    crew = found.crew
    return Watched(
        title=found.title,
        live_workers=crew.workers,
        slots_taken=crew.taken,
        slots=crew.slots,
        paused_since=crew.paused_since or None,
        shortage=crew.short_of,
        live_hosts=crew.hosts,
        silent_hosts=tuple(crew.silent),
        token_count=found.tokens,
        cost_usd=dollars(found.usd),
        is_estimate=found.is_estimate,
        groups=tuple(
            WatchedGroup(
                title=group.title,
                about=group.about,
                rows=tuple(_row(row, doing, now) for row in group.rows),
            )
            for group in found.groups
        ),
        faults=tuple(found.faults),
    )


def _row(row: Row, doing: Mapping[int, Doing], now: float) -> WatchedRow:
    seconds = elapsed(row, now)
    its = doing.get(row.job, NOTHING) if row.job is not None and row.is_live else NOTHING
    return WatchedRow(
        task=row.task or None,
        name=row.name,
        job=row.job,
        who=row.who,
        executor=row.executor or None,
        state=row.state,
        status=row.status.value if row.status is not None else None,
        now=its.words or now_words(row, doing),
        waits_on=its.waits_on,
        quiet_seconds=None if its.quiet_seconds is None else round(its.quiet_seconds, 1),
        seconds=None if seconds is None else round(seconds, 1),
        host=its.host,
        attempt_count=row.attempts,
        token_count=row.tokens,
        cost_usd=dollars(row.usd),
        is_estimate=row.is_estimate,
    )
