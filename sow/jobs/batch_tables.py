"""The tables of batches and their items, and the triggers that record what becomes of them.

Owns these statements, which `migrations` runs as part of its second and of its fourth step.
"""

BATCHES: tuple[str, ...] = (
    """
    create table batch (
        id integer primary key autoincrement,
        project_id text not null,
        name text not null,
        selection text not null,
        policy text not null,
        state text not null,
        reason text not null,
        by_job integer,
        path_variable text not null,
        seen integer not null,
        forgiven integer not null,
        made_at real not null,
        ended_at real
    )
    """,
    # Of two calls for the same tasks at the same moment one makes the batch, the other attaches.
    """
    create unique index batch_open on batch (project_id, selection) where ended_at is null
    """,
    """
    create table batch_item (
        batch_id integer not null,
        project_id text not null,
        task_id text not null,
        state text not null,
        reason text not null,
        refusal text not null,
        forgiven integer not null,
        is_open integer not null,
        primary key (batch_id, task_id)
    ) without rowid
    """,
    # Two batches never drive one task.
    "create unique index batch_item_open on batch_item (project_id, task_id) where is_open",
    # Which item is brought up to date and merged now: one at a time for a project's branch.
    """
    create table merge_turn (
        project_id text primary key,
        batch_id integer not null,
        task_id text not null
    ) without rowid
    """,
    "create index job_batch on job (batch, id) where batch is not null",
    # What two workers do in the same moment is done once: the second insert is refused.
    """
    create unique index job_batch_step on job (batch, task_id, batch_step)
        where batch_step is not null
    """,
    "create index spending_batch on spending (batch) where batch is not null",
    # Who has its agent work on an item has seen to what stood against the batch's own action.
    """
    create trigger item_is_seen_to after insert on job
    when new.batch is not null and new.batch_step is null begin
        update batch_item set refusal = ''
        where batch_id = new.batch and task_id = new.task_id and refusal <> '';
    end
    """,
    # Whoever follows a batch is told of its tasks' statuses too.
    """
    create trigger change_of_status_in_batch after insert on change
    when new.kind = 'status' and new.batch is null begin
        update change set batch = (
            select batch_id from batch_item
            where project_id = new.project and task_id = new.task and is_open)
        where seq = new.seq;
    end
    """,
    """
    create trigger change_of_new_batch after insert on batch begin
        insert into change (project, task, batch, kind, data) values
            (new.project_id, '', new.id, 'batch', json_object('status', new.state));
    end
    """,
    """
    create trigger change_of_batch after update of state on batch
    when new.state is not old.state begin
        insert into change (project, task, batch, kind, data) values
            (new.project_id, '', new.id, 'batch', json_object('before', old.state,
                'status', new.state, 'reason', substr(new.reason, 1, 1000)));
    end
    """,
    """
    create trigger change_of_new_item after insert on batch_item begin
        insert into change (project, task, batch, kind, data) values
            (new.project_id, new.task_id, new.batch_id, 'item', json_object('status', new.state));
    end
    """,
    """
    create trigger change_of_item after update of state, reason on batch_item
    when new.state is not old.state or new.reason is not old.reason begin
        insert into change (project, task, batch, kind, data) values
            (new.project_id, new.task_id, new.batch_id, 'item', json_object('before', old.state,
                'status', new.state, 'reason', substr(new.reason, 1, 1000)));
    end
    """,
    """
    create trigger change_of_removed_item after delete on batch_item when old.is_open begin
        insert into change (project, task, batch, kind, data) values
            (old.project_id, old.task_id, old.batch_id, 'item', json_object('before', old.state,
                'status', 'removed'));
    end
    """,
)
"""In the order in which they are run."""

BATCH_SUMMARIES: tuple[str, ...] = (
    # What a list of batches tells is on record: whether one rests, beside where its items stand.
    "alter table batch add column rests integer not null default 0",
    # Of those that an older sow has seen to it is not: they are looked at once more.
    "update batch set seen = 0 where ended_at is null",
    # The items of ended batches that are still to be told how they have ended.
    """
    create index batch_item_unsettled on batch_item (batch_id)
        where not is_open and state in ('checking', 'correcting', 'in_review', 'merging', 'running')
    """,
)
"""The same."""
