"""A repository of a command's own, in which it runs `sow` as a person does.

`sow demo` and the trials of executors work in one. Owns where it lies, what the commands there see
of the caller's environment, and its end: agents are cancelled and workers stopped before it goes,
also where a signal ends the command. What a killed command has left, the next one ends.
"""

import json
import math
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sow import env_vars
from sow.attempts.homes import homes_of, remove_home
from sow.cli import late_click as click
from sow.cli.detaching import detaching_signals, leave_if_nobody_waits, signals_ignored
from sow.cli.trial_time import TrialTime
from sow.clone_mark import workspace_of_clone
from sow.config.load import variable_for
from sow.environment import own_process, worker_environment
from sow.errors import SowError, UsageError
from sow.files.inside import opened_folder
from sow.files.left_folders import (
    PREFIX,
    FolderNote,
    LeftFolder,
    note_folder,
    taken_folders,
)
from sow.files.trees import remove_tree
from sow.paths import Workspace, display_path
from sow.schema.job import JobState
from sow.state.kept.copies import forget_checkout
from sow.state.kept.store import project_id_at
from sow.state.projects import read_project

WAIT = "--wait"


class CommandFailed(SowError):
    """A command that had to succeed has failed; its repository is left, so that one can look."""

    def __init__(self, folder: Path, words: Sequence[str], how: str) -> None:
        super().__init__(
            f"`sow {shlex.join(words)}` {how}",
            hint=f"The repository is left in {folder}. The log of its worker:"
            f" `cd {shlex.quote(str(folder))} && sow worker logs`.",
        )


class Answer(NamedTuple):
    """What a command has printed with `--json`."""

    code: int
    records: tuple[Mapping[str, Any], ...]
    complaint: str

    @property
    def record(self) -> Mapping[str, Any]:
        """Its first object, or none at all."""
        return self.records[0] if self.records else {}

    @property
    def fault(self) -> str:
        """Why it failed: the message of its error, else what stands on standard error."""
        for record in self.records:
            if "error" in record:
                return str(record["error"]["message"])
        return self.complaint.strip() or f"exit code {self.code}"


