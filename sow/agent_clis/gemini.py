"""Google's `gemini`. Measured with 0.61.0 against a model server of ours."""

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
    ShellTimeout,
    Tried,
)
from sow.schema.causes import Cause
from sow.schema.executor_type import HomeUse

POLICY = Refusal(
    "the commands that an agent may run are for sow to choose",
    "Put your own rules into the folder policies of your ~/.gemini.",
)

CLI = AgentCli(
    title="Gemini executor",
    built_in="gemini",
    binary="gemini",
    install="Install gemini: npm install -g @google/gemini-cli",
    remedy="Allow it by a rule in the folder policies of your ~/.gemini,"
    " or set agents.executors.{name}.settings.yolo_mode: true.",
    settings={
        "yolo_mode": Setting("true", "Nothing is asked and nothing refused"),
        "model": Setting('"gemini-2.5-pro"', "As `gemini -m` takes it"),
    },
    reserved_flags={
        "--": PROMPT,
        "-p": PROMPT,
        "--prompt": PROMPT,
        "-i": PROMPT,
        "--prompt-interactive": PROMPT,
        "-o": OUTPUT,
        "--output-format": OUTPUT,
        "--acp": OUTPUT,
        "--experimental-acp": OUTPUT,
        "--session-id": SESSION,
        "--session-file": SESSION,
        "-r": SESSION,
        "--resume": SESSION,
        "-w": FOLDER,
        "--worktree": FOLDER,
        "-y": YOLO,
        "--yolo": YOLO,
        "--approval-mode": YOLO,
        "--policy": POLICY,
        "--admin-policy": POLICY,
        "-m": MODEL,
        "--model": MODEL,
    },
    nesting_markers=("GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH"),
    replaced_variables=(  # a git that its agent runs has no settings of the user's (measured)
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT"),
    ),
    shell_timeout=ShellTimeout(  # without any output (measured); a setting of its own changes it
        marker="GEMINI_CLI", milliseconds_variable="", default_seconds=300.0
    ),
    words=(
        (r"Session ID \S+ already exists", Cause.SESSION_IN_USE),
        (r"Invalid session identifier|No previous sessions found", Cause.SESSION_UNKNOWN),
        (r"Invalid auth method|API key not valid|set an Auth method", Cause.AUTH),
        (r"must specify the GEMINI_API_KEY|Manual authorization is required", Cause.AUTH),
        (r"is not found for API version|model \S+ (was )?not found", Cause.BAD_MODEL),
        (SERVICE_TOO_LONG, Cause.TOO_LONG),
        (r"Unknown arguments?:|No input provided|not running in a trusted", Cause.BAD_FLAGS),
        (r"exhausted your (daily )?quota|RESOURCE_EXHAUSTED|quota exceeded", Cause.RATE_LIMITED),
        (r"API Error|Invalid ?stream|fetch failed|ECONNRE", Cause.API_ERROR),
    ),
    metering=Metering.AT_END,
    keeps_ids=True,
    api_seconds=API_SECONDS,
    home=Home(
        parts=(
            HomePart(
                variable="GEMINI_CLI_HOME",
                folder="",
                inside=".gemini",
                linked=(
                    *("oauth_creds.json", "google_accounts.json"),
                    *("gemini-credentials.json", "mcp-oauth-tokens.json"),
                ),
                copied=(
                    *("settings.json", "GEMINI.md", ".env", "extensions", "skills", "agents"),
                    *("acknowledgments", "installation_id", "trustedFolders.json"),
                    *("trusted_hooks.json", "extension_integrity.json"),
                ),
            ),
        ),
        use=HomeUse.PER_SESSION,
        why="a command of sow's lies there, which passes a prompt on as it is",
        shared_danger="At its start Gemini CLI removes a session that another run has just"
        " resumed. Put general.sessionRetention.enabled: false into your settings.json.",
    ),
    questions=Questions(
        helps=(("--help",),),
        key_variables=(
            *("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            *("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"),
        ),
        login="Run `gemini` in a terminal and log in there (/auth).",
        login_files=LoginFiles(
            folder=".gemini",
            folder_variable="GEMINI_CLI_HOME",
            inside=".gemini",
            credentials="oauth_creds.json",
            others=("gemini-credentials.json",),
            hidden_on=("darwin", "win32"),  # it prefers the system's store of keys
        ),
        # It writes a file to its folder even when it is asked for its version (measured).
        quiet={"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_HOME": "/dev/null"},
    ),
    narrow_rights=True,
    fence=Fence.RULES,
    tried=Tried(
        versions=("0.61.0",),
        spawn=Evidence.REAL,
        resume=Evidence.REAL,
        sandbox=Evidence.REAL,
    ),
)
