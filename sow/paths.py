"""Where everything lies: the `.sow` folder of a repository and the user's configuration file.

Owns every path below `.sow` and the search for its root. Reads no file but the
mark of a clone, and the configuration's lines where the queue is looked for; writes none, and
knows nothing of what the files hold.
"""

import os
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from sow import env_vars
from sow.clone_mark import workspace_of_clone
from sow.errors import StateError
from sow.ids import AttemptId, JobId, PhaseName, TaskId, WorkerId
from sow.unchanged_files import unchanged
from sow.user_folders import BaseFolder, user_folder

SOW_FOLDER = ".sow"
PHASES = "phases"
"""The folder of a project's phases, within the project's own."""
TASKS = "tasks"
"""The folder of a phase's tasks."""
QUEUE = b"queue"
"""The word in the user's configuration that says where queues are."""
CONFIG_LIMIT = 1 << 20
"""The largest configuration that is read, in bytes: a person writes it."""


@lru_cache(maxsize=256)
def path_at(text: str) -> Path:
    """Return a path, whose parts are looked for once: a task is asked for again and again."""
    return Path(text)


class Workspace:
    """A folder that holds `.sow`, and the paths below it. Nothing is promised to exist.

    `root` is that folder. (A plain class, like AttemptPaths: every command imports this
    module, and a dataclass takes longer to make than all the rest of it.)

    `host` is the root of the checkout whose worker runs a job of another one in this folder; its
    settings, and what its user has accepted, count here. Most folders are no such guests.
    """

    host: Path | None = None

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sow = root / SOW_FOLDER
        self.repository_config = self.sow / "config.yaml"
        self.queue_name = self.sow / ".queue"
        """What the repository's queue is called on a server: committed, so all clones have it."""
        self.prompts = self.sow / "prompts"
        """The team's own prompts."""
        self.project = self.sow / "project"
        self.project_state = self.project / "state.yaml"
        self.import_journal = self.project / ".import.json"
        """What an import is about to write; there only while one is under way, or was killed."""
        self.project_feedback = self.project / "feedback"
        """The folder of the feedback on the project as a whole."""
        self.refs = self.sow / "refs"
        """The folder of what references link, and of their index."""
        self.reference_index = self.refs / "index.yaml"
        """Which references the repository has: committed, unlike what is linked beside it."""
        self.knowledge = self.sow / "knowledge"
        """The folder of what outlives projects."""
        self.knowledge_index = self.knowledge / "index"
        """The folder of the entries for what projects have left behind, a file each."""
        self.archive = self.knowledge / "projects"
        """The folder of the projects that have ended."""
        self.breakdowns = self.knowledge / "breakdown"
        """The folder of the work units that breakdowns have published."""
        self.phases = self.project / PHASES
        self.run = self.sow / "run"
        self.queue_db = self.run / "queue.db"
        self.host_here = self.run / "host"
        """In a guest's folder: the root of the checkout whose worker runs its jobs there."""
        self.queue_name_here = self.run / "queue.name"
        """The same, as this checkout has begun to use it: no other branch takes it away."""
        self.status_notes = self.run / "statuses.jsonl"
        """The words of what is known, for searching; made anew whenever it does not fit."""
        self.sessions = self.run / "sessions"
        """Up to where each session that leads was told what has changed (`sow news`)."""
        self.workers = self.run / "workers"
        self.jobs = self.run / "jobs"
        """The output of jobs, a folder each."""
        self.waiters = self.run / "waiters"

    def tasks(self, phase: PhaseName) -> Path:
        """Return the folder of a phase's tasks."""
        return self.phases / phase / TASKS

    def task(self, phase: PhaseName, task_id: TaskId) -> Path:
        """Return the folder of one task."""
        return path_at(f"{self.phases}/{phase}/{TASKS}/{task_id}")

    def worker_lock(self, worker_id: WorkerId) -> Path:
        """Return the file whose `flock` is a worker's life."""
        return self.workers / f"{worker_id}.lock"

    @property
    def start_lock(self) -> Path:
        """The file whose `flock` a worker holds that a call has started, until it is on record."""
        return self.workers / ".start"

    @property
    def batches_lock(self) -> Path:
        """The file whose `flock` the worker holds that drives the batches."""
        return self.workers / ".batches"

    def arrival_lock(self, task_id: TaskId | str) -> Path:
        """Return the file whose `flock` whoever brings a task's work home from elsewhere holds."""
        return self.workers / f".arrival-{task_id}"

    def worker_log(self, worker_id: WorkerId) -> Path:
        """Return the file that holds what a background worker says."""
        return self.workers / f"{worker_id}.log"

    def job(self, job_id: JobId) -> Path:
        """Return the folder of a job's attempts."""
        return path_at(f"{self.jobs}/{job_id}")

    def attempt(self, job_id: JobId, number: int) -> "AttemptPaths":
        """Return the files of one attempt; `number` counts from 1 within the job."""
        return AttemptPaths(self.job(job_id) / str(number))


