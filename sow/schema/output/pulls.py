"""Pull requests with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about

Number = Annotated[int, about("the pull request's number")]
Url = Annotated[str, about("its address")]
State = Annotated[str, about("open, draft, merged or closed")]


class PullOpened(msgspec.Struct, frozen=True, kw_only=True):
    """The pull request of a finished project."""

    number: Number
    url: Url
    state: State
    is_new: Annotated[bool, about("whether this call opened it")]
    uncommitted: Annotated[
        tuple[str, ...],
        about("files of .sow/knowledge that are not committed, relative to the repository's root"),
    ]


class PullCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check of the pull request's commit."""

    name: Annotated[str, about("its name")]
    state: Annotated[str, about("passed, failed or pending")]


class PullStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a pull request."""

    number: Number
    url: Url
    title: Annotated[str, about("its title on GitHub")]
    state: State
    branch: Annotated[str, about("the branch with the changes")]
    base: Annotated[str, about("the branch into which it is to be merged")]
    commit: Annotated[str, about("its last commit on GitHub")]
    is_current: Annotated[bool, about("whether the local branch is at that commit")]
    mergeable: Annotated[
        bool | None, about("whether GitHub can merge it; null if GitHub does not know yet")
    ]
    approvers: Annotated[tuple[str, ...], about("reviewers whose last review approves it")]
    changes_asked_by: Annotated[
        tuple[str, ...], about("reviewers whose last review asks for changes")
    ]
    checks: Annotated[
        tuple[PullCheck, ...] | None, about("its checks; null if you may not see them")
    ]
