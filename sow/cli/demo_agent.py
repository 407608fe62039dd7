"""The agent of `sow demo`: a program that does what an agent CLI does, without a model.

It reads its prompt from standard input, remembers its session in a file,
works in the folder it is started in, and reports by running `sow`. Any
program that does as much can be an executor of type `command`.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from sow import env_vars
from sow.environment import own_environment, own_process


class Act(NamedTuple):
    """What the agent does in one run: it writes a file, or asks."""

    words: str
    status: str
    file: str = ""
    content: str = ""


DONE = "needs_review"
FEEDBACK = ".sow/project/phases/implementation/tasks/010/feedback/001.md"
ACTS = {
    ("010", "spawn"): Act("Wrote greeting.txt", DONE, "greeting.txt", "Hello, world!"),
    ("010", "resume"): Act("Greets by name now", DONE, "greeting.txt", "Hello, Ada!"),
    ("020", "spawn"): Act("Which language should I translate it into?", "paused"),
    ("020", "resume"): Act("Wrote it in Esperanto", DONE, "translation.txt", "Saluton, mondo!"),
    ("030", "spawn"): Act("It should greet by name", DONE, FEEDBACK, "It greets nobody by name."),
}
"""By the task and the verb."""


def main(arguments: list[str]) -> int:
    """Play one run: `SESSION spawn` or `SESSION resume`."""
    session, verb = arguments
    prompt = sys.stdin.read()
    memory = Path(f".session-{session}")
    heard = memory.read_text() if memory.exists() else ""
    memory.write_text(heard + prompt)
    print(f"I have heard {len(heard) + len(prompt)} characters in this session.", flush=True)
    act = ACTS[os.environ[env_vars.TASK_ID], verb]
    if act.file:
        Path(act.file).write_text(f"{act.content}\n")
    _sow("agent", "log", act.words, *(["--file", act.file] if act.file else []))
    _sow("task", "set", "status", act.status)
    return 0


def _sow(*words: str) -> None:
    subprocess.run(own_process("sow", *words), env=own_environment(os.environ), check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
