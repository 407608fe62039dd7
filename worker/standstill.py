"""Supervisors that were stopped: continued, and killed where they are stopped again and again.

A stopped supervisor neither ends its agent nor writes down its end, so it
would hold its job's slot and task for ever. Owns the count of its stops. What
a killed one leaves is the monitor's, like that of any dead supervisor.
"""

import os
import signal
from contextlib import suppress

from sow.processes import process_facts
from worker.context import tell
from worker.running import Running

AGAIN_SECONDS = 10.0
"""Stops that lie no further back than this are the work of one hand."""
MOST_STOPS = 3
"""How often within that time a supervisor is continued before it is given up."""


def keep_going(running: Running, *, now: float) -> None:
    """Continue an attempt's supervisor if it was stopped, or kill it. `now` is monotonic."""
    supervisor = running.attempt.supervisor
    if supervisor is None or not process_facts.is_stopped(supervisor):
        return
    lately = [at for at in running.continued_at if now - at < AGAIN_SECONDS]
    with suppress(ProcessLookupError):
        if len(lately) < MOST_STOPS:
            running.continued_at = [*lately, now]
            tell(running.job, "its supervisor was stopped; continuing it")
            os.kill(supervisor.pid, signal.SIGCONT)
        else:
            tell(running.job, "its supervisor is stopped again and again; the worker replaces it")
            os.kill(supervisor.pid, signal.SIGKILL)
