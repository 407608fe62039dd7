-- The lanes of a queue that several hosts share: what a host serves decides as well, what a job
-- requires, and where it may run. `server_rights` runs this last, again and again; @schema@ is a name.
-- What the trigger reads of other tables does not change while a job waits in the queue.
create or replace function set_lane() returns trigger language plpgsql
    security definer set search_path = @schema@, pg_catalog, pg_temp as $$
declare
    way_of_it travel;
    tried_by jsonb;
    last_on text;
begin
    select * into way_of_it from travel where job_id = new.id;
    select jsonb_agg(distinct host), (array_agg(worker_id order by number desc))[1]
        into tried_by, last_on from attempt where job_id = new.id;
    new.lane := jsonb_build_array(new.executor_name, new.max_parallel, new.batch,
        new.batch_step is not null, new.held_for is not distinct from 'budget',
        new.owner, json_extract(new.terms, '$.requires'), new.host_id, way_of_it.job_id is not null,
        coalesce(split_part(last_on, '@', 2), way_of_it.host), tried_by);
    return new;
end $$;
update job set queue_row = queue_row where queue_row is not null;
-- A host does not see what it does not serve. It would look at all of that, one by one.
alter function heads(double precision) security definer;
alter function heads(double precision) set search_path = @schema@, pg_catalog, pg_temp;
