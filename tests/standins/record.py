"""Where the stand-ins keep their scripts, and the log of what ran.

Every record is one `write` to a file opened with O_APPEND, so that any number
of stand-ins may log at once.
"""

import json
import os
import re
import sys
import time

TASK_PATH = re.compile(r"tasks/([0-9]{3,})")
TASK_WORD = re.compile(r"\btask\s+(?:id:?\s*)?`?([0-9]{3,})", re.IGNORECASE)
SHOWN = ("PATH", "HOME", "IS_SANDBOX", "CLAUDECODE", "PYTHONPATH")


def folder():
    """The `.standin` of the working folder, else of SOW_ROOT."""
    here = os.path.join(os.getcwd(), ".standin")
    root = os.environ.get("SOW_ROOT")
    if os.path.isdir(here) or not root:
        return here
    return os.path.join(root, ".standin")


def prompt_task(prompt):
    """The task id that a prompt names, or None."""
    match = TASK_PATH.search(prompt) or TASK_WORD.search(prompt)
    return match.group(1) if match else None


def claim_run(task):
    """The number of this run among its task's, counted by files made exclusively."""
    counts = os.path.join(folder(), "counts")
    os.makedirs(counts, exist_ok=True)
    number = 1
    while True:
        try:
            os.close(os.open(f"{counts}/{task}.{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            number += 1
        else:
            return number


def append(event, **facts):
    """Write one record; those of `start` carry the process's whole context."""
    record = {
        "event": event,
        "pid": os.getpid(),
        "wall": time.time(),
        "monotonic": time.monotonic(),
        **facts,
    }
    os.makedirs(folder(), exist_ok=True)
    line = json.dumps(record).encode() + b"\n"
    log = os.open(f"{folder()}/runs.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(log, line)
    os.close(log)


def append_start(conversation, task, number, extra_names):
    """Write the start of a run."""
    import hashlib

    prompt = conversation.prompt
    shown = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("SOW_", "CLAUDE_CODE_")) or name in SHOWN or name in extra_names
    }
    append(
        "start",
        task=task,
        run=number,
        cli=conversation.cli,
        verb=conversation.verb,
        session_id=conversation.session_id,
        argv=sys.argv[2:],
        cwd=os.getcwd(),
        prompt=prompt,
        prompt_sha256=hashlib.sha256(prompt.encode(errors="surrogateescape")).hexdigest(),
        prompt_task=prompt_task(prompt),
        env=shown,
        env_names=sorted(os.environ),
    )