class OwnRepository(NamedTuple):
    """A folder, and the environment of the commands that are run there."""

    folder: Path
    environ: Mapping[str, str]

    def run(self, words: Sequence[str], *, stdout: TextIO | None = None) -> None:
        """Run a command that prints for the person who watches. Raises CommandFailed."""
        code = subprocess.run(
            own_process("sow", *words),
            cwd=self.folder,
            env=self.environ,
            stdout=stdout,
            check=False,
        ).returncode
        if code != 0:
            leave_if_nobody_waits()  # it may have failed because nobody reads what it prints
            raise CommandFailed(self.folder, words, f"ended with exit code {code}")

    def ask(self, *words: str) -> Answer:
        """Run a command with `--json`, and return what it prints."""
        done = self._done(*words, "--json")
        records = tuple(json.loads(line) for line in done.stdout.splitlines())
        return Answer(done.returncode, records, done.stderr)

    def need(self, *words: str) -> Answer:
        """Return the same of a command that has to succeed. Raises CommandFailed."""
        answer = self.ask(*words)
        if answer.code != 0:
            raise CommandFailed(self.folder, words, f"failed: {answer.fault}")
        return answer

    def read(self, *words: str) -> str:
        """Return what a command prints for people."""
        return self._done(*words).stdout

    def call(self, *words: str, time: TrialTime) -> Answer:
        """Queue a job and wait for it as long as a run may take; return how it stands then.

        It is queued by one command and waited for by another: a signal ends the second alone, so
        none that is starting a worker. Raises KeyboardInterrupt, BrokenPipeError.
        """
        leave_if_nobody_waits()
        queued = self.ask(*words, "--detach")
        job = queued.record.get("job")
        if job is None:
            return queued
        leave_if_nobody_waits()
        milliseconds = max(1, math.ceil(time.next_seconds * 1000))
        return self.ask("job", "wait", str(job), WAIT, f"{milliseconds}ms")

    def end(self) -> str:
        """End the agents and the workers here; return in words what is left, or nothing."""
        if not Workspace(self.folder).sow.is_dir():
            return ""  # nothing has begun, and above it there may be a repository of the user's
        for job in self._active_jobs():
            self.ask("job", "cancel", str(job["job"]))
        stopped = self.ask("worker", "stop", "--end-agents")
        if stopped.code != 0:
            return stopped.fault
        running = [job for job in self._active_jobs() if job["state"] == JobState.RUNNING]
        return f"job {running[0]['job']} has not ended" if running else ""

    def _active_jobs(self) -> list[Mapping[str, Any]]:
        records = self.ask("job", "list", "--active").records
        return [record for record in records if "job" in record]  # else it is an error

    def _done(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end, beyond the reach of a terminal's signals.

        One that waits for a job goes where we are to go; any other one does what it has begun.
        """
        with subprocess.Popen(
            own_process("sow", *words),
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                printed, complaint = process.communicate()
            except BaseException:
                if WAIT in words:
                    process.terminate()
                process.communicate()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, printed, complaint)


class OwnFolder:
    """A command's own folder, with the repositories in it in which agents may run."""

    def __init__(self, path: Path, note: FolderNote, *, is_kept: bool) -> None:
        """`is_kept` is whether the folder stays."""
        self.path = path
        self.is_kept = is_kept
        self._note = note
        self._repositories: list[OwnRepository] = []
        self._noted: set[str] = set()

    def new_repository(self, root: Path, environ: Mapping[str, str]) -> OwnRepository:
        """Return a repository that is to be made; no command there is about one around it.

        Raises OSError.
        """
        Workspace(root).sow.mkdir(parents=True, exist_ok=True)
        return self.repository(root, environ)

    def repository(self, root: Path, environ: Mapping[str, str]) -> OwnRepository:
        """Return a repository in which something may run."""
        repository = OwnRepository(root, environ)
        self._repositories.append(repository)
        return repository

    def note_project(self, repository: OwnRepository) -> None:
        """Note the project of a repository once it has one: agents may run from now on.

        Raises OSError.
        """
        project = project_id_at(repository.folder)
        if project and project not in self._noted:
            self._note.add(repository.folder, project)
            self._noted.add(project)

    def keep(self) -> None:
        """Have the folder stay."""
        self.is_kept = True
        self._note.keep()

    def close(self) -> bool:
        """End what runs in the folder, then remove it; return whether nothing is left to do.

        Where something cannot be ended the folder stays, and the next command tries again.
        """
        left = "; ".join(filter(None, map(_ended, self._repositories)))
        if not left and not self.is_kept:
            left = self._removed()
        if left:
            click.echo(f"Warning: {display_path(self.path)} is left: {left}", err=True)
            return False
        self._note.remove()
        return True

    def _removed(self) -> str:
        """Remove the folder, and what lies elsewhere for it; return in words what stays, if any."""
        for repository in self._repositories:
            with suppress(SowError):  # a killed command may have left half of a project
                remove_homes(repository)
            forget_checkout(repository.folder)
        try:
            with opened_folder(self.path.parent) as above:
                remove_tree(above, self.path.name, str(self.path))
        except FileNotFoundError:  # somebody else has removed it
            return ""
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
        return ""


def _ended(repository: OwnRepository) -> str:
    """End the agents and the workers of a repository; return in words what is left, or nothing."""
    try:
        return repository.end()
    except OSError as error:  # its agents may have changed the rights of the folder
        return f"{error.filename}: {error.strerror}"


@contextmanager
def own_folder(keep: Path | None, purpose: str) -> Iterator[OwnFolder]:
    """Give a new folder in the place for temporary files for the length of the block; or `keep`.

    A first INT, TERM or HUP raises KeyboardInterrupt in the block. It stays where a command in it
    has failed: the error says what to look at there. Raises UsageError where something is in
    `keep`.
    """
    path = _made(keep, purpose)
    try:
        note = note_folder(path, is_kept=keep is not None)
    except OSError:
        if keep is None:
            path.rmdir()
        raise
    own = OwnFolder(path, note, is_kept=keep is not None)
    try:
        with detaching_signals(keeps_ignored=True):
            try:
                yield own
            except CommandFailed:
                own.keep()
                raise
            except KeyboardInterrupt:
                click.echo("\nEnding the agents and the worker…", err=True)
                raise
            finally:
                with signals_ignored():
                    own.close()
    finally:
        note.close()


def _made(keep: Path | None, purpose: str) -> Path:
    """Return a new folder; or `keep`, made if it is missing. Raises UsageError."""
    place = Path(tempfile.gettempdir()) if keep is None else keep
    if workspace_of_clone(os.path.realpath(place)) is not None:
        raise UsageError(
            f"{place} lies in the clone of a task: commands there act on the task's own project",
            hint="Name a folder outside of it, by --keep or by the variable TMPDIR.",
        )
    if keep is None:
        return Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-")))
    if keep.exists() and any(keep.iterdir()):
        raise UsageError(f"not empty: {keep}", hint="Name a new folder.")
    keep.mkdir(parents=True, exist_ok=True)
    return keep.resolve()


def end_what_was_left() -> None:
    """End what killed commands have left running, and remove their folders; say so.

    A signal interrupts it: then the next command goes on with it.
    """
    environ = environment_for("", ())
    with taken_folders() as taken:
        for note, left in taken:
            roots = _roots_still_there(left)
            if not _is_ours(left.folder) or (left.is_kept and not roots):
                note.remove()
                continue
            own = OwnFolder(left.folder, note, is_kept=left.is_kept)
            for root in roots:
                own.repository(root, environ)
            shown = display_path(left.folder)
            click.echo(f"Ending what a killed command has left in {shown}…", err=True)
            if own.close():
                stays = "is kept" if left.is_kept else "was removed"
                words = f"what it left running was ended, and {shown} {stays}"
                click.echo(f"Note: an earlier command was killed; {words}", err=True)


def _is_ours(folder: Path) -> bool:
    """Whether a folder is there and this user's: temporary ones go, and others may take a name."""
    try:
        return folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _roots_still_there(left: LeftFolder) -> list[Path]:
    """Return the repositories in which agents of a killed command may run.

    Whoever has a folder that was to stay may have begun a project of their own in its place.
    """
    return [
        each.root
        for each in left.repositories
        if not left.is_kept or project_id_at(each.root) in ("", each.project)
    ]


def environment_for(executor: str, roles: Iterable[str]) -> dict[str, str]:
    """Return the user's own environment, in which an executor plays these roles.

    Nothing that describes this call goes along, such as the task of an agent that makes it.
    """
    config = os.environ.get(env_vars.CONFIG)
    own = {env_vars.CONFIG: os.path.abspath(config)} if config else {}  # noqa: PTH100 - as it is read
    return {
        **worker_environment(os.environ),
        **{variable_for(role): executor for role in roles},
        **own,
    }


def remove_homes(repository: OwnRepository) -> None:
    """Remove the configuration folders that the sessions of its project had of their own."""
    workspace = Workspace(repository.folder)
    if workspace.project_state.is_file():
        remove_home(homes_of(workspace, read_project(workspace).id))
