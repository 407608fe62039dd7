-- A task that is still to be given back: its job ended, its state is not written yet.
alter table job add column owes_task integer not null default 0;
create index job_owes_task on job (id) where owes_task;
-- The jobs that a job's agent has queued are asked for when that job is cancelled.
create index job_parent on job (parent) where parent is not null;
-- How often in a row the start was put off by a passing fault of the machine.
alter table job add column postponements integer not null default 0;
-- Whether the CLI kept the session: its transcript was seen, a turn of it was finished.
alter table attempt add column transcript_seen integer not null default 0;
alter table attempt add column finished_turn integer not null default 0;
-- What an older sow has recorded does not tell: such a session is never replaced unasked.
update attempt set transcript_seen = 1 where cause is not null;
-- Deaths of workers that were no fault of the job's: they end nothing, and slow it down.
alter table job add column excused_deaths integer not null default 0;
-- A clock that is set back must not make a wait longer: it is counted from here then.
alter table job add column waits_since real not null default 0;
-- Which form of the file a worker knows; one of an older sow says nothing.
alter table worker add column format integer not null default 1;
-- What a kind of jobs alone is asked for.
alter table job add column terms text;
-- A job that is held for a person's word is live as well.
drop index job_live;
create unique index job_live on job (project_id, task_id)
    where state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held');
drop index job_active;
create index job_active on job (state)
    where state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held');
-- A job may be about several tasks: these are occupied by it as its own one is. Neither a
-- job of theirs nor another that names them comes in before it has ended.
create table occupied (
    job_id integer not null,
    project_id text not null,
    task_id text not null,
    is_live integer not null default 1,
    primary key (job_id, task_id)
) without rowid;
create unique index occupied_live on occupied (project_id, task_id) where is_live;
create index occupied_task on occupied (project_id, task_id, job_id);
create trigger occupied_is_taken before insert on occupied when exists (
    select 1 from job where project_id = new.project_id and task_id = new.task_id
        and state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held')
) begin
    select raise(abort, 'another job of the task has not ended');
end;
create trigger job_is_occupied before insert on job when exists (
    select 1 from occupied
    where project_id = new.project_id and task_id = new.task_id and is_live
) begin
    select raise(abort, 'a job that is about the task has not ended');
end;
create trigger occupied_is_over after update of state on job
when new.state in ('done', 'failed', 'cancelled') begin
    update occupied set is_live = 0 where job_id = new.id;
end;
create trigger occupied_is_gone after delete on job begin
    delete from occupied where job_id = old.id;
end;
-- The record of changes. Its numbers never come again, though old rows are pruned. SQLite
-- knows the time of a statement to the millisecond; here it is in seconds since the epoch.
create table change (
    seq integer primary key autoincrement,
    at real not null default ((julianday('now') - 2440587.5) * 86400.0),
    project text not null,
    task text not null,
    job integer,
    batch integer,
    kind text not null,
    data text not null
);
-- What was recorded last of each task, and of which version of its file (`statuses`).
create table last_status (
    project text not null,
    task text not null,
    status text not null,
    iteration integer not null,
    file text not null,
    primary key (project, task)
) without rowid;
-- A cursor into the record names the file that it belongs to.
insert into control (name, value) values ('file_id', lower(hex(randomblob(6))));
-- What an older sow has done is told as far as its records still say it.
insert into change (at, project, task, job, kind, data)
select coalesce(ended_at, started_at, queued_at, created_at), project_id, task_id, id,
    case state when 'preparing' then 'placed' else state end,
    json_object('verb', verb, 'agent', agent, 'executor', executor_name, 'parent', parent,
        'cause', cause, 'reason', substr(reason, 1, 1000), 'status', outcome_status)
