"""Each refusal of `sow merge`, `sow batch`, `sow advance` and what they ask, as somebody meets it.

A case stands so that the refused command fails with that error, and says when it is over. What
is no case has a reason in `LEFT_OUT`.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from clones.clone_site import plain
from msgspec import UNSET
from situation.refusal_site import RefusalSite

from sow.clone_mark import CloneMark
from sow.clones.checkout_id import checkout_id
from sow.clones.record import note_clone
from sow.git.repository import repository_of
from sow.schema.task import TaskStatus

Over = Callable[[], bool]
Case = Callable[[RefusalSite], Over]


def merged(site: RefusalSite, *tasks: str) -> Over:
    """Return what tells that the work of tasks is in the project's branch."""
    named = tasks or ("010",)
    return lambda: all(site.desk.read(task).merged is not UNSET for task in named)


def refused(site: RefusalSite, *words: str) -> None:
    """Run a command that is refused at once, or by the job that it places."""
    ended = site.run(*words)
    assert ended.code in (0, 2, 3, 4, 75), ended
    site.work_off()


def edits(site: RefusalSite, old: str, new: str) -> None:
    """Have whoever opens an editor put something else into the file."""
    script = site.desk.base / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        f"path.write_text(path.read_text().replace({old!r}, {new!r}))\n"
    )
    site.editor = f"{sys.executable} {script}"


