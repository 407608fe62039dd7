"""What git knows of a merge: which side is ours, which theirs, and what each of them had.

Owns these questions; reads only, and runs git not before one is asked. Where git
knows nothing (no repository, no merge), nothing is guessed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from sow.errors import StateError
from sow.git.repository import repository_of
from sow.git.view import View, split_records, view_of

UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD")
"""What names their commit while something is being merged; ours is HEAD then."""
BASE_STAGE = "1"
"""The stage in git's index that holds what both sides began with."""


class Sides(Struct, frozen=True):
    """The two sides of a merge, as commits. Ours may be the working tree itself."""

    theirs: str
    ours: str | None = None
    """None where ours is what was never committed."""
    are_in_line: bool = False
    """Whether theirs has all that ours has: what both have is ours then."""


class History:
    """The repository of a workspace, as it is asked about its files."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def _view(self) -> View | None:
        try:
            repository_of(self._root)
        except StateError:
            return None
        return view_of(self._root)

    @cached_property
    def unmerged(self) -> Mapping[Path, frozenset[str]]:
        """The files that git holds for unsolved, each with its stages in the index."""
        found: dict[Path, frozenset[str]] = {}
        for record in self._records("ls-files", "-u", "-z", "--", "."):
            facts, _, name = record.partition("\t")
            path = self._root / name
            found[path] = found.get(path, frozenset()) | {facts.split(" ")[-1]}
        return found

    @cached_property
    def under_way(self) -> Sides | None:
        """The sides of what is being merged just now."""
        for name in UNDER_WAY:
            if theirs := self._commit(name):
                ours = self._commit("HEAD")
                return Sides(theirs, ours) if ours else None
        return None

    def merge_of(self, fits: Callable[[Sides], bool], *paths: Path) -> Sides | None:
        """Return the sides of the merge that has brought some files, as `fits` knows it.

        That is the one under way, or the last.
        """
        for sides in (self.under_way, self._last_merge(paths)):
            if sides is not None and fits(sides):
                return sides
        return None

    def _last_merge(self, paths: Sequence[Path]) -> Sides | None:
        names = [self._name(path) for path in paths]
        words = ("log", "--first-parent", "--merges", "-1", "--format=%P", "HEAD", "--", *names)
        parents = self._text(*words).split()
        return Sides(parents[1], parents[0]) if len(parents) == 2 else None

    def in_line(self, path: Path) -> Sides | None:
        """Return the sides where theirs was put upon ours, by the commit that added a file."""
        words = ("log", "--first-parent", "--diff-filter=A", "-1", "--format=%H", "HEAD", "--")
        added = self._text(*words, self._name(path)).strip()
        before = self._commit(f"{added}^") if added else None
        head = self._commit("HEAD")
        return Sides(head, before, are_in_line=True) if before and head else None

    def that_added(self, path: Path) -> str | None:
        """Return the commit that has brought a file, on either side of what is being merged."""
        starts = ["HEAD", *([self.under_way.theirs] if self.under_way is not None else [])]
        words = ("log", "--full-history", "--diff-filter=A", "-1", "--format=%H")
        return self._text(*words, *starts, "--", self._name(path)).strip() or None

    def against_working_tree(self) -> Sides | None:
        """Return the sides where ours was never committed."""
        head = self._commit("HEAD")
        return Sides(head) if head else None

    def is_tracked(self, path: Path) -> bool:
        """Whether git knows a file, committed or not."""
        return bool(self._records("ls-files", "-z", "--", self._name(path)))

    def base_of(self, path: Path) -> bytes | None:
        """Return what a file was before both sides changed it; None where it was not there."""
        stages = self.unmerged.get(path)
        if stages is not None:
            return self._blob(f":{BASE_STAGE}:", path) if BASE_STAGE in stages else None
        return self.had(self._base_of_sides(path), path)

    def was_added_by_both(self, path: Path) -> bool | None:
        """Whether neither side found a file there before; None where git cannot tell."""
        stages = self.unmerged.get(path)
        if stages is not None:
            return BASE_STAGE not in stages
        base = self._base_of_sides(path)
        return None if base is None else self.had(base, path) is None

    def _base_of_sides(self, path: Path) -> str | None:
        """Return the commit from which both sides of a merge went on."""
        sides = self.merge_of(lambda each: self._differs(each, path), path)
        if sides is None or sides.ours is None:
            return None
        return self._text("merge-base", sides.ours, sides.theirs).strip() or None

    def _differs(self, sides: Sides, path: Path) -> bool:
        """Whether the two sides have a file each, and not the same."""
        mine, its = self.had(sides.ours, path), self.had(sides.theirs, path)
        return None not in (mine, its) and mine != its

    def had(self, commit: str | None, path: Path) -> bytes | None:
        """Return a file as a commit has it; None where it has none."""
        return self._blob(f"{commit}:", path) if commit else None

    def files_in(self, commit: str, folder: Path) -> dict[str, bytes]:
        """Return the files that a commit has in a folder, by their names below it."""
        name = self._name(folder)
        records = self._records("ls-tree", "-r", "-z", "--name-only", commit, "--", f"{name}/")
        found = {}
        for record in records:
            data = self.had(commit, self._root / record)
            if data is not None:
                found[record[len(name) + 1 :]] = data
        return found

    def union(self, ours: bytes, theirs: bytes) -> bytes | None:
        """Return what `merge=union` makes of two versions without a common one."""
        from sow.files.scratch import scratch_folder  # only where two have added a task of one id

        if self._view is None:
            return None
        with scratch_folder("history") as scratch:
            for name, data in (("ours", ours), ("base", b""), ("theirs", theirs)):
                (scratch / name).write_bytes(data)
            files = [f"{scratch}/{name}" for name in ("ours", "base", "theirs")]
            code, output, _ = self._view.answer("merge-file", "--union", "-p", *files)
        return output if code == 0 else None

    def name_of(self, commit: str) -> str:
        """Return what people call a commit: a branch's name, else its first digits."""
        name = self._text(
            "name-rev", "--name-only", "--no-undefined", "--refs=refs/heads/*", commit
        )
        plain = name.strip()
        return plain if plain and not set(plain) & set("~^") else commit[:12]

    def _blob(self, start: str, path: Path) -> bytes | None:
        if self._view is None:
            return None
        try:
            code, output, _ = self._view.answer("cat-file", "blob", f"{start}./{self._name(path)}")
        except StateError:
            return None
        return output if code == 0 else None

    def _commit(self, name: str) -> str | None:
        try:
            return self._view.commit_of(name) if self._view is not None else None
        except StateError:
            return None

    def _text(self, *words: str) -> str:
        if self._view is None:
            return ""
        try:
            code, output, _ = self._view.answer(*words)
        except StateError:
            return ""
        return output.decode("utf-8", "surrogateescape") if code == 0 else ""

    def _records(self, *words: str) -> Iterable[str]:
        text = self._text(*words)
        return split_records(text.encode("utf-8", "surrogateescape"))

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()
