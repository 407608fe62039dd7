-- The tables of form 5 as PostgreSQL keeps them, with the same names, columns and triggers as the
-- files in `../forms` give a queue's file. `real` has 4 bytes here and `integer` 32 bits, so times
-- are `double precision` and numbers `bigint`; what is true or false is `boolean`. Whoever writes
-- holds the queue's lock (`queue_server`): no trigger runs beside another one.

-- What our statements call by SQLite's names.
create domain blob as bytea;
create function iif(boolean, anycompatible, anycompatible) returns anycompatible
    language sql immutable as 'select case when $1 then $2 else $3 end';
create function max(anycompatible, anycompatible) returns anycompatible
    language sql immutable strict as 'select greatest($1, $2)';
create aggregate total(double precision) (sfunc = float8pl, stype = double precision, initcond = 0);
create function add_if(bigint, boolean) returns bigint
    language sql immutable strict as 'select $1 + case when $2 then 1 else 0 end';
create aggregate sum(boolean) (sfunc = add_if, stype = bigint, initcond = 0);
create aggregate max(boolean) (sfunc = boolor_statefunc, stype = boolean);
create function joined(text, text, text) returns text language sql immutable as
    'select case when $2 is null then $1 when $1 is null then $2 else $1 || $3 || $2 end';
create aggregate group_concat(text, text) (sfunc = joined, stype = text);
create function instr(text, text) returns integer
    language sql immutable strict as 'select strpos($1, $2)';
create function json_valid(text) returns boolean language plpgsql immutable strict as $$
begin
    perform $1::jsonb;
    return true;
exception when others then
    return false;
end $$;
create function json_extract(text, text) returns text language sql immutable strict as
    $$ select $1::jsonb #>> string_to_array(substr($2, 3), '.') $$;
create function json_each(text) returns table (key text, value text)
    language sql immutable strict rows 10 as $$
    select member.key, member.value #>> '{}' from jsonb_each(
        case jsonb_typeof($1::jsonb) when 'object' then $1::jsonb else '{}' end) as member
    union all
    select (item.place - 1)::text, item.value #>> '{}' from jsonb_array_elements(
        case jsonb_typeof($1::jsonb) when 'array' then $1::jsonb else '[]' end)
        with ordinality as item (value, place) $$;
create function json_each(text, text) returns table (key text, value text)
    language sql immutable strict rows 10 as
    'select * from json_each(json_extract($1, $2))';
-- Of the forms of a time those that our statements ask for, in the time zone of the session.
create function strftime(text, double precision, text, text) returns text
    language sql stable strict as $$ select to_char(to_timestamp($2),
        case $1 when '%Y-%m' then 'YYYY-MM' when '%Y-%m-%d' then 'YYYY-MM-DD' end) $$;
create function clock() returns double precision
    language sql volatile as 'select extract(epoch from clock_timestamp())::double precision';

-- Which number each table has given last. SQLite keeps such a table by itself. PostgreSQL's own
-- sequences would not do: they tell of numbers whose transaction has not ended yet.
create table sqlite_sequence (name text primary key, seq bigint not null);
create function next_number(text) returns bigint language sql as
    'insert into sqlite_sequence values ($1, 1)
    on conflict (name) do update set seq = sqlite_sequence.seq + 1 returning seq';
create function number_row() returns trigger language plpgsql as $$
begin
    if new.id is null then
        new.id := next_number(tg_table_name);
    else
        insert into sqlite_sequence values (tg_table_name, new.id)
        on conflict (name) do update set seq = greatest(sqlite_sequence.seq, excluded.seq);
    end if;
    return new;
end $$;
create function number_change() returns trigger language plpgsql as $$
begin
    new.seq := next_number(tg_table_name);
    return new;
end $$;

-- Huey's own tables.
create table kv (
    queue text not null, key text not null, value bytea not null, primary key (queue, key)
);
create table schedule (
    id bigserial primary key, queue text not null, data bytea not null,
    timestamp double precision not null
);
create index schedule_queue_timestamp on schedule (queue, timestamp);
create table task (
    id bigserial primary key, queue text not null, data bytea not null,
    priority double precision not null default 0.0
);
create index task_queue_priority_id on task (queue, priority desc, id);
create table counter (
    queue text not null, key text not null, value bigint not null default 0,
    primary key (queue, key)
);

