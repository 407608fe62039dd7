"""Held jobs that nothing releases but a command that somebody gives: no call waits for them.

Owns which these are, and the command that leads on. They are held for a person's word
(`sow trust`), or until a task is completed that is not completed by itself. A job whose
dependencies are at work, or may be begun by another call, is waited for.
"""

import re
from collections.abc import Sequence
from contextlib import suppress

from sow.calls.caller import Caller
from sow.calls.readiness import ReadyLook
from sow.errors import SowError
from sow.ids import JobId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.schema.job import HeldFor, Job, JobState

TRUST = "sow trust"
COMMAND = re.compile(r"`(sow [^`]+)`")


class HeldLook:
    """Looks again and again at the jobs that a call waits for, as far as they are held."""

    def __init__(self, caller: Caller, database: Database) -> None:
        self._caller = caller
        self._database = database
        self._ready = ReadyLook(caller.workspace, database)

    def look(self) -> None:
        """Release the jobs whose dependencies are met: it may be that no worker lives."""
        self._ready.look(now=self._caller.now())

    def leads_on(self, job_ids: Sequence[JobId]) -> str:
        """Return the command without which none of these jobs goes on; empty where one does."""
        if not jobs.are_held(self._database, job_ids):
            return ""
        found = [jobs.get_job(self._database, job_id) for job_id in job_ids]
        commands = [self._command_for(job) for job in found]
        if not all(commands) or (TRUST in commands and self._are_accepted()):
            return ""
        return commands[0]

    def _command_for(self, job: Job) -> str:
        """Return what releases one job; empty where it may be released without that."""
        if job.state is not JobState.HELD:
            return ""
        if job.held_for is not HeldFor.DEPENDENCIES:
            return TRUST
        named = COMMAND.search(job.reason) if job.id in self._ready.in_vain else None
        return named[1] if named else ""

    def _are_accepted(self) -> bool:
        """Release the jobs whose command lines are accepted by now; tell whether there are any.

        A worker holds a job, and looks once more whether it may go on: we may be between the two.
        """
        from sow.calls.held_jobs import release_accepted  # hardly any call has a held job

        caller = self._caller
        with suppress(SowError):  # broken settings or a broken trust file: nothing is accepted
            released = release_accepted(
                caller.workspace, self._database, caller.environ, now=caller.now()
            )
            return bool(released)
        return False
