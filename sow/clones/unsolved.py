"""Which conflicts of a merge that is under way in a clone nobody has solved yet."""

from sow.clones.brought_otherwise import project_side
from sow.clones.clone_facts import CloneFacts
from sow.git.merge_tree import merge_trees
from sow.git.view import View

MARKERS = (b"<<<<<<< ", b">>>>>>> ")
MOST_READ = 1 << 26
"""A larger file is taken for solved as soon as it is not as the merge left it."""


def unsolved_paths(view: View, facts: CloneFacts, ours: str, theirs: str) -> tuple[str, ...]:
    """Return the files whose conflict stands as the merge left it, or that still hold its marks.

    The merge is computed anew; the clone's own index is not asked. Raises GitRefused.
    """
    merged = merge_trees(view, ours, project_side(view, theirs, ours))
    conflicts = [path for path in merged.conflicts if not facts.is_own(path)]
    return tuple(path for path in conflicts if _is_unsolved(view, facts, merged.tree, path))


def _is_unsolved(view: View, facts: CloneFacts, tree: str, path: str) -> bool:
    code, left, _ = view.answer("cat-file", "blob", f"{tree}:{path}")
    file = facts.path / path
    if file.is_symlink() or not file.is_file() or file.stat().st_size > MOST_READ:
        return False
    data = file.read_bytes()
    if code == 0 and data == left:
        return True
    return all(any(line.startswith(mark) for line in data.splitlines()) for mark in MARKERS)
