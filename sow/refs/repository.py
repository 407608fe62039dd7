"""The history of a reference: asked of its remote, fetched without contents, and compared.

Owns what is asked of a remote and what is kept of its answer. A server that allows for it sends
commits and folders alone; the contents of files come when they are linked (`exporting`).
"""

import os
import re
from contextlib import suppress
from typing import NamedTuple

from sow.errors import StateError
from sow.files import NotWritten, write_atomically
from sow.git.git_errors import GitKilled, GitRefused, GitTookTooLong, line_of
from sow.git.own_bare import ANSWER_SECONDS, REMOTE, OwnBare, make_bare, own_bare
from sow.git.repository import SHA1, format_of
from sow.git.run import LONG_SECONDS
from sow.refs.cache import DRAFT, FOLDER_MODE, Cached, delete_tree
from sow.refs.refs_errors import NoSuchRef, Unreachable
from sow.refs.sources import address_for_git
from sow.schema.references import Reference

KEPT = "refs/kept"
"""Where the commits are named that were fetched: the next fetch begins from them."""
LINE = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\t(\S+)")
FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no")


class Tip(NamedTuple):
    """What a ref of a remote names."""

    commit: str
    wanted: str
    """What is to be asked for: of an annotated tag that is the tag itself."""


class Distance(NamedTuple):
    """How two commits lie to each other, in commits."""

    ahead: int
    behind: int


def repository_in(place: Cached, object_format: str = SHA1) -> OwnBare:
    """Return the repository of a place, made if it is not there. The caller holds its lock.

    One that is there may have another format: a remote is asked before its own is known.
    """
    if place.repository.is_dir():
        return own_bare(place.repository)
    draft = place.folder / f"{DRAFT}{os.urandom(4).hex()}"
    try:
        place.folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        make_bare(draft, address_for_git(place.source), object_format)
        draft.rename(place.repository)
    except OSError as error:
        raise NotWritten(place.repository, error) from error
    return own_bare(place.repository)


def repository_for(place: Cached, commit: str) -> OwnBare:
    """Return the repository of a place, fit for a commit of its remote. The caller holds its lock.

    Git fetches no SHA-256 into SHA-1, nor the other way round: what has the other format is begun
    anew.
    """
    repository = repository_in(place)
    if repository.object_format == format_of(commit):
        return repository
    return begin_anew(place, commit)


def begin_anew(place: Cached, commit: str) -> OwnBare:
    """Return an empty repository, fit for a commit, in the place of one that will not do.

    The caller holds the lock.
    """
    delete_tree(place.repository)
    return repository_in(place, format_of(commit))


def tip_of(repository: OwnBare, reference: Reference) -> Tip:
    """Ask the remote where a reference stands there now. Raises NoSuchRef, Unreachable."""
    ref = reference.ref
    peeled = f"{ref}^{{}}"
    words = ("ls-remote", "--quiet", REMOTE, ref, peeled)
    answer = _asked(repository, reference, *words, seconds=ANSWER_SECONDS)
    lines = (LINE.fullmatch(line) for line in answer.splitlines())
    found = {line[2]: line[1] for line in lines if line}
    if ref not in found:
        raise NoSuchRef(reference.source, ref)
    return Tip(found.get(peeled, found[ref]), found[ref])


def bring(repository: OwnBare, reference: Reference, tip: Tip) -> None:
    """Have a commit of the remote here, and what leads to it.

    Raises Unreachable, StateError, GitRefused. The caller holds the lock. Killed anywhere, it
    leaves objects that the next call may use.
    """
    if not is_kept(repository, tip.commit):
        if repository.commit_of(tip.commit) is None:
            words = (*FETCH, "--refmap=", REMOTE, tip.wanted)
            _asked(repository, reference, *words, seconds=LONG_SECONDS)
            if repository.commit_of(tip.commit) is None:
                if repository.answer("cat-file", "-e", tip.commit)[0] == 0:
                    source = reference.source
                    ref = reference.ref
                    raise StateError(
                        f"{source} has {ref.removeprefix('refs/tags/')}, which names no commit",
                        hint="Name a tag of a commit by --tag, or a branch by --branch.",
                    )
                raise GitRefused(repository.folder, words, -1, f"{tip.commit} did not come")
        keep(repository, tip.commit)


def bring_contents(repository: OwnBare, reference: Reference, objects: list[str]) -> None:
    """Have the contents of files here. Raises Unreachable."""
    words = (*FETCH, "--filter=blob:none", REMOTE, "--stdin")
    _asked(
        repository,
        reference,
        *("-c", "fetch.negotiationAlgorithm=noop", *words),
        seconds=LONG_SECONDS,
        stdin="".join(f"{oid}\n" for oid in objects).encode(),
    )


def is_kept(repository: OwnBare, commit: str) -> bool:
    """Whether a commit was fetched whole, with all that leads to it."""
    return (repository.folder / KEPT / commit).is_file()


def keep(repository: OwnBare, commit: str) -> None:
    """Name a commit that was fetched. No lock of git's is taken, so none can be left behind."""
    write_atomically(repository.folder / KEPT / commit, f"{commit}\n".encode())


def distance(repository: OwnBare, ours: str, theirs: str) -> Distance | None:
    """Count the commits that one has and the other has not. Raises GitRefused.

    None where the repository was begun anew since, and the remote has `ours` no more.
    """
    if not is_kept(repository, ours) and repository.commit_of(ours) is None:
        return None
    words = ("rev-list", "--count", "--left-right", f"{ours}...{theirs}", "--")
    ahead, behind = repository.text(*words, seconds=LONG_SECONDS).split()
    return Distance(int(ahead), int(behind))


def sweep(place: Cached) -> None:
    """Remove what processes that died have left of drafts. The caller holds the lock."""
    for folder in (place.folder, place.trees):
        with suppress(FileNotFoundError):
            for path in sorted(folder.iterdir()):
                if path.name.startswith((".draft-", ".gone-")):
                    delete_tree(path)
                elif path.name.startswith(f".{place.record.name}."):
                    path.unlink(missing_ok=True)


def _asked(
    repository: OwnBare,
    reference: Reference,
    *words: str,
    seconds: float,
    stdin: bytes | None = None,
) -> str:
    """Run a git that talks with the remote. Raises Unreachable."""
    try:
        return repository.from_remote(*words, seconds=seconds, stdin=stdin)
    except GitRefused as error:
        why = line_of(error.complaint) or error.message
    except (GitTookTooLong, GitKilled) as error:
        why = error.message
    raise Unreachable(reference.source, why)
