"""The forms that the queue's file has had: its first tables, and each step to the next form.

Owns every `create` and `alter` of our tables. A file is made in its first form
and brought up to date by the same steps that an older one goes through, so
there is one way to each form and no second description of it. Steps only ever
go forward; what a step says is never edited once it has landed. Which form is the present
one is said by `queue_form`.
"""

import sqlite3

from sow.jobs.batch_tables import BATCH_SUMMARIES, BATCHES
from sow.jobs.history_tables import HISTORY
from sow.jobs.spent_tables import SPENT

TABLES = """
create table job (
    id integer primary key autoincrement,
    project_id text not null,
    task_id text not null,
    phase text not null,
    verb text not null,
    agent text not null,
    executor_name text not null,
    max_parallel integer,
    executor text not null,
    prompt text not null,
    cwd text not null,
    path_variable text not null,
    config_file text not null,
    fresh integer not null,
    priority integer not null,
    parent integer,
    state text not null,
    cause text,
    reason text not null,
    prior_status text,
    outcome_status text,
    retry_at real not null,
    retries integer not null,
    worker_deaths integer not null,
    settled integer not null,
    corrections text not null,
    warnings text not null,
    denied_tools text not null,
    cost_usd real,
    cancel_requested_at real,
    caller text,
    created_at real not null,
    queued_at real,
    started_at real,
    ended_at real,
    queue_row integer
);
create unique index job_live on job (project_id, task_id)
    where state in ('preparing', 'queued', 'running', 'backoff', 'parked');
create index job_task on job (project_id, task_id, id);
create index job_active on job (state)
    where state in ('preparing', 'queued', 'running', 'backoff', 'parked');
create index job_queue_row on job (queue_row) where queue_row is not null;

create table attempt (
    job_id integer not null,
    number integer not null,
    id text not null unique,
    verb text not null,
    worker_id text not null,
    argv text not null,
    supervisor text,
    session_id text,
    cause text,
    reason text not null,
    exit_code integer,
    exit_signal integer,
    tool_uses integer,
    cpu_seconds real,
    max_rss_kb integer,
    created_at real not null,
    started_at real,
    ended_at real,
    primary key (job_id, number)
) without rowid;

create table lease (
    job_id integer primary key,
    worker_id text not null,
    token integer not null,
    executor text not null,
    taken_at real not null
);
create table fence (id integer primary key check (id = 1), token integer not null);
insert into fence values (1, 0);

create table aside (
    id integer primary key,
    data blob not null,
    reason text not null,
    set_aside_at real not null
);
create table control (name text primary key, value text not null) without rowid;

create table worker (
    id text primary key,
    process text not null,
    concurrency integer not null,
    version text not null,
    background integer not null,
    started_at real not null
) without rowid;

create table waiter (
    id text not null,
    job_id integer not null,
    on_behalf_of integer,
    created_at real not null,
    primary key (id, job_id)
) without rowid;
create index waiter_job on waiter (job_id);
create index waiter_lender on waiter (on_behalf_of) where on_behalf_of is not null;
"""

