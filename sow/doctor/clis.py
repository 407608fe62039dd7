"""What each agent CLI tells of itself without a request: flags, signs of a login, permissions.

Owns that table, and reads the CLIs' own files for it. A type that is not in it
is only looked for on PATH: a program of the user's own might do anything when
it is started. Sources: Claude Code's documentation of its variables and of
`.credentials.json`; Cursor's of CURSOR_API_KEY and of its permissions.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sow.executors.base import Executor, LaunchRequest, Session, SessionSource
from sow.executors.cursor import Dialect
from sow.executors.registry import make_executor
from sow.files import NotAFile, read_regular
from sow.schema.config import ExecutorType
from sow.schema.executor import ExecutorConfig

SETTINGS_LIMIT = 16 << 20
"""The largest file of a CLI's own that is read, in bytes."""
SESSION = "00000000-0000-4000-8000-000000000000"


def _anything(_config: ExecutorConfig, _environ: Mapping[str, str], _folder: Path) -> str:
    """Find nothing in the way: sow itself allows what an agent needs."""
    return ""


class Cli(msgspec.Struct, frozen=True):
    """How one agent CLI is asked."""

    helps: tuple[tuple[str, ...], ...]
    """The arguments that make it list its flags."""
    key_variables: tuple[str, ...]
    """Any of these, where it is set, stands for a login."""
    login: str
    """How to log in."""
    signs: Callable[[Mapping[str, str]], str | None]
    """What in the user's folders tells of a login; "" for nothing, None where nobody can say."""
    refusal: Callable[[ExecutorConfig, Mapping[str, str], Path], str] = _anything
    """Why an agent in a folder could not run `sow`; nothing if it could."""


def _claude_signs(environ: Mapping[str, str]) -> str | None:
    home = Path(environ.get("HOME", "/"))
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    if (folder / ".credentials.json").is_file():
        return str(folder / ".credentials.json")
    if "apiKeyHelper" in _read(folder / "settings.json"):
        return f"apiKeyHelper in {folder / 'settings.json'}"
    return None if sys.platform == "darwin" else ""  # there the keychain has it


def _read(file: Path) -> dict[str, Any]:
    """Return what a JSON file of the CLI's own says; nothing where it cannot be read."""
    try:
        content = json.loads(read_regular(file, SETTINGS_LIMIT))
    except (OSError, NotAFile, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _unknown(_environ: Mapping[str, str]) -> None:
    """Say nothing: where this CLI keeps its login is not documented."""


def _cursor_refusal(config: ExecutorConfig, environ: Mapping[str, str], folder: Path) -> str:
    """Look into the two files of Cursor's own permissions (its documentation)."""
    files = (
        folder / ".cursor/cli.json",
        Path(environ.get("HOME", "/")) / ".cursor/cli-config.json",
    )
    allowed = [rule for file in files for rule in _allowed(file)]
    if config.yolo_mode or any(rule.startswith(("Shell(sow", "Shell(*")) for rule in allowed):
        return ""
    return f"yolo_mode is off, and neither {files[0]} nor {files[1]} allows Shell(sow)"


def _allowed(file: Path) -> list[str]:
    match _read(file):
        case {"permissions": {"allow": [*rules]}}:
            return [rule for rule in rules if isinstance(rule, str)]
        case _:
            return []


CLIS: Mapping[ExecutorType, Cli] = {
    ExecutorType.CLAUDE: Cli(
        helps=(("--help",),),
        key_variables=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        login="Run `claude` in a terminal and log in there (/login).",
        signs=_claude_signs,
    ),
    ExecutorType.CURSOR: Cli(
        helps=(("--help",), ("agent", "--help")),
        key_variables=("CURSOR_API_KEY",),
        login="`cursor-agent status` asks Cursor; `cursor-agent login` logs in.",
        signs=_unknown,
        refusal=_cursor_refusal,
    ),
}


def missing_flags(executor: Executor, help_text: str) -> list[str]:
    """Return what sow would say to the CLI and its help does not list, in sow's order."""
    words = dict.fromkeys(_words(executor, help_text))
    return [word for word in words if not _lists(help_text, word)]


def _words(executor: Executor, help_text: str) -> list[str]:
    """Return the flags of a spawn and of a resume, without the user's own arguments."""
    config = msgspec.structs.replace(executor.config, custom_args=())
    plain = make_executor(config)
    dialect = Dialect.CHAT_ID if _lists(help_text, "--chat-id") else Dialect.PRINT
    request = LaunchRequest(
        session=Session(SESSION, dialect),
        prompt="",
        prompt_file=Path("prompt.md"),
        task_dir=Path("task"),
        cwd=Path(),
        as_root=False,
    )
    creates = executor.session_source is SessionSource.CREATED and dialect is Dialect.PRINT
    words = [*plain.spawn(request).argv, *plain.resume(request).argv]
    flags = [word for word in words if word.startswith("-")]
    return [*flags, *(("create-chat",) if creates else ())]


def _lists(help_text: str, word: str) -> bool:
    import re

    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", help_text) is not None
