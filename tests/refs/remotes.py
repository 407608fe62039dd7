"""Repositories that references are fetched from, hostile ones among them."""

import os
from dataclasses import dataclass
from pathlib import Path

from sow.git.run import git, git_environment

WHO = {
    "GIT_AUTHOR_NAME": "A Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "A Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
}


@dataclass(frozen=True)
class Remote:
    """A repository with a working tree, to be fetched from."""

    path: Path

    @classmethod
    def begun(cls, path: Path, object_format: str = "sha1") -> "Remote":
        """Make one with a commit of two files."""
        path.mkdir(parents=True)
        made = cls(path)
        made.git("init", "-q", "-b", "main", f"--object-format={object_format}")
        # As the well-known servers do it.
        made.git("config", "uploadpack.allowFilter", "true")
        made.git("config", "uploadpack.allowAnySHA1InWant", "true")
        made.write("README.md", "Read me.\n")
        made.write("docs/style.md", "Be brief.\n")
        made.commit("First")
        return made

    def git(self, *words: str, stdin: bytes | None = None) -> str:
        """Run git in it."""
        return git(self.path, *words, stdin=stdin, environ=git_environment(os.environ, **WHO))

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, message: str) -> str:
        """Commit all that is there, and return the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        """The commit that is checked out."""
        return self.git("rev-parse", "HEAD")

    @property
    def url(self) -> str:
        """Its address."""
        return f"file://{self.path}"

    def commit_entries(self, *entries: tuple[str, str, str, str]) -> str:
        """Commit a tree of these entries (mode, type, content or object, name), as they stand.

        No check of git's is made: so are trees written that no working tree has.
        """
        data = b""
        for mode, kind, content, name in entries:
            oid = content if kind == "commit" else self.blob(content)
            data += f"{mode} {name}\0".encode() + bytes.fromhex(oid)
        words = ("hash-object", "-t", "tree", "-w", "--literally", "--stdin")
        tree = self.git(*words, stdin=data)
        commit = self.git("commit-tree", tree, "-m", "Odd", "-p", "HEAD")
        self.git("update-ref", "refs/heads/main", commit)
        return commit

    def blob(self, text: str) -> str:
        """Store a text, and return its object."""
        return self.git("hash-object", "-w", "--stdin", stdin=text.encode())
