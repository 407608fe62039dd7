"""The contract's table: what each executor promises, with the exact command line it is held to.

`test_contract.py` asserts every row; `compatibility.py` prints them as
`docs/compatibility.md`. A row says how far it has been tried.
"""

import json
from importlib import import_module
from pathlib import Path

from case_forms import DOCS, REAL, STAND_IN, UUID, Case, Fault, SessionRow

from sow.executors.cursor import Dialect
from sow.executors.opencode import PERMISSIONS as OPENCODE_PERMISSIONS
from sow.executors.session import Session, SessionSource
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Cause, Verb

COMMANDS = ("task show", "task set", "agent log", "prompt")
"""Of sow, that the agent of each case may run."""
SOW_RULES = "Bash(sow task show:*),Bash(sow task set:*),Bash(sow agent log:*),Bash(sow prompt:*)"
CLAUDE = ("claude", "-p", "--output-format", "stream-json", "--verbose")
CURSOR = ("cursor-agent", "-p", "--trust", "--output-format", "stream-json")
ASKING = ("--permission-mode", "acceptEdits", "--allowedTools")


def _claude(**settings: object) -> ExecutorConfig:
    return ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE, **settings)


def _of(type_: ExecutorType, **settings: object) -> ExecutorConfig:
    return ExecutorConfig(name=str(type_), type=type_, **settings)


def _cursor(**settings: object) -> ExecutorConfig:
    return ExecutorConfig(name="cursor", type=ExecutorType.CURSOR, **settings)


def _windsurf(**settings: object) -> ExecutorConfig:
    return ExecutorConfig(name="windsurf", type=ExecutorType.WINDSURF, **settings)


def _command(**settings: object) -> ExecutorConfig:
    return ExecutorConfig(name="my-agent", type=ExecutorType.COMMAND, **settings)


CHOSEN = Session(UUID)
TODAY = Session(UUID, Dialect.PRINT)
SEEDS = Session(UUID, Dialect.CHAT_ID)
EVERYTHING = {"yolo_mode": True, "model": "sonnet", "custom_args": ("--effort", "low")}