from job order by id;
-- What a job is held for; an older sow knows a person's word alone, and says nothing.
alter table job add column held_for text;
-- Which batch a job's task belongs to; of the batch's own jobs, which step of it that is.
alter table job add column batch integer;
alter table job add column batch_step integer;
alter table job add column batch_deed text;
-- The triggers write each change in the transaction that makes it, whoever makes it.
create trigger change_of_new_job after insert on job begin
    insert into change (project, task, job, batch, kind, data) values
        (new.project_id, new.task_id, new.id, new.batch, 'placed',
        json_object('verb', new.verb, 'agent', nullif(new.agent, ''),
            'executor', nullif(new.executor_name, ''), 'parent', new.parent));
end;
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
end;
create trigger change_of_new_attempt after insert on attempt begin
    insert into change (project, task, job, batch, kind, data)
    select project_id, task_id, id, batch, 'attempt_began',
        json_object('attempt', new.number, 'verb', new.verb, 'worker', new.worker_id,
            'session_id', new.session_id)
    from job where id = new.job_id;
end;
create trigger change_of_attempt after update of cause on attempt
when new.cause is not null and new.cause is not old.cause begin
    insert into change (project, task, job, batch, kind, data)
    select project_id, task_id, id, batch, 'attempt_ended',
        json_object('attempt', new.number, 'cause', new.cause,
            'reason', substr(new.reason, 1, 1000), 'exit_code', new.exit_code,
            'exit_signal', new.exit_signal, 'session_id', new.session_id)
    from job where id = new.job_id;
end;
create trigger change_of_lease after update of worker_id on lease
when new.worker_id is not old.worker_id begin
    insert into change (project, task, job, batch, kind, data)
    select project_id, task_id, id, batch, 'adopted',
        json_object('worker', new.worker_id, 'before', old.worker_id)
    from job where id = new.job_id;
end;
-- What befalls a job that is about several tasks is on record under each of them. The
-- first of them is the job's own: its row is there before the others are occupied.
create trigger change_of_occupied after insert on occupied begin
    insert into change (project, task, job, batch, kind, data)
    select project_id, new.task_id, id, batch, 'placed',
        json_object('verb', verb, 'agent', nullif(agent, ''),
            'executor', nullif(executor_name, ''), 'parent', parent)
    from job where id = new.job_id;
end;
create trigger change_of_each_task after insert on change
when new.kind != 'status' and exists (
    select 1 from job where id = new.job and task_id = new.task
) begin
    insert into change (at, project, task, job, batch, kind, data)
    select new.at, new.project, task_id, new.job, new.batch, new.kind, new.data
    from occupied where job_id = new.job order by task_id;
end;
-- What each attempt of an agent used. It stays when the records of its job are pruned.
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
) without rowid;
create index spending_executor on spending (executor);
-- The budgets that bind a job; and which of them have warned, at which figure.
alter table job add column budgets text;
create table budget_warning (
    scope text not null,
    name text not null,
    measure text not null,
    total real not null,
    at real not null,
    primary key (scope, name, measure, total)
) without rowid;
create index change_of_budget on change (job) where kind = 'budget';
create index spending_task on spending (project_id, task_id);
create index spending_session on spending (session_id) where session_id is not null;
-- What a user's own commands were told: a row is there before its command is started.
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
);
create index notification_running on notification (seq) where state = 'running';
-- Jobs without an agent have a limit of their own; a worker that is short of disk space or
-- memory takes nothing, and says so once, however many workers find it.
alter table worker add column checks integer not null default 2;
alter table worker add column short_of text not null default '';
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
end;
create trigger change_of_shortage_gone after delete on worker
when old.short_of <> '' and not exists (select 1 from worker where short_of <> '') begin
    insert into change (project, task, kind, data) values ('', '', 'roomy',
        json_object('worker', old.id, 'reason', old.short_of));
end;

-- Batches and their items, and the triggers that record what becomes of them.