create table job (
    id bigint primary key,
    project_id text not null,
    task_id text collate "C" not null,
    phase text not null,
    verb text not null,
    agent text not null,
    executor_name text not null,
    max_parallel bigint,
    executor text not null,
    prompt text not null,
    cwd text not null,
    path_variable text not null,
    config_file text not null,
    fresh boolean not null,
    priority bigint not null,
    parent bigint,
    state text not null,
    cause text,
    reason text not null,
    prior_status text,
    outcome_status text,
    retry_at double precision not null,
    retries bigint not null,
    worker_deaths bigint not null,
    settled bigint not null,
    corrections text not null,
    warnings text not null,
    denied_tools text not null,
    cost_usd double precision,
    cancel_requested_at double precision,
    caller text,
    created_at double precision not null,
    queued_at double precision,
    started_at double precision,
    ended_at double precision,
    queue_row bigint,
    owes_task boolean not null default false,
    postponements bigint not null default 0,
    excused_deaths bigint not null default 0,
    waits_since double precision not null default 0,
    terms text,
    held_for text,
    batch bigint,
    batch_step bigint,
    batch_deed text,
    budgets text,
    reached text
);
create trigger number before insert on job for each row execute function number_row();
create unique index job_live on job (project_id, task_id)
    where state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held');
create index job_task on job (project_id, task_id, id);
create index job_active on job (state)
    where state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held');
create index job_queue_row on job (queue_row) where queue_row is not null;
create index job_owes_task on job (id) where owes_task;
create index job_parent on job (parent) where parent is not null;
create index job_batch on job (batch, id) where batch is not null;
create unique index job_batch_step on job (batch, task_id, batch_step)
    where batch_step is not null;

create table attempt (
    job_id bigint not null,
    number bigint not null,
    id text not null unique,
    verb text not null,
    worker_id text not null,
    argv text not null,
    supervisor text,
    session_id text,
    cause text,
    reason text not null,
    exit_code bigint,
    exit_signal bigint,
    tool_uses bigint,
    cpu_seconds double precision,
    max_rss_kb bigint,
    created_at double precision not null,
    started_at double precision,
    ended_at double precision,
    transcript_seen boolean not null default false,
    finished_turn boolean not null default false,
    primary key (job_id, number)
);

create table lease (
    job_id bigint primary key,
    worker_id text not null,
    token bigint not null,
    executor text not null,
    taken_at double precision not null,
    deadline double precision not null
);
create table fence (id bigint primary key check (id = 1), token bigint not null);
insert into fence values (1, 0);

create table aside (
    id bigserial primary key,
    data bytea not null,
    reason text not null,
    set_aside_at double precision not null
);
create table control (name text primary key, value text not null);

-- Until when a lease is its worker's alone, by this server's clock. A claim and a take-over set
-- it, whatever they say of it; a worker's beats move it (`server_deadlines`). How long a lease is
-- stands in the row that says that others may take one over.
create function lease_end() returns double precision language sql volatile as $$
    select clock() + coalesce(
        (select value::double precision from control where name = 'lease seconds'), 120) $$;
create function set_deadline() returns trigger language plpgsql as $$
begin
    new.deadline := lease_end();
    return new;
end $$;
create trigger deadline before insert or update of token on lease
    for each row execute function set_deadline();

create table worker (
    id text collate "C" primary key,
    process text not null,
    concurrency bigint not null,
    version text not null,
    background boolean not null,
    started_at double precision not null,
    format bigint not null default 1,
    checks bigint not null default 2,
    short_of text not null default '',
    beat_at double precision not null default clock()
);

create table waiter (
    id text collate "C" not null,
    job_id bigint not null,
    on_behalf_of bigint,
    created_at double precision not null,
    primary key (id, job_id)
);
create index waiter_job on waiter (job_id);
create index waiter_lender on waiter (on_behalf_of) where on_behalf_of is not null;

