"""GitHub's `copilot`. Measured with 1.0.102 against a model server of ours (its own provider)."""

from sow.agent_clis.description import (
    FOLDER,
    MODEL,
    OUTPUT,
    PROMPT,
    SESSION,
    YOLO,
    AgentCli,
    Fence,
    Home,
    HomePart,
    LoginFiles,
    Questions,
    Setting,
)
from sow.schema.causes import Cause

CLI = AgentCli(
    title="Copilot executor",
    built_in="copilot",
    binary="copilot",
    install="Install copilot: npm install -g @github/copilot",
    remedy="Add it to agents.executors.{name}.settings.allowed_tools, such as"
    " shell(make test:*), or set yolo_mode: true there.",
    settings={
        "yolo_mode": Setting("true", "Nothing is asked and nothing refused"),
        "model": Setting('"claude-sonnet-4.5"', "As `copilot --model` takes it"),
        "allowed_tools": Setting('["shell(make test:*)"]', "What it may run without yolo_mode"),
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
        "--session-id": SESSION,
        "--resume": SESSION,
        "--continue": SESSION,
        "-C": FOLDER,
        "--allow-all": YOLO,
        "--yolo": YOLO,
        "--allow-all-tools": YOLO,
        "--allow-all-paths": YOLO,
        "--model": MODEL,
    },
    nesting_markers=("COPILOT_CLI", "COPILOT_AGENT_SESSION_ID", "COPILOT_RUN_APP"),
    words=(
        (r"No session, task, or name matched", Cause.SESSION_UNKNOWN),
        (r"Authentication failed|No authentication information|not logged in", Cause.AUTH),
        (r"authentication|unauthorized", Cause.AUTH),
        (r"model .*(not available|not supported|not found|does not exist)", Cause.BAD_MODEL),
        (r"unknown option|argument missing|No prompt provided|is invalid", Cause.BAD_FLAGS),
        (r"rate.?limit|quota|premium requests", Cause.RATE_LIMITED),
        (r"No response was returned|fetch failed|ECONNRE|Connection error", Cause.API_ERROR),
    ),
    keeps_ids=True,
    api_seconds=15 * 60.0,
    home=Home(
        parts=(
            HomePart(
                variable="COPILOT_HOME",
                folder=".copilot",
                linked=("config.json",),
                copied=("settings.json", "mcp-config.json", "copilot-instructions.md", "agents"),
            ),
        ),
    ),
    questions=Questions(
        helps=(("--help",),),
        key_variables=(
            *("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
            "COPILOT_PROVIDER_API_KEY",
        ),
        login="Run `copilot` in a terminal and log in there (/login).",
        login_files=LoginFiles(
            folder=".copilot", folder_variable="COPILOT_HOME", credentials="config.json"
        ),
    ),
    narrow_rights=True,
    fence=Fence.RULES,
)
