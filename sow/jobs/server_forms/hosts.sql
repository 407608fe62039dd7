-- The hosts of a shared queue: each is a checkout on one machine that uses it as one role. The names
-- of its workers and of its waiting calls end with `@` and its id. `server_rights` runs this, before
-- the rights.

create table if not exists host (
    id text primary key,
    role text not null default session_user,
    name text not null,
    serves text not null default '{}',
    made_at double precision not null default clock(),
    heard_at double precision not null default clock()
);
-- Whoever joins chooses its id, and others name folders after it.
alter table host drop constraint if exists is_id;
alter table host add constraint is_id check (id ~ '^[0-9a-f]{12}$');
-- From which host a job was queued; there the state of its task is. Empty for one from before.
alter table job add column if not exists host_id text not null
    default coalesce(current_setting('sow.host', true), '');
-- On which host a batch was made, and by whom: its workers drive it.
alter table batch add column if not exists owner text not null default session_user;
alter table batch add column if not exists host_id text not null
    default coalesce(current_setting('sow.host', true), '');

-- Puts the host of a session on record, and returns the role that it is kept for: the first.
create or replace function be_host(its_id text, its_name text) returns text language plpgsql as $$
declare
    found text;
begin
    perform set_config('sow.host', its_id, false);
    select role into found from @schema@.host where id = its_id and name = its_name;
    if found is null then
        insert into @schema@.host (id, name) values (its_id, its_name)
        on conflict (id) do update set name = excluded.name where host.role = session_user;
        select role into found from @schema@.host where id = its_id;
    end if;
    return found;
end $$;
-- Whether a name is of a host of whoever has logged in.
create or replace function is_own_host(its_id text) returns boolean language plpgsql stable
    set search_path = @schema@, pg_catalog, pg_temp as $$
begin
    return exists (select 1 from host where id = its_id and role = session_user);
end $$;
create or replace function is_own_name(its_name text) returns boolean language plpgsql stable
    set search_path = @schema@, pg_catalog, pg_temp as $$
begin
    return exists (select 1 from host
        where id = split_part(its_name, '@', 2) and role = session_user);
end $$;
-- What is kept of a job names the executor that went on with it.
create or replace function history_of_executor() returns trigger language plpgsql as $$
begin
    update job_history set executor = new.executor_name where job_id = new.id;
    return null;
end $$;
create or replace trigger history_of_executor after update of executor_name on job for each row
    when (new.executor_name <> old.executor_name) execute function history_of_executor();
create or replace function host_is_heard() returns trigger language plpgsql as $$
begin
    update host set heard_at = clock() where id = split_part(new.id, '@', 2);
    return null;
end $$;
create or replace trigger host_is_heard after insert or update of beat_at on worker
    for each row execute function host_is_heard();
