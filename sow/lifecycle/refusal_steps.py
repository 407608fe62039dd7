"""What helps after a refusal: one table, for the hint of the refused command and for `sow next`.

Pure. Owns these commands. A row stands under the name of the error's class and reads the
facts that such an error carries, so that the two cannot name different steps.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import Any

from sow.errors import SowError
from sow.lifecycle.lifecycle_facts import Remedy

MOST_PATHS = 12
"""How many files a command names; of more, all that is changed is committed."""
DOCTOR = "sow doctor"

COMMAND = r"`((?:sow|git) [^`]+)`"
SETTINGS = ".sow/config.yaml"

Row = Callable[[Any], Sequence[Remedy]]


def after(error: SowError) -> Sequence[Remedy]:
    """Return the steps that help after a refusal, in their order; none where nobody knows any.

    Without a row it is the first command that the error's hint names.
    """
    for kind in type(error).__mro__:
        row = STEPS.get(kind.__name__)
        if row is not None:
            return row(error)
    named = re.search(COMMAND, error.hint or "")
    return [Remedy(named[1], _in_short(error))] if named else []


def _in_short(error: SowError) -> str:
    return " ".join(error.message.split())


def first_after(error: SowError) -> str:
    """Return the first of these commands, for the hint of an error that has a row."""
    return after(error)[0].command


def committing(paths: Sequence[str], folder: str = "") -> str:
    """Return the commands that commit some files, in the working tree at a folder, or here."""
    there = f"git -C {quote(folder)}" if folder else "git"
    listed = " ".join(quote(path) for path in paths)
    named = f"-- {listed}" if len(paths) <= MOST_PATHS else "--all"
    only = f" {named}" if len(paths) <= MOST_PATHS else ""
    return f'{there} add {named} && {there} commit -m "<what was changed>"{only}'


def _commit(error: Any) -> Sequence[Remedy]:
    why = f"these changes are not committed, and block it: {', '.join(error.paths[:3])}"
    return [Remedy(committing(error.paths, str(error.folder)), why)]


def _conflict(error: Any) -> Sequence[Remedy]:
    update = Remedy(
        f"sow clone update {error.task_id}",
        f"the work of task {error.task_id} conflicts with the project's branch",
    )
    if not error.first:
        return [update]
    why = f"task {error.task_id} conflicts with it; update its clone afterwards"
    return [Remedy(f"sow merge {' '.join(error.first)}", why), update]


def _unfit_clone(error: Any) -> Sequence[Remedy]:
    if error.paths:
        return _commit(error)
    named = re.search(COMMAND, error.hint)
    command = named[1] if named else f"git -C {quote(str(error.folder))} status"
    return [Remedy(command, _in_short(error))]


def _own(error: Any) -> Sequence[Remedy]:
    """Return the step that depends on why this one was refused: the error carries it."""
    return [Remedy(error.command, _in_short(error))] if error.command else []


def renamed_branch(branch: str, here: str | None) -> Remedy:
    """Return what gives a project its branch again; `here` is what is checked out."""
    name = quote(here) if here else '"<branch>"'
    why = f"the repository has no branch {branch}, although the project has this branch name"
    renamed = "; if that is its name now" if here else "; give the branch's current name"
    return Remedy(f"sow project set branch {name}", f"{why}{renamed}")


def _branch_gone(error: Any) -> Sequence[Remedy]:
    return [renamed_branch(error.branch, error.here)]


def _no_branch(_: Any) -> Sequence[Remedy]:
    return [Remedy('git switch "<branch>"', "no branch is checked out")]


def _not_one_by_one(error: Any) -> Sequence[Remedy]:
    return [Remedy(f"sow merge {error.task_id}", "its commits cannot be rebased one by one")]


def _rename_folder_branch(error: Any) -> Sequence[Remedy]:
    why = f"the branch {error.branch} has the name of a folder of task branches"
    return [Remedy(f'git branch -m {quote(error.branch)} "<another name>"', why)]


def _unsafe(error: Any) -> Sequence[Remedy]:
    return [Remedy("sow clone list", f"{_in_short(error)}: move it away, and sow makes it again")]


def _settings(error: Any) -> Sequence[Remedy]:
    path = quote(str(getattr(error, "path", SETTINGS)))
    return [Remedy(f'"${{EDITOR:-vi}}" {path}', _in_short(error))]


def _no_repository(error: Any) -> Sequence[Remedy]:
    first = 'git commit --allow-empty -m "<first commit>"'
    return [Remedy(first if error.lacks_commit else "git init", _in_short(error))]


def _elsewhere(error: Any) -> Sequence[Remedy]:
    return [Remedy(f"cd {quote(error.other)} && sow next", _in_short(error))]


def _no_program(error: Any) -> Sequence[Remedy]:
    why = f"{error.binary} is not on PATH, and executor {error.executor} runs it: install it"
    ways = "give the role another executor; `sow doctor` shows how to install it"
    return [Remedy("sow config edit", f"{why}, or {ways}")]


def _examined(error: Any) -> Sequence[Remedy]:
    return [Remedy(DOCTOR, _in_short(error))]


STEPS: Mapping[str, Row] = {
    "DirtyFiles": _commit,
    "MergeConflict": _conflict,
    "CannotUpdate": _unfit_clone,
    "NotMergeable": _own,
    "BranchInTheWay": _own,
    "NoProjectBranch": _no_branch,
    "ProjectBranchGone": _branch_gone,
    "NotOneByOne": _not_one_by_one,
    "BranchInPlaceOfFolder": _rename_folder_branch,
    "UnsafeClone": _unsafe,
    "ClonedElsewhere": _elsewhere,
    "FolderInRepository": _settings,
    "UnknownCheck": _settings,
    "NoChecks": _settings,
    "NothingToCheck": _settings,
    "InvalidConfiguration": _settings,
    "NoRepository": _no_repository,
    "ExecutorBinaryNotFound": _no_program,
    "GitMissing": _examined,
    "GitTooOld": _examined,
    "GitRefused": _examined,
}
"""The steps after each refusal, by the name of the error's class."""
