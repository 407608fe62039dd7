"""The submodules of a clone, moved along when the project's branch comes into it.

Else the next `git commit -a` there would take the project's pointers back. No
network is asked and nothing of the clone or of a submodule acts: commits come
from the project's own submodule. What cannot be moved is said.
"""

from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from sow.clones.gitlinks import Link, is_repository, links_between, links_of
from sow.clones.inner_work import inner_work
from sow.clones.kept_commits import counterparts, types_of
from sow.errors import StateError
from sow.faults import passing_fault
from sow.git.inert_refs import write_file
from sow.git.inner_view import InnerRepository, inner_repository, inner_view
from sow.git.named_commits import head_commit
from sow.git.private_view import index_of
from sow.git.repository import Repository
from sow.git.run import FETCH, LONG_SECONDS
from sow.git.view import View


def move_along(
    clone: Path, main: Repository, links: Iterable[Link], above: str = ""
) -> tuple[str, ...]:
    """Check out what the entries name in the submodules that are there; say what stays, and why.

    Their own submodules as well. `above` is the submodule that has the entries, relative to the
    clone's top. Raises StateError or OSError for a fault that passes.
    """
    notes: list[str] = []
    for link in links:
        path = f"{above}/{link.path}" if above else link.path
        if not is_repository(clone / path):
            continue  # git sees no change in a submodule that is not initialised
        below: tuple[Link, ...] = ()
        try:
            why, below = _move(clone, inner_repository(clone, path), main, link)
        except (StateError, OSError) as error:
            if passing_fault(error) is not None:
                raise
            why = str(error).splitlines()[0]
        if why:
            notes.append(
                f"the submodule {path} was not moved to {link.after[:12]}: {why}. Move it before"
                f" anybody runs `git commit -a`: `git -C {quote(str(clone / above))} submodule"
                f" update {quote(link.path)}`"
            )
        notes += move_along(clone, main, below, path)
    return tuple(notes)


def _move(
    clone: Path, found: InnerRepository, main: Repository, link: Link
) -> tuple[str, tuple[Link, ...]]:
    """Move one submodule; return why it stays, in words, and else the entries that it has now."""
    here = head_commit(found.git_dir, found.common_dir)
    with inner_view(found, main, link.after) as view:
        if here != link.after:
            why = _moved(view, clone, found, main, link, here)
            if why is not None:
                return why, ()
        before = link.before if types_of(view, [link.before]) else link.after
        return "", links_between(view, before, after=links_of(view, link.after))


def _moved(
    view: View,
    clone: Path,
    found: InnerRepository,
    main: Repository,
    link: Link,
    here: str | None,
) -> str | None:
    """Move a submodule that is elsewhere; return why it stays: nothing where that is right."""
    has_it = _has(view, found, main, link.after)
    is_older = here == link.before or (has_it and _is_below(view, here, link.after))
    if not is_older:
        goes_on = link.before == link.after or (has_it and _is_below(view, link.after, here))
        return "" if goes_on else "something else is checked out in it"
    work = inner_work(clone, found, main)
    if work.files or work.unknown:
        return work.unknown or "files in it are not committed"
    if here is None or not has_it:
        return "that commit is not on this machine"
    _check_out(view, found, here, link.after)
    return None


def _is_below(view: View, older: str | None, newer: str | None) -> bool:
    return older is not None and newer is not None and view.is_ancestor(older, newer)


def _has(view: View, found: InnerRepository, main: Repository, commit: str) -> bool:
    """Whether a submodule has a commit, fetched from the project's own one if need be."""
    if types_of(view, [commit]):
        return True
    for other in counterparts(main, found)[1:]:
        if types_of(other, [commit]):
            folder = other.text("rev-parse", "--path-format=absolute", "--git-dir")
            view.text(*FETCH, folder, commit, seconds=LONG_SECONDS)
            return True
    return False


def _check_out(view: View, found: InnerRepository, here: str, wanted: str) -> None:
    """Make files, index and HEAD those of a commit; a file that is in the way stops it."""
    view.text("read-tree", here)
    view.answer("update-index", "-q", "--refresh", seconds=LONG_SECONDS)
    view.text("read-tree", "-m", "-u", here, wanted, seconds=LONG_SECONDS)
    write_file(found.git_dir, "index", index_of(view).read_bytes())
    write_file(found.git_dir, "HEAD", f"{wanted}\n".encode())
