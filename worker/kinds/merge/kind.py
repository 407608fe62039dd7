"""The kind `merge`, as a worker asks it.

Owns what is merged, and which command lines the result has to pass.
"""

from sow.config.checks import read_repository
from sow.config.clones import clone_settings, merge_commands
from sow.config.command_sandbox import refuse_without_sandbox
from sow.executors.registry import can_resume
from sow.ids import TaskId
from sow.paths import AttemptPaths
from sow.processes import process_facts
from sow.schema.job import Job
from sow.schema.job_terms import MergeTerms
from sow.state.tasks import read_task
from worker.context import WorkerContext
from worker.kinds.step import (
    Place,
    StepKind,
    refuse_untrusted_commands,
)
from worker.steps.program_input import MergeOrders


class MergeKind(StepKind):
    """Jobs that merge the work of some tasks into the project's branch."""

    def orders(
        self, context: WorkerContext, job: Job, _place: Place, paths: AttemptPaths
    ) -> MergeOrders:
        """Return what to merge, and the command lines that its result has to pass."""
        assert isinstance(job.terms, MergeTerms)  # noqa: S101 - every merge has its terms
        path = context.workspace.repository_config
        source = read_repository(path)
        settings, _ = clone_settings(source)
        commands = merge_commands(source, settings, path)
        if commands:
            refuse_untrusted_commands(context, job, source)
            refuse_without_sandbox(commands)
        packages = process_facts.packages()
        return MergeOrders(
            folder=str(paths.folder),
            root=str(context.workspace.root),
            tasks=job.terms.tasks,
            way=job.terms.way,
            fresh=tuple(task for task in job.terms.tasks if not _resumes(context, task)),
            settings=settings,
            commands=commands,
            packages=str(packages) if packages is not None else None,
        )


def _resumes(context: WorkerContext, task_id: TaskId) -> bool:
    return can_resume(context.configuration, read_task(context.workspace, task_id))


KIND = MergeKind()
