"""The kind `check`, as a call asks it: the project's command lines are run on what stands there.

Owns that a check of the project is one of the project's branch, and that a check of a task has a
place to run in.
"""

import os
from contextlib import suppress

from msgspec import UNSET
from msgspec.structs import replace

from sow.calls.caller import Caller
from sow.calls.kinds.step import StepKind
from sow.calls.request import Request
from sow.config.configuration import Configuration
from sow.errors import StateError
from sow.jobs.database import Database
from sow.schema.job import Job
from sow.schema.job_terms import CheckTerms
from sow.schema.task import Task
from sow.schema.travel import Travel
from sow.state.projects import read_project
from sow.state.tasks import read_task


class CheckKind(StepKind):
    """Jobs that check."""

    def admit(
        self, caller: Caller, database: Database | None, _config: Configuration, request: Request
    ) -> None:
        """Raise StateError where the project's branch lies elsewhere, or a task's clone is gone.

        A batch sees to its clones itself. In a shared queue a check makes it again.
        """
        if request.part is None and not (database is not None and database.is_shared):
            for task_id in request.tasks:
                _refuse_gone_clone(read_task(caller.workspace, task_id))
        branch = None if request.tasks else read_project(caller.workspace).branch
        if not branch:
            return
        _refuse_another_branch(caller, branch)

    def sent(self, caller: Caller, config: Configuration, job: Job) -> tuple[Job, Travel | None]:
        """Return a check of a task's branch, with what another host needs that runs it."""
        terms = job.terms
        if not job.task_id or not isinstance(terms, CheckTerms) or terms.base is not None:
            return job, None
        # Few queues are shared.
        from sow.calls.sending import checked_commit, send_work
        from sow.config.checks import checks_of, hash_of, read_repository

        sent = send_work(caller, config, job, checked_commit(caller, config, job))
        if sent is None:
            return job, None
        commands = checks_of(read_repository(caller.workspace.repository_config)).commands
        lines = tuple(hash_of(commands[name].run) for name in terms.names)
        return replace(job, terms=replace(terms, lines=lines)), sent


def _refuse_gone_clone(task: Task) -> None:
    """Refuse where nothing lies where a task's work is to be checked. Raises NoClone."""
    if task.clone is not UNSET and not os.path.lexists(task.clone.path):
        from sow.clones.listing import NoClone  # few clones are gone

        raise NoClone(task, had_one=True)


def _refuse_another_branch(caller: Caller, branch: str) -> None:
    """Refuse where another branch is checked out. Raises StateError."""
    # A check of a task needs no git.
    from sow.git.git_errors import GitMissing, GitRefused, NoRepository
    from sow.git.repository import repository_of
    from sow.git.view import view_of

    with suppress(GitMissing, GitRefused, NoRepository):  # there is nothing that could differ
        here = repository_of(caller.workspace.root)
        if here.branch == branch:
            return
        there = view_of(here.top).commit_of(f"refs/heads/{branch}")
        if there not in (None, here.commit):
            raise StateError(
                f"{here.branch or 'no branch'} is checked out, but the project's branch is"
                f" {branch}",
                hint=f"The check runs on the project's branch: `git switch {branch}`, then run"
                " the command again.",
            )


KIND = CheckKind()
