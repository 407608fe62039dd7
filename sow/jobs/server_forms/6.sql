-- The lanes of form 6; what they are is said in `../forms/6.sql`. A shared queue has more that
-- decides who may run a job (`lanes.sql`).
alter table job add column lane text collate "C";
create index job_lane on job (lane, priority desc, id, retry_at) where queue_row is not null;
create index job_retry on job (retry_at) where queue_row is not null;
create function set_lane() returns trigger language plpgsql as $$
begin
    new.lane := jsonb_build_array(new.executor_name, new.max_parallel, new.batch,
        new.batch_step is not null, new.held_for is not distinct from 'budget');
    return new;
end $$;
create trigger lane before insert or update on job for each row
    when (new.queue_row is not null) execute function set_lane();
alter table task add column job_id bigint;
update task set job_id = (select id from job where queue_row = task.id);
create index task_without_job on task (priority desc, id) where job_id is null;
-- This gives the jobs in the queue their lanes, too.
update job set priority = task.priority from task where task.id = job.queue_row;

-- Returns the messages that a claim has to choose from: the first of each lane that is to be tried
-- by now, and of those without a job. Few rows wait in an empty queue and many in a full one, and
-- the plan of either is kept for the other: so it always goes by the indexes.
create function heads(its_now double precision) returns setof bigint language plpgsql stable rows 8
    set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off as $$
declare
    its_lane text collate "C" := '';
    head bigint;
begin
    loop
        select lane into its_lane from job
        where queue_row is not null and lane > its_lane order by lane limit 1;
        exit when its_lane is null;
        select queue_row into head from job
        where queue_row is not null and lane = its_lane and retry_at <= its_now
            and exists (select 1 from task where task.id = queue_row)
        order by priority desc, id limit 1;
        if head is not null then
            return next head;
        end if;
    end loop;
    return query select id from task where job_id is null order by priority desc, id limit 1;
end $$;

-- The body of a function in SQL is planned anew by each statement that calls it, which takes ten
-- times as long as the body itself. PL/pgSQL keeps the plan.
create or replace function next_number(text) returns bigint language plpgsql as $$
declare
    number bigint;
begin
    insert into sqlite_sequence values ($1, 1)
    on conflict (name) do update set seq = sqlite_sequence.seq + 1 returning seq into number;
    return number;
end $$;
create or replace function lease_end() returns double precision language plpgsql volatile as $$
begin
    return clock() + coalesce(
        (select value::double precision from control where name = 'lease seconds'), 120);
end $$;
create or replace function json_each(text) returns table (key text, value text)
    language plpgsql immutable strict rows 10 as $$
begin
    return query select member.key, member.value #>> '{}' from jsonb_each(
        case jsonb_typeof($1::jsonb) when 'object' then $1::jsonb else '{}' end) as member
    union all
    select (item.place - 1)::text, item.value #>> '{}' from jsonb_array_elements(
        case jsonb_typeof($1::jsonb) when 'array' then $1::jsonb else '[]' end)
        with ordinality as item (value, place);
end $$;
