"""Alibaba's `qwen`. Measured with 0.24.4 against a model server of ours; it needs Node.js 22."""

from sow.agent_clis.description import (
    FOLDER,
    MODEL,
    OUTPUT,
    PROMPT,
    SESSION,
    YOLO,
    AgentCli,
    Home,
    HomePart,
    LoginFiles,
    Metering,
    Questions,
    Setting,
)
from sow.schema.causes import Cause

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
        "-w": FOLDER,
        "--worktree": FOLDER,
        "-y": YOLO,
        "--yolo": YOLO,
        "--approval-mode": YOLO,
        "-m": MODEL,
        "--model": MODEL,
    },
    nesting_markers=("QWEN_CODE", "QWEN_CODE_NO_RELAUNCH"),
    words=(
        (r"Session Id \S+ already exists", Cause.SESSION_IN_USE),
        (r"No saved session found with ID", Cause.SESSION_UNKNOWN),
        (r"Invalid auth method|Missing API key|API key .*(missing|not found)|401", Cause.AUTH),
        (r"model \S+ (was )?(not found|does not exist)", Cause.BAD_MODEL),
        (r"Unknown arguments?:|No input provided|Invalid --", Cause.BAD_FLAGS),
        (r"quota exceeded|rate limit|429", Cause.RATE_LIMITED),
        (r"API Error|empty response text|Connection error|fetch failed|ECONNRE", Cause.API_ERROR),
    ),
    metering=Metering.AT_ONCE,
    keeps_ids=True,
    api_seconds=15 * 60.0,
    home=Home(
        parts=(
            HomePart(
                variable="QWEN_HOME",
                folder=".qwen",
                linked=("oauth_creds.json",),
                copied=(
                    *("settings.json", "QWEN.md", ".env", "commands", "extensions", "skills"),
                    *("agents", "trustedFolders.json", "installation_id"),
                ),
            ),
        ),
    ),
    questions=Questions(
        helps=(("--help",),),
        key_variables=("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "GEMINI_API_KEY"),
        login="Run `qwen` in a terminal and log in there (/auth).",
        login_files=LoginFiles(
            folder=".qwen", folder_variable="QWEN_HOME", credentials="oauth_creds.json"
        ),
    ),
    narrow_rights=True,
)
