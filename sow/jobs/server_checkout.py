"""Which checkout uses a queue on a server: one at a time.

A worker proves its life by a lock in its checkout's folder, and an attempt by another. Seen from a
second checkout every worker would look dead, and its jobs would be taken over while their agents
run. So a queue belongs to the checkout that has used it first, until nothing of it goes on. Owns
this rule. It falls with leases that have a deadline (docs/architecture.md).
"""

import os

from sow.jobs.queue_server import CHECKOUT, QueueServer
from sow.jobs.server_deadlines import silent_seconds
from sow.jobs.server_faults import OtherCheckout, ServerFault
from sow.jobs.store import ACTIVE
from sow.jobs.user_secret import code_of
from sow.paths import Workspace
from sow.processes.procfs import machine_id

SHOWN = "checkout for people"
"""The row of `control` that says which checkout that is."""
DIGITS = 32
GOES_ON = f"""
    select exists (select 1 from job where {ACTIVE})
        or exists (select 1 from job where owes_task)
        or exists (select 1 from lease)
        or exists (select 1 from batch where ended_at is null)
"""  # noqa: S608 - words of ours


def take(database: QueueServer, workspace: Workspace, noted: str | None) -> None:
    """Use a queue from this checkout; whoever has used it from another one leaves.

    `noted` is which one was on record a moment ago. Raises OtherCheckout where something goes on
    there.
    """
    here = database.checkout = _code(workspace)
    if noted == here:
        return
    with database.turn_alone():
        other = database.noted(CHECKOUT)
        if other == here:
            return
        if other is not None and database.value(GOES_ON):
            where = database.noted(SHOWN) or "elsewhere"
            raise OtherCheckout(database.place, where, silent_seconds(database))
        if database.value("select row_security_active('control')"):
            where = database.noted(SHOWN) or "elsewhere"
            hint = "Whoever owns its tables runs a command here first, which takes the queue over."
            raise ServerFault(database.place, f"it is used from {where}", hint)
        database.note(CHECKOUT, here)
        database.note(SHOWN, f"{os.uname().nodename}:{os.path.realpath(workspace.root)}")
        database.run("delete from worker")


def _code(workspace: Workspace) -> str:
    """Return a code of this machine and folder, as a queue's file has one in its second name."""
    folder = os.stat(workspace.run)  # noqa: PTH116
    root = os.path.realpath(workspace.root)
    return code_of("checkout", machine_id(), str(folder.st_ino), root)[:DIGITS]
