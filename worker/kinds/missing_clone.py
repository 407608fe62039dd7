"""The clone of a task whose agent has worked on another host, for a step that needs one here.

Owns when a check or an update makes it first, and by which orders. It is made from the task's
branch, with `clones.copy` and `clones.setup` of this checkout, as that of an agent that begins.
Asked in a queue that is shared alone.
"""

from sow.clones.main_checkout import known_settings, main_checkout
from sow.paths import AttemptPaths
from sow.processes import process_facts
from sow.schema.job import Job
from sow.schema.task import Task
from sow.travel.clones_at_home import lacks_clone
from worker.context import WorkerContext
from worker.kinds.new_clone import settings_of_new_clone
from worker.steps.program_input import CloneOrders


def missing_clone(
    context: WorkerContext, job: Job, task: Task, paths: AttemptPaths
) -> CloneOrders | None:
    """Return what makes a task's clone; None where it is there, or the task has none.

    Raises NotTrusted where a command line of the repository would make it ready that this user has
    not accepted, SandboxUnavailable, and StateError where there can be no clone.
    """
    main = main_checkout(context.workspace, known_settings(context.workspace))
    if not lacks_clone(main, task):
        return None
    settings = settings_of_new_clone(context)
    noted = main.noted(task)
    packages = process_facts.packages()
    return CloneOrders(
        folder=str(paths.folder),
        job=job.id,
        attempt=paths.number,
        workspace=str(context.workspace.root),
        task=task.id,
        cwd=job.cwd,
        settings=settings,
        base=main.project_commit,
        is_begun=noted is not None and noted.setup.at > 0,
        packages=str(packages) if packages is not None else None,
    )