class AttemptPaths:
    """The files of one attempt, all below one folder, `folder`.

    Each path is made when it is first asked for: nobody needs all of them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def prompt(self) -> Path:
        """What the process reads on its standard input."""
        return self.folder / "prompt.md"

    @cached_property
    def output(self) -> Path:
        """What it prints."""
        return self.folder / "output.jsonl"

    @cached_property
    def stderr(self) -> Path:
        """What it prints on standard error."""
        return self.folder / "stderr.log"

    @cached_property
    def result(self) -> Path:
        """What a program of ours has found out, where one was the attempt's process."""
        return self.folder / "result.json"

    @cached_property
    def clone_orders(self) -> Path:
        """What is asked of the program that makes the task's clone before the agent starts."""
        return self.folder / "clone.json"

    @cached_property
    def setup_log(self) -> Path:
        """What the repository's command line has printed that makes a clone ready for work."""
        return self.folder / "setup.log"

    @cached_property
    def scan_orders(self) -> Path:
        """What is asked of the program that looks for the agent's secrets in its work."""
        return self.folder / "scan.json"

    @cached_property
    def found(self) -> Path:
        """In which files that program has found which of them."""
        return self.folder / "found.json"

    @cached_property
    def blanked(self) -> Path:
        """Which of them were found in what the agent has printed or reported."""
        return self.folder / "blanked"

    @cached_property
    def proxy(self) -> Path:
        """The folder of the agent's proxy; there for no agent without one."""
        return self.folder / "proxy"

    @cached_property
    def refused(self) -> Path:
        """Which hosts the proxy has refused."""
        return self.folder / "refused"

    @cached_property
    def started(self) -> Path:
        """When the supervisor has started the process, and which it is."""
        return self.folder / "started.json"

    @cached_property
    def exit(self) -> Path:
        """How the process has ended, by its supervisor."""
        return self.folder / "exit.json"

    @cached_property
    def alive_lock(self) -> Path:
        """The file whose lock is the life of the supervisor and of the process."""
        return self.folder / "alive.lock"

    @cached_property
    def quiet(self) -> Path:
        """Is there while the agent gives no sign of life; it holds the time of the last one."""
        return self.folder / "quiet"

    @cached_property
    def void(self) -> Path:
        """The mark of an attempt that was given up."""
        return self.folder / "void"

    @cached_property
    def tree_before(self) -> Path:
        """How the working tree stood before a reviewer began that works in it."""
        return self.folder / "tree.json"

    @cached_property
    def last_valid_state(self) -> Path:
        """The copy of the task's state that was taken before the process began."""
        return self.folder / "state.yaml"

    @cached_property
    def reports(self) -> Path:
        """What belongs to the reports of an agent in a sandbox; there for no other agent."""
        return self.folder / "reports"

    @cached_property
    def report_folder(self) -> Path:
        """The folder in it that the sandbox has too, writable: the socket, and what is kept."""
        return self.reports / "in"

    @cached_property
    def reports_ended(self) -> Path:
        """Where that folder is once the attempt has ended, until what is left in it is done."""
        return self.reports / "ended"

    @property
    def number(self) -> int:
        """The attempt's number: its folder bears it (`Workspace.attempt`)."""
        return int(self.folder.name)

    def check_log(self, name: str) -> Path:
        """Return what a check's command line has printed."""
        return self.folder / f"check-{name}.log"

    def proxy_of(self, name: str) -> Path:
        """Return the folder of the proxy of a check, or of the setup."""
        return self.folder / f"proxy-{name}"


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


def may_have_queue(workspace: Workspace) -> bool:
    """Whether a queue may be there; where there is none, nobody needs to look for jobs."""
    return workspace.queue_db.exists() or may_be_on_server(workspace)


def may_be_on_server(workspace: Workspace) -> bool:
    """Whether the queue may be on a server: this checkout has used one there, or one is named."""
    return os.path.lexists(workspace.queue_name_here) or may_name_server(os.environ)


def may_name_server(environ: Mapping[str, str]) -> bool:
    """Whether the user's configuration may name a server for queues: a look for the word.

    Most name none, and are not parsed for it. A comment names none. Nor does a file that cannot be
    read; whoever needs what it says tells why.
    """
    text = _beginning_of(user_config_path(environ))
    at = text.find(QUEUE)
    while at >= 0:
        line = text[text.rfind(b"\n", 0, at) + 1 : at]
        if not line.lstrip(b"\xef\xbb\xbf \t").startswith(b"#"):
            return True
        at = text.find(QUEUE, at + 1)
    return False


def _beginning_of(path: Path) -> bytes:
    """Return as much of a file as a configuration may have; nothing where it cannot be read.

    A device or a pipe in its place holds nobody up.
    """
    return unchanged(lambda: _read_beginning(path), str(path))


def _read_beginning(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        # Python makes room for all that it asks for.
        return os.read(descriptor, min(os.fstat(descriptor).st_size, CONFIG_LIMIT))
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def way_to_server(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what leads an agent's commands to a queue on a server, whatever home it has."""
    return {env_vars.CONFIG: str(user_config_path(environ))} if may_name_server(environ) else {}


def display_path(path: Path) -> str:
    """Return `path` for people: the user's home folder shortened to `~`."""
    home = os.path.expanduser("~")  # noqa: PTH111 - no exception without a home
    text = str(path)
    if home != "~" and text.startswith(home + os.sep):
        return "~" + text[len(home) :]
    return text
