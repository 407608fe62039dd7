"""What is known of the agents that were measured: how each asks, and how its fence holds.

Owns the facts, as plain data. The words are those of `settings.preset`. All were measured over the
protocol's version 1 with the builds that `tests/real/acp_agents.py` pins. Claude and codex speak it
by adapters, claude-agent-acp and codex-acp.
"""

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


NOTHING: "Mapping[str, str]" = {}


class Preset(NamedTuple):
    """One agent."""

    fence: str = "none"
    """What keeps it from more than it may do: `asking`, `sandbox` (its own) or `none`."""
    why: str = ""
    """What that means for it, as a clause."""
    mode: str = ""
    """The mode in which it asks for permission; empty for an agent without such modes."""
    options: "Mapping[str, str | bool]" = NOTHING
    """Options of a session that must have these values besides, by id."""
    commands_in: str = "rawInput"
    """Where the command stands that it asks for: `rawInput`, or `title` where that has none."""
    allows: str = ""
    """The id of the option that allows one call and nothing else; empty for the only one of its
    kind."""
    patches: bool = False
    """Whether its edits are asked for as the text of a patch alone."""
    reads_at: bool = False
    """Whether a word of a prompt that begins with `@` has it add the file of that name."""
    tells_mode_in_words: bool = False
    """Whether it tells its mode as words of the agent alone."""
    is_gemini: bool = False
    """Whether it loses sessions that are loaded, unless that is seen to (`gemini_sessions`)."""
    variables: "Mapping[str, str]" = NOTHING
    """What its environment has to hold."""
    fails_with: str = ""
    """How its last words begin where the service has failed it, as a pattern: it then ends its turn
    as if all were well."""
    notes_with: str = ""
    """How words begin that are of the agent itself, such as that a refusal has ended its turn, and
    not of its model, as a pattern."""
    takes_folders: bool = False
    """Whether its sandbox is told where else its commands may write."""


OPENCODE_RULES = (
    '{"*": "ask", "read": "allow", "glob": "allow", "grep": "allow", "list": "allow",'
    ' "todowrite": "allow", "todoread": "allow"}'
)
"""It asks for what its rules say, and by default for nothing. What reads names no path when it
asks."""

UNKNOWN = Preset(fence="asking")
"""An agent without a preset: what it asks for in a form that sow does not know is refused."""

PRESETS: "Mapping[str, Preset]" = {
    "cline": Preset(
        fence="asking",
        why="for commands, reading and patches",
        mode="act",
        options={"auto_approve": False},
        allows="allow_once",
        patches=True,
        reads_at=True,
        # Else a daemon of its first run has the commands of later ones, in the first one's
        # environment.
        variables={"CLINE_SESSION_BACKEND_MODE": "local"},
    ),
    "pi": Preset(
        fence="none",
        why="it never asks, so its agents may do whatever you may",
        fails_with=r"Retry finished, resuming\.",
    ),
    "gemini": Preset(
        fence="asking",
        why="for commands and edits; it reads without asking",
        mode="default",
        commands_in="title",
        allows="proceed_once",
        tells_mode_in_words=True,
        is_gemini=True,
        # It refuses a folder that nobody has trusted, and starts itself once more without the
        # second.
        variables={"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"},
    ),
    "qwen": Preset(
        fence="asking",
        why="for commands and edits; it reads without asking",
        mode="default",
        allows="proceed_once",
    ),
    "opencode": Preset(
        fence="asking",
        why="for commands, edits and paths outside; it reads in its folder without asking",
        mode="build",
        allows="once",
        variables={"OPENCODE_PERMISSION": OPENCODE_RULES},
    ),
    "copilot": Preset(
        fence="asking",
        why="for commands, edits and paths outside; it reads in its folder without asking",
        mode="https://agentclientprotocol.com/protocol/session-modes#agent",
        options={"allow_all": "off"},
        allows="allow_once",
        fails_with=r"Error: ",
        notes_with=r"Info: ",
    ),
    "claude": Preset(
        fence="asking",
        why="for commands that write and for edits; it reads without asking",
        mode="default",
        allows="allow-once",
        reads_at=True,
    ),
    "codex": Preset(
        fence="sandbox",
        why="it runs any command in its own sandbox, and asks only for what leaves that",
        mode="workspace-write",
        # A login shell would lose the PATH on which `sow` is.
        variables={"CODEX_CONFIG": '{"allow_login_shell": false, "analytics": {"enabled": false}}'},
        takes_folders=True,
    ),
}
