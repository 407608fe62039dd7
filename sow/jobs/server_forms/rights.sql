-- Who may do what in a queue that several hosts are to share: the roles of callers, who queue jobs,
-- and of hosts, whose workers run them. The owner of the tables may do everything, as before.
-- `server_rights` runs this, again whenever somebody joins; @schema@, @callers@ and @hosts@ are
-- names. The right to a table is granted below; which of its rows may be changed, policies say.
-- `session_user` is who has logged in: no statement of theirs changes it.

-- Whose a row is: whoever has made it, or has taken the lease.
alter table job add column if not exists owner text not null default session_user;
alter table lease add column if not exists host text not null default session_user;
alter table attempt add column if not exists host text not null default session_user;
alter table worker add column if not exists host text not null default session_user;
-- What each host serves; empty stands for all. Jobs without an agent have no executor.
create table if not exists served (
    host text not null,
    owner text not null default '',
    executor text not null default '',
    primary key (host, owner, executor)
);

do $$
declare its record;
begin
    for its in select tablename, policyname from pg_policies where schemaname = current_schema
    loop
        execute format('drop policy %I on %I', its.policyname, its.tablename);
    end loop;
    for its in select tablename from pg_tables where schemaname = current_schema
    loop
        execute format('alter table %I enable row level security', its.tablename);
        execute format('revoke all on %I from @callers@, @hosts@', its.tablename);
        execute format('grant select on %I to @callers@, @hosts@', its.tablename);
        if its.tablename not in ('job', 'task') then
            execute format('create policy all_see on %I for select to @callers@, @hosts@'
                ' using (true)', its.tablename);
        end if;
    end loop;
    -- Triggers write what nobody may write by a statement: the record of changes, sums, numbers.
    for its in select proname from pg_proc where pronamespace = current_schema::regnamespace
        and prorettype = 'trigger'::regtype and proname not like 'guard%'
    loop
        execute format('alter function %I() security definer set search_path = @schema@,'
            ' pg_catalog, pg_temp', its.proname);
    end loop;
end $$;
grant usage on schema @schema@ to @callers@, @hosts@;
grant usage on all sequences in schema @schema@ to @callers@, @hosts@;

-- Jobs. A caller queues in its own name alone. A host sees what it serves, changes nothing of what
-- is to be run, and nothing of what another host runs.
create policy callers_see on job for select to @callers@ using (true);
create policy callers_add on job for insert to @callers@
    with check (owner = session_user and state = 'preparing' and queue_row is null
        and is_own_host(host_id));
create policy callers_change on job for update to @callers@ using (owner = session_user);
create policy hosts_see on job for select to @hosts@ using (exists (
    select 1 from served where served.host = session_user and served.owner in ('', job.owner)
        and (served.executor in ('', job.executor_name) or job.executor_name = ''))
    or exists (select 1 from attempt where attempt.job_id = job.id and attempt.host = session_user));
create policy hosts_change on job for update to @hosts@ using (not exists (
    select 1 from lease where lease.job_id = job.id and lease.host <> session_user
        and lease.deadline >= clock()));
grant insert on job to @callers@;
-- What a caller says anew of its own: where the job stands that was not begun, or is to end.
grant update (state, cause, reason, prior_status, outcome_status, retry_at, waits_since, held_for,
    budgets, cancel_requested_at, queued_at, started_at, ended_at, queue_row, owes_task,
    batch, batch_step, batch_deed)
    on job to @callers@;
grant update (state, cause, reason, prior_status, outcome_status, retry_at, retries, worker_deaths,
    settled, corrections, warnings, denied_tools, cost_usd, queued_at, started_at, ended_at,
    queue_row, owes_task, postponements, excused_deaths, waits_since, held_for, reached,
    executor, executor_name, terms, budgets, max_parallel)
    on job to @hosts@;
-- A record says what is to be done, and nothing of the machine that it was written on: a host goes
-- by its own program, arguments, PATH and settings. Nor does it begin with what is found out later.
create or replace function fault_of(its job) returns text language plpgsql stable
    set search_path = @schema@, pg_catalog, pg_temp as $$
declare
    executor constant jsonb := its.executor::jsonb;
