"""Whether a file's bytes are an earlier version of it.

Owns the three ways to know: sow has seen that version before, a log only ever
grows, and git, which is asked only when the others leave a doubt. What git runs
for us runs no hook, filter, pager or helper, and asks nothing.
"""

import os

from sow.errors import SowError
from sow.paths import SOW_FOLDER
from sow.state.kept.copies import LOG, digest, versions
from sow.state.kept.store import Kept

GIT_SECONDS = 5.0
FIRST_KEYS = (b"id: ", b"timestamp:")
"""How the first line of an entry begins: of today's form, and of the one before."""
ENTRY = tuple(b"---\n" + key for key in FIRST_KEYS)
Versions = list[tuple[str, str]]
"""The versions of a file that were seen, each with the commit of that time (`copies.versions`)."""


def came_before(kept: Kept, name: str, data: bytes, copy: bytes) -> bytes | None:
    """Return what belongs in the file where `data` came before `copy`; None where it is an edit.

    That is the copy, and for a log also what was added since to its earlier version.
    """
    if name.endswith(LOG):
        if copy.startswith(data) or any(digest(data) == seen for seen, _ in versions(kept, name)):
            return copy
        added = added_since(copy, data)
        if added:
            return copy + added
        return copy if _git_knows(kept, name, data, versions(kept, name)) else None
    seen = versions(kept, name)
    if not _is_whole(copy, seen):
        return None
    if digest(data) in _earlier(seen):
        return copy if _may_be_gits(kept, name, data) else None
    return copy if _git_knows(kept, name, data, seen) else None


def added_since(copy: bytes, data: bytes) -> bytes:
    """Return the entries that somebody added to an earlier version of a log; none for an edit.

    `data` is then a beginning of `copy` that ends with an entry, and more. An
    entry with one of the ids (without one: of the times) of what `copy` goes on
    with was edited, not added.
    """
    pairs = enumerate(zip(copy, data, strict=False))
    shared = next((at for at, (kept, new) in pairs if kept != new), min(len(copy), len(data)))
    at = copy[:shared].rfind(b"\n") + 1
    if copy[:at].endswith(b"---\n") and copy.startswith(FIRST_KEYS, at):
        at -= len(b"---\n")
    rest, added = copy[at:], data[at:]
    if not rest.lstrip(b"\n").startswith(ENTRY) or not added.strip():
        return b""
    return b"" if _marks(rest) & _marks(added) else added


def _marks(text: bytes) -> set[bytes]:
    """Return what tells the entries in some text of a log from others."""
    lines = text.split(b"\n")
    return {line for line in lines if line.startswith(b"id: ")} | {
        line
        for before, line in zip([b"", *lines], lines, strict=False)
        if line.startswith(b"timestamp:") and not before.startswith(b"id: ")
    }


def _is_whole(copy: bytes, seen: Versions) -> bool:
    """Whether a copy is what was written: a crash may have left less of it."""
    return digest(copy) in [version for version, _ in seen]


def _earlier(seen: Versions) -> set[str]:
    """Return the versions that another has followed."""
    found = [version for version, _ in seen]
    return set(found) - set(found[-1:])


def _may_be_gits(kept: Kept, name: str, data: bytes) -> bool:
    """Whether git may have written `data`: it has them as an object, or nobody can tell.

    An edit can have the bytes of an earlier version: two reports in one second, say.
    """
    if not kept.checkout.git or _is_filtered(kept, name):
        return True
    forms = {data, data.replace(b"\r\n", b"\n")}
    return any(_is_object(kept, form) for form in forms)


def _is_filtered(kept: Kept, name: str) -> bool:
    """Whether git's object is another text than the file, or git does not say."""
    root = os.path.realpath(kept.checkout.root)
    top = root.removesuffix(f"/{kept.checkout.inside}")
    path = os.path.join(root, SOW_FOLDER, name)  # noqa: PTH118
    answer = _git(kept, f"--work-tree={top}", "check-attr", "filter", "--", path)
    return answer is None or not answer.rstrip().endswith((b": unspecified", b": unset"))


def _is_object(kept: Kept, data: bytes) -> bool:
    """Whether git has some bytes as an object; also where it does not answer."""
    asked = _git(kept, "hash-object", "--stdin", stdin=data)
    found = _git(kept, "cat-file", "--batch-check", stdin=asked) if asked else None
    return found is None or not found.endswith(b" missing\n")


def _git_knows(kept: Kept, name: str, data: bytes, seen: Versions) -> bool:
    """Whether the commit that HEAD names holds `data`, and is no newer than the copy.

    A commit made or fetched since then is somebody's wish, not the past.
    """
    checkout = kept.checkout
    commit = seen[-1][1] if seen else checkout.commit
    if not checkout.git or not commit:
        return False
    path = os.path.join(checkout.inside, SOW_FOLDER, name)  # noqa: PTH118
    if _git(kept, "cat-file", "blob", f"HEAD:{path}") != data:
        return False
    return _git(kept, "merge-base", "--is-ancestor", "HEAD", commit) is not None


def _git(kept: Kept, *words: str, stdin: bytes | None = None) -> bytes | None:
    """Return what a git command says; None where it fails."""
    from sow.git.view import view_of  # it starts processes: only where a file is in doubt

    where = f"--git-dir={kept.checkout.git}"
    try:
        return view_of(kept.checkout.root).raw(where, *words, seconds=GIT_SECONDS, stdin=stdin)
    except SowError:
        return None
