"""OpenAI's `codex`, run as `codex exec`. Measured with 0.171.0 against a model server of ours."""

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
)
from sow.schema.causes import Cause
from sow.schema.executor_type import HomeUse

RULES = Refusal(
    "the commands that an agent may run outside the sandbox are for sow to choose",
    "Put your own rules into the folder rules of your Codex home: sessions get a copy of them.",
)

CLI = AgentCli(
    title="Codex executor",
    built_in="codex",
    binary="codex",
    install="Install codex: npm install -g @openai/codex",
    remedy="Allow the command in a file of the folder rules in your Codex home"
    ' (prefix_rule(pattern=["make", "test"], decision="allow")),'
    " or set agents.executors.{name}.settings.yolo_mode: true.",
    settings={
        "yolo_mode": Setting("true", "No sandbox, and nothing is refused"),
        "model": Setting('"gpt-5-codex"', "As `codex -m` takes it"),
    },
    reserved_flags={
        "--": PROMPT,
        "-": PROMPT,
        "exec": PROMPT,
        "resume": SESSION,
        "fork": SESSION,
        "--last": SESSION,
        "--ephemeral": SESSION,
        "--json": OUTPUT,
        "--experimental-json": OUTPUT,
        "-C": FOLDER,
        "--cd": FOLDER,
        "--worktree": FOLDER,
        "-s": YOLO,
        "--sandbox": YOLO,
        "--full-auto": YOLO,
        "--approve-for-me": YOLO,
        "--dangerously-bypass-approvals-and-sandbox": YOLO,
        "--ignore-rules": RULES,
        "-m": MODEL,
        "--model": MODEL,
    },
    nesting_markers=(
        *("CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_VERSION"),
        *("CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID"),
        *("CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS", "CODEX_MANAGED_BY_NPM"),
        "CODEX_MANAGED_PACKAGE_ROOT",
    ),
    words=(
        (r"no rollout found for thread id", Cause.SESSION_UNKNOWN),
        (r"already has an active writer", Cause.SESSION_IN_USE),
        (r"hit your usage limit|last status: 429|usage_limit_reached", Cause.RATE_LIMITED),
        (r"status 40[13]|Missing environment variable|Not logged in", Cause.AUTH),
        (r"refresh token|please (log|sign) in again", Cause.AUTH),
        (r"model .*(not supported|does not exist|not allowed|not found)", Cause.BAD_MODEL),
        (rf"{SERVICE_TOO_LONG}|Input exceeds the maximum length", Cause.TOO_LONG),
        (r"unexpected argument|unrecognized subcommand|invalid value", Cause.BAD_FLAGS),
        (r"No prompt provided|unknown configuration|Error loading config", Cause.BAD_FLAGS),
        (r"unexpected status (400|5\d\d)|high demand|stream (disconnected|error)", Cause.API_ERROR),
        (r"error sending request|Connection ?refused|timed? ?out waiting", Cause.API_ERROR),
    ),
    metering=Metering.AT_END,
    keeps_ids=True,
    api_seconds=API_SECONDS,
    home=Home(
        parts=(
            HomePart(
                variable="CODEX_HOME",
                folder=".codex",
                linked=("auth.json",),
                copied=(
                    *("config.toml", "AGENTS.md", "AGENTS.override.md"),
                    *("rules", "skills", "prompts"),
                ),
            ),
        ),
        use=HomeUse.PER_SESSION,
        why="the rules that let its agent report lie there, and differ by role",
        shared_danger="If several runs begin at the same moment, some of them cannot run any"
        " command. sow runs these again, as after a crash.",
    ),
    questions=Questions(
        helps=(("exec", "--help"), ("--help",)),
        key_variables=("CODEX_API_KEY", "OPENAI_API_KEY"),
        login="Run `codex login`.",
        login_files=LoginFiles(
            folder=".codex", folder_variable="CODEX_HOME", credentials="auth.json"
        ),
    ),
    narrow_rights=True,
    fence=Fence.SANDBOX,
    tried=Tried(
        versions=("0.171.0",),
        spawn=Evidence.REAL,
        resume=Evidence.REAL,
        open=Evidence.REAL,
        sandbox=Evidence.REAL,
    ),
)
