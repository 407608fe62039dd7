-- The bells of a queue that several hosts share; `server_rights` runs this, again and again. Whoever
-- listens to the channel of the queue's name hears of each change, once it is committed. The word is
-- the number of the job and that of the batch that it concerns, 0 for none. Equal words of one
-- transaction are one ring.
create or replace function ring() returns trigger language plpgsql
    security definer set search_path = @schema@, pg_catalog, pg_temp as $$
begin
    if tg_table_name = 'change' then
        perform pg_notify(tg_table_schema,
            coalesce(new.job, 0)::text || ' ' || coalesce(new.batch, 0)::text);
    else
        perform pg_notify(tg_table_schema, '0 0');
    end if;
    return null;
end $$;
create or replace trigger ring after insert on change for each row
    when (new.kind not in ('budget', 'stalled')) execute function ring();
-- The queue goes on; the slot of an agent that waits is free.
create or replace trigger ring after delete on control for each row
    when (old.name = 'paused') execute function ring();
create or replace trigger ring after insert on waiter for each row
    when (new.on_behalf_of is not null) execute function ring();
