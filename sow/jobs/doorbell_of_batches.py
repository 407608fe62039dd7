"""The bells of those who wait for a batch. A bell is a hint: who is rung looks at the records."""

from pathlib import Path

from sow.ids import BatchId
from sow.jobs import doorbell
from sow.paths import Workspace


def bell_path(workspace: Workspace, batch_id: BatchId, name: str) -> Path:
    """Return where a bell hangs that rings for a batch; `name` tells it from others."""
    return workspace.waiters / f"{name}{_suffix(batch_id)}"


def ring(workspace: Workspace, batch_id: BatchId) -> None:
    """Wake everyone who waits for a batch; call it after the commit."""
    doorbell.ring_all(workspace.waiters, _suffix(batch_id))


def _suffix(batch_id: BatchId) -> str:
    return f".batch{batch_id}.bell"
