"""What is kept of each job when its records are pruned: how it ended, and how its time went.

Owns these statements, which `migrations` runs as its third step: a table, the triggers that fill it
while the job lives, and what is known of the jobs of an older file. A row a job, of some hundred
bytes; that of an attempt of an agent is `spending`, which learns why it ended.
"""

_NOW = "(julianday('now') - 2440587.5) * 86400.0"
"""The time of a statement, to the millisecond, in seconds since the epoch."""
STAYS = ("preparing", "queued", "running", "backoff", "parked", "held")
"""The states in which a job stays; each is a column, with the seconds that it has spent there."""

_PASSED = ", ".join(
    f"{state} = {state} + iif(old.state = '{state}' and new.state is not old.state,"
    f" max(0.0, {_NOW} - since), 0.0)"
    for state in STAYS
)
_COLUMNS = ", ".join(f"{state} real not null default 0" for state in STAYS)
_KNOWN = "coalesce((select sum(seconds) from stay where stay.job = job_id and stay.kind = '{}'), 0)"

HISTORY: tuple[str, ...] = (
    f"""
    create table job_history (
        job_id integer primary key,
        project_id text not null,
        task_id text not null,
        batch integer,
        verb text not null,
        agent text not null,
        executor text not null,
        state text not null,
        cause text,
        status text,
        iteration integer,
        created_at real not null,
        ended_at real,
        since real not null,
        {_COLUMNS}
    )
    """,
    f"""
    create trigger history_of_new_job after insert on job begin
        insert or replace into job_history (job_id, project_id, task_id, batch, verb, agent,
            executor, state, created_at, since)
        values (new.id, new.project_id, new.task_id, new.batch, new.verb, new.agent,
            new.executor_name, new.state, new.created_at, {_NOW});
    end
    """,  # noqa: S608 - words of ours
    f"""
    create trigger history_of_job
    after update of state, cause, outcome_status, ended_at, batch on job begin
        update job_history set {_PASSED},
            since = iif(new.state is old.state, since, {_NOW}), state = new.state,
            cause = new.cause, status = new.outcome_status, ended_at = new.ended_at,
            batch = new.batch,
            iteration = coalesce((select iteration from last_status
                where project = new.project_id and task = new.task_id), iteration)
        where job_id = new.id;
    end
    """,  # noqa: S608 - words of ours
    # What an older sow has recorded of its jobs: their ends; their time as far as changes tell it.
    """
    insert into job_history (job_id, project_id, task_id, batch, verb, agent, executor, state,
        cause, status, iteration, created_at, ended_at, since)
    select id, project_id, task_id, batch, verb, agent, executor_name, state, cause,
        outcome_status,
        (select iteration from last_status where project = project_id and task = task_id),
        created_at, ended_at, coalesce(started_at, queued_at, created_at)
    from job
    """,
    """
    create temp table stay as
    select job, iif(kind = 'placed', 'preparing', kind) as kind, total(until - at) as seconds
    from (
        select job, kind, at, lead(at) over (partition by job order by seq) as until from change
        where job is not null and kind in ('placed', 'queued', 'running', 'backoff', 'parked',
            'held', 'done', 'failed', 'cancelled')
    )
    where until > at group by 1, 2
    """,
    "create index temp.stay_job on stay (job, kind)",
    f"update job_history set {', '.join(f'{state} = {_KNOWN.format(state)}' for state in STAYS)}",  # noqa: S608 - words of ours
    "drop table temp.stay",
    # Why an attempt of an agent ended: so it is known for ever for what a job was tried again.
    "alter table spending add column cause text",
    """
    update spending set cause = (select cause from attempt
        where attempt.job_id = spending.job_id and attempt.number = spending.number)
    """,
    """
    create trigger cause_of_spending after update of cause on attempt
    when new.cause is not old.cause begin
        update spending set cause = new.cause
        where job_id = new.job_id and number = new.number;
    end
    """,
)
"""In the order in which they are run."""
