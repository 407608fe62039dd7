"""Alibaba's `qwen`. Measured with 0.24.4 against a model server of ours; it needs Node.js 22."""

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
    Setting,
    ShellTimeout,
    Tried,
)
from sow.schema.causes import Cause
from sow.schema.executor_type import HomeUse

CLI = AgentCli(
    title="Qwen Code executor",
    built_in="qwen",
    binary="qwen",
    install="Install qwen (it needs Node.js 22): npm install -g @qwen-code/qwen-code",
    remedy="Add it to agents.executors.{name}.settings.allowed_tools, such as"
    " run_shell_command(make test), or set yolo_mode: true there.",
    settings={
        "yolo_mode": Setting("true", "Nothing is asked and nothing refused"),
        "model": Setting('"qwen3-coder-plus"', "As `qwen -m` takes it"),
        "allowed_tools": Setting(
            '["run_shell_command(make test)"]', "What it may run without yolo_mode"
        ),
    },
    reserved_flags={
        "--": PROMPT,
        "-p": PROMPT,
        "--prompt": PROMPT,
        "-i": PROMPT,
        "--prompt-interactive": PROMPT,
        "-o": OUTPUT,
        "--output-format": OUTPUT,
        "--input-format": OUTPUT,
        "--session-id": SESSION,
        "-r": SESSION,
        "--resume": SESSION,
        "-c": SESSION,
        "--continue": SESSION,
        "--fork-session": SESSION,
        "--chat-recording": SESSION,
        "--no-chat-recording": SESSION,
        "-w": FOLDER,
        "--worktree": FOLDER,
        "-y": YOLO,
        "--yolo": YOLO,
        "--approval-mode": YOLO,
        "-m": MODEL,
        "--model": MODEL,
    },
    nesting_markers=(
        *("QWEN_CODE", "QWEN_CODE_NO_RELAUNCH", "QWEN_CODE_CLI", "QWEN_CODE_LAUNCHER_PID"),
        *("QWEN_CODE_MANAGED_NPM_ROOT", "QWEN_CODE_MANAGED_NPM_PIN", "QWEN_CODE_STARTUP_VERSION"),
        *("QWEN_CODE_SESSION_ID", "QWEN_CODE_PROMPT_ID", "QWEN_CODE_AGENT_ID"),
        *("QWEN_CODE_MODEL", "QWEN_CODE_MODEL_IDENTITY", "QWEN_CODE_PROJECT_DIR"),
        "QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE",
    ),
    shell_timeout=ShellTimeout(  # measured; only a setting or the call itself changes it
        marker="QWEN_CODE", milliseconds_variable="", default_seconds=120.0
    ),
    words=(
        (r"Session Id \S+ already exists", Cause.SESSION_IN_USE),
        (r"No saved session found with ID", Cause.SESSION_UNKNOWN),
        (r"No auth type is selected|Invalid auth method|Missing API key", Cause.AUTH),
        (r"API key .*(missing|not found)|free tier has been discontinued", Cause.AUTH),
        (r"API Error: 404\b|model \S+ (was )?(not found|does not exist)", Cause.BAD_MODEL),
        (rf"{SERVICE_TOO_LONG}|Context is too large", Cause.TOO_LONG),
        (r"Unknown arguments?:|No input provided|Invalid --", Cause.BAD_FLAGS),
        (r"^-h, --help\s+Show help", Cause.BAD_FLAGS),
        (r"quota (exceeded|exhausted)|rate limit|API Error: (429|503|529)\b", Cause.RATE_LIMITED),
        (r"API Error|empty response text|Connection error|fetch failed|ECONNRE", Cause.API_ERROR),
    ),
    metering=Metering.AT_ONCE,
    keeps_ids=True,
    api_seconds=API_SECONDS,
    home=Home(
        parts=(
            HomePart(
                variable="QWEN_HOME",
                folder=".qwen",
                linked=(
                    *("oauth_creds.json", "mcp-oauth-tokens.json", "mcp-oauth-tokens-v2.json"),
                ),
                copied=(
                    *("settings.json", "QWEN.md", "AGENTS.md", ".env", "trustedFolders.json"),
                    *("commands", "extensions", "skills", "agents", "rules", "workflows"),
                    *("output-styles", "output-language.md", "installation_id"),
                ),
            ),
        ),
        use=HomeUse.PER_SESSION,
        why="the command that passes a prompt on as it stands lies there",
    ),
    questions=Questions(
        helps=(("--help",),),
        key_variables=(
            *("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"),
            *("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
        login="Run `qwen` in a terminal and log in there (/auth).",
        login_files=LoginFiles(
            folder=".qwen",
            folder_variable="QWEN_HOME",
            credentials="oauth_creds.json",
            settings="settings.json",
            settings_key="security",
        ),
    ),
    narrow_rights=True,
    fence=Fence.NONE,
    tried=Tried(
        versions=("0.24.4",),
        spawn=Evidence.REAL,
        resume=Evidence.REAL,
        sandbox=Evidence.REAL,
    ),
)
