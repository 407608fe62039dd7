-- What is kept of each job when its records are pruned: how it ended, and how its time went. A row
-- a job, of some hundred bytes; that of an attempt of an agent is `spending`, which learns why it
-- ended. Triggers fill the table while the job lives. Each state in which a job stays has a column
-- with the seconds that it has spent there, to the millisecond of each statement.
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
    preparing real not null default 0,
    queued real not null default 0,
    running real not null default 0,
    backoff real not null default 0,
    parked real not null default 0,
    held real not null default 0
);
create trigger history_of_new_job after insert on job begin
    insert or replace into job_history (job_id, project_id, task_id, batch, verb, agent,
        executor, state, created_at, since)
    values (new.id, new.project_id, new.task_id, new.batch, new.verb, new.agent,
        new.executor_name, new.state, new.created_at, (julianday('now') - 2440587.5) * 86400.0);
end;
create trigger history_of_job
after update of state, cause, outcome_status, ended_at, batch on job begin
    update job_history set
        preparing = preparing + iif(old.state = 'preparing' and new.state is not old.state,
            max(0.0, (julianday('now') - 2440587.5) * 86400.0 - since), 0.0),
        queued = queued + iif(old.state = 'queued' and new.state is not old.state,
            max(0.0, (julianday('now') - 2440587.5) * 86400.0 - since), 0.0),
        running = running + iif(old.state = 'running' and new.state is not old.state,
            max(0.0, (julianday('now') - 2440587.5) * 86400.0 - since), 0.0),
        backoff = backoff + iif(old.state = 'backoff' and new.state is not old.state,
            max(0.0, (julianday('now') - 2440587.5) * 86400.0 - since), 0.0),
        parked = parked + iif(old.state = 'parked' and new.state is not old.state,
            max(0.0, (julianday('now') - 2440587.5) * 86400.0 - since), 0.0),
        held = held + iif(old.state = 'held' and new.state is not old.state,
            max(0.0, (julianday('now') - 2440587.5) * 86400.0 - since), 0.0),
        since = iif(new.state is old.state, since, (julianday('now') - 2440587.5) * 86400.0),
        state = new.state, cause = new.cause, status = new.outcome_status, ended_at = new.ended_at,
        batch = new.batch,
        iteration = coalesce((select iteration from last_status
            where project = new.project_id and task = new.task_id), iteration)
    where job_id = new.id;
end;
-- What an older sow has recorded of its jobs: their ends; their time as far as changes tell it.
insert into job_history (job_id, project_id, task_id, batch, verb, agent, executor, state,
    cause, status, iteration, created_at, ended_at, since)
select id, project_id, task_id, batch, verb, agent, executor_name, state, cause,
    outcome_status,
    (select iteration from last_status where project = project_id and task = task_id),
    created_at, ended_at, coalesce(started_at, queued_at, created_at)
from job;
create temp table stay as
select job, iif(kind = 'placed', 'preparing', kind) as kind, total(until - at) as seconds
from (
    select job, kind, at, lead(at) over (partition by job order by seq) as until from change
    where job is not null and kind in ('placed', 'queued', 'running', 'backoff', 'parked',
        'held', 'done', 'failed', 'cancelled')
)
where until > at group by 1, 2;
create index temp.stay_job on stay (job, kind);
update job_history set
    preparing = coalesce((select sum(seconds) from stay
        where stay.job = job_id and stay.kind = 'preparing'), 0),
    queued = coalesce((select sum(seconds) from stay
        where stay.job = job_id and stay.kind = 'queued'), 0),
    running = coalesce((select sum(seconds) from stay
        where stay.job = job_id and stay.kind = 'running'), 0),
    backoff = coalesce((select sum(seconds) from stay
        where stay.job = job_id and stay.kind = 'backoff'), 0),
    parked = coalesce((select sum(seconds) from stay
        where stay.job = job_id and stay.kind = 'parked'), 0),
    held = coalesce((select sum(seconds) from stay
        where stay.job = job_id and stay.kind = 'held'), 0);
drop table temp.stay;
-- Why an attempt of an agent ended: so it is known for ever for what a job was tried again.
alter table spending add column cause text;
update spending set cause = (select cause from attempt
    where attempt.job_id = spending.job_id and attempt.number = spending.number);
create trigger cause_of_spending after update of cause on attempt
when new.cause is not old.cause begin
    update spending set cause = new.cause
    where job_id = new.job_id and number = new.number;
end;
