"""Tasks' clones with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about

ClonePath = Annotated[str, about("the clone's folder")]
Branch = Annotated[str, about("the task's branch")]
Reasons = Annotated[
    tuple[str, ...], about("why it should not be removed: what would be lost, or is not merged")
]


GoesAlong = Annotated[
    tuple[str, ...],
    about(
        "what is deleted with it without being a reason to keep it: ignored files, reset commits"
    ),
]


ProjectStart = Annotated[str, about("the first 8 digits of the project's id")]


class CloneView(msgspec.Struct, frozen=True, kw_only=True):
    """The clone of a task."""

    project: ProjectStart
    task: fields.TaskKey
    status: Annotated[str | None, about("the task's status; null if the task no longer exists")]
    state: Annotated[
        str,
        about(
            "the state of the folder: whole, unfinished, missing or strange (`sow clone"
            " list --help`)"
        ),
    ]
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
    reasons: Annotated[
        tuple[str, ...], about("why it is kept, a few words each; empty if it can be removed")
    ]


class ClonePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the clone of a task is."""

    task: fields.TaskKey
    path: ClonePath
    root: Annotated[str, about("the folder in the clone that corresponds to the folder with .sow")]
    branch: Branch


class CloneUpdated(msgspec.Struct, frozen=True, kw_only=True):
    """The result of merging the project's branch into the clone of a task."""

    task: fields.TaskKey
    path: ClonePath
    branch: Branch
    commit: Annotated[str, about("the last commit of the task's branch now")]
    merged_commit: Annotated[
        str | None,
        about("the project's commit that was merged into it; null if the branch already had it"),
    ]
    conflicts: Annotated[
        tuple[str, ...],
        about("the files in conflict; they have conflict markers, and nothing is committed"),
    ]
    notes: Annotated[
        tuple[str, ...],
        about(
            "sentences about a branch that only the clone had, and about submodules that"
            " were not updated"
        ),
    ]


class CloneGone(msgspec.Struct, frozen=True, kw_only=True):
    """A clone that was removed or kept."""

    project: ProjectStart
    task: fields.TaskKey
    path: ClonePath
    removed: Annotated[bool, about("whether it was removed, or with --dry-run would be")]
    reasons: Reasons
    goes_along: GoesAlong
    kept_in: Annotated[
        str | None,
        about("the folder to which the results that `clones.keep` names were moved; null if none"),
    ]
    kept: Annotated[tuple[str, ...], about("these results, relative to that folder")]


class ClonesPruned(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow clone prune` has removed, or would remove."""

    clones: Annotated[
        tuple[CloneGone, ...], about("the clones of tasks that have ended or no longer exist")
    ]
    swept: Annotated[
        tuple[str, ...],
        about("other files that were removed: those of interrupted commands and of ended reviews"),
    ]
    branches: Annotated[
        tuple[BranchView, ...],
        about("branches of other projects; those without `reasons` were removed"),
    ]
    dry_run: Annotated[bool, about("whether nothing was removed")]
