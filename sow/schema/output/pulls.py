"""Pull requests with `--json`."""

from typing import Annotated

import msgspec
from msgspec import Meta

Number = Annotated[int, Meta(description="the pull request's number")]
Url = Annotated[str, Meta(description="its address")]
State = Annotated[str, Meta(description="open, draft, merged or closed")]


class PullOpened(msgspec.Struct, frozen=True, kw_only=True):
    """The pull request of a finished project."""

    number: Number
    url: Url
    state: State
    is_new: Annotated[bool, Meta(description="whether this call has opened it")]
    uncommitted: Annotated[
        tuple[str, ...],
        Meta(description="what of .sow/knowledge no commit has yet, from the repository's root"),
    ]


class PullCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check of the pull request's commit."""

    name: Annotated[str, Meta(description="its name")]
    state: Annotated[str, Meta(description="passed, failed or pending")]


class PullStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pull request stands."""

    number: Number
    url: Url
    title: Annotated[str, Meta(description="its title, as it is on GitHub")]
    state: State
    branch: Annotated[str, Meta(description="the branch that it would have taken in")]
    base: Annotated[str, Meta(description="the branch that takes it in")]
    commit: Annotated[str, Meta(description="the commit that it is at")]
    is_current: Annotated[bool, Meta(description="whether the branch here is at that commit")]
    mergeable: Annotated[
        bool | None, Meta(description="whether GitHub could merge it; null while it finds that out")
    ]
    approvers: Annotated[tuple[str, ...], Meta(description="whose last word is an approval")]
    changes_asked_by: Annotated[tuple[str, ...], Meta(description="whose last word asks for more")]
    checks: Annotated[
        tuple[PullCheck, ...] | None, Meta(description="its checks; null where none may be seen")
    ]
