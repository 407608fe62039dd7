"""`opencode`, run as `opencode run`. Measured with 1.18.33 against a model server of ours."""

from sow.agent_clis.description import (
    API_SECONDS,
    FOLDER,
    MODEL,
    OUTPUT,
    PROMPT,
    SERVICE_TOO_LONG,
    SESSION,
    YOLO,
    AgentCli,
    Evidence,
    Fence,
    Home,
    HomePart,
    LoginFiles,
    Metering,
    Questions,
    Refusal,
    Setting,
    Tried,
    WarmUp,
)
from sow.schema.causes import Cause

AGENT = Refusal(
    "the rules of what an agent may do belong to an agent of sow's own, named sow",
    "Remove it, and put what your agent has under agent.sow in your opencode.json.",
)

CLI = AgentCli(
    title="OpenCode executor",
    built_in="opencode",
    binary="opencode",
    install="Install opencode: npm install -g opencode-ai",
    remedy="Allow it in your opencode.json, under agent.sow.permission"
    ' ("bash": {{"npm test *": "allow"}}),'
    " or set agents.executors.{name}.settings.yolo_mode: true.",
    settings={
        "yolo_mode": Setting("true", "Nothing is asked; what your own settings deny stays denied"),
        "model": Setting('"anthropic/claude-sonnet-4"', "As `opencode run -m` takes it"),
    },
    reserved_flags={
        "--": PROMPT,
        "--command": PROMPT,
        "-i": PROMPT,
        "--interactive": PROMPT,
        "--format": OUTPUT,
        "-s": SESSION,
        "--session": SESSION,
        "-c": SESSION,
        "--continue": SESSION,
        "--fork": SESSION,
        "--attach": SESSION,
        "--dir": FOLDER,
        "--auto": YOLO,
        "--agent": AGENT,
        "-m": MODEL,
        "--model": MODEL,
    },
    nesting_markers=(
        *("OPENCODE", "OPENCODE_PID"),
        *("OPENCODE_PERMISSION", "OPENCODE_CONFIG_CONTENT"),  # what sow gives an agent
    ),
    words=(
        (r"Session not found", Cause.SESSION_UNKNOWN),
        (r"Model not found|ProviderModelNotFound|model_not_found", Cause.BAD_MODEL),
        (rf"{SERVICE_TOO_LONG}|ContextOverflowError", Cause.TOO_LONG),
        (r"must provide a message or a command|^opencode run \[message", Cause.BAD_FLAGS),
        (r"invalid[_ ]api[_ ]key|unauthorized|not logged in", Cause.AUTH),
        (r"rate limit|usage limit|quota", Cause.RATE_LIMITED),
        (r"Unable to connect|Connection ?refused|ECONNRE|fetch failed|APIError", Cause.API_ERROR),
    ),
    metering=Metering.AT_ONCE,
    keeps_ids=True,
    api_seconds=API_SECONDS,
    home=Home(
        parts=(
            HomePart(
                variable="XDG_DATA_HOME",
                folder=".local/share",
                inside="opencode",
                linked=("auth.json",),
            ),
            HomePart(variable="XDG_STATE_HOME", folder=".local/state", inside="opencode"),
            HomePart(variable="XDG_CACHE_HOME", folder=".cache", inside="opencode"),
        ),
        fenced=(  # it writes a .gitignore there, or ends (measured)
            HomePart(
                variable="XDG_CONFIG_HOME",
                folder=".config",
                inside="opencode",
                copied=(
                    *("opencode.json", "opencode.jsonc", "config.json", "AGENTS.md", "tui.json"),
                    *("agent", "agents", "command", "commands", "mode", "modes", "plugin"),
                    *("plugins", "skill", "skills", "tool", "tools", "themes"),
                ),
            ),
        ),
    ),
    warm_up=WarmUp(arguments=("db", "path"), makes="opencode.db"),
    questions=Questions(
        helps=(("run", "--help"), ("--help",)),
        key_variables=("OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
        login="Run `opencode auth login`.",
        login_files=LoginFiles(
            folder=".local/share/opencode",
            folder_variable="XDG_DATA_HOME",
            inside="opencode",
            credentials="auth.json",
            also=LoginFiles(
                folder=".config/opencode",
                folder_variable="XDG_CONFIG_HOME",
                inside="opencode",
                settings="opencode.json",
                settings_key="provider.*.options.apiKey",
            ),
        ),
        quiet={"OPENCODE_DISABLE_AUTOUPDATE": "true"},
    ),
    narrow_rights=True,
    fence=Fence.RULES,
    tried=Tried(
        versions=("1.18.33",),
        spawn=Evidence.REAL,
        resume=Evidence.REAL,
        sandbox=Evidence.REAL,
    ),
)