NATIVE = {"yolo_mode": True, "model": "m-1", "custom_args": ("--effort", "low")}
CODEX_SETTINGS = ("-c", "allow_login_shell=false", "-c", "analytics.enabled=false")
CODEX = ("codex", "exec", "--json", "--skip-git-repo-check")
WRITES = ("-s", "workspace-write", "--add-dir", "/repo/.sow")
GEMINI_POLICY = ("--policy", "/run/gemini-policy.toml", "-o", "stream-json")
GEMINI_ENV = (("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("GEMINI_CLI_NO_RELAUNCH", "true"))
QWEN_ENV = (("QWEN_CODE_SYSTEM_DEFAULTS_PATH", "/run/qwen-defaults.json"),)
QWEN_FILES = ("edit(/**)", "write_file(/**)", "notebook_edit(/**)")
QWEN_RULES = ",".join((*(f"run_shell_command(sow {command})" for command in COMMANDS), *QWEN_FILES))
QWEN_EXCLUDED = ("--exclude-tools", "edit(/.git/**)")
COPILOT = ("copilot", "--output-format", "json")
COPILOT_RULES = ("--allow-tool", "shell(sow:*)", "write", "--deny-tool", "write(/repo/.git/**)")
COPILOT_ENV = (("COPILOT_ALLOW_ALL", "false"),)
COPILOT_ARGS = {"custom_args": ("--reasoning-effort", "low")}
OPENCODE = ("opencode", "run", "--format", "json")
OPENCODE_TITLE = ("--title", "sow-010")
OPENCODE_RIGHTS = {
    "bash": {
        "sow prompt *": "allow",
        **{f"sow {command} *": "allow" for command in COMMANDS if command != "prompt"},
    },
    "read": {"*": "allow", "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"},
    "edit": {"*": "allow", "../*": "deny", ".git/*": "deny", "*/.git/*": "deny"},
    **dict.fromkeys(("glob", "grep", "list", "todowrite"), "allow"),
    "external_directory": {"*/opencode/tool-output/*": "allow"},
}
OPENCODE_ENV = (
    ("OPENCODE_PERMISSION", json.dumps(dict.fromkeys(OPENCODE_PERMISSIONS, "deny"))),
    (
        "OPENCODE_CONFIG_CONTENT",
        json.dumps({"agent": {"sow": {"mode": "primary", "permission": OPENCODE_RIGHTS}}}),
    ),
)

CASES: tuple[Case, ...] = (
    Case(
        title="spawn",
        executor="codex",
        config=_of(ExecutorType.CODEX),
        verb=Verb.SPAWN,
        argv=(*CODEX, *WRITES, *CODEX_SETTINGS, "-"),
        evidence=REAL,
    ),
    Case(
        title="resume",
        executor="codex",
        config=_of(ExecutorType.CODEX),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(*CODEX, *WRITES, *CODEX_SETTINGS, "resume", UUID, "-"),
        evidence=REAL,
    ),
    Case(
        title="resume, `yolo_mode`, `model` and `custom_args`",
        executor="codex",
        config=_of(ExecutorType.CODEX, **NATIVE),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(
            *CODEX,
            "--dangerously-bypass-approvals-and-sandbox",
            *CODEX_SETTINGS,
            *("-m", "m-1", "--effort", "low", "resume", UUID, "-"),
        ),
        evidence=DOCS,
    ),
    Case(
        title="open",
        executor="codex",
        config=_of(ExecutorType.CODEX),
        verb=Verb.OPEN,
        session=CHOSEN,
        argv=("codex", "resume", UUID, *WRITES, *CODEX_SETTINGS),
        evidence=REAL,
    ),
    Case(
        title="spawn",
        executor="gemini",
        config=_of(ExecutorType.GEMINI),
        verb=Verb.SPAWN,
        session=CHOSEN,
        argv=(
            *("gemini", "--approval-mode", "default", *GEMINI_POLICY),
            *("--session-id", UUID),
        ),
        env=GEMINI_ENV,
        evidence=REAL,
    ),
    Case(
        title="resume, `yolo_mode`, `model` and `custom_args`",
        executor="gemini",
        config=_of(ExecutorType.GEMINI, **NATIVE),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(
            *("gemini", "-y", *GEMINI_POLICY, "-m", "m-1"),
            *("--resume", UUID, "--effort", "low"),
        ),
        env=GEMINI_ENV,
        evidence=REAL,
    ),
    Case(
        title="spawn",
        executor="opencode",
        config=_of(ExecutorType.OPENCODE),
        verb=Verb.SPAWN,
        argv=(*OPENCODE, "--agent", "sow", *OPENCODE_TITLE, "--dir", "/repo"),
        env=OPENCODE_ENV,
        evidence=REAL,
    ),
    Case(
        title="resume",
        executor="opencode",
        config=_of(ExecutorType.OPENCODE),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(*OPENCODE, "--agent", "sow", "-s", UUID, "--dir", "/repo"),
        env=OPENCODE_ENV,
        evidence=REAL,
    ),
    Case(
        title="resume, `yolo_mode`, `model` and `custom_args`",
        executor="opencode",
        config=_of(
            ExecutorType.OPENCODE,
            yolo_mode=True,
            model="told/told-1",
            custom_args=("--variant", "low"),
        ),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(
            *(*OPENCODE, "--auto", "-m", "told/told-1"),
            *("-s", UUID, "--dir", "/repo", "--variant", "low"),
        ),
        evidence=REAL,
    ),
    Case(
        title="spawn",
        executor="qwen",
        config=_of(ExecutorType.QWEN),
        verb=Verb.SPAWN,
        session=CHOSEN,
        argv=(
            *("qwen", "-o", "stream-json", "--approval-mode", "default"),
            *("--allowed-tools", QWEN_RULES, *QWEN_EXCLUDED, "--session-id", UUID),
        ),
        env=QWEN_ENV,
        evidence=REAL,
    ),
    Case(
        title="resume",
        executor="qwen",
        config=_of(ExecutorType.QWEN),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(
            *("qwen", "-o", "stream-json", "--approval-mode", "default"),
            *("--allowed-tools", QWEN_RULES, *QWEN_EXCLUDED, "--resume", UUID),
        ),
        env=QWEN_ENV,
        evidence=REAL,
    ),
    Case(
        title="spawn, `allowed_tools`",
        executor="qwen",
        config=_of(ExecutorType.QWEN, allowed_tools=("run_shell_command(make test)",)),
        verb=Verb.SPAWN,
        session=CHOSEN,
        argv=(
            *("qwen", "-o", "stream-json", "--approval-mode", "default"),
            *("--allowed-tools", f"{QWEN_RULES},run_shell_command(make test)"),
            *(*QWEN_EXCLUDED, "--session-id", UUID),
        ),
        env=QWEN_ENV,
        evidence=REAL,
    ),
    Case(
        title="resume, `yolo_mode`, `model` and `custom_args`",
        executor="qwen",
        config=_of(
            ExecutorType.QWEN,
            yolo_mode=True,
            model="m-1",
            custom_args=("--auth-type", "openai"),
        ),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(
            *("qwen", "-o", "stream-json", "--approval-mode", "yolo", "-m", "m-1"),
            *("--resume", UUID, "--auth-type", "openai"),
        ),
        env=QWEN_ENV,
        evidence=REAL,
    ),
    Case(
        title="spawn",
        executor="copilot",
        config=_of(ExecutorType.COPILOT),
        verb=Verb.SPAWN,
        session=CHOSEN,
        argv=(*COPILOT, *COPILOT_RULES, "--session-id", UUID),
        env=COPILOT_ENV,
        evidence=REAL,
    ),
    Case(
        title="resume",
        executor="copilot",
        config=_of(ExecutorType.COPILOT),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(*COPILOT, *COPILOT_RULES, "-C", "/repo", f"--resume={UUID}"),
        env=COPILOT_ENV,
        evidence=REAL,
    ),
    Case(
        title="spawn, `yolo_mode`, `model` and `custom_args`",
        executor="copilot",
        config=_of(ExecutorType.COPILOT, **(NATIVE | COPILOT_ARGS)),
        verb=Verb.SPAWN,
        session=CHOSEN,
        argv=(
            *(*COPILOT, "--allow-all", "--model", "m-1", "--session-id", UUID),
            *COPILOT_ARGS["custom_args"],
        ),
        evidence=REAL,
    ),
    Case(
        title="resume, `yolo_mode`, `model` and `custom_args`",
        executor="copilot",
        config=_of(ExecutorType.COPILOT, **(NATIVE | COPILOT_ARGS)),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(
            *(*COPILOT, "--allow-all", "--model", "m-1", "-C", "/repo", f"--resume={UUID}"),
            *COPILOT_ARGS["custom_args"],
        ),
        evidence=REAL,
    ),
    Case(
        title="spawn",
        executor="claude",
        config=_claude(),
        verb=Verb.SPAWN,
        session=CHOSEN,
        argv=(*CLAUDE, *ASKING, SOW_RULES, "--session-id", UUID),
        evidence=REAL,
    ),
    Case(
        title="resume",
        executor="claude",
        config=_claude(),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=(*CLAUDE, *ASKING, SOW_RULES, "--resume", UUID),
        evidence=REAL,
    ),
    Case(
        title="spawn, `allowed_tools`",
        executor="claude",
        config=_claude(allowed_tools=("Bash(npm test:*)", "WebFetch")),
        verb=Verb.SPAWN,
        session=CHOSEN,
        argv=(*CLAUDE, *ASKING, f"{SOW_RULES},Bash(npm test:*),WebFetch", "--session-id", UUID),
        evidence=REAL,
    ),
    Case(
        title="spawn, `yolo_mode`, `model` and `custom_args`",
        executor="claude",
        config=_claude(**EVERYTHING),
        verb=Verb.SPAWN,
        session=CHOSEN,
        argv=(
            *CLAUDE,
            "--dangerously-skip-permissions",
            "--model",
            "sonnet",
            "--session-id",
            UUID,
            "--effort",
            "low",
        ),
        evidence=REAL,
    ),
    Case(
        title="resume as root, `yolo_mode`, `model` and `custom_args`",
        executor="claude",
        config=_claude(**EVERYTHING),
        verb=Verb.RESUME,
        session=CHOSEN,
        as_root=True,
        argv=(
            *CLAUDE,
            "--dangerously-skip-permissions",
            "--model",
            "sonnet",
            "--resume",
            UUID,
            "--effort",
            "low",
        ),
        env=(("IS_SANDBOX", "1"),),
        evidence=REAL,
    ),
    Case(
        title="open",
        executor="claude",
        config=_claude(),
        verb=Verb.OPEN,
        session=CHOSEN,
        argv=("claude", "--allowedTools", SOW_RULES, "--resume", UUID),
        evidence=REAL,
    ),
    Case(
        title="open as root, `yolo_mode`, `model` and `custom_args`",
        executor="claude",
        config=_claude(**EVERYTHING),
        verb=Verb.OPEN,
        session=CHOSEN,
        as_root=True,
        argv=(
            "claude",
            "--dangerously-skip-permissions",
            "--model",
            "sonnet",
            "--resume",
            UUID,
            "--effort",
            "low",
        ),
        env=(("IS_SANDBOX", "1"),),
        evidence=DOCS,
    ),
    Case(
        title="spawn",
        executor="cursor, today's dialect",
        config=_cursor(),
        verb=Verb.SPAWN,
        session=TODAY,
        argv=(*CURSOR, "--resume", UUID),
        evidence=STAND_IN,
    ),
    Case(
        title="resume, `yolo_mode`, `model` and `custom_args`",
        executor="cursor, today's dialect",
        config=_cursor(**EVERYTHING),
        verb=Verb.RESUME,
        session=TODAY,
        argv=(*CURSOR, "--force", "--model", "sonnet", "--resume", UUID, "--effort", "low"),
        evidence=STAND_IN,
    ),
    Case(
        title="spawn",
        executor="cursor, an older dialect",
        config=_cursor(),
        verb=Verb.SPAWN,
        session=SEEDS,
        argv=("cursor-agent", "agent", "--chat-id", UUID),
        evidence=STAND_IN,
    ),
    Case(
        title="resume",
        executor="cursor, an older dialect",
        config=_cursor(),
        verb=Verb.RESUME,
        session=SEEDS,
        argv=("cursor-agent", "agent", "--resume", UUID),
        evidence=STAND_IN,
    ),
    Case(
        title="resume, `yolo_mode`, `model` and `custom_args`",
        executor="cursor, an older dialect",
        config=_cursor(**EVERYTHING),
        verb=Verb.RESUME,
        session=SEEDS,
        argv=(
            "cursor-agent",
            "agent",
            "--force",
            "--model",
            "sonnet",
            "--resume",
            UUID,
            "--effort",
            "low",
        ),
        evidence=STAND_IN,
    ),
    Case(
        title="open, `yolo_mode`, `model` and `custom_args`",
        executor="cursor, today's dialect",
        config=_cursor(**EVERYTHING),
        verb=Verb.OPEN,
        session=TODAY,
        argv=("cursor-agent", "--force", "--model", "sonnet", "--resume", UUID, "--effort", "low"),
        evidence=DOCS,
    ),
    Case(
        title="open",
        executor="cursor, an older dialect",
        config=_cursor(),
        verb=Verb.OPEN,
        session=SEEDS,
        argv=("cursor-agent", "agent", "--resume", UUID),
        evidence=DOCS,
    ),
    Case(
        title="spawn, `custom_args`",
        executor="windsurf",
        config=_windsurf(custom_args=("--cascade",)),
        verb=Verb.SPAWN,
        argv=("windsurf", "--cascade"),
        evidence=STAND_IN,
    ),
    Case(
        title="spawn, `command` names another program",
        executor="windsurf",
        config=_windsurf(command=("devin", "-p"), custom_args=("--cascade",)),
        verb=Verb.SPAWN,
        argv=("devin", "-p", "--cascade"),
        evidence=STAND_IN,
    ),
    Case(
        title="spawn, with placeholders",
        executor="command",
        config=_command(
            command=("run-agent", "--id={session_id}", "{task_dir}", "{prompt_file}", "{other}"),
            custom_args=("-v",),
        ),
        verb=Verb.SPAWN,
        session=CHOSEN,
        argv=("run-agent", f"--id={UUID}", "/repo/tasks/010", "/run/prompt.md", "{other}", "-v"),
        evidence=REAL,
    ),
    Case(
        title="resume, by `settings.resume`",
        executor="command",
        config=_command(command=("run-agent",), resume=("run-agent", "again"), custom_args=("-v",)),
        verb=Verb.RESUME,
        session=CHOSEN,
        argv=("run-agent", "again", "-v"),
        evidence=REAL,
    ),
)


SESSION_ROWS: tuple[SessionRow, ...] = (
    SessionRow(
        "claude", _claude(), SessionSource.CHOSEN, True, "a UUID, chosen before the run", REAL
    ),
    SessionRow(
        "codex",
        _of(ExecutorType.CODEX),
        SessionSource.LEARNED,
        True,
        "the CLI's own, told in its first event",
        REAL,
    ),
    SessionRow(
        "gemini",
        _of(ExecutorType.GEMINI),
        SessionSource.CHOSEN,
        True,
        "a UUID, chosen before the run",
        REAL,
    ),
    SessionRow(
        "opencode",
        _of(ExecutorType.OPENCODE),
        SessionSource.LEARNED,
        True,
        "the CLI's own, told with the model's first answer",
        REAL,
    ),
    SessionRow(
        "qwen",
        _of(ExecutorType.QWEN),
        SessionSource.CHOSEN,
        True,
        "a UUID, chosen before the run",
        REAL,
    ),
    SessionRow(
        "copilot",
        _of(ExecutorType.COPILOT),
        SessionSource.CHOSEN,
        True,
        "a UUID, chosen before the run",
        REAL,
    ),
    SessionRow(
        "cursor, today's dialect",
        _cursor(),
        SessionSource.CREATED,
        True,
        "`cursor-agent create-chat` prints it",
        STAND_IN,
    ),
    SessionRow(
        "cursor, an older dialect",
        _cursor(),
        SessionSource.CREATED,
        True,
        "a UUID, where `cursor-agent agent --help` lists `--chat-id`",
        STAND_IN,
    ),
    SessionRow("windsurf", _windsurf(), SessionSource.NONE, False, "none", DOCS),
    SessionRow(
        "command, with `resume`",
        _command(command=("a",), resume=("b",)),
        SessionSource.CHOSEN,
        True,
        "a UUID, given as `{session_id}`; one seen in the output wins",
        STAND_IN,
    ),
    SessionRow(
        "command, with `{session_id}` in `resume` alone",
        _command(command=("a",), resume=("b", "{session_id}")),
        SessionSource.LEARNED,
        True,
        "the program's own, learned from its first event",
        STAND_IN,
    ),
    SessionRow(
        "command, without `resume`",
        _command(command=("a",)),
        SessionSource.NONE,
        False,
        "none",
        REAL,
    ),
)


def _claude_fault(
    title: str, cause: Cause, reason: str, *steps: dict[str, object], recording: str
) -> Fault:
    return Fault(title, _claude(), steps, cause, reason, recording=recording)


CLAUDE_FAULTS = (
    _claude_fault(
        "ends without a status and without a tool call",
        Cause.NO_STATUS,
        "without a single tool call",
        {"say": "done"},
        recording="spawn-no-tools",
    ),
    Fault(
        "ends without a status",
        _claude(),
        ({"write": ["work.txt", "done"]}, {"say": "done"}),
        Cause.NO_STATUS,
        "without setting",
    ),
    Fault(
        "killed after its result",
        _claude(),
        ({"write": ["work.txt", "done"]}, {"result": "done"}, {"signal": 9}),
        Cause.NO_STATUS,
        "without setting",
    ),
    Fault(
        "killed in a turn that follows its result",
        _claude(),
        ({"result": "done"}, {"say": "once more"}, {"signal": 9}),
        Cause.CRASHED,
        "SIGKILL",
    ),
    _claude_fault(
        "a tool is denied",
        Cause.DENIED,
        "Bash(npm test)",
        {"shell": "npm test"},
        recording="denied-tool",
    ),
    _claude_fault(
        "bad request (400)", Cause.API_ERROR, "400", {"error_result": 400}, recording="api-400"
    ),
    _claude_fault(
        "wrong key (401)",
        Cause.AUTH,
        "Invalid API key",
        {"api_retry": 401},
        {"error_result": 401},
        recording="api-401",
    ),
    _claude_fault("forbidden (403)", Cause.AUTH, "403", {"error_result": 403}, recording="api-403"),
    _claude_fault(
        "not logged in", Cause.AUTH, "/login", {"not_logged_in": True}, recording="no-key"
    ),
    _claude_fault(
        "no such model (404)", Cause.BAD_MODEL, "model", {"error_result": 404}, recording="api-404"
    ),
    _claude_fault(
        "rate limited (429)",
        Cause.RATE_LIMITED,
        "429",
        {"api_retry": 429},
        {"error_result": 429},
        recording="api-429",
    ),
    Fault(
        "quota used up, with the time it is restored",
        _claude(),
        ({"rate_limit": 1_893_456_000}, {"error_result": 429}),
        Cause.RATE_LIMITED,
        "429",
        resets_at=1_893_456_000.0,
        recording="quota-rejected",
    ),
    _claude_fault(
        "server error (500)", Cause.API_ERROR, "500", {"error_result": 500}, recording="api-500"
    ),
    _claude_fault(
        "overloaded (529)", Cause.API_ERROR, "529", {"error_result": 529}, recording="api-529"
    ),
    _claude_fault(
        "no connection",
        Cause.API_ERROR,
        "ConnectionRefused",
        {"api_retry": None},
        {"error_result": None},
        recording="connection-refused",
    ),
    Fault(
        "unknown option",
        _claude(custom_args=("--bogus",)),
        (),
        Cause.BAD_FLAGS,
        "unknown option '--bogus'",
        recording="unknown-flag",
    ),
    _claude_fault("terminated", Cause.CRASHED, "SIGTERM", {"crash": 143}, recording="terminated"),
    _claude_fault("hung up", Cause.CRASHED, "SIGHUP", {"crash": 129}, recording="hung-up"),
    _claude_fault("killed", Cause.CRASHED, "SIGKILL", {"signal": 9}, recording="killed"),
    _claude_fault(
        "interrupted", Cause.CRASHED, "in the middle", {"crash": 0}, recording="interrupted"
    ),
    Fault("no credit", _claude(), ({"error_result": 402},), Cause.AUTH, "Credit balance"),
    Fault("crash", _claude(), ({"stderr": "boom\n"}, {"crash": 3}), Cause.CRASHED, "boom"),
    Fault(
        "noise in the stream",
        _claude(),
        ({"noise": '\udcff{"type":"resu'}, {"noise": "\n{]\n"}, {"error_result": 529}),
        Cause.API_ERROR,
        "529",
    ),
)


def _native(
    type_: ExecutorType,
    title: str,
    steps: tuple[dict[str, object], ...],
    cause: Cause,
    reason: str,
    recording: str,
    **settings: object,
) -> Fault:
    config = _of(type_, **settings)
    return Fault(title, config, steps, cause, reason, recording=recording)


_CODEX, _COPILOT = ExecutorType.CODEX, ExecutorType.COPILOT
_BOGUS = {"custom_args": ("--no-such-flag",)}
_NO = Cause.NO_STATUS
NATIVE_FAULTS = (
    _native(_CODEX, "ends without a status", ({"say": "x"},), _NO, "without", "spawn-no-tools"),
    _native(_CODEX, "401", ({"error_result": 401},), Cause.AUTH, "401 Unauthorized", "api-401"),
    _native(_CODEX, "400", ({"error_result": 400},), Cause.API_ERROR, "told 400", "api-400"),
    _native(_CODEX, "404", ({"error_result": 404},), Cause.BAD_MODEL, "404", "api-404"),
    _native(_CODEX, "429", ({"error_result": 429},), Cause.RATE_LIMITED, "429", "api-429"),
    _native(_CODEX, "500", ({"error_result": 500},), Cause.API_ERROR, "demand", "api-500"),
    _native(_CODEX, "an unknown flag", (), Cause.BAD_FLAGS, "--no-such", "unknown-flag", **_BOGUS),
    _native(_CODEX, "SIGTERM", ({"signal": 15},), Cause.CRASHED, "SIGTERM", "terminated"),
    _native(_COPILOT, "ends without a status", ({"say": "x"},), _NO, "without", "spawn-no-tools"),
    _native(
        *(_COPILOT, "a tool is denied", ({"shell": "npm test"},)),
        *(Cause.DENIED, "allowed_tools", "denied-tool"),
    ),
    _native(_COPILOT, "401", ({"error_result": 401},), Cause.AUTH, "HTTP 401", "api-401"),
    _native(_COPILOT, "400", ({"error_result": 400},), Cause.API_ERROR, "told 400", "api-400"),
    _native(_COPILOT, "404", ({"error_result": 404},), Cause.BAD_MODEL, "not found", "api-404"),
    _native(
        *(_COPILOT, "429", ({"api_retry": 429}, {"error_result": 429})),
        *(Cause.RATE_LIMITED, "429", "api-429-retry-after"),
    ),
    _native(_COPILOT, "500", ({"error_result": 500},), Cause.API_ERROR, "500", "api-500"),
    _native(_COPILOT, "an unknown flag", (), Cause.BAD_FLAGS, "--no", "unknown-flag", **_BOGUS),
    _native(_COPILOT, "SIGKILL", ({"signal": 9},), Cause.CRASHED, "SIGKILL", "killed"),
)

OTHER_FAULTS = (
    Fault("ends without a status", _cursor(), ({"say": "done"},), Cause.NO_STATUS, "without"),
    Fault("a tool is denied", _cursor(), ({"shell": "npm test"},), Cause.DENIED, "Shell(npm)"),
    Fault("not logged in", _cursor(), ({"not_logged_in": True},), Cause.AUTH, "login"),
    Fault("unknown option", _cursor(custom_args=("--bogus",)), (), Cause.BAD_FLAGS, "--bogus"),
    Fault("a request fails", _cursor(), ({"error_result": 500},), Cause.CRASHED, "500"),
    Fault("killed", _cursor(), ({"signal": 9},), Cause.CRASHED, "SIGKILL"),
    Fault("ends without a status", _windsurf(), (), Cause.NO_STATUS, "without"),
    Fault("not logged in", _windsurf(), ({"not_logged_in": True},), Cause.AUTH, "logged"),
    Fault(
        "talks of an error, then crashes",
        _windsurf(),
        ({"say": "The API returned 401: Invalid API key"}, {"crash": 4}),
        Cause.CRASHED,
        "exit code 4",
    ),
    Fault(
        "prints Claude's events; overloaded (529)",
        _command(command=("claude", "-p", "--output-format", "stream-json", "--verbose")),
        ({"error_result": 529},),
        Cause.API_ERROR,
        "529",
    ),
    Fault(
        "exit code 9",
        _command(command=("/bin/sh", "-c", "echo no luck >&2; exit 9")),
        (),
        Cause.CRASHED,
        "no luck",
        is_real=True,
    ),
    Fault(
        "no such program",
        _command(command=("/bin/sh", "-c", "no-such-program")),
        (),
        Cause.MISSING_BINARY,
        "no-such-program",
        is_real=True,
    ),
)


def _gemini_fault(
    title: str, cause: Cause, reason: str, *steps: dict[str, object], recording: str
) -> Fault:
    return Fault(title, _of(ExecutorType.GEMINI), steps, cause, reason, recording=recording)


GEMINI_FAULTS = (
    _gemini_fault(
        "ends without a status",
        Cause.NO_STATUS,
        "without setting",
        {"write": ["work.txt", "done"]},
        recording="edit",
    ),
    _gemini_fault(
        "a tool is denied",
        Cause.DENIED,
        "run_shell_command",
        {"shell": "npm test"},
        recording="denied-tool",
    ),
    _gemini_fault(
        "a redirection is denied",
        Cause.DENIED,
        "run_shell_command",
        {"shell": "sow task show 010 > file"},
        recording="denied-redirection",
    ),
    _gemini_fault(
        "an edit of a build file is denied",
        Cause.DENIED,
        "write_file",
        {"write": ["package.json", "{}"]},
        recording="denied-edit",
    ),
    _gemini_fault(
        "bad request (400)", Cause.API_ERROR, "told 400", {"error_result": 400}, recording="api-400"
    ),
    _gemini_fault(
        "wrong key (401)", Cause.AUTH, "told 401", {"error_result": 401}, recording="api-401"
    ),
    _gemini_fault(
        "no such model (404)",
        Cause.BAD_MODEL,
        "told 404",
        {"error_result": 404},
        recording="api-404",
    ),
    _gemini_fault(
        "rate limited (429)",
        Cause.RATE_LIMITED,
        "told 429",
        {"api_retry": 429},
        {"error_result": 429},
        recording="api-429",
    ),
    Fault(
        "unknown option",
        _of(ExecutorType.GEMINI, custom_args=("--no-such-flag",)),
        (),
        Cause.BAD_FLAGS,
        "such-flag",
        recording="unknown-flag",
    ),
    _gemini_fault(
        "terminated", Cause.CRASHED, "without a result", {"crash": 0}, recording="terminated"
    ),
    _gemini_fault("killed", Cause.CRASHED, "SIGKILL", {"signal": 9}, recording="killed"),
    Fault(
        "not logged in",
        _of(ExecutorType.GEMINI),
        ({"not_logged_in": True},),
        Cause.AUTH,
        "Auth method",
    ),
)


def _qwen_fault(
    title: str,
    cause: Cause,
    reason: str,
    *steps: dict[str, object],
    recording: str | None = None,
    **settings: object,
) -> Fault:
    config = _of(ExecutorType.QWEN, **settings)
    return Fault(title, config, steps, cause, reason, recording=recording)


QWEN_FAULTS = (
    _qwen_fault(
        "ends without a status and without a tool call",
        Cause.NO_STATUS,
        "without a single tool call",
        {"say": "done"},
        recording="spawn-no-tools",
    ),
    _qwen_fault(
        "a tool is denied",
        Cause.DENIED,
        "run_shell_command(npm test)",
        {"shell": "npm test"},
        recording="denied-tool",
    ),
    _qwen_fault(
        "bad request (400)", Cause.API_ERROR, "400", {"error_result": 400}, recording="api-400"
    ),
    _qwen_fault("wrong key (401)", Cause.AUTH, "401", {"error_result": 401}, recording="api-401"),
    _qwen_fault("forbidden (403)", Cause.AUTH, "403", {"error_result": 403}, recording="api-403"),
    _qwen_fault("not logged in", Cause.AUTH, "No auth type", {"not_logged_in": True}),
    _qwen_fault(
        "no such model (404)", Cause.BAD_MODEL, "404", {"error_result": 404}, recording="api-404"
    ),
    _qwen_fault(
        "rate limited (429), given up at last",
        Cause.RATE_LIMITED,
        "429",
        {"api_retry": 429},
        {"error_result": 429},
    ),
    _qwen_fault(
        "unknown option",
        Cause.BAD_FLAGS,
        "refuses its command line",
        recording="unknown-flag",
        custom_args=("--bogus",),
    ),
    _qwen_fault("terminated", Cause.CRASHED, "SIGTERM", {"signal": 15}, recording="terminated"),
    _qwen_fault("killed", Cause.CRASHED, "SIGKILL", {"signal": 9}, recording="killed"),
)


def _opencode_fault(
    title: str, cause: Cause, reason: str, *steps: dict[str, object], recording: str
) -> Fault:
    return Fault(title, _of(ExecutorType.OPENCODE), steps, cause, reason, recording=recording)


OPENCODE_FAULTS = (
    _opencode_fault(
        "ends without a status and without a tool call",
        Cause.NO_STATUS,
        "without a single tool call",
        {"say": "done"},
        recording="spawn-no-tools",
    ),
    _opencode_fault(
        "a tool is denied",
        Cause.DENIED,
        "bash: npm test",
        {"shell": "npm test"},
        recording="denied-tool",
    ),
    _opencode_fault(
        "bad request (400)", Cause.API_ERROR, "400", {"error_result": 400}, recording="api-400"
    ),
    _opencode_fault(
        "wrong key (401)", Cause.AUTH, "401", {"error_result": 401}, recording="api-401"
    ),
    _opencode_fault(
        "no such model (404)", Cause.BAD_MODEL, "404", {"error_result": 404}, recording="api-404"
    ),
    _opencode_fault(
        "rate limited (429)",
        Cause.RATE_LIMITED,
        "429",
        {"error_result": 429},
        recording="api-429-retry-after",
    ),
    _opencode_fault("killed", Cause.CRASHED, "SIGKILL", {"signal": 9}, recording="killed"),
    _opencode_fault("terminated", Cause.CRASHED, "SIGTERM", {"signal": 15}, recording="terminated"),
)

FAULTS: tuple[Fault, ...] = (
    *CLAUDE_FAULTS,
    *NATIVE_FAULTS,
    *GEMINI_FAULTS,
    *OPENCODE_FAULTS,
    *QWEN_FAULTS,
    *OTHER_FAULTS,
)


ADDED = [
    import_module(path.stem) for path in sorted(Path(__file__).resolve().parent.glob("cases_*.py"))
]
"""What `make executor` has begun: a module for each, with the same four tables."""
CASES = (*CASES, *(row for module in ADDED for row in module.CASES))
SESSION_ROWS = (*SESSION_ROWS, *(row for module in ADDED for row in module.SESSION_ROWS))
FAULTS = (*FAULTS, *(row for module in ADDED for row in module.FAULTS))