create table batch (
    id integer primary key autoincrement,
    project_id text not null,
    name text not null,
    selection text not null,
    policy text not null,
    state text not null,
    reason text not null,
    by_job integer,
    path_variable text not null,
    seen integer not null,
    forgiven integer not null,
    made_at real not null,
    ended_at real
);
-- Of two calls for the same tasks at the same moment one makes the batch, the other attaches.
create unique index batch_open on batch (project_id, selection) where ended_at is null;
create table batch_item (
    batch_id integer not null,
    project_id text not null,
    task_id text not null,
    state text not null,
    reason text not null,
    refusal text not null,
    forgiven integer not null,
    is_open integer not null,
    primary key (batch_id, task_id)
) without rowid;
-- Two batches never drive one task.
create unique index batch_item_open on batch_item (project_id, task_id) where is_open;
-- Which item is brought up to date and merged now: one at a time for a project's branch.
create table merge_turn (
    project_id text primary key,
    batch_id integer not null,
    task_id text not null
) without rowid;
create index job_batch on job (batch, id) where batch is not null;
-- What two workers do in the same moment is done once: the second insert is refused.
create unique index job_batch_step on job (batch, task_id, batch_step)
    where batch_step is not null;
create index spending_batch on spending (batch) where batch is not null;
-- Who has its agent work on an item has seen to what stood against the batch's own action.
create trigger item_is_seen_to after insert on job
when new.batch is not null and new.batch_step is null begin
    update batch_item set refusal = ''
    where batch_id = new.batch and task_id = new.task_id and refusal <> '';
end;
-- Whoever follows a batch is told of its tasks' statuses too.
create trigger change_of_status_in_batch after insert on change
when new.kind = 'status' and new.batch is null begin
    update change set batch = (
        select batch_id from batch_item
        where project_id = new.project and task_id = new.task and is_open)
    where seq = new.seq;
end;
create trigger change_of_new_batch after insert on batch begin
    insert into change (project, task, batch, kind, data) values
        (new.project_id, '', new.id, 'batch', json_object('status', new.state));
end;
create trigger change_of_batch after update of state on batch
when new.state is not old.state begin
    insert into change (project, task, batch, kind, data) values
        (new.project_id, '', new.id, 'batch', json_object('before', old.state,
            'status', new.state, 'reason', substr(new.reason, 1, 1000)));
end;
create trigger change_of_new_item after insert on batch_item begin
    insert into change (project, task, batch, kind, data) values
        (new.project_id, new.task_id, new.batch_id, 'item', json_object('status', new.state));
end;
create trigger change_of_item after update of state, reason on batch_item
when new.state is not old.state or new.reason is not old.reason begin
    insert into change (project, task, batch, kind, data) values
        (new.project_id, new.task_id, new.batch_id, 'item', json_object('before', old.state,
            'status', new.state, 'reason', substr(new.reason, 1, 1000)));
end;
create trigger change_of_removed_item after delete on batch_item when old.is_open begin
    insert into change (project, task, batch, kind, data) values
        (old.project_id, old.task_id, old.batch_id, 'item', json_object('before', old.state,
            'status', 'removed'));
end;

-- The running sums of what attempts that have ended have used, and the triggers that keep them.

create table spent (
    scope text not null,
    name text not null,
    usd real not null,
    tokens real not null,
    time real not null,
    charged_usd real not null,
    charged_tokens real not null,
    primary key (scope, name)
) without rowid;
create index spending_running on spending (job_id) where ended_at is null;
-- Each adds a row of `spending` to the sums that it belongs to (+), or takes it off (-); one that
-- runs counts nowhere here. What is charged where the use is not known is for whoever asks to say.
create trigger spent_by_new after insert on spending begin
    insert into spent (scope, name, usd, tokens, time, charged_usd, charged_tokens)
    select scope, name,
        + coalesce(new.usd, 0),
        + coalesce(new.input + new.output + new.cache_read + new.cache_write, 0),
        + (new.ended_at - new.began_at),
        + case when new.is_unpriced
            then max(coalesce(new.usd, 0), coalesce(new.share_usd, 0))
            else coalesce(new.usd, 0) end,
        + case when new.input is null
            then max(coalesce(new.input + new.output + new.cache_read + new.cache_write, 0),
                coalesce(new.share_tokens, 0))
            else coalesce(new.input + new.output + new.cache_read + new.cache_write, 0) end
    from (
        select 'project' as scope, new.project_id as name
        union all select 'executor', new.executor
        union all select 'batch', new.batch)
    where name is not null and new.ended_at is not null
    on conflict (scope, name) do update set
        usd = usd + excluded.usd, tokens = tokens + excluded.tokens, time = time + excluded.time,
        charged_usd = charged_usd + excluded.charged_usd,
        charged_tokens = charged_tokens + excluded.charged_tokens;