def dirty_files(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    (site.root / "file").write_text("mine\n")
    refused(site, "merge", "010", "--detach")
    return merged(site)


def merge_conflict(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    site.work("020", "file", "three\n")
    refused(site, "merge", "010", "020", "--detach")
    return merged(site, "010", "020")


def not_mergeable(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
    refused(site, "merge", "010", "--detach")
    return merged(site)


def before_another(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    site.work("020", "other", "two\n", depends_on=["010"])
    refused(site, "merge", "020", "--detach")
    return merged(site, "010", "020")


def no_project_branch(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    plain(site.root, "switch", "-q", "--detach")
    site.answers["<branch>"] = "main"
    refused(site, "merge", "010", "--detach")
    return merged(site)


def project_branch_gone(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    site.name_branch("main")
    plain(site.root, "branch", "-m", "main", "trunk")
    refused(site, "merge", "010", "--detach")
    return merged(site)


def not_one_by_one(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
    clone = site.place("010").path
    (clone / "file").write_text("one\n")
    (clone / "new").write_text("new\n")
    plain(clone, "add", "-A")
    plain(clone, "commit", "-q", "-m", "Back")
    site.desk.change("010", status=TaskStatus.COMPLETED)
    (site.root / "file").write_text("three\n")
    plain(site.root, "commit", "-q", "-a", "-m", "Meanwhile")
    refused(site, "merge", "010", "--rebase", "--detach")
    return (site.root / "new").exists


def branch_with_other_commits(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    site.answers["<another name>"] = "somebodys"
    tree = plain(site.root, "rev-parse", "HEAD^{tree}")
    somebodys = plain(site.root, "commit-tree", tree, "-p", "HEAD", "-m", "Somebody's")
    plain(site.root, "update-ref", f"refs/heads/{site.place('010').branch}", somebodys)
    refused(site, "merge", "010", "--detach")
    return merged(site)


def branch_checked_out(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    place = site.place("010")
    plain(site.root, "worktree", "add", "-q", str(site.desk.base / "tree"), place.branch)
    plain(place.path, "commit", "-q", "--allow-empty", "-m", "More")
    refused(site, "merge", "010", "--detach")
    return merged(site)


def branch_in_place_of_folder(site: RefusalSite) -> Over:
    site.desk.task("010")
    plain(site.root, "branch", "sow")
    site.answers["<another name>"] = "somebodys"
    refused(site, "batch", "run", "--detach")
    return merged(site)


def cloned_elsewhere(site: RefusalSite) -> Over:
    """The other working tree goes on with it: nothing is over here."""
    site.desk.task("010")
    other = another_tree(site)
    refused(site, "batch", "run", "--detach")
    return lambda: site.first() == f"cd {other} && sow next"


def another_tree(site: RefusalSite) -> Path:
    """Make another working tree that has a clone of task 010 on its record."""
    other = site.desk.base / "other"
    plain(site.root, "worktree", "add", "-q", "-b", "second", str(other))
    place = site.place("010")
    checkout_id(repository_of(other))
    mark = CloneMark(
        path=str(other),
        workspace=str(other),
        project=place.project,
        checkout=place.checkout,
        task="010",
        branch=place.branch,
        base=plain(site.root, "rev-parse", "HEAD"),
        stage="whole",
        copied=(),
    )
    note_clone(repository_of(other), mark)
    return other


def cannot_update(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    (site.place("010").path / "left").write_text("not committed\n")
    (site.root / "file").write_text("three\n")
    plain(site.root, "commit", "-q", "-a", "-m", "Meanwhile")
    refused(site, "merge", "010", "--detach")
    refused(site, "clone", "update", "010")
    return merged(site)


def cannot_review(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
    clone = site.place("010").path
    plain(clone, "commit", "-q", "--allow-empty", "-m", "By hand")
    (clone / "left").write_text("not committed\n")
    refused(site, "review", "accept", "010", "--summary", "Good.")
    return merged(site)


def unknown_check(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    site.settings(clones={"use": "always", "merge_check": "nothing"})
    edits(site, "merge_check: nothing", "setup_timeout: 60s")
    refused(site, "merge", "010", "--detach")
    return merged(site)


def folder_in_repository(site: RefusalSite) -> Over:
    site.desk.task("010")
    site.settings(clones={"use": "always", "folder": "clones"})
    edits(site, "folder: clones", "setup_timeout: 60s")
    refused(site, "batch", "run", "--detach")
    return merged(site)


def no_checks(site: RefusalSite) -> Over:
    for task in ("010", "020"):
        site.desk.task(task)
    site.settings(batch={"clone": True, "merge": True, "check": True})
    edits(site, "check: true", "review: true")
    refused(site, "batch", "run", "--detach")
    return merged(site, "010", "020")


def nothing_to_check(site: RefusalSite) -> Over:
    for task in ("010", "020"):
        site.desk.task(task)
    site.settings(batch={"clone": True, "merge": True, "accept": "check"})
    edits(site, "accept: check", "review: true")
    refused(site, "batch", "run", "--detach")
    return merged(site, "010", "020")


def _of_batches(*words: str) -> Case:
    """Return the case of a command about batches that nobody but its caller has got wrong."""

    def case(site: RefusalSite) -> Over:
        site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
        site.settings(batch={"clone": True, "merge": True, "review": True})
        site.desk.task("020")
        site.run("batch", "run", "010", "--detach")
        refused(site, *words)
        return merged(site)

    return case


def batch_has_ended(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    site.run("batch", "run", "010", "--detach")
    site.work_off()
    site.work("020", "other", "two\n")
    refused(site, "batch", "add", "1", "020")
    return merged(site, "010", "020")


def task_has_job(site: RefusalSite) -> Over:
    site.work("010", "file", "two\n")
    assert site.run("merge", "010", "--detach").code == 0
    ended = site.run("merge", "010", "--squash", "--detach")
    assert ended.code == 4, ended
    site.work_off()
    return merged(site)


def _advance(*words: str) -> Case:
    def case(site: RefusalSite) -> Over:
        site.work("010", "file", "two\n")
        refused(site, "advance", *words)
        return merged(site)

    return case


def is_completed(site: RefusalSite) -> Over:
    site.set_state("completed")
    refused(site, "advance")
    return lambda: not site.desk.workspace.project.exists()


CASES: Mapping[str, tuple[Case, ...]] = {
    "DirtyFiles": (dirty_files,),
    "MergeConflict": (merge_conflict,),
    "NotMergeable": (not_mergeable, before_another),
    "NoProjectBranch": (no_project_branch,),
    "ProjectBranchGone": (project_branch_gone,),
    "NotOneByOne": (not_one_by_one,),
    "BranchInTheWay": (branch_with_other_commits, branch_checked_out),
    "BranchInPlaceOfFolder": (branch_in_place_of_folder,),
    "ClonedElsewhere": (cloned_elsewhere,),
    "CannotUpdate": (cannot_update,),
    "CannotReview": (cannot_review,),
    "UnknownCheck": (unknown_check,),
    "FolderInRepository": (folder_in_repository,),
    "NoChecks": (no_checks,),
    "NothingToCheck": (nothing_to_check,),
    "is in batch": (_of_batches("batch", "run", "010", "020", "--detach"),),
    "is not in batch": (_of_batches("batch", "remove", "1", "020"),),
    "UnknownBatch": (_of_batches("batch", "resume", "7"),),
    "a batch cannot be named": (_of_batches("batch", "run", "020", "--name", "7"),),
    "BatchHasEnded": (batch_has_ended,),
    "TaskHasJob": (task_has_job,),
    "the project cannot go": (_advance("review"),),
    "no event": (_advance("nowhere"),),
    "the project is completed": (is_completed,),
}
"""What leads to each error, by its class's name or, where it has none, words of its message."""

LEFT_OUT: Mapping[str, str] = {
    **dict.fromkeys(
        ("GitKilled", "GitTookTooLong", "CloneLocked", "BranchMoved", "IndexInUse"),
        "it passes, and the command or its job waits for that",
    ),
    **dict.fromkeys(
        ("GitMissing", "GitTooOld", "GitRefused", "NoRepository"),
        "the machine or the repository is broken: `sow doctor`, or git itself, is named",
    ),
    **dict.fromkeys(
        (
            "UnsafeClone",
            "LinkedFolder",
            "PlaceTaken",
            "NothingToTakeUp",
        ),
        "somebody has put a thing into sow's own places: a person has to look",
    ),
    **dict.fromkeys(
        ("DependencyConflict",),
        "of a job that makes a clone: the end of an agent's job, not a call",
    ),
    **dict.fromkeys(
        ("NoClone", "NotDeleted", "OutcomeIsOwed"),
        "of other commands than merge, batch and advance",
    ),
}
"""The other errors of the same modules, and why no case leads through them."""

MODULES = (
    *("sow.clones", "sow.git.git_errors", "sow.git.inert_refs", "sow.git.repository"),
    *(
        "sow.calls.batch_making",
        "sow.calls.batch_changes",
        "sow.calls.batch_changes",
        "sow.calls.kinds.check",
        "sow.calls.kinds.merge",
        "sow.calls.idempotency",
    ),
    *("sow.calls.judging", "sow.jobs.batches", "sow.config.checks"),
)
"""Where the errors stand that merge, batch and advance are refused with."""
