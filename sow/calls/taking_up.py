"""The work of an agent whose end nobody has seen, brought into the repository out of its clone.

Owns that nobody is at work there. The records of the agent may be lost: a process that
carries its task is looked for as well.
"""

from contextlib import closing, nullcontext

from sow.calls.live_jobs import refuse_while_live
from sow.clones.main_checkout import MainCheckout
from sow.clones.place import Place
from sow.clones.taken_up import is_untaken, take_up
from sow.git.repository import branch_commit
from sow.ids import TaskId
from sow.jobs.database import open_existing_queue
from sow.schema.task import Task, TaskStatus


def take_up_unseen(main: MainCheckout, place: Place, task: Task, *, now: float) -> str | None:
    """Bring a task's branch into the repository where that has none; return what was done.

    Raises TaskIsRunning, TaskIsCarried, and what `take_up` raises.
    """
    if task.status is not TaskStatus.NEEDS_REVIEW:
        return None  # its agent goes on, or a merge brings it
    if branch_commit(main.repository, place.branch) is not None:
        return None
    if not is_untaken(main, place, task, None, was_prevented=False):
        return None
    refuse_while_live(main.workspace, TaskId(task.id), has_option=False)
    # Few clones hold work that nobody has brought here.
    from sow.jobs.unrecorded_agents import refuse_strays

    queue = open_existing_queue(main.workspace)
    with closing(queue) if queue is not None else nullcontext() as database:
        refuse_strays(main.workspace, database, TaskId(task.id))
    commit = take_up(main, task, now=now)
    return (
        f"the work of task {task.id} was only in its clone; the repository now has it on the"
        f" branch {place.branch}, at {commit[:12]}"
    )
