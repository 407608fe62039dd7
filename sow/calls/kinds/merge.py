"""The kind `merge`, as a call asks it: the work of some tasks is merged into the project's branch.

Owns that it is asked for by nobody who has made the work, and of work that may be merged as it
stands. The program of the job asks that again: what is so now may not be so when a worker takes it.
"""

from collections.abc import Sequence

from sow.calls.caller import Caller
from sow.calls.judging import refuse_author
from sow.calls.kinds.step import StepKind
from sow.calls.request import Request
from sow.clones.candidates import candidates, in_order
from sow.clones.main_checkout import main_checkout
from sow.config.checks import read_repository
from sow.config.clones import clone_settings, merge_commands
from sow.config.configuration import Configuration
from sow.git.repository import refuse_old_git
from sow.ids import TaskId
from sow.jobs.database import Database
from sow.schema.job import Verb
from sow.schema.job_terms import MergeTerms, MergeWay
from sow.state.tasks import read_task


class MergeKind(StepKind):
    """Jobs that merge."""

    def admit(
        self, caller: Caller, _database: Database | None, config: Configuration, request: Request
    ) -> None:
        """Raise StateError, NotMergeable, UnknownCheck, GitTooOld, and what `candidates` raises."""
        for task_id in request.tasks:
            refuse_author(caller, task_id, "merge")
        refuse_old_git()
        path = caller.workspace.repository_config
        source = read_repository(path)
        merge_commands(source, clone_settings(source)[0], path)
        candidates(main_checkout(caller.workspace, config.clones), request.tasks)


def merge_request(
    caller: Caller, task_ids: Sequence[TaskId], *, way: MergeWay, again: bool
) -> Request:
    """Return the request of a merge, whose tasks stand in the order in which they are merged.

    Raises what `read_task` raises.
    """
    tasks = in_order([read_task(caller.workspace, task_id) for task_id in dict.fromkeys(task_ids)])
    named = tuple(TaskId(task.id) for task in tasks)
    squash, rebase = way is MergeWay.SQUASH, way is MergeWay.REBASE
    terms = MergeTerms(tasks=named, squash=squash, rebase=rebase)
    return Request(verb=Verb.MERGE, task_id=named[0], again=again, terms=terms)


KIND = MergeKind()
