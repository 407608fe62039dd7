"""One task carried out by a real agent CLI through the true sow, its model told what to say.

Owns the place (a namespace with loopback alone, a throw-away home) and the steps that all trials
share. Everything it starts lives in one network namespace.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, CompletedProcess
from typing import Any

from namespace import Namespace, User, open_namespace
from natives import Native
from own_user import give, make_user
from sandbox import PATIENCE, PROGRAMS, Json, read_lines, wait_until

HERE = Path(__file__).parent
TASK = "010"


@dataclass
class Trial:
    """A repository with a project and one task, which an implementer of a CLI is to do."""

    native: Native
    namespace: Namespace
    repository: Path
    home: Path
    records: Path
    environ: Mapping[str, str]
    server: int
    """The process id of the model server."""
    scripts: int = field(default=0)
    user: User | None = None
    """Whom all of it runs as, if not who runs the tests."""

    @property
    def executor(self) -> str:
        """The name of the CLI's executor."""
        return self.native.executor or self.native.name

    def tell(
        self,
        *answers: Json,
        then: Json | None = None,
        of: Mapping[str, list[Json]] | None = None,
        failed: str = "",
    ) -> None:
        """Have the model give these answers, one for each request, and `then` ever after.

        `of` are those of several conversations at once, by a text that each has in its requests;
        there a tool's answer with the text `failed` has its call made once more.
        """
        self.scripts += 1
        script: Json = {"id": self.scripts, "then": then or {"say": "That is all."}}
        parts = [{"if": text, "answers": own} for text, own in (of or {}).items()]
        script |= {"of": parts} if parts else {"answers": answers}
        script |= {"failed": failed} if failed else {}
        new = self.records / "answers.json.new"
        new.write_text(json.dumps(script), encoding="utf-8")
        new.replace(self.records / "answers.json")

    def asked(self) -> list[Json]:
        """Return the requests with tools so far."""
        lines = read_lines(self.records / "asked.jsonl")
        return [line for line in lines if line["body"] and line["body"].get("tools")]

    def run(self, *argv: str, stdin: str = "") -> CompletedProcess[str]:
        """Run a program in the repository."""
        return self.namespace.run(
            argv, input=stdin, cwd=self.repository, env=self.environ, timeout=PATIENCE
        )

    def sow(self, *arguments: str) -> CompletedProcess[str]:
        """Run the true sow."""
        return self.run(str(PROGRAMS / "sow"), *arguments)

    def start_sow(self, *arguments: str) -> Any:
        """Start the true sow, and do not wait."""
        argv = [str(PROGRAMS / "sow"), *arguments]
        return self.namespace.start(
            argv, cwd=self.repository, env=self.environ, stdout=PIPE, stderr=PIPE
        )

    def log_in(self, native: Native) -> None:
        """Let a CLI use the model server, by its files in the home and its variables."""
        address = f"http://127.0.0.1:{(self.records / 'port').read_text('utf-8')}"
        for name, text in native.files(address).items():
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text(text, encoding="utf-8")
        self.environ = {**self.environ, **native.variables(address)}
        self.hand_over()

    def hand_over(self) -> None:
        """Give what the test has written to whom all of it runs as."""
        if self.user is not None:
            give(self.user, (self.home, self.records, self.repository))

    def configure(self, *, concurrency: int = 4, **fields: Any) -> None:
        """Write the user's configuration, with these keys of the executor."""
        native = self.native
        settings = {**({"model": native.model} if native.model else {}), **native.settings}
        settings |= fields.pop("settings", {})
        args = [*self.native.custom_args, *fields.pop("custom_args", ())]
        executor = {"settings": settings, "custom_args": args, "retries": 0, **fields}
        executor |= {"type": native.type} if native.type else {}
        name = self.executor
        config = {
            "agents": {"executors": {name: executor}, "bindings": {"implementer": name}},
            "retry": {"on_quota": False},
            "worker": {"concurrency": concurrency},
        }
        file = self.home / ".config/sow/config.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        self.hand_over()

    def spawn(self, *options: str) -> CompletedProcess[str]:
        """Run `sow agent spawn`."""
        return self.sow("agent", "spawn", "implementer", TASK, *options)

    def resume(self, prompt: str, *options: str) -> CompletedProcess[str]:
        """Run `sow agent resume`."""
        return self.sow("agent", "resume", TASK, prompt, *options)

    def task(self, task: str = TASK) -> Json:
        """Return a task's state."""
        return self._json_of("task", "show", task, "--json")

    def job(self, number: int = 1) -> Json:
        """Return a job with its attempts."""
        return self._json_of("job", "show", str(number), "--json")

    def attempts(self, number: int = 1) -> list[Json]:
        """Return a job's attempts, oldest first."""
        attempts: list[Json] = self.job(number)["attempts"]
        return attempts

    def attempts_of(self, task: str) -> list[Json]:
        """Return the attempts of a task's one job."""
        done = self.sow("job", "list", "--task", task, "--json")
        [job] = [json.loads(line) for line in done.stdout.splitlines()]
        return self.attempts(job["job"])

    def output(self, job: int = 1, attempt: int = 1) -> str:
        """Return what an attempt has printed."""
        return (self.repository / f".sow/run/jobs/{job}/{attempt}/output.jsonl").read_text("utf-8")

    def orders(self, job: int = 1, attempt: int = 1) -> str:
        """Return the orders of an attempt's client of ACP."""
        return (self.repository / f".sow/run/jobs/{job}/{attempt}/acp.json").read_text("utf-8")

    def left(self) -> dict[int, str]:
        """Return what runs besides the model server and sow's workers."""
        inside = self.namespace.inhabitants()
        return {
            pid: line
            for pid, line in inside.items()
            if pid != self.server and "worker" not in line and "sow" not in line
        }

    def _json_of(self, *arguments: str) -> Json:
        done = self.sow(*arguments)
        assert done.returncode == 0, done.stderr
        record: Json = json.loads(done.stdout)
        return record