-- A job may be about several tasks: these are occupied by it as its own one is.
create table occupied (
    job_id bigint not null,
    project_id text not null,
    task_id text collate "C" not null,
    is_live boolean not null default true,
    primary key (job_id, task_id)
);
create unique index occupied_live on occupied (project_id, task_id) where is_live;
create index occupied_task on occupied (project_id, task_id, job_id);
create function refuse_occupied() returns trigger language plpgsql as $$
begin
    if tg_table_name = 'occupied' then
        if exists (select 1 from job where project_id = new.project_id and task_id = new.task_id
            and state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held')
        ) then
            raise unique_violation using message = 'another job of the task has not ended';
        end if;
    elsif exists (select 1 from occupied
        where project_id = new.project_id and task_id = new.task_id and is_live
    ) then
        raise unique_violation using message = 'a job that is about the task has not ended';
    end if;
    return new;
end $$;
create trigger occupied_is_taken before insert on occupied
    for each row execute function refuse_occupied();
create trigger job_is_occupied before insert on job
    for each row execute function refuse_occupied();
create function free_occupied() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        delete from occupied where job_id = old.id;
    else
        update occupied set is_live = false where job_id = new.id;
    end if;
    return null;
end $$;
create trigger occupied_is_over after update of state on job for each row
    when (new.state in ('done', 'failed', 'cancelled')) execute function free_occupied();
create trigger occupied_is_gone after delete on job
    for each row execute function free_occupied();

-- The record of changes. Its numbers never come again, though old rows are pruned.
create table change (
    seq bigint primary key,
    at double precision not null default clock(),
    project text not null,
    task text not null,
    job bigint,
    batch bigint,
    kind text not null,
    data text not null
);
create trigger number before insert on change for each row execute function number_change();
create index change_of_budget on change (job) where kind = 'budget';
-- What was recorded last of each task, and of which version of its file (`statuses`).
create table last_status (
    project text not null,
    task text not null,
    status text not null,
    iteration bigint not null,
    file text not null,
    primary key (project, task)
);
-- The triggers write each change in the transaction that makes it, whoever makes it.
create function change_of_new_job() returns trigger language plpgsql as $$
begin
    insert into change (project, task, job, batch, kind, data) values
        (new.project_id, new.task_id, new.id, new.batch, 'placed',
        jsonb_build_object('verb', new.verb, 'agent', nullif(new.agent, ''),
            'executor', nullif(new.executor_name, ''), 'parent', new.parent));
    return null;
end $$;
create trigger change_of_new_job after insert on job
    for each row execute function change_of_new_job();
create function change_of_job() returns trigger language plpgsql as $$
begin
    if old.cancel_requested_at is null and new.cancel_requested_at is not null then
        insert into change (project, task, job, batch, kind, data)
        values (new.project_id, new.task_id, new.id, new.batch, 'cancel_asked', '{}');
    end if;
    if new.state is distinct from old.state then
        insert into change (project, task, job, batch, kind, data)
        values (new.project_id, new.task_id, new.id, new.batch, new.state,
            case new.state when 'running' then jsonb_build_object('before', old.state)
            else jsonb_build_object('before', old.state, 'cause', new.cause,
                'reason', left(new.reason, 1000), 'status', new.outcome_status,
                'retry_at', case when new.state in ('backoff', 'parked') then
                    to_char(to_timestamp(new.retry_at) at time zone 'UTC',
                        'YYYY-MM-DD"T"HH24:MI:SS"Z"') end) end);
    end if;
    return null;
end $$;
create trigger change_of_job after update of state, cancel_requested_at on job
    for each row execute function change_of_job();
create function change_of_attempt() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into change (project, task, job, batch, kind, data)
        select project_id, task_id, id, batch, 'attempt_began',
            jsonb_build_object('attempt', new.number, 'verb', new.verb, 'worker', new.worker_id,
                'session_id', new.session_id)
        from job where id = new.job_id;
    else
        if new.cause is not null then
            insert into change (project, task, job, batch, kind, data)
            select project_id, task_id, id, batch, 'attempt_ended',
                jsonb_build_object('attempt', new.number, 'cause', new.cause,
                    'reason', left(new.reason, 1000), 'exit_code', new.exit_code,
                    'exit_signal', new.exit_signal, 'session_id', new.session_id)
            from job where id = new.job_id;
        end if;
        -- So it is known for ever for what a job was tried again.
        update spending set cause = new.cause
        where job_id = new.job_id and number = new.number;
    end if;
    return null;
end $$;
create trigger change_of_new_attempt after insert on attempt
    for each row execute function change_of_attempt();
