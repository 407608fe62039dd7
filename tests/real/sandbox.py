"""A place where the real Claude Code can run: loopback, a model server, a throw-away home.

Owns the environment that Claude Code and sow see, and the records that a test
asserts on. Everything it starts lives in one network namespace.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen
from typing import Any

from namespace import Namespace, open_namespace

HERE = Path(__file__).parent
PROGRAMS = Path(sys.executable).parent
SETTINGS = {
    "LANG": "C.UTF-8",
    "SHELL": "/bin/bash",
    "ANTHROPIC_API_KEY": "sk-dummy-for-tests",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
"""What programs inside see besides the sandbox's own folders and the model's address."""
SUBSCRIBER = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy-for-tests"}
"""For who pays by subscription: only then Claude Code tells when a quota begins anew."""

PATIENCE = 300.0
"""Seconds that any one step may take before the test gives up, on a machine that is busy with
others: a step may be several runs of an agent."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Sandbox:
    """What a test works with. Folders exist; `repository` is empty at first."""

    namespace: Namespace
    server: int
    """The process id of the model server."""
    repository: Path
    home: Path
    records: Path
    environ: Mapping[str, str]
    programs: Path = PROGRAMS
    """Where the true sow lies."""

    def run(
        self, *argv: str, stdin: str = "", environ: Mapping[str, str] | None = None
    ) -> CompletedProcess[str]:
        """Run a program in the repository, with `environ` on top of the sandbox's own."""
        return self.namespace.run(
            argv,
            input=stdin,
            cwd=self.repository,
            env={**self.environ, **(environ or {})},
            timeout=PATIENCE,
        )

    def start(
        self, *argv: str, stdin: str = "", environ: Mapping[str, str] | None = None
    ) -> Popen[str]:
        """Start a program in the repository and give it `stdin`; `end_of` reads its end."""
        around = {**self.environ, **(environ or {})}
        process = self.namespace.start(
            argv, cwd=self.repository, env=around, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        assert process.stdin
        process.stdin.write(stdin)
        process.stdin.close()
        process.stdin = None
        return process

    def sow(self, *arguments: str) -> CompletedProcess[str]:
        """Run the true sow, past the witness that stands on the agents' PATH."""
        return self.run(str(self.programs / "sow"), *arguments)

    def start_sow(self, *arguments: str) -> Popen[str]:
        """Start the true sow; `end_of` reads its end."""
        return self.start(str(self.programs / "sow"), *arguments)

    def behave(self, **fields: Any) -> None:
        """Tell the model how to behave from now on (`scripted_model.Behaviour`)."""
        new = self.records / "behaviour.json.new"
        new.write_text(json.dumps(fields), encoding="utf-8")
        new.replace(self.records / "behaviour.json")

    def requests(self, kind: str = "main") -> list[Json]:
        """Return the bodies of the requests so far; `main` are those of agents at work."""
        lines = read_lines(self.records / "requests.jsonl")
        return [line["body"] for line in lines if line["kind"] == kind]

    def failures(self) -> list[Json]:
        """Return what the model server found wrong with what it was sent."""
        return read_lines(self.records / "failures.jsonl")

    def witnessed(self) -> list[Json]:
        """Return the agents' calls of sow (`witness`)."""
        return read_lines(self.records / "witness.jsonl")


@contextmanager
def open_sandbox(
    folder: Path,
    claude: Path,
    base: Mapping[str, str],
    *,
    name: str = "repository",
    programs: Path = PROGRAMS,
) -> Iterator[Sandbox]:
    """Make a sandbox in `folder`, with the `claude` in the folder `claude` on PATH.

    `base` is the environment that the tests were started in; only its PATH is
    used, to find the namespace's tools. `name` is the repository's, `programs` the folder of the
    sow that is tried. Raises NamespaceUnavailable.
    """
    repository, home, records, first, temporary = (
        folder / part for part in (name, "home", "records", "bin", "tmp")
    )
    for new in (repository, home, records, first, temporary):
        new.mkdir(parents=True)
    _write_witness(first / "sow", records / "witness.jsonl", programs / "sow")
    environ = {
        **SETTINGS,
        "HOME": str(home),
        "PATH": f"{first}:{claude}:{programs}:/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": str(temporary),
        "CLAUDE_CODE_TMPDIR": str(temporary),
    }
    with open_namespace(base) as namespace, _model_server(namespace, records) as server:
        port = (records / "port").read_text("utf-8")
        environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
        yield Sandbox(namespace, server, repository, home, records, environ, programs)


def end_of(process: Popen[str], *, seconds: float = PATIENCE) -> CompletedProcess[str]:
    """Wait until a started program has ended, and return its end and its words."""
    output, errors = process.communicate(timeout=seconds)
    return CompletedProcess(process.args, process.returncode, output, errors)


def wait_until(condition: Any, what: str, *, seconds: float = PATIENCE) -> Any:
    """Return what `condition` returns once it is true.

    Raises AssertionError when it is not within so many seconds.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"in vain waited for {what}"
        time.sleep(0.01)
    return value


def read_lines(file: Path) -> list[Json]:
    """Return the objects of a file of JSON lines; none where there is no file.

    A last line without its end is left out: it is just being written.
    """
    if not file.exists():
        return []
    data = file.read_bytes()
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def _write_witness(script: Path, log: Path, true_sow: Path) -> None:
    words = [sys.executable, "-I", HERE / "witness.py", log, true_sow]
    quoted = " ".join(f"'{word}'" for word in words)
    script.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n', encoding="utf-8")
    script.chmod(0o755)


@contextmanager
def _model_server(namespace: Namespace, records: Path) -> Iterator[int]:
    argv = [sys.executable, str(HERE / "model_server.py"), str(records)]
    with namespace.start(argv, stdin=PIPE) as server:
        assert server.stdin
        try:
            wait_until((records / "port").exists, "the model server")
            yield server.pid
        finally:
            server.stdin.close()
