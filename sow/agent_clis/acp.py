"""Any program that speaks the Agent Client Protocol, as an agent of sow's client (`sow.acp`).

Weaker than an executor of its own: sow knows neither the program's flags nor its files, and what
its numbers count. The words are those of the client, and of the services behind the agents.
"""

from collections.abc import Mapping

from sow.acp.presets import PRESETS, UNKNOWN
from sow.agent_clis.description import AgentCli, Evidence, Fence, PresetFence, Setting, Tried
from sow.schema.causes import Cause

CLI = AgentCli(
    title="Any agent that speaks the Agent Client Protocol (ACP)",
    example_name="cline",
    install="Check agents.executors.{name}.settings.command: a name on PATH, or a path.",
    remedy="Allow it in the agent's own settings,"
    " or set agents.executors.{name}.settings.yolo_mode: true.",
    settings={
        "command": Setting('["cline", "--acp"]', "The agent, as it speaks the protocol"),
        "preset": Setting('"cline"', f"Which agent it is: {', '.join(PRESETS)}"),
        "yolo_mode": Setting("true", "Whatever it asks for is allowed, each time once"),
    },
    required="command",
    words=(
        (r"cannot go on in session", Cause.SESSION_UNKNOWN),
        # It cites what the program has written, which may be about anything.
        (r"^the program does not speak ACP", Cause.BAD_FLAGS),
        (
            r"error -32000\b|\b401\b|unauthori[sz]ed|authentication|invalid[ _]api[ _]key",
            Cause.AUTH,
        ),
        (
            r"^the agent (speaks version \S+ of the protocol|cannot load a session|would not ask)",
            Cause.BAD_FLAGS,
        ),
        (r"unknown option|unexpected argument|unrecognized arguments?", Cause.BAD_FLAGS),
        (r"\b429\b|rate[ _]?limit|usage limit|quota", Cause.RATE_LIMITED),
        (r"model \S+ .*(not found|does not exist|not supported)", Cause.BAD_MODEL),
        (
            r"the agent's error|the agent's turn failed|has not answered|does not read"
            r"|without a word and without a tool|turn ended with",
            Cause.API_ERROR,
        ),
    ),
    api_seconds=15 * 60.0,
    narrow_rights=True,
    fence=Fence(UNKNOWN.fence),
    fences={word: PresetFence(Fence(preset.fence), preset.why) for word, preset in PRESETS.items()},
    tried=Tried(
        versions=(
            *("cline 3.0.65", "pi-acp 0.0.34", "opencode 1.18.33", "gemini 0.61.0"),
            *("qwen 0.24.4", "copilot 1.0.102", "claude-agent-acp 0.101.0", "codex-acp 2.6.0"),
        ),
        spawn=Evidence.REAL,
        resume=Evidence.REAL,
    ),
)

STARTS: Mapping[str, str] = {
    "cline": '["cline", "--acp"]',
    "pi": '["pi-acp"]',
    "gemini": '["gemini", "--acp"]',
    "qwen": '["qwen", "--acp"]',
    "opencode": '["opencode", "acp"]',
    "copilot": '["copilot", "--acp"]',
    "claude": '["claude-agent-acp"]',
    "codex": '["codex-acp"]',
}
"""What starts the agent of a preset as it speaks the protocol: a `settings.command`."""
LOGIN = (
    "Log in with the agent's own program, as the user who runs the worker. Or give it its key by"
    " {executor}.env."
)
"""What helps against a login that is asked for."""
ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"the program does not speak ACP|the agent has not answered initialize",
        "{executor}.settings.command has to start the agent so that it speaks ACP, such as"
        " {starts}.",
    ),
    (
        r"the agent has (ended with exit code \S+|closed its output)"
        r" before it had answered initialize",
        "Run {executor}.settings.command by hand with its custom_args, and correct it: started"
        " well, the agent waits for input.",
    ),
    (
        r"the agent speaks version \S+ of the protocol",
        "Install a version of the agent that speaks version 1, and have {executor}.settings.command"
        " start it.",
    ),
    (
        r"the agent cannot load a session",
        "Have {executor}.settings.command start an agent, or a version of it, that can load"
        " sessions.",
    ),
    (
        r"the agent would not ask",
        "{executor}.settings.preset has to name the agent that settings.command starts. Leave it"
        " out for an agent that none of them names.",
    ),
)
"""What helps against a failure that the client tells, by how its words begin: behind that it may
cite the agent's own."""
ADVISED = frozenset({Cause.BAD_FLAGS, Cause.CRASHED, Cause.API_ERROR})
"""The causes that such advice helps against; a usage limit, say, needs no other command."""
