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
    is_new: Annotated[bool, about("whether this call has opened it")]
    uncommitted: Annotated[
        tuple[str, ...],
        about("what of .sow/knowledge no commit has yet, from the repository's root"),
    ]


class PullCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check of the pull request's commit."""

    name: Annotated[str, about("its name")]
    state: Annotated[str, about("passed, failed or pending")]


class PullStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pull request stands."""

    number: Number
    url: Url
    title: Annotated[str, about("its title, as it is on GitHub")]
    state: State
    branch: Annotated[str, about("the branch that it would have taken in")]
    base: Annotated[str, about("the branch that takes it in")]
    commit: Annotated[str, about("the commit that it is at")]
    is_current: Annotated[bool, about("whether the branch here is at that commit")]
    mergeable: Annotated[
        bool | None, about("whether GitHub could merge it; null while it finds that out")
    ]
    approvers: Annotated[tuple[str, ...], about("whose last word is an approval")]
    changes_asked_by: Annotated[tuple[str, ...], about("whose last word asks for more")]
    checks: Annotated[
        tuple[PullCheck, ...] | None, about("its checks; null where none may be seen")
    ]
