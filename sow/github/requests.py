"""The requests that sow makes of GitHub, each as a function.

Owns their addresses and what is asked of whom. All go through `gh api`: it prints JSON and nothing
else, and takes what is to be made on standard input, so that no title is taken for an option.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

from sow.errors import UsageError
from sow.github.answers import (
    Branch,
    CheckRuns,
    Issue,
    Pull,
    RepositoryFacts,
    Review,
    Statuses,
    User,
    read_answer,
    read_pages,
)
from sow.github.github_errors import GithubRefused, NotFound
from sow.github.run import gh

NAME = re.compile(
    r"(?:(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?)/)?(?P<name>[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+)"
)
ISSUE = re.compile(r"#?(?P<number>[1-9]\d{0,9})")
ADDRESS = re.compile(
    r"https?://(?P<host>[A-Za-z0-9.:-]+)/(?P<name>[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)/issues/(?P<number>[1-9]\d{0,9})(?:[/?#].*)?"
)
T = TypeVar("T")
ACCEPTS = "Accept: application/vnd.github+json"
PAGE = 100


class Place(msgspec.Struct, frozen=True):
    """A repository of GitHub, asked from a folder."""

    folder: Path
    name: str
    """OWNER/NAME."""
    url: str
    default_branch: str
    host: str | None = None
    """Where it was named; else `gh` knows."""

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.name.partition("/")[0]


class IssueName(msgspec.Struct, frozen=True):
    """An issue as a command line names it."""

    number: int
    repository: str | None = None
    """[HOST/]OWNER/NAME, where the address says so."""


def issue_name(text: str) -> IssueName:
    """Return the issue that a word names: 12, #12, or its address. Raises UsageError."""
    if found := ISSUE.fullmatch(text.strip()):
        return IssueName(int(found["number"]))
    if found := ADDRESS.fullmatch(text.strip()):
        host = "" if found["host"] == "github.com" else f"{found['host']}/"
        return IssueName(int(found["number"]), f"{host}{found['name']}")
    raise UsageError(
        f"{text!r} is no issue",
        hint="Give its number, such as 12, or its address: https://github.com/OWNER/NAME/issues/12",
    )


def find_place(folder: Path, repository: str | None) -> Place:
    """Return the repository that is named, else the one that the folder's remotes lead to.

    Raises UsageError, StateError, NotFound, and what `gh` raises.
    """
    place = Place(folder, "{owner}/{repo}", "", "")
    if repository is not None:
        found = NAME.fullmatch(repository)
        if found is None or found["name"].endswith(("/.", "/..")):
            text = repository
            raise UsageError(
                f"{text!r} is no name of a repository of GitHub",
                hint="Write OWNER/NAME, such as octo/app; of another host HOST/OWNER/NAME.",
            )
        place = Place(folder, found["name"], "", "", found["host"])
    named = f"the repository {place.name}"
    what = named if repository else "the repository of this folder's remotes"
    facts = _read(place, f"repos/{place.name}", what, RepositoryFacts)
    return Place(folder, facts.full_name, facts.html_url, facts.default_branch, place.host)


def read_issue(place: Place, number: int) -> Issue:
    """Return an issue. Raises NotFound, GithubRefused for a pull request."""
    what = f"issue {number} of {place.name}"
    issue = _read(place, f"repos/{place.name}/issues/{number}", what, Issue)
    if issue.pull_request is not msgspec.UNSET:
        raise GithubRefused(what, "it is a pull request, and no issue")
    return issue


def issues_since(place: Place, since: str) -> list[Issue]:
    """Return the issues, open and closed, that have changed since a time (ISO 8601)."""
    what = f"the issues of {place.name}"
    asked = f"state=all&per_page={PAGE}&since={quote(since, safe='')}"
    address = f"repos/{place.name}/issues?{asked}"
    found = _read_all(place, address, what, Issue)
    return [issue for issue in found if issue.pull_request is msgspec.UNSET]


def own_login(place: Place) -> str | None:
    """Return the account of `gh`; None for a token that may not say whose it is."""
    try:
        return _read(place, "user", "the account of gh", User).login
    except (NotFound, GithubRefused):
        return None


