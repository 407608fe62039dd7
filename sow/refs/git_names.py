"""Which files of a tree would make git take a folder of it for a repository.

Such a repository has a configuration, and that names programs: whoever runs `git status` in it, an
agent in a reference, say, would run them. Pure.
"""

from collections.abc import Iterable

GIT_FOLDERS = (".git", "git~1")
"""The second is the first one's short name on some file systems."""
HEAD = "head"
BESIDE_HEAD = frozenset({"objects", "refs"})
ELSEWHERE = "commondir"
"""A file that names another folder for those two (gitrepository-layout(5))."""


def is_git_folder(part: str) -> bool:
    """Whether a part of a path is what git looks for, on whichever file system."""
    return part.lower().rstrip(". ") in GIT_FOLDERS


def heads_of_bare(paths: Iterable[str]) -> set[str]:
    """Return the files without which no folder of a tree is a bare repository.

    Git takes a folder for one that holds HEAD, objects and refs (setup.c: is_git_directory),
    whatever its name is; `paths` are all that become files or links.
    """
    heads: dict[str, list[str]] = {}
    beside: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name.lower() == HEAD:
            heads.setdefault(folder.lower(), []).append(path)
        _note(beside, path.lower())
    return {
        path
        for folder, found in heads.items()
        if beside[folder] >= BESIDE_HEAD or ELSEWHERE in beside[folder]
        for path in found
    }


def _note(beside: dict[str, set[str]], path: str) -> None:
    """Note what of these names lies in which folder; a folder is there with its first file."""
    above = ""
    for part in path.split("/"):
        if part in BESIDE_HEAD or part in (HEAD, ELSEWHERE):
            beside.setdefault(above, set()).add(part)
        above = f"{above}/{part}" if above else part
