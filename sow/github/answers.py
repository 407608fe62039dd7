"""What GitHub answers, as far as sow reads it. Other keys are ignored."""

import json
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from sow.github.github_errors import BadAnswer

T = TypeVar("T")


class User(msgspec.Struct, frozen=True):
    """An account."""

    login: str


class RepositoryFacts(msgspec.Struct, frozen=True):
    """A repository."""

    full_name: str
    html_url: str
    default_branch: str


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue; a pull request is one too, and has a key that says so."""

    number: int
    title: str
    html_url: str
    state: str = "open"
    body: str | None = None
    comments: int = 0
    user: User | None = None
    author_association: str = "NONE"
    pull_request: Any = UNSET
    """Whatever it is: where it is there, the issue is a pull request."""

    @property
    def author(self) -> str:
        """Who has opened it; GitHub's word for an account that is gone."""
        return self.user.login if self.user is not None else "ghost"


class CommitName(msgspec.Struct, frozen=True):
    """A commit."""

    sha: str


class Branch(msgspec.Struct, frozen=True):
    """A branch, and the commit at its tip."""

    commit: CommitName


class End(msgspec.Struct, frozen=True):
    """One of the two branches of a pull request."""

    ref: str
    sha: str = ""


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request."""

    number: int
    title: str
    html_url: str
    state: str
    head: End
    base: End
    draft: bool = False
    merged: bool = False
    merged_at: str | None = None
    mergeable: bool | None = None

    @property
    def standing(self) -> str:
        """Where it stands, in one word."""
        if self.merged or self.merged_at:
            return "merged"
        return "draft" if self.draft and self.state == "open" else self.state


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A review of a pull request."""

    state: str
    user: User | None = None


class CheckRun(msgspec.Struct, frozen=True, kw_only=True):
    """A check of a commit."""

    name: str
    status: str
    conclusion: str | None = None


class CheckRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The checks of a commit."""

    check_runs: list[CheckRun]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What an older kind of check says of a commit."""

    context: str
    state: str


class Statuses(msgspec.Struct, frozen=True, kw_only=True):
    """What all of them say."""

    statuses: list[Status]


def read_answer(data: bytes, form: type[T], what: str) -> T:
    """Return what GitHub has answered. Raises BadAnswer."""
    try:
        return msgspec.json.decode(data, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadAnswer(what, str(error)) from error


def read_pages(data: bytes, form: type[T], what: str) -> list[T]:
    """Return the items of all pages: `gh api --paginate` prints one list behind the other.

    Raises BadAnswer.
    """
    decoder, items = json.JSONDecoder(), []
    try:
        text = data.decode().lstrip()
        while text:
            page, end = decoder.raw_decode(text)
            items += msgspec.convert(page, list[Any])
            text = text[end:].lstrip()
        return msgspec.convert(items, list[form])  # type: ignore[valid-type]
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise BadAnswer(what, str(error)) from error
