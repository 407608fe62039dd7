"""A repository of a command's own, in which it runs `sow` as a person does.

`sow demo` and the trials of executors work in one. Owns where it lies, what the commands there see
of the caller's environment, and its end: agents are cancelled and workers stopped before it goes.
"""

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sow import env_vars
from sow.attempts.homes import homes_of, remove_home
from sow.config.load import variable_for
from sow.environment import own_process, worker_environment
from sow.errors import SowError, UsageError
from sow.paths import Workspace
from sow.state.projects import read_project


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

    def stop(self) -> None:
        """Cancel what still runs here, and stop the workers."""
        for record in self.ask("job", "list", "--active").records:
            if "job" in record:  # else it is an error: there may be no project
                self.ask("job", "cancel", str(record["job"]))
        self.ask("worker", "stop")

    def _done(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            own_process("sow", *words),
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )


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


def own_folder(keep: Path | None, purpose: str) -> Path:
    """Return a new folder in the place for temporary files; or `keep`, made if it is missing.

    Raises UsageError where there is something in it.
    """
    if keep is None:
        return Path(os.path.realpath(tempfile.mkdtemp(prefix=f"sow-{purpose}-")))
    if keep.exists() and any(keep.iterdir()):
        raise UsageError(f"not empty: {keep}", hint="Name a new folder.")
    keep.mkdir(parents=True, exist_ok=True)
    return keep.resolve()
