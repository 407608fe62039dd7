"""What `sow init` lays down: the folder `.sow` and the files every repository starts with.

Owns their first contents. Never changes a file that stands already.
"""

from pathlib import Path

from msgspec import Struct

from sow.files import NotWritten, locked_folder, make_folder, refuse_leading_out, write_atomically
from sow.paths import Workspace
from sow.state.version import FIRST_VERSION, VERSION_FILE, check_version

IGNORED = """\
# This machine's runtime: queue, output of agents, locks.
run/
# What an interrupted write may leave.
.*.tmp
# References are fetched on each machine; their index is shared.
refs/*
!refs/index.*
"""

GIT_ATTRIBUTES = ".gitattributes"
ATTRIBUTES = """\
# Two branches that have both added to a log are merged by keeping both additions.
log.md merge=union
"""

FIRST_CONFIG = Path(__file__).with_name("first_config.yaml")
"""The settings of a repository that `sow init` lays down, all as comments."""
FOLDERS = ("knowledge", "refs")


class Initialised(Struct, frozen=True):
    """What `sow init` made and what stood already, as paths below the root."""

    made: tuple[str, ...]
    stood: tuple[str, ...]


def share_logs(workspace: Workspace) -> None:
    """Have git merge the logs of two branches by keeping both, also where `.sow` is older.

    Raises NotWritten, StateLocked.
    """
    _make_file(workspace.sow / GIT_ATTRIBUTES, ATTRIBUTES)


def init_workspace(root: Path) -> Initialised:
    """Make whatever of `.sow` is missing below `root`, and tell the made from what stood.

    Raises NewerState for a folder of a later sow, LeadsOut, and NotWritten.
    """
    workspace = Workspace(root)
    check_version(workspace)
    files = {
        VERSION_FILE: f"{FIRST_VERSION}\n",
        "config.yaml": FIRST_CONFIG.read_text("utf-8"),
        ".gitignore": IGNORED,
        GIT_ATTRIBUTES: ATTRIBUTES,
    }
    for path in (workspace.sow / name for name in (*FOLDERS, *files)):
        if not path.exists():
            refuse_leading_out(path)  # before anything is made
    is_new = {f".sow/{name}/": _make_folder(workspace.sow / name) for name in FOLDERS}
    is_new |= {f".sow/{name}": _make_file(workspace.sow / name, files[name]) for name in files}
    return Initialised(
        made=tuple(name for name in is_new if is_new[name]),
        stood=tuple(name for name in is_new if not is_new[name]),
    )


def _make_folder(folder: Path) -> bool:
    if folder.is_dir():
        return False
    try:
        make_folder(folder)
    except OSError as error:
        raise NotWritten(folder, error) from error
    return True


def _make_file(path: Path, text: str) -> bool:
    if path.exists():
        return False
    with locked_folder(path.parent):
        if path.exists():
            return False
        write_atomically(path, text.encode())
    return True
