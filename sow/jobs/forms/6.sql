-- A lane is the jobs in the queue of which the limits allow either any or none: a claim looks at the
-- first of each lane alone, however many wait behind it.
alter table job add column lane text generated always as (
    json_array(executor_name, max_parallel, batch, batch_step is not null, held_for is 'budget'));
create index job_lane on job (lane, priority desc, id, retry_at) where queue_row is not null;
create index job_retry on job (retry_at) where queue_row is not null;
-- Which job a message asks for; none is found behind those without one, which are set aside.
alter table task add column job_id integer;
update task set job_id = (select id from job where queue_row = task.id);
create index task_without_job on task (priority desc, id) where job_id is null;
-- The order of a lane is that of the jobs: a message that was queued with a priority has given it on.
update job set priority = (select task.priority from task where task.id = job.queue_row)
where exists (select 1 from task where task.id = job.queue_row and task.priority <> job.priority);