end;
create trigger spent_by_changed after update on spending
when old.ended_at is not null or new.ended_at is not null begin
    insert into spent (scope, name, usd, tokens, time, charged_usd, charged_tokens)
    select scope, name,
        - coalesce(old.usd, 0),
        - coalesce(old.input + old.output + old.cache_read + old.cache_write, 0),
        - (old.ended_at - old.began_at),
        - case when old.is_unpriced
            then max(coalesce(old.usd, 0), coalesce(old.share_usd, 0))
            else coalesce(old.usd, 0) end,
        - case when old.input is null
            then max(coalesce(old.input + old.output + old.cache_read + old.cache_write, 0),
                coalesce(old.share_tokens, 0))
            else coalesce(old.input + old.output + old.cache_read + old.cache_write, 0) end
    from (
        select 'project' as scope, old.project_id as name
        union all select 'executor', old.executor
        union all select 'batch', old.batch)
    where name is not null and old.ended_at is not null
    on conflict (scope, name) do update set
        usd = usd + excluded.usd, tokens = tokens + excluded.tokens, time = time + excluded.time,
        charged_usd = charged_usd + excluded.charged_usd,
        charged_tokens = charged_tokens + excluded.charged_tokens;
    insert into spent (scope, name, usd, tokens, time, charged_usd, charged_tokens)
    select scope, name,
        + coalesce(new.usd, 0),
        + coalesce(new.input + new.output + new.cache_read + new.cache_write, 0),
        + (new.ended_at - new.began_at),
        + case when new.is_unpriced
            then max(coalesce(new.usd, 0), coalesce(new.share_usd, 0))
            else coalesce(new.usd, 0) end,
        + case when new.input is null
            then max(coalesce(new.input + new.output + new.cache_read + new.cache_write, 0),
                coalesce(new.share_tokens, 0))
            else coalesce(new.input + new.output + new.cache_read + new.cache_write, 0) end
    from (
        select 'project' as scope, new.project_id as name
        union all select 'executor', new.executor
        union all select 'batch', new.batch)
    where name is not null and new.ended_at is not null
    on conflict (scope, name) do update set
        usd = usd + excluded.usd, tokens = tokens + excluded.tokens, time = time + excluded.time,
        charged_usd = charged_usd + excluded.charged_usd,
        charged_tokens = charged_tokens + excluded.charged_tokens;
end;
create trigger spent_by_gone after delete on spending begin
    insert into spent (scope, name, usd, tokens, time, charged_usd, charged_tokens)
    select scope, name,
        - coalesce(old.usd, 0),
        - coalesce(old.input + old.output + old.cache_read + old.cache_write, 0),
        - (old.ended_at - old.began_at),
        - case when old.is_unpriced
            then max(coalesce(old.usd, 0), coalesce(old.share_usd, 0))
            else coalesce(old.usd, 0) end,
        - case when old.input is null
            then max(coalesce(old.input + old.output + old.cache_read + old.cache_write, 0),
                coalesce(old.share_tokens, 0))
            else coalesce(old.input + old.output + old.cache_read + old.cache_write, 0) end
    from (
        select 'project' as scope, old.project_id as name
        union all select 'executor', old.executor
        union all select 'batch', old.batch)
    where name is not null and old.ended_at is not null
    on conflict (scope, name) do update set
        usd = usd + excluded.usd, tokens = tokens + excluded.tokens, time = time + excluded.time,
        charged_usd = charged_usd + excluded.charged_usd,
        charged_tokens = charged_tokens + excluded.charged_tokens;
end;
