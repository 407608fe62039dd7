"""The worker's door to the queue: huey's own storage interface, messages and all."""

import uuid
from typing import Any

from queue_cases import MANY

from sow.ids import JobId, WorkerId
from sow.jobs.database import Database
from sow.jobs.doorbell import Bell, ring
from sow.paths import Workspace
from worker.broker import Claims, SowHuey, make_huey


class HueyQueue:
    """Huey's storage interface, immediate and on the file."""

    def __init__(self, database: Database, workspace: Workspace) -> None:
        self.database, self.workspace = database, workspace
        self.huey = self._huey()

    def _huey(self, **storage: Any) -> SowHuey:
        huey = make_huey(
            lambda job_id: None, database=self.database, workspace=self.workspace, **storage
        )
        huey.immediate_use_memory = False
        huey.immediate = True
        return huey

    def enqueue(self, job_id: JobId) -> None:
        self.huey.storage.enqueue(self.huey.serialize_task(self.huey.run_job.s(job_id)))

    def claim(self, worker: WorkerId, *, total: int = MANY, own: int = MANY) -> JobId | None:
        bell = Bell(self.workspace.workers / f"{uuid.uuid4().hex}.bell")
        ring(bell.path)  # so that an empty queue is not waited for
        try:
            huey = self._huey(claims=Claims(worker, total=total, own=own), bell=bell)
            task = huey.dequeue()
        finally:
            bell.close()
        return JobId(task.args[0]) if task is not None else None
