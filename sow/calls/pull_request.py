"""A finished project as a pull request, and where that stands.

Owns what must be true first: the branch is on GitHub, at the very commit that is checked out here.
sow pushes nothing: hooks, signatures and credentials are git's and the user's.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from sow.calls.publishing import number_on_record
from sow.errors import StateError
from sow.git.checked_out import branch_at
from sow.git.run import git, git_answer
from sow.git.view import view_of
from sow.github.answers import Pull, Review
from sow.github.github_errors import GithubRefused
from sow.github.quoting import inert_title
from sow.github.requests import (
    Place,
    branch_tip,
    checks_of,
    create_pull,
    pulls_of,
    read_pull,
    reviews_of,
)
from sow.lifecycle.stages import COMPLETED, ProjectType
from sow.paths import Workspace
from sow.reports.project_report import Reported, report_of, tasks_in
from sow.schema.project import EndingWord
from sow.schema.task import TaskStatus
from sow.state.archive import last_ended
from sow.state.places import has_project
from sow.state.projects import read_project

REMOTE = re.compile(
    r"(?:[a-z+]+://(?:[^@/]+@)?(?P<host>[^/:]+)(?::\d*)?/|(?:[^@/]+@)?(?P<alias>[^:/]+):)"
    r"(?P<name>[^/]+/[^/]+?)(?:\.git)?/?"
)


class Opened(msgspec.Struct, frozen=True):
    """A pull request, and whether it was opened now."""

    pull: Pull
    is_new: bool
    uncommitted: Sequence[str]
    """Files of `.sow/knowledge` that no commit has yet."""


class PullStanding(msgspec.Struct, frozen=True):
    """Where a pull request stands."""

    pull: Pull
    approved_by: Sequence[str]
    changes_asked_by: Sequence[str]
    checks: Sequence[tuple[str, str]] | None
    """Each with passed, failed or pending; None where they may not be seen."""
    is_current: bool
    """Whether its commit is the one that the branch has here."""


class NothingFinished(StateError):
    """There is no finished project on this branch."""

    def __init__(self, branch: str, standing: str | None) -> None:
        why = f"its project is {standing}" if standing else "no project has been finished on it"
        super().__init__(
            f"no pull request can be opened for the branch {branch}: {why}",
            hint="`sow next` says what is missing; `sow project list` shows what has ended.",
        )


class NoBranch(StateError):
    """No branch is checked out, or the one that everything goes into."""

    def __init__(self, branch: str | None, base: str) -> None:
        what = f"{branch} is the base branch itself" if branch else "no branch is checked out here"
        super().__init__(
            f"a pull request needs a branch other than {base}, but {what}",
            hint="Check out the project's branch, or name another base branch with --base.",
        )


def finished_here(workspace: Workspace, branch: str) -> Reported:
    """Return the project of the branch that has come to its end. Raises NothingFinished."""
    if has_project(workspace):
        project = read_project(workspace)
        if project.standing != COMPLETED:
            raise NothingFinished(branch, project.standing)
        return Reported(project, tasks_in(workspace.project), None)
    archived = last_ended(workspace, branch)
    if archived is None:
        raise NothingFinished(branch, None)
    ending = archived.project.ending
    if ending is msgspec.UNSET or ending.how is not EndingWord.FINISHED:
        raise NothingFinished(branch, "abandoned")
    where = archived.folder.relative_to(workspace.root).as_posix()
    return Reported(archived.project, tasks_in(archived.folder), where)


def open_pull(
    workspace: Workspace, place: Place, *, base: str | None, title: str | None, draft: bool
) -> Opened:
    """Open a pull request for the finished project, or return the open one of its branch.

    Raises NothingFinished, NoBranch, StateError, and what `gh` raises.
    """
    into = base or place.default_branch
    branch = branch_at(workspace.root)
    if branch is None or branch == into:
        raise NoBranch(branch, into)
    found = finished_here(workspace, branch)
    remote, head = _pushed_to(workspace, place, branch)
    tip = branch_tip(place, head, branch)
    if tip is None or tip != view_of(workspace.root).commit_of(f"refs/heads/{branch}"):
        what = (
            f"has no branch {branch}"
            if tip is None
            else f"has the branch {branch} at commit {tip[:12]}, which is not the commit here"
        )
        raise StateError(
            f"{head} {what}",
            hint="sow never pushes. Push the branch, then run the command again: git push -u"
            f" {remote} {branch}",
        )
    owner = head.partition("/")[0]
    uncommitted = _uncommitted(workspace)
    there = pulls_of(place, owner, branch, "open")
    if there:
        return Opened(there[0], False, uncommitted)
    try:
        pull = create_pull(
            place,
            head=f"{owner}:{branch}",
            base=into,
            title=title or inert_title(found.project.name),
            body=report_of(found, _closed(found, place)),
            draft=draft,
        )
    except GithubRefused:
        there = pulls_of(place, owner, branch, "open")  # somebody was faster
        if not there:
            raise
        return Opened(there[0], False, uncommitted)
    return Opened(pull, True, uncommitted)


def pull_standing(workspace: Workspace, place: Place, branch: str | None) -> PullStanding:
    """Return where the newest pull request of a branch stands. Raises NoBranch, StateError."""
    name = branch or branch_at(workspace.root)
    if name is None:
        raise NoBranch(None, place.default_branch)
    _, head = _pushed_to(workspace, place, name)
    found = pulls_of(place, head.partition("/")[0], name, "all")
    if not found:
        raise StateError(
            f"{place.name} has no pull request for the branch {name}",
            hint="`sow pr create` opens one for the finished project.",
        )
    pull = read_pull(place, found[0].number)
    approved, asked = _verdicts(reviews_of(place, pull.number))
    return PullStanding(
        pull=pull,
        approved_by=approved,
        changes_asked_by=asked,
        checks=checks_of(place, pull.head.sha) if pull.head.sha else None,
        is_current=pull.head.sha == view_of(workspace.root).commit_of(f"refs/heads/{name}"),
    )


def _verdicts(reviews: Sequence[Review]) -> tuple[list[str], list[str]]:
    """Return who has approved, and who asks for changes: each by their last word."""
    last: dict[str, str] = {}
    for review in reviews:
        login = review.user.login if review.user is not None else "ghost"
        if review.state in ("APPROVED", "CHANGES_REQUESTED", "DISMISSED"):
            last[login] = review.state
    by_word = {
        word: sorted(login for login, state in last.items() if state == word)
        for word in ("APPROVED", "CHANGES_REQUESTED")
    }
    return by_word["APPROVED"], by_word["CHANGES_REQUESTED"]


def _closed(found: Reported, place: Place) -> list[int]:
    """Return the issues that the project came from, and those of its completed tasks."""
    numbers = {number_on_record(found.project, place)}
    if found.project.kind is not ProjectType.BREAKDOWN:  # its units are yet to be done
        numbers |= {
            number_on_record(task, place)
            for task in found.tasks
            if task.status is TaskStatus.COMPLETED
        }
    return sorted(number for number in numbers if number is not None)


def _pushed_to(workspace: Workspace, place: Place, branch: str) -> tuple[str, str]:
    """Return the remote that a branch is pushed to, and the repository there, as git would.

    Where git would push to another host, it is the first remote that leads to the place's.
    """
    root = workspace.root
    wanted = _push_remote(root, branch)
    others = git_answer(root, "remote")[1].decode("utf-8", "replace").split()
    for remote in dict.fromkeys((wanted, *others)):
        if name := _repository_at(root, remote, place):
            return remote, name
    return wanted, place.name


def _push_remote(root: Path, branch: str) -> str:
    for key in (f"branch.{branch}.pushRemote", "remote.pushDefault", f"branch.{branch}.remote"):
        code, output, _ = git_answer(root, "config", "--get", key)
        if code == 0 and (value := output.decode("utf-8", "replace").strip()) not in ("", "."):
            return value
    return "origin"


def _repository_at(root: Path, remote: str, place: Place) -> str | None:
    """Return the repository that a remote leads to on the place's host; None for another host.

    A host without a dot is a name of the user's own ssh settings, and may be any.
    """
    code, output, _ = git_answer(root, "remote", "get-url", "--push", "--", remote)
    found = REMOTE.fullmatch(output.decode("utf-8", "replace").strip()) if code == 0 else None
    if found is None:
        return None
    host = (found["host"] or found["alias"]).lower().removeprefix("ssh.")
    own = urlsplit(place.url).hostname
    return found["name"] if "." not in host or host == own else None


def _uncommitted(workspace: Workspace) -> list[str]:
    """Return what of `.sow/knowledge` the branch does not have yet."""
    where = workspace.knowledge.relative_to(workspace.root).as_posix()
    output = git(workspace.root, "status", "--porcelain", "-z", "--", where)
    return [row[3:] for row in output.split("\0") if row]
