"""How a role's executor was found, told step by step: the lines of `--verbose`.

Owns their wording. Prints nothing.
"""

from collections.abc import Iterator

from sow.config.configuration import Binding, Configuration
from sow.config.effective import executor_settings
from sow.config.origin import OriginKind, Setting, Value


def resolution_trace(configuration: Configuration, binding: Binding) -> list[str]:
    """Return the lines that tell which file, executor and settings `binding` came to, and why."""
    found = "exists" if configuration.exists else "not found, using defaults"
    settings = ", ".join(_shown(configuration, binding.executor.name))
    return [
        "Loading agent configuration...",
        f"Config file: {configuration.path} ({found})",
        f"Agent: {binding.role}",
        f"Executor: {binding.executor.name} ({binding.origin.label})",
        *([f"Settings: {settings}"] if settings else []),
    ]


def _shown(configuration: Configuration, name: str) -> Iterator[str]:
    """Yield what was chosen for the executor, and `yolo_mode` even where nobody chose it."""
    for setting in executor_settings(configuration, name):
        key = setting.key[3:]
        chosen = setting.origin.kind is not OriginKind.DEFAULT
        if key[-1] == "yolo_mode" or (chosen and key != ("type",)):
            yield _shown_setting(setting)


def _shown_setting(setting: Setting) -> str:
    name = ".".join(part for part in setting.key[3:] if part != "settings")
    return f"{name}={_text(setting.value)} ({setting.origin.label})"


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"[{', '.join(value)}]" if isinstance(value, list) else str(value)
