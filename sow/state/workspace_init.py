"""What `sow init` lays down: the folder `.sow` and the files every repository starts with.

Owns their first contents. Never changes a file that stands already.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from sow.files import NotWritten, locked_folder, make_folder, refuse_leading_out, write_atomically
from sow.paths import Workspace
from sow.state.version import FIRST_VERSION, VERSION_FILE, check_version

CONFIG_TEMPLATE = """\
# The settings of this repository, for everyone who works on it.
# Which agent CLI plays which role is each user's own choice: `sow config path`.

# Where documents of each kind go, from the root of the repository.
# artifacts:
#   designs: .sow/knowledge/designs
#   decisions: .sow/knowledge/decisions

# How this repository's workers behave. A user's own file wins over these.
# worker:
#   concurrency: 4      # agents that run at once
#   checks: 2           # checks and merges that run at once beside them
#   autostart: true     # a call may start a worker in the background
#   idle_exit: 10m      # such a worker ends after so long without work
#   keep_for: 30d       # records and output of ended jobs are kept so long
#   keep_size: 2GB      # and as long as their output is no larger
#   min_free_disk: 500MB     # with less free disk space nothing is started
#   min_free_memory: 300MB   # with less free memory nothing is started

# Checks: command lines with names that say whether work is sound. They run as the user who has
# accepted them with `sow trust`, and not before.
# checks:
#   unit: make test
#   lint: {run: make lint, timeout: 5m}
#   default: [unit]     # of a task that names none, and of the project

# When a task gets a clone of the repository for itself, and how that is made.
# clones:
#   use: parallel       # never, parallel (while another job of the project lives) or always
#   copy: [.env]        # files that git does not know and a clone needs
#   setup: npm ci       # makes a new clone ready for work, once `sow trust` has accepted it
#   keep: [out/]        # results that git does not know, kept when the clone goes

# What `sow batch run` does with each task, where its options do not say.
# batch:
#   clone: true         # each task in a clone of its own
#   check: true         # the checks run on what an author leaves
#   review: true        # then an agent judges it
#   merge: true         # what is accepted is merged into the project's branch
#   max_iterations: 3   # returns to the author before a person is asked

# With `required`, a task that its own agent completes waits for a verdict.
# reviews: required
"""

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

FILES: Mapping[str, str] = {
    VERSION_FILE: f"{FIRST_VERSION}\n",
    "config.yaml": CONFIG_TEMPLATE,
    ".gitignore": IGNORED,
    GIT_ATTRIBUTES: ATTRIBUTES,
}
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
    for path in (workspace.sow / name for name in (*FOLDERS, *FILES)):
        if not path.exists():
            refuse_leading_out(path)  # before anything is made
    made: list[str] = []
    stood: list[str] = []
    for name in FOLDERS:
        _sort(f"{name}/", _make_folder(workspace.sow / name), made, stood)
    for name, text in FILES.items():
        _sort(name, _make_file(workspace.sow / name, text), made, stood)
    return Initialised(tuple(made), tuple(stood))


def _sort(name: str, is_new: bool, made: list[str], stood: list[str]) -> None:
    (made if is_new else stood).append(f".sow/{name}")


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
