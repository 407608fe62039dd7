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
