"""Which checkouts use a queue on a server: one at a time, or each as a host of its own.

On one host a worker proves its life by a lock in its checkout's folder, and an attempt by another.
Seen from a second checkout every worker would look dead, and its jobs would be taken over while
their agents run. In a queue that is shared deadlines tell life and death of what other checkouts
have, and every checkout is a host with an id of its own, which the server keeps for its role. In
any other deadlines decide nothing, for an agent should not end because its server is away. So such
a queue belongs to the checkout that has used it first, until nothing of it goes on. Owns both
rules, and what a checkout's id is made of.
"""

import os
from pathlib import Path

from sow.files import read_if_there
from sow.jobs.queue_server import CHECKOUT, HOST_SETTING, QueueServer
from sow.jobs.server_deadlines import silent_seconds
from sow.jobs.server_faults import OtherCheckout, ServerFault
from sow.jobs.store import ACTIVE
from sow.jobs.user_secret import code_of
from sow.paths import Workspace
from sow.processes.procfs import machine_id

SHOWN = "checkout for people"
"""The row of `control` that says which checkout that is."""
DIGITS = 32
PATH_LIMIT = 1 << 14
HOST_DIGITS = 12
"""Of a host's id, which stands in the names of its workers."""
GOES_ON = f"""
    select exists (select 1 from job where {ACTIVE})
        or exists (select 1 from job where owes_task)
        or exists (select 1 from lease)
        or exists (select 1 from batch where ended_at is null)
"""  # noqa: S608 - words of ours


KNOWN = f"select role, set_config('{HOST_SETTING}', id, false) from host where id = ? and name = ?"  # noqa: S608
"""Does what `be_host` does, for a host that is on record: so a short command loads no PL/pgSQL."""


def take(database: QueueServer, workspace: Workspace, noted: str | None) -> None:
    """Use a queue from this checkout; one that is not shared, whoever has used it before leaves.

    `noted` is which one was on record a moment ago. Raises OtherCheckout where something goes on
    there, ServerFault where another role has this host's id.
    """
    here = database.checkout = _code(workspace)
    become_host(database, workspace, noted)
    if noted == here or database.is_shared:
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
        database.note(SHOWN, name_of(workspace))
        database.run("delete from worker")


def become_host(database: QueueServer, workspace: Workspace, noted: str | None) -> None:
    """Give this checkout its id, and have the server of a shared queue keep it for our role.

    The id is a code that nobody else can compute before it is on record: of the user's secret, the
    machine, the folder, and the role. A process keeps it while its queue comes to be shared. A
    copy of the folder, another machine and another role are hosts of their own. A machine that was
    restarted, and a container that was made anew over the same folder, is the host that it was
    where it has kept its id (machine-id(5)) and the user's secret: there locks tell more than
    deadlines. Where it has not, it is another host, and what the old one had waits for its
    deadline. A guest's folder belongs to the host whose worker runs jobs there.
    """
    role = database.connection.info.user
    if (named := read_if_there(workspace.host_here, PATH_LIMIT)) is not None:
        workspace = Workspace(Path(os.fsdecode(named)))  # an agent's command, in a guest's folder
    database.host_id = code_of("host", _code(workspace), role)[:HOST_DIGITS]
    database.has_unmarked = noted in (None, database.checkout)
    if not database.is_shared:
        return
    its = (database.host_id, name_of(workspace))
    kept_for = database.value(KNOWN, its) or database.value("select be_host(?, ?)", its)
    if kept_for != role:
        hint = "Remove the copy of a user's secret (queue.key) that two of them share."
        raise ServerFault(database.place, f"this host's id is kept for the role {kept_for}", hint)


def name_of(workspace: Workspace) -> str:
    """Return what people call this checkout."""
    return f"{os.uname().nodename}:{os.path.realpath(workspace.root)}"


def _code(workspace: Workspace) -> str:
    """Return a code of this machine and folder, as a queue's file has one in its second name."""
    folder = os.stat(workspace.run)  # noqa: PTH116
    root = os.path.realpath(workspace.root)
    return code_of("checkout", machine_id(), str(folder.st_ino), root)[:DIGITS]
