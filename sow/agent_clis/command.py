"""Any program that the user names, a shell script too.

What it runs is unknown, and often a CLI that has a description: so it is judged
by the words of those, and by those of others that were measured behind it.
"""

from sow.agent_clis import claude, cursor
from sow.agent_clis.description import (
    AgentCli,
    Evidence,
    Setting,
    Tried,
)
from sow.schema.causes import Cause

CLI = AgentCli(
    title="Any other program, a shell script too",
    install="Check agents.executors.{name}.settings.command: a name on PATH, or a path.",
    settings={
        "command": Setting('["my-agent", "--session", "{session_id}"]', "Gets the prompt on stdin"),
        "resume": Setting('["my-agent", "--resume", "{session_id}"]', "Without it: no resume"),
    },
    required="command",
    words=(
        (r"Session ID \S+ already exists", Cause.SESSION_IN_USE),  # qwen, gemini
        (
            r"no rollout found for thread id|Session not found",
            Cause.SESSION_UNKNOWN,
        ),  # codex, opencode
        (r"unexpected argument|unrecognized arguments?", Cause.BAD_FLAGS),
        *claude.CLI.words,
        *cursor.CLI.words,
    ),
    reset_time=claude.CLI.reset_time,
    tried=Tried(spawn=Evidence.REAL, resume=Evidence.REAL, sandbox=Evidence.REAL),
)