begin
    return case
        when its.path_variable <> '' or its.config_file <> '' or its.max_parallel is not null
            then 'facts of a machine'
        when jsonb_path_exists(executor, '$ ? (@.type() == "object").keyvalue() ? (@.key != "name" && @.key != "type")')
            then 'settings of an executor'
        when coalesce(executor ->> 'name', '') <> its.executor_name then 'another executor'
        when jsonb_path_exists(its.terms::jsonb,
            '$.fallback.next[*].executor.keyvalue() ? (@.key != "name" && @.key != "type")')
            then 'settings of another executor'
        when jsonb_path_exists(its.terms::jsonb, '$.fallback.leaving ? (@ != null)')
            then 'a session'
        when its.cwd ~ '^/' or its.cwd ~ '(^|/)[.][.](/|$)' then 'a folder outside of the repository'
        when its.project_id !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then 'no project'
        when its.task_id !~ '^([0-9]{3,})?$' or its.phase !~ '^([a-z][a-z0-9-]*)?$'
            or its.agent !~ '^([a-z][a-z0-9-]*)?$' then 'no task, phase or role'
        when its.verb not in ('spawn', 'resume', 'review', 'check', 'update', 'merge', 'open')
            then 'no verb'
        when its.verb in ('spawn', 'resume', 'open') and its.prior_status in ('completed', 'abandoned')
            then 'a task that has ended'
        when its.parent is not null and not exists (
            select 1 from job where job.id = its.parent and job.owner = its.owner)
            then 'the job of somebody else'
    end;
end $$;
create or replace function guard_new_job() returns trigger language plpgsql
    set search_path = @schema@, pg_catalog, pg_temp as $$
declare
    fault text;
begin
    if not row_security_active('job') then
        return new;
    end if;
    fault := fault_of(new);
    if fault is not null then
        raise insufficient_privilege using message = format('a job of %s has %s', session_user, fault);
    end if;
    if new.settled <> 0 or new.retries <> 0 or new.worker_deaths <> 0 or new.excused_deaths <> 0
        or new.postponements <> 0 or new.owes_task or new.corrections <> '[]'
        or new.denied_tools <> '[]' or new.cost_usd is not null or new.reached is not null
        or new.cause is not null or new.outcome_status is not null or new.queued_at is not null
        or new.started_at is not null or new.ended_at is not null
        or new.cancel_requested_at is not null
    then
        raise insufficient_privilege using message = 'a new job has only what is to be done';
    end if;
    return new;
end $$;
create or replace trigger guard_new before insert on job
    for each row execute function guard_new_job();
create or replace function guard_job() returns trigger language plpgsql
    set search_path = @schema@, pg_catalog, pg_temp as $$
declare
    waiting constant text[] := '{preparing, queued, backoff, parked, held}';
begin
    if not row_security_active('job') then
        return new;
    end if;
    if new.id <> old.id or new.owner <> old.owner then
        raise insufficient_privilege using message = 'a job keeps its number and its owner';
    end if;
    if new.batch is distinct from old.batch and not exists (
        select 1 from batch where batch.id = coalesce(new.batch, old.batch) and owner = session_user)
    then
        raise insufficient_privilege using message = 'the batch of somebody else';
    end if;
    -- But how a task stands that a job was owing something, its owner sees.
    if not pg_has_role(session_user, '@hosts@', 'member')
        and not (old.owes_task and not new.owes_task) and (
        (new.outcome_status is distinct from old.outcome_status
            and new.outcome_status is distinct from new.prior_status
            and new.outcome_status <> 'paused')
        or (new.prior_status is distinct from old.prior_status
            and new.prior_status in ('completed', 'abandoned')))
    then
        raise insufficient_privilege using message = 'a caller does not say how a task has ended';
    end if;
    if new.state = old.state then
        return new;
    end if;
    if pg_has_role(session_user, '@hosts@', 'member') and (old.state = 'running' or exists (
        select 1 from lease where job_id = new.id and host = session_user)
    ) then
        return new;
    end if;
    if pg_has_role(session_user, '@callers@', 'member')
        and old.state = any (waiting) and new.state = any (waiting || 'cancelled'::text)
    then
        return new;
    end if;
    raise insufficient_privilege using
        message = format('%s may not change a job from %s to %s', session_user, old.state, new.state);
end $$;
create or replace trigger guard before update on job for each row execute function guard_job();
-- The terms of a job that runs change where another executor of its own takes over, and where a
-- review's session is made: a host chooses among what its caller has named, and nothing else.
create or replace function guard_terms() returns trigger language plpgsql
    set search_path = @schema@, pg_catalog, pg_temp as $$
