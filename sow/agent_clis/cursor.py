"""Cursor's `cursor-agent`. From its documents and public recordings, not run by us."""

from enum import StrEnum

from sow.agent_clis.description import (
    FOLDER,
    MODEL,
    OUTPUT,
    PROMPT,
    REMOVE,
    SESSION,
    YOLO,
    AgentCli,
    CommandLine,
    Evidence,
    Fence,
    Metering,
    Questions,
    Refusal,
    Setting,
    SowPermission,
    Tried,
)
from sow.schema.causes import Cause


class Dialect(StrEnum):
    """The words kept in a session's `dialect`."""

    PRINT = "print"
    """Today's: `-p --trust --output-format stream-json --resume ID`, first run and later ones."""
    CHAT_ID = "chat-id"
    """The seeds': `agent --chat-id ID`, then `agent --resume ID`. Plain text on stdout."""


ELSEWHERE = Refusal("the agent would not run on this machine, where sow watches it", REMOVE)
SECRET = Refusal(
    "the arguments of a process are no place for a secret",
    "Remove it and set the variable in env: {CURSOR_API_KEY: '${CURSOR_API_KEY}'}.",
)

CLI = AgentCli(
    title="Cursor executor",
    built_in="cursor",
    binary="cursor-agent",
    install="Install cursor-agent: see https://cursor.com/cli",
    remedy="Add it to permissions.allow in the project's .cursor/cli.json,"
    " or set agents.executors.{name}.settings.yolo_mode: true.",
    metering=Metering.AT_END,
    settings={
        "yolo_mode": Setting(
            "true", "Skip permission prompts; or allow Shell(sow) in .cursor/cli.json"
        ),
        "model": Setting('"gpt-5"', "As `cursor-agent --model` takes it"),
    },
    reserved_flags={
        "--": PROMPT,
        "-p": PROMPT,
        "--print": PROMPT,
        "--output-format": OUTPUT,
        "--resume": SESSION,
        "--continue": SESSION,
        "--chat-id": SESSION,
        "--workspace": FOLDER,
        "-w": FOLDER,
        "--worktree": FOLDER,
        "-c": ELSEWHERE,
        "--cloud": ELSEWHERE,
        "-f": YOLO,
        "--force": YOLO,
        "--yolo": YOLO,
        "--model": MODEL,
        "--api-key": SECRET,
    },
    nesting_markers=("CURSOR_AGENT", "CURSOR_TRACE_ID"),
    words=(
        (r"Chat \S+ already exists", Cause.SESSION_IN_USE),
        (r"Chat \S+ not found", Cause.SESSION_UNKNOWN),
        (r"Authentication required|Not logged in|Invalid API key", Cause.AUTH),
        (r"Cannot use this model", Cause.BAD_MODEL),
        (r"unknown option|argument missing|is invalid\. Allowed choices", Cause.BAD_FLAGS),
        (r"Workspace Trust", Cause.BAD_FLAGS),
        (r"usage limit reached|hit your ([\w-]+ )?limit", Cause.RATE_LIMITED),
        (r"Unable to connect|Connection ?refused|ECONNRE|fetch failed", Cause.API_ERROR),
    ),
    questions=Questions(
        helps=(("--help",), ("agent", "--help")),
        key_variables=("CURSOR_API_KEY",),
        login="`cursor-agent status` asks Cursor; `cursor-agent login` logs in.",
        sow_permission=SowPermission(
            rule="Shell(sow)",
            begins=("Shell(sow", "Shell(*"),
            in_folder=".cursor/cli.json",
            in_home=".cursor/cli-config.json",
        ),
        dialects=(
            CommandLine(Dialect.CHAT_ID, flag="--chat-id"),
            CommandLine(Dialect.PRINT, commands=("create-chat",)),
        ),
    ),
    fence=Fence.RULES,
    tried=Tried(spawn=Evidence.STAND_IN, resume=Evidence.STAND_IN),
)