@contextmanager
def open_trial(
    folder: Path,
    native: Native,
    program: Path,
    base: Mapping[str, str],
    *,
    name: str = "repository",
    as_user: bool = False,
) -> Iterator[Trial]:
    """Make a trial in `folder`, with the CLI in the folder `program` first on PATH.

    `base` is the environment that the tests were started in; only its PATH is used, to find the
    namespace's tools. `name` is the repository's. With `as_user` all of it runs as a user who is
    made for it (`own_user`). Raises NamespaceUnavailable.
    """
    repository, home, records, temporary = (
        folder / part for part in (name, "home", "records", "tmp")
    )
    for new in (repository, home, records, temporary):
        new.mkdir(parents=True)
    environ = {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        "PATH": f"{program}:{PROGRAMS}:/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": str(temporary),
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Trial",
        "GIT_CONFIG_KEY_1": "user.email",
        "GIT_CONFIG_VALUE_1": "trial@localhost",
    }
    argv = [sys.executable, str(HERE / "told_model.py"), str(records)]
    user = make_user(folder, home) if as_user else None
    if user is not None:
        folder.chmod(0o755)
        give(user, (repository, home, records, temporary))
    with (
        open_namespace(base, user) as namespace,
        namespace.start(argv, stdin=PIPE) as server,
    ):
        assert server.stdin
        try:
            wait_until((records / "port").exists, "the model server")
            trial = Trial(
                native, namespace, repository, home, records, environ, server.pid, user=user
            )
            trial.log_in(native)
            trial.configure()
            _begin(trial)
            yield trial
            trial.sow("worker", "stop", "--end-agents")
        finally:
            server.stdin.close()


def _begin(trial: Trial) -> None:
    """Make the repository, the project and the task, through sow."""
    (trial.repository / "README.md").write_text("A place for a trial.\n", encoding="utf-8")
    trial.hand_over()
    for program, *arguments in (
        ("git", "init", "--quiet"),
        ("git", "add", "--all"),
        ("git", "commit", "--quiet", "--message", "Begin"),
        ("sow", "init"),
        ("sow", "project", "new", "trial", "--type", "quick", "--phase", "build"),
        ("sow", "task", "add", "Try it", "--agent", "implementer", "--id", TASK),
    ):
        done = trial.sow(*arguments) if program == "sow" else trial.run(program, *arguments)
        assert done.returncode == 0, done.stderr
