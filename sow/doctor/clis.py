"""What each agent CLI tells of itself without a request: flags, signs of a login, permissions.

Owns the reading of the CLIs' own files, as their descriptions name them. A type
whose description has no questions is only looked for on PATH.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sow.agent_clis.description import CommandLine, LoginFiles, Questions, SowPermission
from sow.errors import SowError
from sow.executors.base import Executor, LaunchRequest
from sow.executors.claude_folders import FILE_LIMIT, read_json
from sow.executors.registry import make_executor
from sow.executors.session import Session
from sow.files import read_regular
from sow.schema.executor import ExecutorConfig
from sow.user_folders import home_in

COMMENT = re.compile(rb"^[ \t]*//.*$", re.MULTILINE)
"""As Copilot writes them at the top of its file."""
SESSION = "00000000-0000-4000-8000-000000000000"


def signs_of_login(files: LoginFiles | None, environ: Mapping[str, str]) -> str | None:
    """Return what in the user's folders tells of a login; "" for nothing, None if unknowable."""
    if files is None:
        return None
    named = environ.get(files.folder_variable) if files.folder_variable else ""
    folder = Path(named, files.inside) if named else home_in(environ) / files.folder
    for name in filter(None, (files.credentials, *files.others)):
        if (folder / name).is_file():
            return str(folder / name)
    keys = files.settings_key.split(".")
    if files.settings and _holds(_settings_in(folder / files.settings), keys):
        return f"{keys[-1]} in {folder / files.settings}"
    if files.also is not None and (sign := signs_of_login(files.also, environ)):
        return sign
    return None if sys.platform in files.hidden_on else ""


def _holds(settings: Any, keys: Sequence[str]) -> bool:
    """Whether there is a value behind keys that lead from an object into another; `*` is any."""
    if not keys:
        return bool(settings)
    if not isinstance(settings, dict):
        return False
    inner = settings.values() if keys[0] == "*" else (settings.get(keys[0]),)
    return any(_holds(each, keys[1:]) for each in inner)


def _settings_in(file: Path) -> dict[str, Any]:
    """Return the settings in a JSON file without the lines that are comments; none if it cannot."""
    try:
        found = json.loads(COMMENT.sub(b"", read_regular(file, FILE_LIMIT)))
    except (OSError, SowError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def refusal_of_sow(
    rule: SowPermission | None, config: ExecutorConfig, environ: Mapping[str, str], folder: Path
) -> str:
    """Return why an agent in `folder` could not run `sow`; empty if it could."""
    if rule is None or config.yolo_mode:
        return ""
    files = (folder / rule.in_folder, home_in(environ) / rule.in_home)
    if any(allowed.startswith(rule.begins) for file in files for allowed in _allowed(file)):
        return ""
    return f"yolo_mode is off, and neither {files[0]} nor {files[1]} allows {rule.rule}"


def missing_flags(executor: Executor, questions: Questions, help_text: str) -> list[str]:
    """Return what sow would say to the CLI and its help does not list, in sow's order."""
    words = dict.fromkeys(_words(executor, questions, help_text))
    return [word for word in words if not _lists(help_text, word)]


def _words(executor: Executor, questions: Questions, help_text: str) -> list[str]:
    """Return the flags of a spawn and of a resume, without the user's own arguments."""
    config = msgspec.structs.replace(executor.config, custom_args=())
    plain = make_executor(config)
    dialect = _dialect(questions, help_text)
    request = LaunchRequest(
        session=Session(SESSION, dialect.name if dialect else None),
        prompt="",
        prompt_file=Path("prompt.md"),
        task_dir=Path("task"),
        cwd=Path(),
        as_root=False,
        commands=("task show",),
    )
    words = [*plain.spawn(request).argv, *plain.resume(request).argv]
    flags = [word.partition("=")[0] for word in words if word.startswith("-")]
    return [*flags, *(dialect.commands if dialect else ())]


def _dialect(questions: Questions, help_text: str) -> CommandLine | None:
    spoken = (each for each in questions.dialects if not each.flag or _lists(help_text, each.flag))
    return next(spoken, None)


def _lists(help_text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", help_text) is not None


def _allowed(file: Path) -> list[str]:
    match read_json(file):
        case {"permissions": {"allow": [*rules]}}:
            return [rule for rule in rules if isinstance(rule, str)]
        case _:
            return []
