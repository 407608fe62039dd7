"""The kinds of agent CLI, whose configuration their sessions have, and what fences them in.

Apart from the configuration: each job on record names these.
"""

from enum import StrEnum


class ExecutorType(StrEnum):
    """The kinds of agent CLI that sow drives."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    OPENCODE = "opencode"
    QWEN = "qwen"
    COPILOT = "copilot"
    CURSOR = "cursor"
    WINDSURF = "windsurf"
    ACP = "acp"
    COMMAND = "command"


NAMES = {ExecutorType.CLAUDE: "claude-code", ExecutorType.ACP: "", ExecutorType.COMMAND: ""}
"""The built-in executors that are not called as their type."""


def built_in_name(kind: ExecutorType) -> str:
    """Return the name of a type's executor that is there without any configuration.

    Empty for none. It stands in the type's description as well, which is not read for it.
    """
    return NAMES.get(kind, kind.value)


class Preset(StrEnum):
    """The agents whose way to ask for permission over ACP is known (`sow.acp.presets`)."""

    CLINE = "cline"
    PI = "pi"
    GEMINI = "gemini"
    QWEN = "qwen"
    OPENCODE = "opencode"
    COPILOT = "copilot"
    CLAUDE = "claude"
    CODEX = "codex"


class SandboxUse(StrEnum):
    """What fences the agents of an executor, or a check, off from the machine."""

    NONE = "none"
    """They may do what their user may, as far as their CLI lets them."""
    BWRAP = "bwrap"
    """bubblewrap: they see and write only what is theirs (`sow.sandbox`)."""


class NetworkUse(StrEnum):
    """What a sandbox has of the network."""

    ON = "on"
    """All of the machine's."""
    LOOPBACK = "loopback"
    """A loopback of its own, on which nobody else listens."""


class HomeUse(StrEnum):
    """Whose configuration folder the sessions of an executor have."""

    SHARED = "shared"
    """The user's own."""
    PER_SESSION = "per-session"
    """Each one a folder of its own, made from the user's."""
