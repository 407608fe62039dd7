"""The flags of each CLI that only sow may set, and why.

Owns that table. A flag given twice with two meanings breaks a run in ways that
are hard to see, so it is refused when the configuration is read. Sources: the
CLIs' own references; for claude, runs of 2.1.197.
"""

from collections.abc import Mapping

import msgspec

from sow.schema.config import ExecutorType


class Conflict(msgspec.Struct, frozen=True):
    """Why an argument is refused, and what to do instead."""

    reason: str
    remedy: str


_REMOVE = "Remove it."
_PROMPT = ("sow passes the prompt on standard input and always runs without a terminal", _REMOVE)
_OUTPUT = ("sow chooses the format of the output, which it reads", _REMOVE)
_SESSION = ("sow chooses, keeps and resumes the session itself", _REMOVE)
_FOLDER = (
    "sow chooses the folder that the agent runs in",
    "Remove it; `--cwd` of `sow agent spawn` names another folder.",
)
_YOLO = ("it is what settings.yolo_mode decides", "Remove it and set settings.yolo_mode.")
_MODEL = ("it is what settings.model decides", "Remove it and set settings.model.")
_TOOLS = ("it is what settings.allowed_tools adds to", "Move the tools to settings.allowed_tools.")
_ELSEWHERE = ("the agent would not run on this machine, where sow watches it", _REMOVE)
_SECRET = (
    "the arguments of a process are no place for a secret",
    "Remove it and set the variable in env: {CURSOR_API_KEY: '${CURSOR_API_KEY}'}.",
)

REFUSED_FLAGS: Mapping[ExecutorType, Mapping[str, tuple[str, str]]] = {
    ExecutorType.CLAUDE: {
        "--": _PROMPT,
        "-p": _PROMPT,
        "--print": _PROMPT,
        "--output-format": _OUTPUT,
        "--input-format": _OUTPUT,
        "--session-id": _SESSION,
        "-r": _SESSION,
        "--resume": _SESSION,
        "-c": _SESSION,
        "--continue": _SESSION,
        "--fork-session": _SESSION,
        "--no-session-persistence": _SESSION,
        "-w": _FOLDER,
        "--worktree": _FOLDER,
        "--permission-mode": _YOLO,
        "--dangerously-skip-permissions": _YOLO,
        "--allow-dangerously-skip-permissions": _YOLO,
        "--allowedTools": _TOOLS,
        "--allowed-tools": _TOOLS,
        "--model": _MODEL,
    },
    ExecutorType.CURSOR: {
        "--": _PROMPT,
        "-p": _PROMPT,
        "--print": _PROMPT,
        "--output-format": _OUTPUT,
        "--resume": _SESSION,
        "--continue": _SESSION,
        "--chat-id": _SESSION,
        "--workspace": _FOLDER,
        "-w": _FOLDER,
        "--worktree": _FOLDER,
        "-c": _ELSEWHERE,
        "--cloud": _ELSEWHERE,
        "-f": _YOLO,
        "--force": _YOLO,
        "--yolo": _YOLO,
        "--model": _MODEL,
        "--api-key": _SECRET,
    },
    ExecutorType.WINDSURF: {},
    ExecutorType.COMMAND: {},
}


def conflict(kind: ExecutorType, argument: str) -> Conflict | None:
    """Return why `argument` may not stand in `custom_args`, or None."""
    flags = REFUSED_FLAGS[kind]
    flag = argument.partition("=")[0]
    if flag not in flags and not argument.startswith("--"):
        flag = argument[:2]  # a value may follow a short flag at once: -rID
    if flag not in flags:
        return None
    why, remedy = flags[flag]
    return Conflict(f"{flag} cannot be set here: {why}", remedy)
