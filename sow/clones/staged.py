"""Versions of files that lie in git's index alone: no commit has them, and no file.

Whoever stages a file and then changes or removes it has replaced that version. So it is told
before a clone goes, and is no reason to keep one. The index is the agent's: git reads a copy of it
through a view in which nothing of the repository acts.
"""

from pathlib import Path

from sow.files import NotAFile, read_regular
from sow.git.private_view import index_of
from sow.git.run import LONG_SECONDS
from sow.git.view import View

INDEX_LIMIT = 1 << 28
FILES = ("100644", "100755", "120000")
"""The modes of entries that stand for a file or a link."""


def staged_alone(view: View, git_dir: Path, commit: str | None) -> tuple[str, ...]:
    """Return the paths of which the index of a git folder has a version that is nowhere else.

    `commit` is what is checked out. Raises GitRefused.
    """
    staged = _staged(view, git_dir)
    if staged and commit is not None:
        words = ("ls-tree", "-r", "-z", "--full-tree", commit)
        entries = view.records(*words, seconds=LONG_SECONDS)
        committed = {entry.partition("\t")[0].split()[2] for entry in entries}
        staged = {pair for pair in staged if pair[1] not in committed}
    return tuple(sorted({path for path, blob in staged if _hash(view, path) != blob}))


def _staged(view: View, git_dir: Path) -> set[tuple[str, str]]:
    """Return the paths in an index, each with the blob that it has there."""
    try:
        data = read_regular(git_dir / "index", INDEX_LIMIT)
    except (FileNotFoundError, NotAFile):
        return set()
    copy = index_of(view).with_name("staged-index")
    copy.write_bytes(data)
    code, output, _ = view.answer(
        *("ls-files", "-z", "--stage"), variables={"GIT_INDEX_FILE": str(copy)}
    )
    if code != 0:
        return set()  # damaged, or a part of another file: git itself cannot tell what is in it
    found = set()
    for record in output.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, path = record.partition("\t")
        if facts.startswith(FILES):
            found.add((path, facts.split()[1]))
    return found


def _hash(view: View, path: str) -> str | None:
    """Return the blob that a file of the working tree would be; None where there is none."""
    file = view.folder / path
    if file.is_symlink():
        target = str(file.readlink()).encode("utf-8", "surrogateescape")
        return view.text("hash-object", "--stdin", stdin=target)
    if not file.is_file():
        return None
    code, output, _ = view.answer("hash-object", "--", path)
    return output.decode().strip() if code == 0 else None
