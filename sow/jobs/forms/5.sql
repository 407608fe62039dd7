-- Which budget has stopped a job, or refused an item's next action.
alter table job add column reached text;
alter table batch_item add column reached text;
