-- What a list of batches tells is on record: whether one rests, beside where its items stand.
alter table batch add column rests integer not null default 0;
-- Of those that an older sow has seen to it is not: they are looked at once more.
update batch set seen = 0 where ended_at is null;
-- The items of ended batches that are still to be told how they have ended.
create index batch_item_unsettled on batch_item (batch_id)
    where not is_open and state in ('checking', 'correcting', 'in_review', 'merging', 'running');