def create_issue(
    place: Place, title: str, body: str, labels: Sequence[str], holds: int | None = None
) -> Issue:
    """Open an issue. `holds` stays open until GitHub has answered, though we are killed."""
    fields = {"title": title, "body": body, "labels": list(labels)}
    what = f"a new issue of {place.name}"
    data = _send("POST", place, f"repos/{place.name}/issues", fields, what, holds)
    return read_answer(data, Issue, what)


def withdraw_issue(place: Place, number: int, words: str) -> None:
    """Close an issue of ours that was one too many, and have it say why, in place of its text."""
    fields = {"state": "closed", "state_reason": "not_planned", "body": words}
    address = f"repos/{place.name}/issues/{number}"
    _send("PATCH", place, address, fields, f"the end of issue {number} of {place.name}")


def branch_tip(place: Place, repository: str, branch: str) -> str | None:
    """Return the commit at the tip of a branch on GitHub; None where it has no such branch."""
    what = f"the branch {branch} of {repository}"
    try:
        address = f"repos/{repository}/branches/{quote(branch, safe='')}"
        return _read(place, address, what, Branch).commit.sha
    except NotFound:
        return None


def pulls_of(place: Place, owner: str, branch: str, state: str) -> list[Pull]:
    """Return the pull requests of a branch, the newest first."""
    what = f"the pull requests of {place.name}"
    head = quote(f"{owner}:{branch}", safe="")
    address = f"repos/{place.name}/pulls?state={state}&per_page=30&head={head}"
    found = _read(place, address, what, list[Pull])
    return sorted((pull for pull in found if pull.head.ref == branch), key=lambda p: -p.number)


def read_pull(place: Place, number: int) -> Pull:
    """Return a pull request, with what lists of them leave out."""
    what = f"pull request {number} of {place.name}"
    return _read(place, f"repos/{place.name}/pulls/{number}", what, Pull)


def create_pull(place: Place, *, head: str, base: str, title: str, body: str, draft: bool) -> Pull:
    """Open a pull request; `head` is OWNER:BRANCH."""
    fields = {"title": title, "body": body, "head": head, "base": base, "draft": draft}
    what = f"a pull request of {head} into {base}"
    return read_answer(_send("POST", place, f"repos/{place.name}/pulls", fields, what), Pull, what)


def reviews_of(place: Place, number: int) -> list[Review]:
    """Return the reviews of a pull request, the oldest first."""
    what = f"the reviews of pull request {number}"
    address = f"repos/{place.name}/pulls/{number}/reviews?per_page={PAGE}"
    return _read_all(place, address, what, Review)


def checks_of(place: Place, commit: str) -> list[tuple[str, str]] | None:
    """Return each check of a commit with passed, failed or pending; None where none may be seen."""
    above = f"repos/{place.name}/commits/{quote(commit, safe='')}"
    what = f"the checks of {commit[:12]}"
    try:
        runs = _read(place, f"{above}/check-runs?per_page=100", what, CheckRuns)
        older = _read(place, f"{above}/status?per_page=100", what, Statuses)
    except (NotFound, GithubRefused):
        return None
    found = [
        (run.name, _ended(run.conclusion) if run.status == "completed" else "pending")
        for run in runs.check_runs
    ]
    words = {"success": "passed", "pending": "pending"}
    for status in older.statuses:
        found.append((status.context, words.get(status.state, "failed")))
    return found


def _ended(conclusion: str | None) -> str:
    return "passed" if conclusion in ("success", "neutral", "skipped") else "failed"


def _read(place: Place, address: str, what: str, form: type[T]) -> T:
    return read_answer(_get(place, address, what), form, what)


def _read_all(place: Place, address: str, what: str, form: type[T]) -> list[T]:
    return read_pages(_get(place, address, what, "--paginate"), form, what)


def _get(place: Place, address: str, what: str, *more: str) -> bytes:
    words = ("api", *_at(place.host), *more, "-H", ACCEPTS, address)
    return gh(place.folder, *words, what=what)


def _send(
    method: str,
    place: Place,
    address: str,
    fields: Mapping[str, object],
    what: str,
    holds: int | None = None,
) -> bytes:
    words = ("api", "--method", method, *_at(place.host), "-H", ACCEPTS, "--input", "-", address)
    stdin = msgspec.json.encode(fields)
    return gh(place.folder, *words, what=what, stdin=stdin, holds=holds)


def _at(host: str | None) -> tuple[str, ...]:
    return () if host is None else ("--hostname", host)
