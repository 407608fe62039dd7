"""GitHub's `copilot`. Measured with 1.0.102 against a model server of ours (its own provider)."""

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
    Questions,
    Setting,
    Tried,
)
from sow.schema.causes import Cause

CLI = AgentCli(
    title="Copilot executor",
    built_in="copilot",
    binary="copilot",
    install="Install copilot: npm install -g @github/copilot",
    remedy="Add the program to agents.executors.{name}.settings.allowed_tools, such as"
    " shell(make:*), or set yolo_mode: true there.",
    settings={
        "yolo_mode": Setting("true", "Nothing is asked and nothing refused"),
        "model": Setting('"claude-sonnet-4.5"', "As `copilot --model` takes it"),
        "allowed_tools": Setting('["shell(make:*)"]', "What it may run without yolo_mode"),
    },
    reserved_flags={
        "--": PROMPT,
        "-p": PROMPT,
        "--prompt": PROMPT,
        "-i": PROMPT,
        "--interactive": PROMPT,
        "--output-format": OUTPUT,
        "-s": OUTPUT,
        "--silent": OUTPUT,
        "--acp": OUTPUT,
        "--session-id": SESSION,
        "-r": SESSION,
        "--resume": SESSION,
        "--continue": SESSION,
        "--connect": SESSION,
        "-C": FOLDER,
        "--worktree": FOLDER,
        "--allow-all": YOLO,
        "--yolo": YOLO,
        "--allow-all-tools": YOLO,
        "--allow-all-paths": YOLO,
        "--model": MODEL,
    },
    nesting_markers=(
        *("COPILOT_CLI", "COPILOT_CLI_BINARY_VERSION", "COPILOT_CLI_RESOLVED_DIST_DIR"),
        *("COPILOT_LOADER_PID", "COPILOT_AGENT_SESSION_ID", "COPILOT_RUN_APP"),
    ),
    replaced_variables=("GIT_CONFIG_COUNT",),  # it adds three settings of git (measured)
    words=(
        (r"No session, task, or name matched", Cause.SESSION_UNKNOWN),
        (r"network fetch failed|Could not connect to|No response was returned", Cause.API_ERROR),
        (r"Authentication failed|No authentication information|not logged in", Cause.AUTH),
        (r"could not be validated|Personal Access Tokens|requires authentication", Cause.AUTH),
        (r"authentication|unauthorized", Cause.AUTH),
        (r"model .*(not available|not supported|not found|does not exist)", Cause.BAD_MODEL),
        (r"require an explicit model|requires a local model provider", Cause.BAD_MODEL),
        (rf"{SERVICE_TOO_LONG}|exceeds the model's prompt budget", Cause.TOO_LONG),
        (
            r"unexpected argument|unknown option|argument missing|Invalid --\S+ value",
            Cause.BAD_FLAGS,
        ),
        (r"No prompt provided|is invalid|not a valid UUID", Cause.BAD_FLAGS),
        (r"rate.?limit|quota|premium requests|AI credit", Cause.RATE_LIMITED),
        (r"fetch failed|ECONNRE|Connection error|Failed to get response", Cause.API_ERROR),
    ),
    keeps_ids=True,
    api_seconds=API_SECONDS,
    home=Home(
        parts=(
            HomePart(
                variable="COPILOT_HOME",
                folder=".copilot",
                linked=("config.json",),
                copied=(
                    *("settings.json", "mcp-config.json", "copilot-instructions.md"),
                    *("agents", "hooks", "instructions", "skills", "installed-plugins"),
                ),
            ),
        ),
        fenced=(  # it unpacks itself there, or ends; what has its version it only reads (measured)
            HomePart(
                variable="COPILOT_CACHE_HOME",
                folder=".cache/copilot",
                shared=("pkg/linux-x64", "pkg/linux-arm64"),
            ),
        ),
    ),
    questions=Questions(
        helps=(("--help",),),
        key_variables=(
            *("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
            *("COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BASE_URL"),
        ),
        login="Run `copilot login`, or log in with `gh auth login`.",
        login_files=LoginFiles(
            folder=".copilot",
            folder_variable="COPILOT_HOME",
            settings="config.json",
            settings_key="loggedInUsers",
            hidden_on=("linux", "darwin"),  # in gh's files
        ),
    ),
    narrow_rights=True,
    fence=Fence.RULES,
    tried=Tried(
        versions=("1.0.102",),
        spawn=Evidence.REAL,
        resume=Evidence.REAL,
        sandbox=Evidence.REAL,
    ),
)
