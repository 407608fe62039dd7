"""Tasks' clones with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about

ClonePath = Annotated[str, about("the clone's folder")]
Branch = Annotated[str, about("the task's branch")]
Reasons = Annotated[
    tuple[str, ...], about("what would be lost with it, or is not merged, a few words each")
]


GoesAlong = Annotated[
    tuple[str, ...], about("what goes with it and does not keep it: ignored files, reset commits")
]


ProjectStart = Annotated[str, about("how the project's id begins: 8 digits")]


class CloneView(msgspec.Struct, frozen=True, kw_only=True):
    """The clone of a task."""

    project: ProjectStart
    task: fields.TaskKey
    status: Annotated[str | None, about("the task's status; null for one that is gone")]
    state: Annotated[str, about("what lies in its place: whole, unfinished, missing or strange")]
    branch: Branch
    path: ClonePath
    reasons: Reasons
    goes_along: GoesAlong


class BranchView(msgspec.Struct, frozen=True, kw_only=True):
    """The branch of a task of another project, with `--all-projects`."""

    project: ProjectStart
    task: fields.TaskKey
    branch: Branch
    commit: Annotated[str, about("its last commit")]
    reasons: Annotated[tuple[str, ...], about("what stands against removing it, a few words each")]


class ClonePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the clone of a task lies."""

    task: fields.TaskKey
    path: ClonePath
    root: Annotated[str, about("the folder in it that is the workspace's root")]
    branch: Branch


class CloneUpdated(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of bringing the project's branch into the clone of a task."""

    task: fields.TaskKey
    path: ClonePath
    branch: Branch
    commit: Annotated[str, about("the last commit of that branch now")]
    merged_commit: Annotated[
        str | None, about("the project's commit that was brought in; null where it was there")
    ]
    conflicts: Annotated[
        tuple[str, ...],
        about("the files in conflict, which hold marks now; nothing is committed then"),
    ]
    notes: Annotated[
        tuple[str, ...],
        about(
            "the branch, if only the clone had it; submodules that stay where they were, and why"
        ),
    ]


class CloneGone(msgspec.Struct, frozen=True, kw_only=True):
    """A clone that was removed, or that stays."""

    project: ProjectStart
    task: fields.TaskKey
    path: ClonePath
    removed: Annotated[bool, about("whether it was removed, or would be")]
    reasons: Reasons
    goes_along: GoesAlong
    kept_in: Annotated[str | None, about("the folder with the results that `clones.keep` names")]
    kept: Annotated[tuple[str, ...], about("those results, relative to that folder")]


class ClonesPruned(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow clone prune` has removed, or would remove."""

    clones: Annotated[
        tuple[CloneGone, ...], about("the clones of tasks that have ended or are gone")
    ]
    swept: Annotated[
        tuple[str, ...], about("what makers, removers and reviews left that died, or are over")
    ]
    branches: Annotated[
        tuple[BranchView, ...],
        about("branches of other projects; those without `standing` were removed"),
    ]
    dry_run: Annotated[bool, about("whether nothing was removed")]
