"""Whether a queue has anything to tell of now: one query, and none of the records' forms.

For commands that show how a project stands, most of which find nothing at work.
"""

from sow.jobs.database import Database

ACTIVE = "state in ('preparing', 'queued', 'running', 'backoff', 'parked', 'held')"
"""A job lives: the condition of the index on live jobs, word for word, as `migrations` has it."""
SOMETHING = f"""
    select exists (select 1 from job where {ACTIVE})
        or exists (select 1 from job where owes_task)
        or exists (select 1 from batch where ended_at is null)
        or exists (select 1 from waiter)
        or exists (select 1 from control where name = 'paused') as found
"""  # noqa: S608 - words of ours


def is_quiet(database: Database) -> bool:
    """Whether no job lives, no batch goes on, nothing is owed, and nothing is paused."""
    row = database.row(SOMETHING)
    return row is None or not row["found"]
