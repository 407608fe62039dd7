"""Entries of a merge that stand for a commit of another repository, and whether anybody has it.

A commit holds of such a repository no file, only the name of a commit. Owns
that the project's branch never comes to name one that nobody has, and what
helps then, as commands.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from sow.clones.candidates import Candidate, NotMergeable
from sow.clones.gitlinks import is_repository, links_of
from sow.clones.inner_work import commits_elsewhere
from sow.clones.kept_commits import counterparts, not_below, not_in, types_of
from sow.clones.place import Place
from sow.errors import StateError
from sow.faults import passing_fault
from sow.git.inert_refs import read_text
from sow.git.inner_view import InnerRepository, inner_repository, inner_view
from sow.git.merge_tree import GITLINK, Change
from sow.git.repository import Repository
from sow.git.settings_text import settings_in
from sow.git.view import View, view_of

CONFIG_LIMIT = 1 << 20
ADDRESS = "ADDRESS"
"""Stands in a command for what only the reader knows."""


def refuse_lost_links(
    main: Repository, candidate: Candidate, result: str, changes: Sequence[Change]
) -> None:
    """Raise NotMergeable where a merge would bring a pointer to a commit that nobody else has.

    `changes` are those that its result brings.
    """
    links = [change for change in changes if change.new_mode == GITLINK]
    if not links:
        return
    names = _registered(view_of(main.top), result)
    for change in links:
        path, module = change.path, names.get(change.path)
        if path not in names and change.old_mode != GITLINK:
            raise _unregistered(candidate, path, change.new)
        if not _is_kept(main, candidate.place, path, module, change.new):
            raise _not_pushed(main, candidate, path, change.new)
        for deeper, commit in _lost_within(main, candidate.place, path, change.new):
            raise _not_pushed(main, candidate, deeper, commit, within=path)


def _lost_within(
    main: Repository, place: Place, path: str, commit: str
) -> Iterator[tuple[str, str]]:
    """Yield submodules of a submodule, with the commits that only the clone has of them.

    What is not checked out in the clone was made elsewhere.
    """
    if not is_repository(place.path / path):
        return
    try:
        inner = inner_repository(place.path, path)
        with inner_view(inner, main, commit) as view:
            links = links_of(view, commit) if types_of(view, [commit]) else {}
            names = _registered(view, commit) if links else {}
    except (StateError, OSError) as error:
        if passing_fault(error) is not None:
            raise
        return  # `_is_kept` has judged it by what others have
    for name, deeper in links.items():
        below = f"{path}/{name}"
        if not is_repository(place.path / below):
            continue
        known = inner.module is not None and name in names
        module = f"{inner.module}/modules/{names[name]}" if known else None
        if not _is_kept(main, place, below, module, deeper):
            yield below, deeper
        yield from _lost_within(main, place, below, deeper)


def _registered(view: View, commit: str) -> Mapping[str, str]:
    """Return the paths that a commit's `.gitmodules` has an address for, with the names there."""
    code, data, _ = view.answer("cat-file", "blob", f"{commit}:.gitmodules")
    settings = dict(settings_in(data)) if code == 0 else {}
    found = {}
    for key, path in settings.items():
        name = key.removeprefix("submodule.").removesuffix(".path")
        if key.endswith(".path") and settings.get(f"submodule.{name}.url"):
            found[path.rstrip("/")] = name
    return found


def _is_kept(main: Repository, place: Place, path: str, module: str | None, commit: str) -> bool:
    """Whether another repository than the clone's has a submodule's commit."""
    nobody = InnerRepository(path, place.path, place.path, None, module)
    own = counterparts(main, nobody)[1:]
    if any(not not_in(other, [commit]) for other in own):
        return True
    try:
        inner = inner_repository(place.path, path)
        with inner_view(inner, main, commit) as view:
            return not not_below(view, [commit], commits_elsewhere(place.path, inner))
    except (StateError, OSError):
        return False


def _unregistered(candidate: Candidate, path: str, commit: str) -> NotMergeable:
    clone = candidate.place.path
    top, inner, name = (quote(str(text)) for text in (clone, clone / path, path))
    address = _address(clone, path)
    add_remote = "" if address else f"git -C {inner} remote add origin {ADDRESS} && "
    add_files = (
        f"git -C {top} rm -q --cached {name} && rm -rf {inner}/.git && git -C {top} add {name} &&"
        f" git -C {top} commit -q -m 'Add the files of '{name}"
    )
    return NotMergeable(
        candidate.task,
        f"{path} is a separate repository in the task's commit, and .gitmodules has no address"
        f" for it. The project would get only the id of commit {commit[:12]} and none of its"
        " files",
        f"Either add its files to the task's work, without its own history: `{add_files}`. Or"
        f" make it a submodule: `{add_remote}{_push(candidate, inner)} && git -C {top} submodule"
        f" add --force {quote(address) if address else ADDRESS} {name} && git -C {top} commit -q"
        f" -m 'Make '{name}' a submodule'`. Then `sow merge {candidate.task.id}`.",
        command=add_files,
    )


def _not_pushed(
    main: Repository, candidate: Candidate, path: str, commit: str, within: str = ""
) -> NotMergeable:
    clone = candidate.place.path
    here, name = quote(str(main.top)), quote(path)
    if (clone / path / ".git").exists():
        top = quote(str(clone))
        command = _push(candidate, quote(str(clone / path)))
        hint = f"Push it: `{command}`."
        if not within:
            hint += (
                f" Or undo the change of the submodule: `git -C {top} checkout"
                f" {candidate.place.base or 'HEAD^'} -- {name} && git -C {top} commit -q -m 'Take"
                f" back '{name}`."
            )
    else:
        command = (
            f"git -C {here} submodule update --init {name} && git -C {here}/{name} fetch origin"
        )
        hint = (
            "If the submodule's remote has the commit, fetch it into the project's own"
            f" submodule: `{command}`. Otherwise create the commit there and push it."
        )
    return NotMergeable(
        candidate.task,
        f"it uses commit {commit[:12]} of the submodule {path}, but sow finds this commit in no"
        " other repository",
        f"{hint} Then `sow merge {candidate.task.id}`.",
        command=command,
    )


def _push(candidate: Candidate, inner: str) -> str:
    """Return the command that pushes a repository, and notes that its remote has the commit."""
    branch = quote(f"refs/heads/{candidate.place.branch}")
    noted = quote(f"refs/remotes/origin/{candidate.place.branch}")
    return (
        f"git -C {inner} push origin HEAD:{branch} && git -C {inner} fetch origin {branch}:{noted}"
    )


def _address(clone: Path, path: str) -> str:
    """Return the address of the remote of a repository inside a clone; empty without one."""
    try:
        found = inner_repository(clone, path)
        text = read_text(found.common_dir, "config", CONFIG_LIMIT) or ""
        settings = dict(settings_in(text.encode("utf-8", "surrogateescape")))
    except StateError:
        return ""
    return settings.get("remote.origin.url", "")
