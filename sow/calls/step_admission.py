"""What a job without an agent is refused for, kind by kind, before it is placed.

Owns that a merge is asked for by nobody who has made the work, and of work that
may be merged as it stands, which the program of the job asks again: what is so
now may not be so when a worker takes it. And that a check of the project is one
of the project's branch.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from sow.calls.caller import Caller
from sow.calls.judging import refuse_author
from sow.calls.request import Request
from sow.clones.candidates import candidates, in_order
from sow.clones.main_checkout import main_checkout
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.config.configuration import Configuration
from sow.config.merge_check import merge_commands
from sow.errors import StateError
from sow.git.git_errors import GitMissing, GitRefused, NoRepository
from sow.git.repository import commit_of, refuse_old_git, repository_of
from sow.ids import TaskId
from sow.schema.job import Verb
from sow.schema.job_terms import MergeTerms, MergeWay
from sow.state.projects import read_project
from sow.state.tasks import read_task


class OtherBranch(StateError):
    """What is checked out is not the project's branch, which a check of the project is about."""

    def __init__(self, branch: str, here: str | None) -> None:
        super().__init__(
            f"{here or 'no branch'} is checked out, and the project's branch is {branch}",
            hint=f"A check of the project judges that branch: `git switch {branch}`, then call"
            " again.",
        )


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


def admit_step(caller: Caller, config: Configuration, request: Request) -> None:
    """Refuse a job without an agent that would only be refused later. Raises SowError."""
    admit = ADMISSIONS.get(request.verb)
    if admit is not None:
        admit(caller, config, request)


def _admit_merge(caller: Caller, config: Configuration, request: Request) -> None:
    """Raise OwnWork, NotMergeable, UnknownCheck, GitTooOld, and what `candidates` raises."""
    for task_id in request.tasks:
        refuse_author(caller, task_id, "merge")
    refuse_old_git()
    path = caller.workspace.repository_config
    source = read_repository(path)
    merge_commands(source, clone_settings(source)[0], path)
    candidates(main_checkout(caller.workspace, config.clones), request.tasks)


def _admit_check(caller: Caller, _config: Configuration, request: Request) -> None:
    """Raise OtherBranch where no task is checked, and the project's branch lies elsewhere."""
    branch = None if request.tasks else read_project(caller.workspace).branch
    if not branch:
        return
    with suppress(GitMissing, GitRefused, NoRepository):  # there is nothing that could differ
        here = repository_of(caller.workspace.root)
        if here.branch == branch:
            return
        there = commit_of(here.top, f"refs/heads/{branch}")
        if there not in (None, here.commit):
            raise OtherBranch(branch, here.branch)


ADMISSIONS: Mapping[Verb, Callable[[Caller, Configuration, Request], None]] = {
    Verb.CHECK: _admit_check,
    Verb.MERGE: _admit_merge,
}
"""The kinds that are refused for more than any job is."""
