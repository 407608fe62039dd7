"""A repository with a project, and a task's clone of it, made by plain git."""

import atexit
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp

from sow.clones.clone_facts import CloneFacts
from sow.clones.main_checkout import main_checkout
from sow.config.clones import CloneSettings
from sow.git.repository import Repository, repository_of
from sow.paths import Workspace
from sow.state.tasks import change_task, read_task

BRANCH = "sow/sign-in-1f2e3d4c/010"


def plain(folder: Path, *words: str, stdin: bytes | None = None, accepted=(0,)) -> str:
    """Run git as an agent or a person does: whatever the folder's settings say acts."""
    done = subprocess.run(
        ["git", *words], cwd=folder, input=stdin or b"", capture_output=True, check=False
    )
    assert done.returncode in accepted, done.stderr.decode("utf-8", "replace")
    return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")


@dataclass(frozen=True)
class Site:
    main: Path
    clone: Path
    facts: CloneFacts

    @property
    def repository(self) -> Repository:
        return repository_of(self.main)

    @property
    def tip(self) -> str:
        return plain(self.clone, "rev-parse", f"refs/heads/{self.facts.branch}")

    def commit(self, path: str, text: str, message: str = "More", where: Path | None = None) -> str:
        folder = where or self.clone
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        plain(folder, "add", "-f", "--sparse", path)
        plain(folder, "commit", "-q", "-m", message)
        return plain(folder, "rev-parse", "HEAD")

    def files_of(self, commit: str) -> list[str]:
        return plain(self.clone, "ls-tree", "-r", "--name-only", commit).splitlines()


def name_author(folder: Path, name: str = "A Person") -> None:
    plain(folder, "config", "user.name", name)
    plain(folder, "config", "user.email", "person@example.org")


def make_site(folder: Path, *, branch: str = BRANCH, sparse: bool = True) -> Site:
    """Make a repository, and a clone of it without `.sow/project`."""
    main = folder / "main"
    copy_repository(_prepared(), main)
    return add_clone(main, folder / "clone", branch, sparse=sparse)


def copy_repository(source: Path, target: Path) -> None:
    """Copy a repository with a clean working tree. What is new there is known to its index."""
    copytree(source, target, symlinks=True)
    plain(target, "update-index", "-q", "--refresh")


def folder_of_this_process() -> Path:
    """Return a new folder that lies there until this process ends."""
    folder = Path(mkdtemp(prefix="prepared-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


@cache
def _prepared() -> Path:
    """Make the repository of `make_site`, once in each process."""
    main = folder_of_this_process() / "main"
    main.mkdir()
    plain(main, "init", "-q", "-b", "main")
    name_author(main)
    for path, text in {
        "file": "one\ntwo\nthree\n",
        "src/code.py": "print(1)\n",
        ".gitignore": "*.log\n",
        ".sow/config.yaml": "{}\n",
        ".sow/project/state.yaml": "project: {}\n",
    }.items():
        (main / path).parent.mkdir(parents=True, exist_ok=True)
        (main / path).write_text(text)
    plain(main, "add", "-A")
    plain(main, "commit", "-q", "-m", "First")
    return main


def add_clone(main: Path, clone: Path, branch: str, *, sparse: bool = True) -> Site:
    words = ("--local", "--no-tags", "--single-branch", "--no-checkout")
    plain(main, "clone", "-q", *words, str(main), str(clone))
    name_author(clone, "An Agent")
    if sparse:
        plain(clone, "config", "core.sparseCheckout", "true")
        patterns = clone / ".git" / "info" / "sparse-checkout"
        patterns.parent.mkdir(exist_ok=True)
        patterns.write_text("/*\n!/.sow/project/\n")
    plain(clone, "checkout", "-q", "-b", branch)
    base = plain(clone, "rev-parse", "HEAD")
    assert (clone / ".sow" / "project").exists() is not sparse
    return Site(main, clone, CloneFacts(clone, branch, base))


def task_clone(root: Path, task: str = "010") -> Site:
    """Make the clone of a task by plain git where sow would make it, on its state's record."""
    workspace = Workspace(root)
    place = main_checkout(workspace, CloneSettings()).place(read_task(workspace, task))
    place.path.parent.mkdir(parents=True)
    made = add_clone(root, place.path, place.branch)
    clone = {"path": str(made.clone), "branch": made.facts.branch, "base": made.facts.base}
    change_task(workspace, task, lambda _: {"clone": clone}, now=time.time())
    return made


def trap(folder: Path, name: str) -> Path:
    """Make a program that leaves a trace in `folder` when it is run."""
    program = folder / name
    program.write_text(f"#!/bin/sh\ntouch '{folder}/acted-{name}'\ncat\nexit 0\n")
    program.chmod(0o755)
    return program


def traces(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("acted-*"))


def make_hostile(site: Site, folder: Path) -> Path:
    """Set every trap that an agent can set in its clone; return the folder of their traces."""
    folder.mkdir()
    clone, git_dir = site.clone, site.clone / ".git"
    for name in ("pre-commit", "post-commit", "post-index-change", "reference-transaction"):
        (git_dir / "hooks").mkdir(exist_ok=True)
        (git_dir / "hooks" / name).write_bytes(trap(folder, name).read_bytes())
        (git_dir / "hooks" / name).chmod(0o755)
    included = folder / "included"
    included.write_text(f'[filter "more"]\n\tclean = {trap(folder, "included-clean")}\n')
    settings = {
        "filter.evil.clean": trap(folder, "clean"),
        "filter.evil.smudge": trap(folder, "smudge"),
        "filter.worse.process": trap(folder, "process"),
        "filter.worse.required": "true",
        "diff.evil.textconv": trap(folder, "textconv"),
        "diff.evil.command": trap(folder, "diff-command"),
        "diff.external": trap(folder, "external"),
        "merge.evil.driver": trap(folder, "merge"),
        "core.fsmonitor": trap(folder, "monitor"),
        "core.hooksPath": git_dir / "hooks",
        "core.sshCommand": trap(folder, "ssh"),
        "core.pager": trap(folder, "pager"),
        "core.editor": trap(folder, "editor"),
        "core.alternateRefsCommand": trap(folder, "alternate-refs"),
        "commit.gpgSign": "true",
        "gpg.program": trap(folder, "gpg"),
        "uploadpack.packObjectsHook": trap(folder, "pack-objects"),
        "alias.commit-tree": f"!{trap(folder, 'alias')}",
        "alias.evil": f"!{trap(folder, 'alias')}",
        "core.worktree": folder,
        "include.path": included,
        "remote.origin.uploadpack": trap(folder, "upload-pack"),
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "transfer.hideRefs": "refs/heads/sow",
        "safe.directory": "/nowhere",
    }
    for name, value in settings.items():
        plain(folder, "config", "--file", str(git_dir / "config"), name, str(value))
    (git_dir / "info" / "attributes").write_text(
        "* filter=evil diff=evil merge=evil\n*.py filter=worse\n*.more filter=more\n"
    )
    (clone / ".gitattributes").write_text("*.txt filter=evil diff=evil\n*.py filter=worse\n")
    (git_dir / "config.worktree").write_text("[core]\n\tworktree = /\n")
    return folder