create trigger change_of_attempt after update of cause on attempt for each row
    when (new.cause is distinct from old.cause) execute function change_of_attempt();
create function change_of_lease() returns trigger language plpgsql as $$
begin
    insert into change (project, task, job, batch, kind, data)
    select project_id, task_id, id, batch, 'adopted',
        jsonb_build_object('worker', new.worker_id, 'before', old.worker_id)
    from job where id = new.job_id;
    return null;
end $$;
create trigger change_of_lease after update of worker_id on lease for each row
    when (new.worker_id is distinct from old.worker_id) execute function change_of_lease();
-- What befalls a job that is about several tasks is on record under each of them. The
-- first of them is the job's own: its row is there before the others are occupied.
create function change_of_occupied() returns trigger language plpgsql as $$
begin
    insert into change (project, task, job, batch, kind, data)
    select project_id, new.task_id, id, batch, 'placed',
        jsonb_build_object('verb', verb, 'agent', nullif(agent, ''),
            'executor', nullif(executor_name, ''), 'parent', parent)
    from job where id = new.job_id;
    return null;
end $$;
create trigger change_of_occupied after insert on occupied
    for each row execute function change_of_occupied();
create function change_of_each_task() returns trigger language plpgsql as $$
begin
    if exists (select 1 from job where id = new.job and task_id = new.task) then
        insert into change (at, project, task, job, batch, kind, data)
        select new.at, new.project, task_id, new.job, new.batch, new.kind, new.data
        from occupied where job_id = new.job order by task_id;
    end if;
    return null;
end $$;
create trigger change_of_each_task after insert on change for each row
    when (new.kind <> 'status' and new.job is not null) execute function change_of_each_task();
-- Whoever follows a batch is told of its tasks' statuses too.
create function change_of_status_in_batch() returns trigger language plpgsql as $$
begin
    update change set batch = (
        select batch_id from batch_item
        where project_id = new.project and task_id = new.task and is_open)
    where seq = new.seq;
    return null;
end $$;
create trigger change_of_status_in_batch after insert on change for each row
    when (new.kind = 'status' and new.batch is null)
    execute function change_of_status_in_batch();

-- What each attempt of an agent used. It stays when the records of its job are pruned.
create table spending (
    job_id bigint not null,
    number bigint not null,
    project_id text not null,
    task_id text collate "C" not null,
    batch bigint,
    agent text not null,
    executor text not null,
    session_id text,
    began_at double precision not null,
    ended_at double precision,
    input bigint,
    output bigint,
    cache_read bigint,
    cache_write bigint,
    usd double precision,
    is_estimate boolean not null default false,
    is_partial boolean not null default false,
    is_unpriced boolean not null default false,
    models text not null,
    totals text,
    share_usd double precision,
    share_tokens double precision,
    share_time double precision,
    cause text,
    primary key (job_id, number)
);
create index spending_executor on spending (executor);
create index spending_task on spending (project_id, task_id);
create index spending_session on spending (session_id) where session_id is not null;
create index spending_batch on spending (batch) where batch is not null;
create index spending_running on spending (job_id) where ended_at is null;
create table budget_warning (
    scope text not null,
    name text not null,
    measure text not null,
    total double precision not null,
    at double precision not null,
    primary key (scope, name, measure, total)
);
-- The running sums of what attempts that have ended have used, and what keeps them.
create table spent (
    scope text not null,
    name text not null,
    usd double precision not null,
    tokens double precision not null,
    time double precision not null,
    charged_usd double precision not null,
    charged_tokens double precision not null,
    primary key (scope, name)
);
-- Adds a row of `spending` to the sums that it belongs to, or takes it off; one that runs counts
-- nowhere here. What is charged where the use is not known is for whoever asks to say.
create function add_spent(its spending, sign double precision) returns void language sql as $$
    insert into spent (scope, name, usd, tokens, time, charged_usd, charged_tokens)
    select scope, name, sign * usd, sign * tokens, sign * (its.ended_at - its.began_at),
        sign * case when its.is_unpriced
            then greatest(usd, coalesce(its.share_usd, 0)) else usd end,
        sign * case when its.input is null
            then greatest(tokens, coalesce(its.share_tokens, 0)) else tokens end
    from (
        values ('project', its.project_id), ('executor', its.executor), ('batch', its.batch::text)
    ) as scopes (scope, name), (
        select coalesce(its.usd, 0) as usd,
            coalesce(its.input + its.output + its.cache_read + its.cache_write, 0) as tokens
    ) as used
    where name is not null and its.ended_at is not null
    on conflict (scope, name) do update set
        usd = spent.usd + excluded.usd, tokens = spent.tokens + excluded.tokens,
        time = spent.time + excluded.time,
        charged_usd = spent.charged_usd + excluded.charged_usd,
        charged_tokens = spent.charged_tokens + excluded.charged_tokens $$;
