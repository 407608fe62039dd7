"""Why a queue's file without a proof is refused, and what its user can do.

Owns these errors' words.
"""

import os
from pathlib import Path

from sow.errors import QueueError
from sow.jobs.faults import put_aside_command


class CopiedQueue(QueueError):
    """The queue's file has a proof, but not one of this user, this machine and this folder."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"the queue file {path} was not made by you for this folder of this machine: it was "
            "copied or restored, or HOME or XDG_STATE_HOME was another one then; no job of it is "
            "run here",
            hint="Put it aside, then call again; this checkout begins a queue of its own:\n"
            f"    {put_aside_command(path)}\n"
            "An original elsewhere and its agents stay as they are.",
        )


class OtherUsersQueue(QueueError):
    """The queue's file belongs to another user of this machine."""

    def __init__(self, path: Path, owner: int) -> None:
        super().__init__(
            f"the queue file {path} belongs to another user (uid {owner}) than the one that "
            f"calls sow (uid {os.geteuid()})",
            hint="Call sow as that user: a checkout has one user. Nothing was read or changed.",
        )


class OwnQueueHeld(QueueError):
    """This user's own file is to be put back, and processes write it by a log that is gone."""

    def __init__(self, path: Path, pids: list[int]) -> None:
        named = " ".join(map(str, pids))
        super().__init__(
            f"the queue file {path} and its log were replaced while your own file was open in "
            f"{'process' if len(pids) == 1 else 'processes'} {named}",
            hint=f"Wait until that has ended, or end it (`kill {named}`); then call again: your "
            "own file is put back then.",
        )
