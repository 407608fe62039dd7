"""References with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about

ReferenceKey = Annotated[str, about("the reference's id")]
Source = Annotated[str, about("the address of the repository")]
LinkPath = Annotated[str, about("where it is linked, relative to the workspace's root")]
Commit = Annotated[str | None, about("the commit that is linked on this machine; null for none")]
LeftOut = Annotated[
    tuple[str, ...], about("what the commit has and the link has not, each with the reason")
]


class ReferenceView(msgspec.Struct, frozen=True, kw_only=True):
    """A reference of the index, and what of it is on this machine."""

    reference: ReferenceKey
    source: Source
    kind: Annotated[str, about("knowledge or code")]
    link: LinkPath
    branch: Annotated[str | None, about("the branch that it follows; null for none")]
    tag: Annotated[str | None, about("the tag at which it stands; null for none")]
    path: Annotated[str | None, about("the folder that is linked; null for the whole")]
    tags: Annotated[tuple[str, ...], about("words by which it is found")]
    description: Annotated[str, about("what it is for; often empty")]
    summary: Annotated[str, about("what stands in it; often empty")]
    presence: Annotated[
        str, about("what lies in its place here: linked, copied, missing or strange")
    ]
    commit: Commit
    folder: Annotated[str | None, about("where its files really lie; null where they are not here")]
    left_out: LeftOut


class ReferenceAdded(ReferenceView, frozen=True, kw_only=True):
    """A reference that was added."""

    is_new: Annotated[bool, about("whether the index did not have it before")]


class ReferenceStanding(msgspec.Struct, frozen=True, kw_only=True):
    """A reference held against its remote."""

    reference: ReferenceKey
    source: Source
    standing: Annotated[
        str,
        about(
            "current, behind, ahead, diverged, unreachable, missing (nothing is linked"
            " here) or strange (something else lies there)"
        ),
    ]
    ahead: Annotated[int, about("how many commits are here that the remote has not")]
    behind: Annotated[int, about("how many the remote has that are not linked here")]
    commit: Commit
    remote: Annotated[
        str | None, about("the commit that the remote has; null where it gave no answer")
    ]
    reason: Annotated[str, about("why it cannot be reached; else empty")]


class ReferenceUpdated(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of a reference that was updated, or linked again."""

    reference: ReferenceKey
    source: Source
    deed: Annotated[
        str,
        about(
            "stood (nothing to do), linked (it was missing here), updated, or reset (it"
            " had diverged, or was ahead, and is what the remote has now)"
        ),
    ]
    before: Annotated[str | None, about("the commit that was linked; null for none")]
    commit: Commit
    words: Annotated[str, about("how it stood before, in words; empty where the same")]
    is_copy: Annotated[bool, about("whether it was copied, where no link can be made")]
    left_out: LeftOut


class ReferenceFailed(msgspec.Struct, frozen=True, kw_only=True):
    """A reference that could not be brought here."""

    reference: ReferenceKey
    source: Source
    message: Annotated[str, about("what happened")]
    hint: Annotated[str, about("what to do next; often empty")]


class ReferenceRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """A reference that was removed."""

    reference: ReferenceKey
    source: Source
    was_linked: Annotated[bool, about("whether what lay in its place was sow's, and is gone")]
    others: Annotated[
        tuple[str, ...],
        about("the other repositories on this machine for which what was fetched stays"),
    ]
    tasks: Annotated[
        tuple[str, ...], about("the tasks that name it still: their agents go without")
    ]


class CachePruned(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of one repository in the cache, or would."""

    source: Source
    users: Annotated[tuple[str, ...], about("the repositories that use it")]
    gone_users: Annotated[tuple[str, ...], about("those on record that use it no more")]
    trees: Annotated[int, about("how many of its trees nobody links, and were removed")]
    removed: Annotated[bool, about("whether all of it was removed")]
    note: Annotated[str, about("why it was left as it is; else empty")]
    dry_run: Annotated[bool, about("whether nothing was removed")]
