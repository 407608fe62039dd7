"""Claude Code. Sources: its own reference, and runs of 2.1.197 and 2.1.330.

Its folder, measured with 2.1.330:
* CLAUDE_CONFIG_DIR names it. `.claude.json`, with which folders are trusted, lies in it then, else
  in HOME. Transcripts lie in it: a session of another folder is unknown.
* A login whose time is over is renewed by a new file, which takes the place of a link. Eight
  sessions with links renew it eight times, each with the same token. With
  CLAUDE_SECURESTORAGE_CONFIG_DIR they share the user's, and renew it once; an empty one means
  `~/.claude`.
* Of a repository below HOME it reads `~/.claude/CLAUDE.md` and `~/.claude/rules` as those of an
  outer folder too: copies would reach the model twice, links do so once.
* Plugins need three files: the settings, and two lists with whole paths.
"""

from sow.agent_clis.description import (
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

TOOLS = Refusal(
    "it is what settings.allowed_tools adds to", "Move the tools to settings.allowed_tools."
)
MONEY_FLAG = "--max-budget-usd"
"""What ends a run that has cost so much."""
BUDGET = Refusal(
    "it is what a budget decides, and sow counts by it",
    "Remove it; `--budget usd=5`, or budget: {usd: 5} of the executor, sets one.",
)

CLI = AgentCli(
    title="Claude Code executor",
    built_in="claude-code",
    binary="claude",
    install="Install claude: npm install -g @anthropic-ai/claude-code",
    remedy="Add it to agents.executors.{name}.settings.allowed_tools,"
    " or set yolo_mode: true there. Of Bash name single commands, such as"
    " Bash(make test:*): Bash alone allows every command.",
    settings={
        "yolo_mode": Setting("true", "Skip permission prompts"),
        "model": Setting('"sonnet"', 'or "opus", "haiku"'),
        "allowed_tools": Setting('["Bash(make test:*)"]', "What it may run without yolo_mode"),
    },
    reserved_flags={
        "--": PROMPT,
        "-p": PROMPT,
        "--print": PROMPT,
        "--output-format": OUTPUT,
        "--input-format": OUTPUT,
        "--session-id": SESSION,
        "-r": SESSION,
        "--resume": SESSION,
        "-c": SESSION,
        "--continue": SESSION,
        "--fork-session": SESSION,
        "--no-session-persistence": SESSION,
        "-w": FOLDER,
        "--worktree": FOLDER,
        "--permission-mode": YOLO,
        "--dangerously-skip-permissions": YOLO,
        "--allow-dangerously-skip-permissions": YOLO,
        "--allowedTools": TOOLS,
        "--allowed-tools": TOOLS,
        "--model": MODEL,
        MONEY_FLAG: BUDGET,
    },
    metering=Metering.AT_ONCE,
    nesting_markers=(
        "CLAUDECODE",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SSE_PORT",
        "AI_AGENT",
    ),
    shell_timeout=ShellTimeout(  # measured, 2.1.197
        marker="CLAUDECODE",
        milliseconds_variable="BASH_DEFAULT_TIMEOUT_MS",
        default_seconds=120.0,
    ),
    words=(  # measured
        (r"Session ID \S+ is already in use", Cause.SESSION_IN_USE),
        (r"No conversation found with session ID", Cause.SESSION_UNKNOWN),
        (r"Not logged in|Please run /login|Failed to authenticate|Invalid API key", Cause.AUTH),
        (r"OAuth token (has )?(expired|been revoked)|Credit balance is too low", Cause.AUTH),
        (r"issue with the selected model|model_not_found", Cause.BAD_MODEL),
        (SERVICE_TOO_LONG, Cause.TOO_LONG),
        (r"unknown option|argument missing|is invalid\. Allowed choices", Cause.BAD_FLAGS),
        (r"Invalid session ID|requires a valid session ID", Cause.BAD_FLAGS),
        (r"requires --verbose|can only be used with|cannot be used with root", Cause.BAD_FLAGS),
        (r"Input must be provided", Cause.BAD_FLAGS),
        (r"(usage|hour|session|weekly) limit reached|hit your ([\w-]+ )?limit", Cause.RATE_LIMITED),
        (r"Request rejected \(429\)", Cause.RATE_LIMITED),
        (r"Reached max(imum number of)? turns", Cause.NO_STATUS),
        (r"Reached maximum budget", Cause.BUDGET_REACHED),
        (r"API Error|Unable to connect|Connection ?refused|ECONNRE|fetch failed", Cause.API_ERROR),
    ),
    reset_time=r"limit reached\|(\d{10})\b",  # older builds end their words on a limit with it
    home=Home(
        parts=(
            HomePart(
                variable="CLAUDE_CONFIG_DIR",
                folder=".claude",
                linked=(".credentials.json",),
                mirrored=("CLAUDE.md", "rules"),
                copied=(
                    *("settings.json", "agents", "commands", "skills", "output-styles"),
                    *("workflows", "plugins/installed_plugins.json"),
                    "plugins/known_marketplaces.json",
                ),
                beside=(".claude.json",),
                login_variable="CLAUDE_SECURESTORAGE_CONFIG_DIR",
            ),
        ),
    ),
    questions=Questions(
        helps=(("--help",),),
        key_variables=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        login="Run `claude` in a terminal and log in there (/login).",
        login_files=LoginFiles(
            folder=".claude",
            folder_variable="CLAUDE_CONFIG_DIR",
            credentials=".credentials.json",
            settings="settings.json",
            settings_key="apiKeyHelper",
            hidden_on=("darwin",),  # there the keychain has it
        ),
        quiet={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
    ),
    narrow_rights=True,
    fence=Fence.RULES,
    tried=Tried(
        versions=("2.1.197", "2.1.330"),
        spawn=Evidence.REAL,
        resume=Evidence.REAL,
        open=Evidence.REAL,
        sandbox=Evidence.REAL,
    ),
)
