"""What `sow --version` says: the version, and the commit that this sow was made of.

A wheel carries its commit as a file (`hatch_build.py` writes it). A checkout is looked at when
somebody asks, and its files are read without git: a process, and what starts one, would
be most of what this command costs.
"""

from pathlib import Path

from sow import __version__

PACKAGE = Path(__file__).parents[1]
SHORT = 12
"""How many digits of a commit are shown."""


def this_version() -> str:
    """Return the line for the sow that runs."""
    return version_line(PACKAGE)


def version_line(package: Path) -> str:
    """Return the line for the sow that lies in `package`."""
    made_of = commit_of(package)
    return f"sow, version {__version__}{f' (commit {made_of})' if made_of else ''}"


def commit_of(package: Path) -> str:
    """Return the commit of the sow in `package`; empty where nobody can tell."""
    baked = _line_of(package / "COMMIT")
    if baked:
        return baked
    git_folder = package.parent / ".git"
    if git_folder.is_file():  # a work tree beside the repository
        git_folder = package.parent / _line_of(git_folder).removeprefix("gitdir: ")
    head = _line_of(git_folder / "HEAD")
    commit = _tip(git_folder, head[5:]) if head.startswith("ref: ") else head
    return commit[:SHORT]


def _tip(git_folder: Path, name: str) -> str:
    """Return the commit of a branch."""
    shared = git_folder / (_line_of(git_folder / "commondir") or ".")
    loose = _line_of(git_folder / name) or _line_of(shared / name)
    return loose or next(
        (line.split()[0] for line in _text_of(shared / "packed-refs") if line.endswith(f" {name}")),
        "",
    )


def _line_of(file: Path) -> str:
    return next(iter(_text_of(file)), "")


def _text_of(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
