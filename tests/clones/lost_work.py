"""Every form in which work can lie in a task's clone and nowhere else, made by plain git."""

from collections.abc import Callable
from pathlib import Path

from clones.clone_site import name_author, plain
from clones.making_site import commit

LOCAL = ("-c", "protocol.file.allow=always")


def repository(folder: Path, file: str = "inner.txt") -> Path:
    """Make a repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    plain(folder, "init", "-q", "-b", "main")
    name_author(folder, "An Agent")
    commit(folder, file, "inner\n")
    return folder


def add_submodule(top: Path, source: Path, name: str = "lib") -> None:
    """Give a repository a submodule of the main project, committed."""
    plain(top, *LOCAL, "submodule", "--quiet", "add", str(source), name)
    plain(top, "commit", "-q", "-m", "A submodule")


def initialise(clone: Path, name: str = "lib") -> Path:
    plain(clone, *LOCAL, "submodule", "--quiet", "update", "--init", name)
    name_author(clone / name, "An Agent")
    return clone / name


def committed_nested(clone: Path) -> str:
    repository(clone / "app")
    plain(clone, "add", "-A", "app")
    plain(clone, "commit", "-q", "-m", "Scaffold")
    return "app"


def untracked_nested(clone: Path) -> str:
    repository(clone / "spike")
    return "spike"


def ignored_nested(clone: Path) -> str:
    repository(clone / "box.local")
    return "commits that only box.local has: main"


def ignored_nested_without_a_commit(clone: Path) -> str:
    folder = clone / "new.local"
    folder.mkdir()
    plain(folder, "init", "-q")
    (folder / "idea.txt").write_text("idea\n")
    return "uncommitted in new.local: new.local/idea.txt"


def ignored_nested_in_a_folder(clone: Path) -> str:
    repository(clone / "deep.local" / "one" / "two")
    return "commits that only deep.local/one/two has"


def ignored_bare(clone: Path) -> str:
    source = repository(clone.parent / "source")
    plain(clone, "clone", "-q", "--bare", str(source), "bare.local")
    return "commits that only bare.local has: main"


def ignored_worktree(clone: Path) -> str:
    plain(clone, "worktree", "add", "-q", "tree.local")
    (clone / "tree.local" / "file").write_text("edited\n")
    (clone / "tree.local" / "fresh").write_text("fresh\n")
    return "uncommitted in tree.local: tree.local/file, tree.local/fresh"


def detached_worktree(clone: Path) -> str:
    plain(clone, "worktree", "add", "-q", "--detach", "../elsewhere")
    commit(clone.parent / "elsewhere", "far", "far\n")
    return "what is checked out in the working tree elsewhere"


def deleted_branch(clone: Path) -> str:
    branch = plain(clone, "branch", "--show-current")
    plain(clone, "switch", "-q", "-c", "aside")
    commit(clone, "aside", "aside\n")
    plain(clone, "switch", "-q", branch)
    plain(clone, "branch", "-q", "-D", "aside")
    return "on no branch ("


def stash(clone: Path) -> str:
    (clone / "file").write_text("stashed\n")
    plain(clone, "stash", "-q")
    return "stash"


def odd_ref(clone: Path) -> str:
    branch = plain(clone, "branch", "--show-current")
    plain(clone, "switch", "-q", "--detach")
    commit(clone, "odd", "odd\n")
    plain(clone, "update-ref", "refs/kept/odd", "HEAD")
    plain(clone, "switch", "-q", branch)
    return "kept/odd"


def submodule_commit(clone: Path) -> str:
    commit(initialise(clone), "lib.txt", "changed\n")
    plain(clone, "commit", "-q", "-am", "Take the library along")
    return "commits that only lib has: what is checked out"


def submodule_side_branch(clone: Path) -> str:
    lib = initialise(clone)
    plain(lib, "switch", "-q", "-c", "side")
    commit(lib, "lib.txt", "side\n")
    plain(lib, "checkout", "-q", "--detach", "HEAD^")
    return "commits that only lib has: side"


def submodule_stash(clone: Path) -> str:
    lib = initialise(clone)
    (lib / "lib.txt").write_text("stashed\n")
    plain(lib, "stash", "-q")
    return "commits that only lib has: stash"


def submodule_edited(clone: Path) -> str:
    lib = initialise(clone)
    (lib / "lib.txt").write_text("edited\n")
    (lib / "more.txt").write_text("more\n")
    return "uncommitted in lib: lib/lib.txt, lib/more.txt"


def submodule_removed_again(clone: Path) -> str:
    lib = initialise(clone)
    plain(lib, "switch", "-q", "-c", "side")
    commit(lib, "lib.txt", "side\n")
    plain(clone, "submodule", "--quiet", "deinit", "-f", "lib")
    return "commits that only .git/modules/lib has: "


def file_in_an_empty_submodule(clone: Path) -> str:
    (clone / "lib" / "notes.txt").write_text("notes\n")
    return "uncommitted: lib/notes.txt"


def unreadable_nested(clone: Path) -> str:
    inner = repository(clone / "odd.local")
    (inner / ".git" / "objects").rename(clone.parent / "objects")
    (inner / ".git" / "objects").symlink_to(clone.parent / "objects")
    return "the repository odd.local cannot be checked"


def nested_with_a_git_folder_elsewhere(clone: Path) -> str:
    away = clone.parent / "away"
    plain(clone.parent, "init", "-q", "--separate-git-dir", str(away), str(clone / "far.local"))
    (clone / "far.local" / "work").write_text("work\n")
    return "the repository far.local cannot be checked"


def ref_of_a_worktree(clone: Path) -> str:
    plain(clone, "worktree", "add", "-q", "--detach", "refs.local")
    tree = clone / "refs.local"
    commit(tree, "far", "far\n")
    plain(tree, "update-ref", "refs/worktree/kept", "HEAD")
    plain(tree, "reset", "-q", "--hard", "HEAD^")
    return "worktree/kept in the working tree refs.local"


def backup_in_the_git_folder(clone: Path) -> str:
    source = repository(clone.parent / "saved")
    plain(clone, "clone", "-q", "--bare", str(source), ".git/saved")
    plain(clone / ".git/saved", "remote", "remove", "origin")
    return "commits that only .git/saved has: main"


def pushed_within_the_clone(clone: Path) -> str:
    """The remote has gone since, as a place for tests does."""
    plain(clone, "init", "-q", "--bare", "base.local")
    inner = repository(clone / "pushed.local")
    plain(inner, "remote", "add", "origin", "../base.local")
    plain(inner, "push", "-q", "origin", "main")
    (clone / "base.local").rename(clone.parent / "base")
    return "commits that only pushed.local has: main"


def unfinished_merge(clone: Path) -> str:
    """What is merged came from a repository that has gone since, by an address alone."""
    other = clone.parent / "other"
    plain(clone.parent, "clone", "-q", str(clone), str(other))
    name_author(other, "An Agent")
    commit(other, "theirs", "theirs\n")
    commit(clone, "mine", "mine\n")
    plain(clone, "pull", "-q", "--no-rebase", "--no-commit", str(other))
    plain(clone, "rm", "-q", "-f", "theirs")
    other.rename(clone.parent / "gone")
    return "an unfinished merge ("


def unfinished_cherry_pick(clone: Path) -> str:
    """The picked commit came by an address alone, and conflicts."""
    other = clone.parent / "other"
    plain(clone.parent, "clone", "-q", str(clone), str(other))
    name_author(other, "An Agent")
    commit(other, "file", "theirs\n")
    commit(clone, "file", "mine\n")
    plain(clone, "fetch", "-q", str(other))
    plain(clone, "cherry-pick", "FETCH_HEAD", accepted=(1,))
    plain(clone, "checkout", "-q", "--ours", "--", "file")
    return "an unfinished cherry-pick ("


def submodule_of_a_submodule(clone: Path) -> str:
    deep = repository(clone.parent / "deep", "deep.txt")
    lib = initialise(clone)
    add_submodule(lib, deep, "deep")
    plain(lib, "push", "-q", "origin", "HEAD:refs/heads/with-deep")
    name_author(lib / "deep", "An Agent")
    commit(lib / "deep", "deep.txt", "deeper\n")
    return "commits that only lib/deep has: "


def unfinished_rebase(clone: Path) -> str:
    plain(clone, "worktree", "add", "-q", "--detach", "rebase.local")
    tree = clone / "rebase.local"
    for number in (1, 2):
        commit(tree, "file", f"rebased {number}\n")
    plain(tree, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~2")
    return "an unfinished rebase in the working tree rebase.local ("


def unfinished_patches(clone: Path) -> str:
    other = repository(clone.parent / "patched")
    commit(other, "inner.txt", "patched\n")
    patch = plain(other, "format-patch", "-1", "--stdout") + "\n"
    plain(clone, "worktree", "add", "-q", "--detach", "am.local")
    plain(clone / "am.local", "am", "-q", stdin=patch.encode(), accepted=(128,))
    return "patches that `git am` has not applied in the working tree am.local"


def ignored_and_added(clone: Path) -> str:
    (clone / "model.local").write_text("a model\n")
    plain(clone, "add", "-f", "model.local")
    return "uncommitted: model.local"


FORMS: dict[str, Callable[[Path], str]] = {
    form.__name__: form
    for form in (
        committed_nested,
        untracked_nested,
        ignored_nested,
        ignored_nested_without_a_commit,
        ignored_nested_in_a_folder,
        ignored_bare,
        ignored_worktree,
        detached_worktree,
        deleted_branch,
        stash,
        odd_ref,
        submodule_commit,
        submodule_side_branch,
        submodule_stash,
        submodule_edited,
        submodule_removed_again,
        file_in_an_empty_submodule,
        unreadable_nested,
        nested_with_a_git_folder_elsewhere,
        ref_of_a_worktree,
        backup_in_the_git_folder,
        pushed_within_the_clone,
        unfinished_merge,
        unfinished_cherry_pick,
        submodule_of_a_submodule,
        unfinished_rebase,
        unfinished_patches,
        ignored_and_added,
    )
}
"""Each makes one form in a clone and returns words of what is said of it."""
