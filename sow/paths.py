"""Where everything lies: the `.sow` folder of a repository and the user's configuration file.

Owns every path below `.sow` and the search for its root. Reads no file but the
mark of a clone, and writes none; knows nothing of what the files hold.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from sow import env_vars
from sow.clone_mark import workspace_of_clone
from sow.errors import StateError
from sow.ids import AttemptId, JobId, PhaseName, TaskId, WorkerId
from sow.user_folders import BaseFolder, user_folder

SOW_FOLDER = ".sow"
PHASES = "phases"
"""The folder of a project's phases, within the project's own."""
TASKS = "tasks"
"""The folder of a phase's tasks."""


class Workspace:
    """A folder that holds `.sow`, and the paths below it. Nothing is promised to exist.

    `root` is that folder. (A plain class, like AttemptPaths: every command imports this
    module, and a dataclass takes longer to make than all the rest of it.)
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def sow(self) -> Path:
        return self.root / SOW_FOLDER

    @property
    def repository_config(self) -> Path:
        return self.sow / "config.yaml"

    @property
    def prompts(self) -> Path:
        """The team's own prompts."""
        return self.sow / "prompts"

    @property
    def project(self) -> Path:
        return self.sow / "project"

    @property
    def project_state(self) -> Path:
        return self.project / "state.yaml"

    @property
    def import_journal(self) -> Path:
        """What an import is about to write; there only while one is under way, or was killed."""
        return self.project / ".import.json"

    @property
    def project_feedback(self) -> Path:
        """The folder of the feedback on the project as a whole."""
        return self.project / "feedback"

    @property
    def refs(self) -> Path:
        """The folder of what references link, and of their index."""
        return self.sow / "refs"

    @property
    def reference_index(self) -> Path:
        """Which references the repository has: committed, unlike what is linked beside it."""
        return self.refs / "index.yaml"

    @property
    def knowledge(self) -> Path:
        """The folder of what outlives projects."""
        return self.sow / "knowledge"

    @property
    def knowledge_index(self) -> Path:
        """The folder of the entries for what projects have left behind, a file each."""
        return self.knowledge / "index"

    @property
    def archive(self) -> Path:
        """The folder of the projects that have ended."""
        return self.knowledge / "projects"

    @property
    def breakdowns(self) -> Path:
        """The folder of the work units that breakdowns have published."""
        return self.knowledge / "breakdown"

    @property
    def phases(self) -> Path:
        return self.project / PHASES

    def tasks(self, phase: PhaseName) -> Path:
        """Return the folder of a phase's tasks."""
        return self.phases / phase / TASKS

    def task(self, phase: PhaseName, task_id: TaskId) -> Path:
        """Return the folder of one task."""
        return self.tasks(phase) / task_id

    @property
    def run(self) -> Path:
        return self.sow / "run"

    @property
    def queue_db(self) -> Path:
        return self.run / "queue.db"

    @property
    def status_notes(self) -> Path:
        return self.run / "statuses.jsonl"

    @property
    def knowledge_text(self) -> Path:
        """The words of what is known, for searching; made anew whenever it does not fit."""
        return self.run / "knowledge.db"

    @property
    def sessions(self) -> Path:
        """Up to where each session that leads was told what has changed (`sow news`)."""
        return self.run / "sessions"

    @property
    def workers(self) -> Path:
        return self.run / "workers"

    @property
    def jobs(self) -> Path:
        """The output of jobs, a folder each."""
        return self.run / "jobs"

    @property
    def waiters(self) -> Path:
        return self.run / "waiters"

    def worker_lock(self, worker_id: WorkerId) -> Path:
        """Return the file whose `flock` is a worker's life."""
        return self.workers / f"{worker_id}.lock"

    def worker_log(self, worker_id: WorkerId) -> Path:
        """Return the file that holds what a background worker says."""
        return self.workers / f"{worker_id}.log"

    def job(self, job_id: JobId) -> Path:
        """Return the folder of a job's attempts."""
        return self.jobs / str(job_id)

    def attempt(self, job_id: JobId, number: int) -> "AttemptPaths":
        """Return the files of one attempt; `number` counts from 1 within the job."""
        return AttemptPaths(self.job(job_id) / str(number))