declare
    was constant jsonb := coalesce(old.terms::jsonb, '{}');
    is_now constant jsonb := coalesce(new.terms::jsonb, '{}');
    named constant jsonb := coalesce(was #> '{fallback,next}', '[]');
    taken jsonb;
    fault text;
begin
    if not row_security_active('job') then
        return new;
    end if;
    if pg_has_role(session_user, '@callers@', 'member') and old.owner = session_user
        and new.terms is not distinct from old.terms and new.executor = old.executor
        and new.executor_name = old.executor_name and new.max_parallel is null
    then
        return new;  -- a caller's own budgets
    end if;
    select each into taken from jsonb_array_elements(named) as each
        where each -> 'executor' = new.executor::jsonb
            and each #>> '{executor,name}' = new.executor_name
            and new.executor_name <> old.executor_name;
    fault := case
        when old.state <> 'running' or not pg_has_role(session_user, '@hosts@', 'member')
            then 'of a job that it does not run'
        when new.max_parallel is not null then 'by facts of a machine'
        when was - '{fallback,dialect}'::text[] <> is_now - '{fallback,dialect}'::text[]
            then 'of what is asked for'
        when exists (
            select 1 from jsonb_array_elements(coalesce(is_now #> '{fallback,next}', '[]')) as each
            where not named @> jsonb_build_array(each)
                and (each -> 'executor' <> old.executor::jsonb
                    or each -> 'limits' is distinct from old.budgets::jsonb -> 'executor'))
            then 'of who may go on'
        when taken is null and (new.executor_name <> old.executor_name
            or new.executor::jsonb <> old.executor::jsonb) then 'of the executor'
        when coalesce(new.budgets::jsonb, '{}') - 'executor'
                <> coalesce(old.budgets::jsonb, '{}') - 'executor'
            or new.budgets::jsonb -> 'executor' is distinct from case when taken is null
                then old.budgets::jsonb -> 'executor' else taken -> 'limits' end
            then 'of budgets'
    end;
    if fault is not null then
        raise insufficient_privilege using
            message = format('%s may not change the terms %s', session_user, fault);
    end if;
    return new;
end $$;
create or replace trigger guard_terms before update on job for each row
    when (new.terms is distinct from old.terms or new.executor <> old.executor
        or new.executor_name <> old.executor_name or new.budgets is distinct from old.budgets
        or new.max_parallel is distinct from old.max_parallel)
    execute function guard_terms();
create policy callers_add on occupied for insert to @callers@ with check (
    exists (select 1 from job where job.id = occupied.job_id and job.owner = session_user));
grant insert on occupied to @callers@;

-- Messages. One whose job a host does not serve must not look like one without a job.
create or replace function is_served(its_row bigint) returns boolean language plpgsql stable
    security definer set search_path = @schema@, pg_catalog, pg_temp as $$
begin
    return not exists (select 1 from job where queue_row = its_row and not exists (
        select 1 from served where served.host = session_user and served.owner in ('', job.owner)
            and (served.executor in ('', job.executor_name) or job.executor_name = '')));
end $$;
create policy callers_see on task for select to @callers@ using (true);
create policy hosts_see on task for select to @hosts@ using (is_served(id));
create policy all_add on task for insert to @callers@, @hosts@ with check (true);
create policy callers_remove on task for delete to @callers@ using (
    exists (select 1 from job where job.queue_row = task.id and job.owner = session_user));
create policy hosts_remove on task for delete to @hosts@ using (true);
grant insert, delete on task to @callers@, @hosts@;
-- huey looks for what is due, though nothing ever is.
create policy hosts_have on schedule to @hosts@ using (true);
grant update, delete on schedule to @hosts@;
create policy hosts_add on aside for insert to @hosts@ with check (true);
grant insert on aside to @hosts@;

-- Leases and tokens. A host says neither how long its lease is nor which token it gets.
create policy hosts_add on lease for insert to @hosts@
    with check (host = session_user and is_own_name(worker_id)
        and exists (select 1 from job where job.id = lease.job_id));
create policy hosts_change on lease for update to @hosts@
    using (host = session_user or deadline < clock())
    with check (host = session_user and is_own_name(worker_id));
create policy hosts_remove on lease for delete to @hosts@ using (host = session_user);
grant insert, delete, update (worker_id, token, taken_at, deadline) on lease to @hosts@;
create or replace function guard_lease() returns trigger language plpgsql
    set search_path = @schema@, pg_catalog, pg_temp as $$
begin
    if row_security_active('lease') then
        new.host := session_user;
        if tg_op = 'INSERT' or new.token <> old.token then
            new.token := (select token from fence);  -- `set_deadline` has just set the other
        else
            new.deadline := lease_end();
        end if;
    end if;
    return new;
end $$;
create or replace trigger guard before insert or update on lease
    for each row execute function guard_lease();
create or replace function guard_fence() returns trigger language plpgsql
    set search_path = @schema@, pg_catalog, pg_temp as $$
begin
    -- Nobody says which token comes next. Those of a server that was restored from a backup go on
    -- above all that it has ever given: the clock has gone on.
    new.token := greatest(old.token + 1, floor(clock() * 1000)::bigint);
    return new;
end $$;
create or replace trigger guard before update on fence
    for each row execute function guard_fence();
create policy hosts_change on fence for update to @hosts@ using (true);
grant update on fence to @hosts@;

-- Attempts and what they used: of whoever runs the job.
create or replace function holds(its_job bigint) returns boolean language sql stable
    set search_path = @schema@, pg_catalog, pg_temp as
    'select exists (select 1 from lease where job_id = its_job and host = session_user)';
create policy hosts_add on attempt for insert to @hosts@
    with check (host = session_user and holds(job_id) and is_own_name(worker_id));
create policy hosts_change on attempt for update to @hosts@
    using (host = session_user or holds(job_id));
grant insert, update on attempt to @hosts@;
create or replace function guard_attempt() returns trigger language plpgsql
    set search_path = @schema@, pg_catalog, pg_temp as $$
begin
    if row_security_active('attempt')
        and (new.id, new.job_id, new.number, new.worker_id, new.host)
            is distinct from (old.id, old.job_id, old.number, old.worker_id, old.host)
    then
        raise insufficient_privilege using message = 'an attempt stays with whoever has begun it';
    end if;
    return new;
end $$;
create or replace trigger guard before update on attempt
    for each row execute function guard_attempt();
create policy hosts_add on spending for insert to @hosts@ with check (
    exists (select 1 from attempt where attempt.job_id = spending.job_id
        and attempt.number = spending.number and attempt.host = session_user));
create policy hosts_change on spending for update to @hosts@ using (holds(job_id)
    or exists (select 1 from attempt where attempt.job_id = spending.job_id
        and attempt.number = spending.number and attempt.host = session_user));
grant insert, update on spending to @hosts@;
create policy all_add on budget_warning for insert to @callers@, @hosts@ with check (true);
grant insert on budget_warning to @callers@, @hosts@;

-- Workers: a host's own, and such as were not heard for longer than a lease.
create policy hosts_add on worker for insert to @hosts@
    with check (host = session_user and is_own_name(id));
create policy hosts_change on worker for update to @hosts@
    using (host = session_user) with check (host = session_user and is_own_name(id));
create policy hosts_remove on worker for delete to @hosts@
    using (host = session_user or clock() - beat_at > lease_end() - clock());
grant insert, update, delete on worker to @hosts@;

-- Hosts: who comes with an id first has it.
create policy all_add on host for insert to @callers@, @hosts@ with check (role = session_user);
create policy all_change on host for update to @callers@, @hosts@
    using (role = session_user) with check (role = session_user);
grant insert (id, name), update (name, serves) on host to @callers@, @hosts@;

-- The record of changes: nobody makes up what triggers write.
create policy all_add on change for insert to @callers@, @hosts@
    with check (kind in ('status', 'budget', 'stalled', 'verdict', 'batch'));
grant insert on change to @callers@, @hosts@;
create policy all_add on last_status for insert to @callers@, @hosts@ with check (true);
create policy all_change on last_status for update to @callers@, @hosts@ using (true);
grant insert, update on last_status to @callers@, @hosts@;

-- What is noted of the queue as a whole, but for what it is and whose.
create or replace function is_fixed(its_name text) returns boolean language sql immutable as $$
    select its_name in ('format', 'made_by', 'file_id', 'lease seconds', 'checkout',
        'checkout for people', 'changes forgotten up to') or its_name like 'most agents%' $$;
create policy all_add on control for insert to @callers@, @hosts@ with check (not is_fixed(name));
create policy all_change on control for update to @callers@, @hosts@ using (not is_fixed(name));
create policy all_remove on control for delete to @callers@, @hosts@ using (not is_fixed(name));
grant insert, update, delete on control to @callers@, @hosts@;

-- Who waits, batches, and what a user's commands were told.
-- The lease of a job for which one waits counts against no limit: an agent's own, on one host.
create policy callers_have on waiter to @callers@ using (true)
    with check (on_behalf_of is null and is_own_name(id));
create policy hosts_remove on waiter for delete to @hosts@ using (true);
grant insert, update, delete on waiter to @callers@;
grant delete on waiter to @hosts@;
create policy callers_add on batch for insert to @callers@
    with check (owner = session_user and is_own_host(host_id));
create policy callers_change on batch for update to @callers@ using (owner = session_user)
    with check (owner = session_user and is_own_host(host_id));
create policy callers_remove on batch for delete to @callers@ using (owner = session_user);
create policy callers_have on batch_item to @callers@ using (exists (
    select 1 from batch where batch.id = batch_item.batch_id and batch.owner = session_user));
create policy callers_have on merge_turn to @callers@ using (true);
grant insert, update, delete on batch, batch_item, merge_turn to @callers@;
create policy hosts_have on notification to @hosts@ using (true);
grant insert, update, delete on notification to @hosts@;