create function keep_spent() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then
        perform add_spent(old, -1);
    end if;
    if tg_op <> 'DELETE' then
        perform add_spent(new, 1);
    end if;
    return null;
end $$;
create trigger spent_by_new after insert on spending for each row
    when (new.ended_at is not null) execute function keep_spent();
create trigger spent_by_changed after update on spending for each row
    when (old.ended_at is not null or new.ended_at is not null) execute function keep_spent();
create trigger spent_by_gone after delete on spending for each row
    when (old.ended_at is not null) execute function keep_spent();

-- What a user's own commands were told: a row is there before its command is started.
create table notification (
    seq bigint primary key,
    event text not null,
    project text not null,
    task text not null,
    job bigint,
    worker_id text not null,
    state text not null,
    reason text not null,
    began_at double precision not null,
    ended_at double precision
);
create index notification_running on notification (seq) where state = 'running';

-- A worker that is short of disk space or memory says so once, however many workers find it.
create function change_of_shortage() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        if not exists (select 1 from worker where short_of <> '') then
            insert into change (project, task, kind, data) values ('', '', 'roomy',
                jsonb_build_object('worker', old.id, 'reason', old.short_of));
        end if;
    elsif new.short_of <> '' then
        if not exists (
            select 1 from worker where id <> new.id and short_of = new.short_of
        ) then
            insert into change (project, task, kind, data) values ('', '', 'short',
                jsonb_build_object('worker', new.id, 'reason', new.short_of));
        end if;
    elsif not exists (select 1 from worker where id <> new.id and short_of <> '') then
        insert into change (project, task, kind, data) values ('', '', 'roomy',
            jsonb_build_object('worker', new.id, 'reason', old.short_of));
    end if;
    return null;
end $$;
create trigger change_of_shortage after update of short_of on worker for each row
    when (new.short_of is distinct from old.short_of) execute function change_of_shortage();
create trigger change_of_shortage_gone after delete on worker for each row
    when (old.short_of <> '') execute function change_of_shortage();

-- Batches and their items.
create table batch (
    id bigint primary key,
    project_id text not null,
    name text not null,
    selection text not null,
    policy text not null,
    state text not null,
    reason text not null,
    by_job bigint,
    path_variable text not null,
    seen bigint not null,
    forgiven bigint not null,
    made_at double precision not null,
    ended_at double precision,
    rests boolean not null default false
);
create trigger number before insert on batch for each row execute function number_row();
-- Of two calls for the same tasks at the same moment one makes the batch, the other attaches. A
-- selection may be longer than an index may hold.
create unique index batch_open on batch (project_id, md5(selection))
    where ended_at is null;
create table batch_item (
    batch_id bigint not null,
    project_id text not null,
    task_id text collate "C" not null,
    state text not null,
    reason text not null,
    refusal text not null,
    forgiven bigint not null,
    is_open boolean not null,
    reached text,
    primary key (batch_id, task_id)
);
-- Two batches never drive one task.
create unique index batch_item_open on batch_item (project_id, task_id) where is_open;
create index batch_item_unsettled on batch_item (batch_id)
    where not is_open and state in ('checking', 'correcting', 'in_review', 'merging', 'running');
-- Which item is brought up to date and merged now: one at a time for a project's branch.
create table merge_turn (
    project_id text primary key,
    batch_id bigint not null,
    task_id text not null
);
-- Who has its agent work on an item has seen to what stood against the batch's own action.
create function see_to_item() returns trigger language plpgsql as $$
begin
    update batch_item set refusal = ''
    where batch_id = new.batch and task_id = new.task_id and refusal <> '';
    return null;