class AttemptPaths:
    """The files of one attempt, all below one folder, `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def number(self) -> int:
        """The attempt's number: its folder bears it (`Workspace.attempt`)."""
        return int(self.folder.name)

    @property
    def prompt(self) -> Path:
        return self.folder / "prompt.md"

    @property
    def output(self) -> Path:
        return self.folder / "output.jsonl"

    @property
    def stderr(self) -> Path:
        return self.folder / "stderr.log"

    @property
    def result(self) -> Path:
        """What a program of ours has found out, where one was the attempt's process."""
        return self.folder / "result.json"

    @property
    def clone_orders(self) -> Path:
        """What is asked of the program that makes the task's clone before the agent starts."""
        return self.folder / "clone.json"

    @property
    def setup_log(self) -> Path:
        """What the repository's command line has printed that makes a clone ready for work."""
        return self.folder / "setup.log"

    def check_log(self, name: str) -> Path:
        """Return what a check's command line has printed."""
        return self.folder / f"check-{name}.log"

    @property
    def started(self) -> Path:
        return self.folder / "started.json"

    @property
    def exit(self) -> Path:
        return self.folder / "exit.json"

    @property
    def alive_lock(self) -> Path:
        return self.folder / "alive.lock"

    @property
    def quiet(self) -> Path:
        """Is there while the agent gives no sign of life; it holds the time of the last one."""
        return self.folder / "quiet"

    @property
    def void(self) -> Path:
        return self.folder / "void"

    @property
    def tree_before(self) -> Path:
        """How the working tree stood before a reviewer began that works in it."""
        return self.folder / "tree.json"

    @property
    def last_valid_state(self) -> Path:
        return self.folder / "state.yaml"


def attempt_id(job_id: JobId, number: int, token: str) -> AttemptId:
    """Return the machine-wide name of an attempt; `token` is random hex."""
    return AttemptId(f"{job_id}.{number}.{token}")


def find_workspace(cwd: Path, environ: Mapping[str, str]) -> Workspace:
    """Find the workspace that `cwd` is in.

    `SOW_ROOT` (the folder that holds `.sow`) overrides the search. Anywhere in
    the clone of a task it is the workspace of that task, by the clone's mark,
    whatever else the clone holds.

    Raises StateError when there is none, and for a clone that was copied or moved.
    """
    named = environ.get(env_vars.ROOT)
    if named:
        root = Path(os.path.abspath(cwd / named))  # noqa: PTH100 - a link in the path is kept
        if not (root / SOW_FOLDER).is_dir():
            raise StateError(
                f"SOW_ROOT names a folder without {SOW_FOLDER}: {root}",
                hint="Set SOW_ROOT to the folder that holds .sow, or unset it.",
            )
        return Workspace(root)
    owner = workspace_of_clone(str(cwd))
    if owner is not None:
        return Workspace(Path(owner))
    for folder in (cwd, *cwd.parents):
        if (folder / SOW_FOLDER).is_dir():
            return Workspace(folder)
    raise StateError(
        f"no {SOW_FOLDER} folder in {cwd} or above it",
        hint="Run `sow init` in the root of your repository, or set SOW_ROOT.",
    )


def user_config_path(environ: Mapping[str, str]) -> Path:
    """Return where the user's configuration lies on this platform.

    `SOW_CONFIG` overrides. Linux and macOS: `$XDG_CONFIG_HOME/sow/config.yaml`,
    else `~/.config/sow/config.yaml`. Windows: `%APPDATA%/sow/config.yaml`.
    """
    named = environ.get(env_vars.CONFIG)
    if named:
        # pathlib raises where there is no such user; this leaves the word as it is
        return Path(os.path.abspath(os.path.expanduser(named)))  # noqa: PTH100, PTH111
    return Path(user_folder(BaseFolder.CONFIG), "config.yaml")


def display_path(path: Path) -> str:
    """Return `path` for people: the user's home folder shortened to `~`."""
    home = os.path.expanduser("~")  # noqa: PTH111 - no exception without a home
    text = str(path)
    if home != "~" and text.startswith(home + os.sep):
        return "~" + text[len(home) :]
    return text
