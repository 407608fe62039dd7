"""What has changed in the root while a reviewer worked there, read before its attempt is settled.

Owns that comparison. It may take a while in a large repository, so it is done in a
thread of its own (`gathering`), and the monitor goes on.
"""

from sow.clones.tree_watch import Look, changed_between, look_at_tree
from worker.context import WorkerContext
from worker.gathering import Gathered, named
from worker.running import Running, read_record

LOOK_LIMIT = 1 << 24


def changed_meanwhile(context: WorkerContext, running: Running) -> Gathered:
    """Tell what has changed in the root while a reviewer worked there."""
    root = context.workspace.root
    before = read_record(running.paths.tree_before, Look, limit=LOOK_LIMIT)
    after = look_at_tree(root) if before is not None else None
    if before is None or after is None:
        untold = f"what has changed in {root} while the reviewer worked there nobody can tell"
        return Gathered(warnings=(f"{untold}: there is no commit to compare with",))
    changed = changed_between(before, after)
    if not changed:
        return Gathered()
    how = f"changed in {root} while the reviewer worked there, by whatever hand, and not undone"
    return Gathered(warnings=(f"{how}: {named(changed)}",))
