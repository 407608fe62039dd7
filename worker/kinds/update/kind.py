"""The kind `update`, as a worker asks it."""

from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.paths import AttemptPaths
from sow.schema.job import Job
from worker.context import WorkerContext
from worker.kinds.step import Place, StepKind
from worker.steps.program_input import UpdateOrders


class UpdateKind(StepKind):
    """Jobs that bring the project's branch into a task's clone."""

    def orders(
        self, context: WorkerContext, job: Job, _place: Place, paths: AttemptPaths
    ) -> UpdateOrders:
        """Return which clone to bring up to date."""
        settings, _ = clone_settings(read_repository(context.workspace.repository_config))
        return UpdateOrders(
            folder=str(paths.folder),
            root=str(context.workspace.root),
            task=job.task_id,
            settings=settings,
        )


KIND = UpdateKind()
