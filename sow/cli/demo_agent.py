"""The agent of `sow demo`: a program that does what an agent CLI does, without a model.

It reads its prompt from standard input, remembers its session in a file,
works in the folder it is started in, and reports by running `sow`. Any
program that does as much can be an executor of type `command`.
"""

import os
import subprocess
import sys
from pathlib import Path

from sow import env_vars
from sow.environment import own_environment, own_process

GREETING = Path("greeting.txt")
TRANSLATION = Path("translation.txt")


def main(arguments: list[str]) -> int:
    """Play one run: `SESSION spawn` or `SESSION resume`."""
    session, verb = arguments
    prompt = sys.stdin.read()
    memory = Path(f".session-{session}")
    heard = memory.read_text() if memory.exists() else ""
    memory.write_text(heard + prompt)
    print(f"I have heard {len(heard) + len(prompt)} characters in this session.", flush=True)
    act = ACTS[os.environ[env_vars.TASK_ID], verb]
    act()
    return 0


def greet() -> None:
    """Do the first task."""
    GREETING.write_text("Hello, world!\n")
    _report("Wrote greeting.txt", "needs_review", GREETING)


def greet_by_name() -> None:
    """Correct the first task."""
    GREETING.write_text("Hello, Ada!\n")
    _report("Greets by name now", "needs_review", GREETING)


def ask() -> None:
    """Stop at a question."""
    _report("Which language should I translate it into?", "paused")


def translate() -> None:
    """Go on with the answer."""
    TRANSLATION.write_text("Saluton, mondo!\n")
    _report("Translated it into Esperanto", "needs_review", TRANSLATION)


def review() -> None:
    """Judge the first task."""
    feedback = Path(
        os.environ[env_vars.ROOT], ".sow/project/phases/implementation/tasks/010/feedback"
    )
    (feedback / "001.md").write_text("The greeting greets nobody by name.\n")
    _report("Reviewed greeting.txt: it should greet by name", "needs_review")


ACTS = {
    ("010", "spawn"): greet,
    ("010", "resume"): greet_by_name,
    ("020", "spawn"): ask,
    ("020", "resume"): translate,
    ("030", "spawn"): review,
}


def _report(what: str, status: str, *files: Path) -> None:
    named = [word for file in files for word in ("--file", str(file))]
    _sow("agent", "log", what, *named)
    _sow("task", "set", "status", status)


def _sow(*words: str) -> None:
    subprocess.run(own_process("sow", *words), env=own_environment(os.environ), check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
