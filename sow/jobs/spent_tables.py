"""The running sums of what attempts have used that have ended, and the triggers that keep them.

Owns these statements, which `migrations` runs as part of its second step. What is
left of a limit is asked at each start and every few seconds while agents run: with these sums that
reads the attempts that run, and not all that ever ran.
"""

_SCOPES = """
    select 'project' as scope, {row}.project_id as name
    union all select 'executor', {row}.executor
    union all select 'batch', {row}.batch
"""
_TOKENS = "{row}.input + {row}.output + {row}.cache_read + {row}.cache_write"
_CHANGE = f"""
    insert into spent (scope, name, usd, tokens, time, charged_usd, charged_tokens)
    select scope, name,
        {{sign}} coalesce({{row}}.usd, 0),
        {{sign}} coalesce({_TOKENS}, 0),
        {{sign}} ({{row}}.ended_at - {{row}}.began_at),
        {{sign}} case when {{row}}.is_unpriced
            then max(coalesce({{row}}.usd, 0), coalesce({{row}}.share_usd, 0))
            else coalesce({{row}}.usd, 0) end,
        {{sign}} case when {{row}}.input is null
            then max(coalesce({_TOKENS}, 0), coalesce({{row}}.share_tokens, 0))
            else coalesce({_TOKENS}, 0) end
    from ({_SCOPES}) where name is not null and {{row}}.ended_at is not null
    on conflict (scope, name) do update set
        usd = usd + excluded.usd, tokens = tokens + excluded.tokens, time = time + excluded.time,
        charged_usd = charged_usd + excluded.charged_usd,
        charged_tokens = charged_tokens + excluded.charged_tokens;
"""  # noqa: S608 - words of ours
"""Adds a row of `spending` to the sums that it belongs to, or takes it off; one that runs counts
nowhere here. What is charged where the use is not known is for whoever asks to say."""
_ADD, _TAKE_OFF = _CHANGE.format(sign="+", row="new"), _CHANGE.format(sign="-", row="old")

SPENT: tuple[str, ...] = (
    """
    create table spent (
        scope text not null,
        name text not null,
        usd real not null,
        tokens real not null,
        time real not null,
        charged_usd real not null,
        charged_tokens real not null,
        primary key (scope, name)
    ) without rowid
    """,
    "create index spending_running on spending (job_id) where ended_at is null",
    f"create trigger spent_by_new after insert on spending begin {_ADD} end",
    f"""
    create trigger spent_by_changed after update on spending
    when old.ended_at is not null or new.ended_at is not null begin {_TAKE_OFF} {_ADD} end
    """,
    f"create trigger spent_by_gone after delete on spending begin {_TAKE_OFF} end",
)
"""In the order in which they are run."""
