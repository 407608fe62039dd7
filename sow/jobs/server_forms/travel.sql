-- The work that travels between the checkouts of a queue that several hosts share. `server_rights`
-- runs this after `rights.sql`, again and again; @schema@, @callers@ and @hosts@ are names.

-- By which ref of the project's remote another host gets what a job's agent begins with. A job
-- without such a row runs on the host that it was queued from.
create table if not exists travel (
    job_id bigint primary key,
    ref text not null,
    packed text not null,
    base text not null,
    tip text,
    branch text not null,
    trunk text not null,
    host text
);
-- What befell a job away from home, in its order; `outcome` is what came of it there.
create table if not exists event (
    job_id bigint not null,
    attempt bigint not null,
    place bigint not null,
    host text not null default session_user,
    kind text not null,
    data text not null,
    outcome text,
    primary key (job_id, attempt, place)
);
-- Whoever reads them at home reads no more than an attempt can have to tell.
alter table event drop constraint if exists is_bounded;
alter table event add constraint is_bounded
    check (place between 1 and 3000 and octet_length(kind) <= 100 and octet_length(data) <= 1 << 23);
create unique index if not exists event_work on event (job_id, attempt) where kind = 'work';
create or replace function forget_travel() returns trigger language plpgsql
    security definer set search_path = @schema@, pg_catalog, pg_temp as $$
begin
    delete from travel where job_id = old.id;
    delete from event where job_id = old.id;
    return old;
end $$;
create or replace trigger forget_travel after delete on job
    for each row execute function forget_travel();
-- A job that may have been away owes its task what befell it there, however it has ended.
create or replace function owe_events() returns trigger language plpgsql
    security definer set search_path = @schema@, pg_catalog, pg_temp as $$
begin
    new.owes_task := new.owes_task
        or exists (select 1 from travel where job_id = new.id);
    return new;
end $$;
create or replace trigger owe_events before update on job for each row
    when (new.state in ('done', 'failed', 'cancelled')
        and old.state not in ('done', 'failed', 'cancelled'))
    execute function owe_events();

alter table travel enable row level security;
alter table event enable row level security;
revoke all on travel, event from @callers@, @hosts@;
grant select on travel, event to @callers@, @hosts@;
drop policy if exists all_see on travel;
drop policy if exists all_see on event;
create policy all_see on travel for select to @callers@, @hosts@
    using (exists (select 1 from job where job.id = travel.job_id));
create policy all_see on event for select to @callers@, @hosts@
    using (exists (select 1 from job where job.id = event.job_id));
-- A caller says where its own job begins, once and before that is queued.
drop policy if exists callers_add on travel;
create policy callers_add on travel for insert to @callers@ with check (
    exists (select 1 from job where job.id = travel.job_id and job.owner = session_user
        and job.state = 'preparing'));
grant insert on travel to @callers@;
create or replace function guard_travel() returns trigger language plpgsql
    set search_path = @schema@, pg_catalog, pg_temp as $$
declare
    project text;
    task text;
    a_commit constant text := '^([0-9a-f]{40}|[0-9a-f]{64})$';
begin
    select project_id, task_id into project, task from job where id = new.job_id;
    if (
        new.ref !~ '^refs/sow/tasks/[0-9a-f]{8}/[0-9]{3,}/[0-9a-f]{12}$'
        or split_part(new.ref, '/', 4) <> left(project, 8)
        or split_part(new.ref, '/', 5) <> task
        or split_part(new.ref, '/', 6) <> left(new.packed, 12)
        or new.packed !~ a_commit or new.base !~ a_commit
        or coalesce(new.tip, new.base) !~ a_commit)
    then
        raise insufficient_privilege using message = 'no ref of the task of the job';
    end if;
    return new;
end $$;
create or replace trigger guard before insert or update on travel
    for each row execute function guard_travel();
-- A host tells of the attempts that are its own, while it has the lease.
drop policy if exists hosts_add on event;
create policy hosts_add on event for insert to @hosts@ with check (
    host = session_user and outcome is null and holds(job_id) and exists (
        select 1 from attempt where attempt.job_id = event.job_id
            and attempt.number = event.attempt and attempt.host = session_user));
grant insert on event to @hosts@;
-- The owner says what came of it.
drop policy if exists callers_change on event;
create policy callers_change on event for update to @callers@ using (
    exists (select 1 from job where job.id = event.job_id and job.owner = session_user));
grant update (outcome) on event to @callers@;
-- What was refused is a warning of the job.
grant update (warnings) on job to @callers@;
