"""Begins an executor for a CLI that sow does not know: `make executor NAME=foo`.

Writes its three files, which work at once, and its word. docs/new-executor.md says what to change
in them. Standard library only.
"""

import keyword
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDS = "sow/schema/executor_type.py"
LAST_WORD = '    COMMAND = "command"\n'

DESCRIPTION = '''"""`NAME`. Say here which version was measured, and how."""

from sow.agent_clis.description import (
    MODEL,
    SESSION,
    AgentCli,
    Metering,
    Setting,
)
from sow.schema.causes import Cause

CLI = AgentCli(
    title="TITLE executor",
    built_in="NAME",
    binary="NAME",
    install="Install {binary}.",
    settings={"model": Setting('"model-1"', "As `NAME --model` takes it")},
    reserved_flags={"--resume": SESSION, "--model": MODEL},
    words=(
        (r"not logged in|invalid api key", Cause.AUTH),
        (r"unknown option|unrecognized argument", Cause.BAD_FLAGS),
    ),
    metering=Metering.AT_END,
    keeps_ids=True,
)
'''

MODULE = '''"""`NAME`: the prompt on standard input, a JSON event a line on standard output.

Owns its command line and its events. Say here what was measured, and with which version.
"""

from typing import ClassVar

from sow.agent_clis.NAME import CLI
from sow.executors.base import Event, Executor, Launch, LaunchRequest
from sow.executors.codex import read_codex_line
from sow.executors.program_executor import JsonExecutor
from sow.executors.session import SessionSource


class TITLEExecutor(JsonExecutor, frozen=True):
    """Drives `NAME`."""

    cli = CLI
    session_source: ClassVar[SessionSource] = SessionSource.LEARNED

    def spawn(self, request: LaunchRequest) -> Launch:
        """Return the launch that begins a session; its id is told in the first event."""
        return self._launch(request)

    def resume(self, request: LaunchRequest) -> Launch:
        """Return the launch that continues `request.session`, with all flags again."""
        return self._launch(request, "--resume", request.required_session.id)

    def read_line(self, line: bytes) -> tuple[Event, ...]:
        """Return what a line tells; nothing for noise. Never raises."""
        return read_codex_line(line)

    def _launch(self, request: LaunchRequest, *session: str) -> Launch:
        model = ("--model", self.config.model) if self.config.model else ()
        argv = (self.binary, *model, *session, *self.config.custom_args)
        return Launch(argv=argv, stdin=request.prompt, cwd=request.cwd)


EXECUTOR: type[Executor] = TITLEExecutor
'''

CASES = '''"""The rows of the contract suite for `NAME`."""

from case_forms import DOCS, UUID, Case, Fault, SessionRow

from sow.executors.session import Session, SessionSource
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Verb

PLAIN = ExecutorConfig(name="NAME", type=ExecutorType.WORD)
FULL = ExecutorConfig(
    name="NAME", type=ExecutorType.WORD, model="m-1", custom_args=("--effort", "low")
)

CASES = (
    Case(
        title="spawn",
        executor="NAME",
        config=PLAIN,
        verb=Verb.SPAWN,
        argv=("NAME",),
        evidence=DOCS,
    ),
    Case(
        title="resume, `model` and `custom_args`",
        executor="NAME",
        config=FULL,
        verb=Verb.RESUME,
        session=Session(UUID),
        argv=("NAME", "--model", "m-1", "--resume", UUID, "--effort", "low"),
        evidence=DOCS,
    ),
)
SESSION_ROWS = (
    SessionRow(
        executor="NAME",
        config=PLAIN,
        source=SessionSource.LEARNED,
        resumes=True,
        how="the CLI's own, told in its first event",
        evidence=DOCS,
    ),
)
SETTINGS = (("NAME", "refused", "nothing", "`--model M`", "refused", "refused", "refused"),)
"""What each setting becomes, as in `compatibility.SETTINGS_HEADER`."""
FAULTS: tuple[Fault, ...] = ()
'''

FILES = {
    "sow/agent_clis/{name}.py": DESCRIPTION,
    "sow/executors/{name}.py": MODULE,
    "tests/executors/cases_{name}.py": CASES,
}


def main(arguments: list[str]) -> int:
    """Write the files for the executor that is named. Nothing is overwritten."""
    name = arguments[0] if arguments else ""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        print("Usage: make executor NAME=foo (small letters, digits and _)", file=sys.stderr)
        return 2
    texts = {ROOT / path.format(name=name): text for path, text in FILES.items()}
    there = [str(path.relative_to(ROOT)) for path in texts if path.exists()]
    words = (ROOT / WORDS).read_text(encoding="utf-8")
    if there or f'"{name}"' in words:
        print(f"{name} is there already: {', '.join(there) or WORDS}", file=sys.stderr)
        return 2
    title = "".join(part.title() for part in name.split("_"))
    for path, text in texts.items():
        filled = text.replace("NAME", name).replace("TITLE", title).replace("WORD", name.upper())
        path.write_text(filled, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    word = f'    {name.upper()} = "{name}"\n'
    (ROOT / WORDS).write_text(words.replace(LAST_WORD, word + LAST_WORD), encoding="utf-8")
    print(f"added {name} to {WORDS}")
    print("docs/new-executor.md says what comes next.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