MIGRATIONS: dict[int, tuple[str, ...]] = {
    2: (
        # A task that is still to be given back: its job ended, its state is not written yet.
        "alter table job add column owes_task integer not null default 0",
        "create index job_owes_task on job (id) where owes_task",
        # The jobs that a job's agent has queued are asked for when that job is cancelled.
        "create index job_parent on job (parent) where parent is not null",
        # How often in a row the start was put off by a passing fault of the machine.
        "alter table job add column postponements integer not null default 0",
        # Whether the CLI kept the session: its transcript was seen, a turn of it was finished.
        "alter table attempt add column transcript_seen integer not null default 0",
        "alter table attempt add column finished_turn integer not null default 0",
        # What an older sow has recorded does not tell: such a session is never replaced unasked.
        "update attempt set transcript_seen = 1 where cause is not null",
        # Deaths of workers that were no fault of the job's: they end nothing, and slow it down.
        "alter table job add column excused_deaths integer not null default 0",
        # A clock that is set back must not make a wait longer: it is counted from here then.
        "alter table job add column waits_since real not null default 0",
        # Which form of the file a worker knows; one of an older sow says nothing.
        "alter table worker add column format integer not null default 1",
        # What a kind of jobs alone is asked for.
        "alter table job add column terms text",
        # A job that is held for a person's word is live as well.
        "drop index job_live",
        """
        create unique index job_live on job (project_id, task_id)
            where state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held')
        """,
        "drop index job_active",
        """
        create index job_active on job (state)
            where state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held')
        """,
        # A job may be about several tasks: these are occupied by it as its own one is. Neither a
        # job of theirs nor another that names them comes in before it has ended.
        """
        create table occupied (
            job_id integer not null,
            project_id text not null,
            task_id text not null,
            is_live integer not null default 1,
            primary key (job_id, task_id)
        ) without rowid
        """,
        "create unique index occupied_live on occupied (project_id, task_id) where is_live",
        "create index occupied_task on occupied (project_id, task_id, job_id)",
        """
        create trigger occupied_is_taken before insert on occupied when exists (
            select 1 from job where project_id = new.project_id and task_id = new.task_id
                and state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held')
        ) begin
            select raise(abort, 'another job of the task has not ended');
        end
        """,
        """
        create trigger job_is_occupied before insert on job when exists (
            select 1 from occupied
            where project_id = new.project_id and task_id = new.task_id and is_live
        ) begin
            select raise(abort, 'a job that is about the task has not ended');
        end
        """,
        """
        create trigger occupied_is_over after update of state on job
        when new.state in ('done', 'failed', 'cancelled') begin
            update occupied set is_live = 0 where job_id = new.id;
        end
        """,
        """
        create trigger occupied_is_gone after delete on job begin
            delete from occupied where job_id = old.id;
        end
        """,
        # The record of changes. Its numbers never come again, though old rows are pruned. SQLite
        # knows the time of a statement to the millisecond; here it is in seconds since the epoch.
        """
        create table change (
            seq integer primary key autoincrement,
            at real not null default ((julianday('now') - 2440587.5) * 86400.0),
            project text not null,
            task text not null,
            job integer,
            batch integer,
            kind text not null,
            data text not null
        )
        """,
        # What was recorded last of each task, and of which version of its file (`statuses`).
        """
        create table last_status (
            project text not null,
            task text not null,
            status text not null,
            iteration integer not null,
            file text not null,
            primary key (project, task)
        ) without rowid
        """,
        # A cursor into the record names the file that it belongs to.
        "insert into control (name, value) values ('file_id', lower(hex(randomblob(6))))",
        # What an older sow has done is told as far as its records still say it.
        """
        insert into change (at, project, task, job, kind, data)
        select coalesce(ended_at, started_at, queued_at, created_at), project_id, task_id, id,
            case state when 'preparing' then 'placed' else state end,
            json_object('verb', verb, 'agent', agent, 'executor', executor_name, 'parent', parent,
                'cause', cause, 'reason', substr(reason, 1, 1000), 'status', outcome_status)
        from job order by id
        """,
        # What a job is held for; an older sow knows a person's word alone, and says nothing.
        "alter table job add column held_for text",
        # Which batch a job's task belongs to; of the batch's own jobs, which step of it that is.
        "alter table job add column batch integer",
        "alter table job add column batch_step integer",
        "alter table job add column batch_deed text",
        # The triggers write each change in the transaction that makes it, whoever makes it.
        """
        create trigger change_of_new_job after insert on job begin
            insert into change (project, task, job, batch, kind, data) values
                (new.project_id, new.task_id, new.id, new.batch, 'placed',
                json_object('verb', new.verb, 'agent', nullif(new.agent, ''),
                    'executor', nullif(new.executor_name, ''), 'parent', new.parent));
        end
        """,
        """
        create trigger change_of_job after update of state, cancel_requested_at on job begin
            insert into change (project, task, job, batch, kind, data)
            select new.project_id, new.task_id, new.id, new.batch, 'cancel_asked', '{}'
            where old.cancel_requested_at is null and new.cancel_requested_at is not null;
            insert into change (project, task, job, batch, kind, data)
            select new.project_id, new.task_id, new.id, new.batch, new.state,
                case new.state when 'running' then json_object('before', old.state)
                else json_object('before', old.state, 'cause', new.cause,
                    'reason', substr(new.reason, 1, 1000), 'status', new.outcome_status,
                    'retry_at', case when new.state in ('backoff', 'parked') then
                        strftime('%Y-%m-%dT%H:%M:%SZ', new.retry_at, 'unixepoch') end) end
            where new.state is not old.state;
        end
        """,
        """
        create trigger change_of_new_attempt after insert on attempt begin
            insert into change (project, task, job, batch, kind, data)
            select project_id, task_id, id, batch, 'attempt_began',
                json_object('attempt', new.number, 'verb', new.verb, 'worker', new.worker_id,
                    'session_id', new.session_id)
            from job where id = new.job_id;
        end
        """,
        """
        create trigger change_of_attempt after update of cause on attempt
        when new.cause is not null and new.cause is not old.cause begin
            insert into change (project, task, job, batch, kind, data)
            select project_id, task_id, id, batch, 'attempt_ended',
                json_object('attempt', new.number, 'cause', new.cause,
                    'reason', substr(new.reason, 1, 1000), 'exit_code', new.exit_code,
                    'exit_signal', new.exit_signal, 'session_id', new.session_id)
            from job where id = new.job_id;
        end
        """,
        """
        create trigger change_of_lease after update of worker_id on lease
        when new.worker_id is not old.worker_id begin
            insert into change (project, task, job, batch, kind, data)
            select project_id, task_id, id, batch, 'adopted',
                json_object('worker', new.worker_id, 'before', old.worker_id)
            from job where id = new.job_id;
        end
        """,
        # What befalls a job that is about several tasks is on record under each of them. The
        # first of them is the job's own: its row is there before the others are occupied.
        """
        create trigger change_of_occupied after insert on occupied begin
            insert into change (project, task, job, batch, kind, data)
            select project_id, new.task_id, id, batch, 'placed',
                json_object('verb', verb, 'agent', nullif(agent, ''),
                    'executor', nullif(executor_name, ''), 'parent', parent)
            from job where id = new.job_id;
        end
        """,
        """
        create trigger change_of_each_task after insert on change
        when new.kind != 'status' and exists (
            select 1 from job where id = new.job and task_id = new.task
        ) begin
            insert into change (at, project, task, job, batch, kind, data)
            select new.at, new.project, task_id, new.job, new.batch, new.kind, new.data
            from occupied where job_id = new.job order by task_id;
        end
        """,
        # What each attempt of an agent used. It stays when the records of its job are pruned.
        """
        create table spending (
            job_id integer not null,
            number integer not null,
            project_id text not null,
            task_id text not null,
            batch integer,
            agent text not null,
            executor text not null,
            session_id text,
            began_at real not null,
            ended_at real,
            input integer,
            output integer,
            cache_read integer,
            cache_write integer,
            usd real,
            is_estimate integer not null default 0,
            is_partial integer not null default 0,
            is_unpriced integer not null default 0,
            models text not null,
            totals text,
            share_usd real,
            share_tokens real,
            share_time real,
            primary key (job_id, number)
        ) without rowid
        """,
        "create index spending_executor on spending (executor)",
        # The budgets that bind a job; and which of them have warned, at which figure.
        "alter table job add column budgets text",
        """
        create table budget_warning (
            scope text not null,
            name text not null,
            measure text not null,
            total real not null,
            at real not null,
            primary key (scope, name, measure, total)
        ) without rowid
        """,
        "create index change_of_budget on change (job) where kind = 'budget'",
        "create index spending_task on spending (project_id, task_id)",
        "create index spending_session on spending (session_id) where session_id is not null",
        # What a user's own commands were told: a row is there before its command is started.
        """
        create table notification (
            seq integer primary key,
            event text not null,
            project text not null,
            task text not null,
            job integer,
            worker_id text not null,
            state text not null,
            reason text not null,
            began_at real not null,
            ended_at real
        )
        """,
        "create index notification_running on notification (seq) where state = 'running'",
        # Jobs without an agent have a limit of their own; a worker that is short of disk space or
        # memory takes nothing, and says so once, however many workers find it.
        "alter table worker add column checks integer not null default 2",
        "alter table worker add column short_of text not null default ''",
        """
        create trigger change_of_shortage after update of short_of on worker
        when new.short_of is not old.short_of begin
            insert into change (project, task, kind, data)
            select '', '', 'short', json_object('worker', new.id, 'reason', new.short_of)
            where new.short_of <> '' and not exists (select 1 from worker
                where id <> new.id and short_of = new.short_of);
            insert into change (project, task, kind, data)
            select '', '', 'roomy', json_object('worker', new.id, 'reason', old.short_of)
            where new.short_of = '' and not exists (select 1 from worker
                where id <> new.id and short_of <> '');
        end
        """,
        """
        create trigger change_of_shortage_gone after delete on worker
        when old.short_of <> '' and not exists (select 1 from worker where short_of <> '') begin
            insert into change (project, task, kind, data) values ('', '', 'roomy',
                json_object('worker', old.id, 'reason', old.short_of));
        end
        """,
        *BATCHES,
        *SPENT,
    ),
    3: HISTORY,
    4: BATCH_SUMMARIES,
    5: (
        # Which budget has stopped a job, or refused an item's next action.
        "alter table job add column reached text",
        "alter table batch_item add column reached text",
    ),
}
"""The statements that lead from the form before to each number. Only additions that an older
sow's statements pass over: it may have the file open in this very moment."""


def take_step(connection: sqlite3.Connection, number: int) -> None:
    """Take the file from the form before to form `number`, inside the transaction that is open."""
    for statement in MIGRATIONS[number]:
        connection.execute(statement)
    connection.execute(f"pragma user_version = {number}")
