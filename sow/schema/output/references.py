"""References with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about

ReferenceKey = Annotated[str, about("the reference's id")]
Source = Annotated[str, about("the address of the repository")]
LinkPath = Annotated[str, about("the path of its link, relative to the folder with .sow")]
Commit = Annotated[str | None, about("the commit that is linked on this machine; null if none is")]
LeftOut = Annotated[
    tuple[str, ...], about("files of the commit that were left out, each with the reason")
]


class ReferenceView(msgspec.Struct, frozen=True, kw_only=True):
    """A reference of the index, and its state on this machine."""

    reference: ReferenceKey
    source: Source
    kind: Annotated[str, about("knowledge or code")]
    link: LinkPath
    branch: Annotated[str | None, about("the branch that it follows; null if none was named")]
    tag: Annotated[str | None, about("the tag that it uses; null if none was named")]
    path: Annotated[str | None, about("the folder that is linked; null for the whole repository")]
    tags: Annotated[tuple[str, ...], about("words to find it by")]
    description: Annotated[str, about("what it is for; often empty")]
    summary: Annotated[str, about("what it contains; often empty")]
    presence: Annotated[
        str,
        about(
            "its state on this machine: linked, copied, missing or strange (something else"
            " is in its place)"
        ),
    ]
    commit: Commit
    folder: Annotated[
        str | None, about("the folder with its files; null if they are not on this machine")
    ]
    left_out: LeftOut


class ReferenceAdded(ReferenceView, frozen=True, kw_only=True):
    """A reference that was added."""

    is_new: Annotated[bool, about("whether the index did not have it before")]


class ReferenceStanding(msgspec.Struct, frozen=True, kw_only=True):
    """A reference compared with its remote."""

    reference: ReferenceKey
    source: Source
    standing: Annotated[
        str,
        about(
            "current, behind, ahead, diverged, unreachable, missing (nothing is linked) or"
            " strange (something else is in its place)"
        ),
    ]
    ahead: Annotated[int, about("how many commits the linked version has and the remote does not")]
    behind: Annotated[int, about("how many commits the remote has and the linked version does not")]
    commit: Commit
    remote: Annotated[
        str | None, about("the commit that the remote has; null if it gave no answer")
    ]
    reason: Annotated[str, about("why it cannot be reached; else empty")]


class ReferenceUpdated(msgspec.Struct, frozen=True, kw_only=True):
    """The result of updating or linking a reference."""

    reference: ReferenceKey
    source: Source
    result: Annotated[
        str,
        about(
            "stood (nothing to do), linked (it was missing here), updated, or reset (it had"
            " diverged or was ahead, and was set to the remote)"
        ),
    ]
    before: Annotated[str | None, about("the commit that was linked before; null if none was")]
    commit: Commit
    words: Annotated[str, about("how it differed from the remote, in words; empty if it did not")]
    is_copy: Annotated[
        bool, about("whether its files were copied, because links are impossible here")
    ]
    left_out: LeftOut


class ReferenceFailed(msgspec.Struct, frozen=True, kw_only=True):
    """A reference that could not be fetched or linked."""

    reference: ReferenceKey
    source: Source
    message: Annotated[str, about("what happened")]
    hint: Annotated[str, about("what to do next; often empty")]


class ReferenceRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """A reference that was removed."""

    reference: ReferenceKey
    source: Source
    was_linked: Annotated[bool, about("whether there was a link of sow, which is removed now")]
    others: Annotated[
        tuple[str, ...],
        about("other repositories on this machine that still use the fetched files"),
    ]
    tasks: Annotated[
        tuple[str, ...], about("tasks that still name it; their agents work without it")
    ]


class CachePruned(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one repository in the cache, or with --dry-run would happen."""

    source: Source
    users: Annotated[tuple[str, ...], about("the repositories that use it")]
    gone_users: Annotated[tuple[str, ...], about("recorded users that do not use it any more")]
    trees: Annotated[int, about("how many unused versions of it were removed")]
    removed: Annotated[bool, about("whether all of it was removed")]
    note: Annotated[str, about("why it was kept; else empty")]
    dry_run: Annotated[bool, about("whether nothing was removed")]