end $$;
create trigger item_is_seen_to after insert on job for each row
    when (new.batch is not null and new.batch_step is null) execute function see_to_item();
create function change_of_batch() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into change (project, task, batch, kind, data) values
            (new.project_id, '', new.id, 'batch', jsonb_build_object('status', new.state));
    else
        insert into change (project, task, batch, kind, data) values
            (new.project_id, '', new.id, 'batch', jsonb_build_object('before', old.state,
                'status', new.state, 'reason', left(new.reason, 1000)));
    end if;
    return null;
end $$;
create trigger change_of_new_batch after insert on batch
    for each row execute function change_of_batch();
create trigger change_of_batch after update of state on batch for each row
    when (new.state is distinct from old.state) execute function change_of_batch();
create function change_of_item() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into change (project, task, batch, kind, data) values
            (new.project_id, new.task_id, new.batch_id, 'item',
                jsonb_build_object('status', new.state));
    elsif tg_op = 'DELETE' then
        insert into change (project, task, batch, kind, data) values
            (old.project_id, old.task_id, old.batch_id, 'item', jsonb_build_object(
                'before', old.state, 'status', 'removed'));
    else
        insert into change (project, task, batch, kind, data) values
            (new.project_id, new.task_id, new.batch_id, 'item', jsonb_build_object(
                'before', old.state, 'status', new.state, 'reason', left(new.reason, 1000)));
    end if;
    return null;
end $$;
create trigger change_of_new_item after insert on batch_item
    for each row execute function change_of_item();
create trigger change_of_item after update of state, reason on batch_item for each row
    when (new.state is distinct from old.state or new.reason is distinct from old.reason)
    execute function change_of_item();
create trigger change_of_removed_item after delete on batch_item for each row
    when (old.is_open) execute function change_of_item();

-- What is kept of each job when its records are pruned: how it ended, and how its time went.
create table job_history (
    job_id bigint primary key,
    project_id text not null,
    task_id text collate "C" not null,
    batch bigint,
    verb text not null,
    agent text not null,
    executor text not null,
    state text not null,
    cause text,
    status text,
    iteration bigint,
    created_at double precision not null,
    ended_at double precision,
    since double precision not null,
    preparing double precision not null default 0,
    queued double precision not null default 0,
    running double precision not null default 0,
    backoff double precision not null default 0,
    parked double precision not null default 0,
    held double precision not null default 0
);
create function keep_history() returns trigger language plpgsql as $$
declare
    at constant double precision := clock();
    moved constant boolean := tg_op = 'UPDATE' and new.state is distinct from old.state;
begin
    if tg_op = 'INSERT' then
        delete from job_history where job_id = new.id;
        insert into job_history (job_id, project_id, task_id, batch, verb, agent, executor, state,
            created_at, since)
        values (new.id, new.project_id, new.task_id, new.batch, new.verb, new.agent,
            new.executor_name, new.state, new.created_at, at);
        return null;
    end if;
    update job_history set
        preparing = preparing + case when moved and old.state = 'preparing'
            then greatest(0.0, at - since) else 0.0 end,
        queued = queued + case when moved and old.state = 'queued'
            then greatest(0.0, at - since) else 0.0 end,
        running = running + case when moved and old.state = 'running'
            then greatest(0.0, at - since) else 0.0 end,
        backoff = backoff + case when moved and old.state = 'backoff'
            then greatest(0.0, at - since) else 0.0 end,
        parked = parked + case when moved and old.state = 'parked'
            then greatest(0.0, at - since) else 0.0 end,
        held = held + case when moved and old.state = 'held'
            then greatest(0.0, at - since) else 0.0 end,
        since = case when moved then at else since end,
        state = new.state, cause = new.cause, status = new.outcome_status,
        ended_at = new.ended_at, batch = new.batch,
        iteration = coalesce((select last_status.iteration from last_status
            where project = new.project_id and task = new.task_id), job_history.iteration)
    where job_id = new.id;
    return null;
end $$;
create trigger history_of_new_job after insert on job
    for each row execute function keep_history();
create trigger history_of_job
    after update of state, cause, outcome_status, ended_at, batch on job
    for each row execute function keep_history();

-- A cursor into the record names the queue that it belongs to.
insert into control (name, value) values
    ('file_id', left(replace(gen_random_uuid()::text, '-', ''), 12));
