"""One configuration file: its bytes, what they say, and faults told with line and key.

Owns reading such a file, and what to write instead of a wrong value or in a wrong
place. The shape of the file is an argument.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET

from sow.config.config_errors import InvalidConfiguration
from sow.config.units import parse_duration_or_never, parse_size
from sow.files import NotAFile, read_regular, refuse_link_out
from sow.paths import CONFIG_LIMIT
from sow.schema.config import AgentsSection, AllowSection, ExecutorSection, SettingsSection
from sow.schema.executor_type import NetworkUse

if TYPE_CHECKING:
    from sow.yamlfile import YamlProblem

T = TypeVar("T")


class Source(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A file that was read, or one that does not exist and therefore says nothing."""

    path: Path
    exists: bool
    text: bytes
    content: T

    def fault(self, *keys: str | int, reason: str, remedy: str = "") -> InvalidConfiguration:
        """Return the error about what stands at `keys`, for the caller to raise."""
        # Heavy, and without a configuration file nothing is read.
        from sow.yamlfile import problem_in

        problem = problem_in(self.text, keys, reason, path=self.path)
        return _error(problem, self.text, reason=reason, remedy=remedy)


def read_source(path: Path, type: type[T]) -> Source[T]:
    """Read `path` as a `type`. A missing or empty file is that type's empty value.

    The YAML library is imported only for a file that says something.

    Raises InvalidConfiguration.
    """
    return source_of(path, read_text(path), type)


def read_text(path: Path) -> bytes | None:
    """Return what stands in a file; None where there is none. Raises InvalidConfiguration."""
    try:
        refuse_link_out(path)
        return read_regular(path, CONFIG_LIMIT)
    except FileNotFoundError:
        return None
    except NotAFile as error:
        raise InvalidConfiguration(
            path=path,
            reason=f"cannot be read: {error.reason}",
            remedy="Make it a file that you can read, or remove it to use the defaults.",
        ) from error


def source_of(path: Path, text: bytes | None, type: type[T]) -> Source[T]:
    """Return what `read_text` has read of `path` as a `type`. Raises InvalidConfiguration."""
    if text is None:
        return Source(path=path, exists=False, text=b"", content=type())
    content = type() if _says_nothing(text) else _parse(text, type, path)
    return Source(path=path, exists=True, text=text, content=content)


def given(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a section says, by our fields; the name of a field ends in its unit.

    What is left out, or null, is not in it.
    """
    return {
        field: _read(field, value)
        for field, value in written.items()
        if value is not UNSET and value is not None
    }


def _read(field: str, value: Any) -> Any:
    if isinstance(value, str) and field.endswith("_seconds"):
        return parse_duration_or_never(value)
    if isinstance(value, str) and field.endswith("_bytes"):
        return parse_size(value)
    if field in NETWORK_KEYS and value is True:
        return NetworkUse.ON
    return tuple(value) if isinstance(value, list | dict) else value


def network_written(
    network: object, *, use: str = "network", hosts: str = "allowed_hosts"
) -> dict[str, object]:
    """Return what a section says of its sandbox's network, by these fields of ours.

    A list of hosts is for a proxy, which is asked from an empty loopback.
    """
    if isinstance(network, AllowSection):
        return {use: NetworkUse.LOOPBACK, hosts: network.allow}
    return {use: network}


def refuse_no_network(
    source: Source[T],
    place: Sequence[str],
    network: object,
    *,
    is_sandboxed: bool,
    prefix: str = "",
) -> None:
    """Raise InvalidConfiguration for a `network` that sow does not know, or without a sandbox.

    `prefix` begins the names of both keys.
    """
    key = f"{prefix}network"
    if network is False:
        raise source.fault(*place, key, reason="sow does not know off", remedy=NETWORK)
    if network and not is_sandboxed:
        raise source.fault(
            *place,
            key,
            reason=f"has no effect without {prefix}sandbox: bwrap",
            remedy=f"Remove it, or write `{prefix}sandbox: bwrap` beside it.",
        )


def check_syntax(path: Path) -> bool:
    """Check that `path` is YAML, whatever it says; return whether it exists.

    Raises InvalidConfiguration.
    """
    return read_source(path, object).exists


def _says_nothing(text: bytes) -> bool:
    """Whether there are only blank lines and comments."""
    lines = (line.strip() for line in text.splitlines())
    return all(not line or line.startswith(b"#") for line in lines)


def _parse(text: bytes, type: type[T], path: Path) -> T:
    # Heavy, and without a configuration file nothing is read.
    from sow.yamlfile import YamlProblem, read_yaml

    try:
        return read_yaml(text, type, path=path)
    except YamlProblem as problem:
        raise _schema_error(problem, text) from None


def _error(
    problem: "YamlProblem", text: bytes, *, reason: str, remedy: str
) -> InvalidConfiguration:
    """Return the user's form of a YamlProblem.

    What may be secret is never shown, nor what stands beside it in a file (`SECRETS`).
    """
    return InvalidConfiguration(
        path=problem.path,
        line=problem.line,
        key=problem.key,
        reason=reason,
        remedy=remedy,
        excerpt="" if any(word in text for word in SECRETS) else problem.caret,
    )


SECRETS = (b"env", b"notify", b"queue", b"postgres")
"""A file that has one of these words is never quoted: the values of `env` may be secrets, and so
may the addresses in the commands of `notify`. The address of a queue may have a password in it."""

_SIZE = "Write a number and a unit, such as 500MB, 2GB or 4GiB."
_DURATION = "Write a number and a unit, such as 500ms, 30s, 15m or 2h."

NETWORK = "Write on, loopback for no network, or {allow: [api.example.com]} for some hosts."
QUEUE = "Write `queue: {url: postgresql://USER@HOST/DATABASE}`."
NETWORK_KEYS = frozenset({"network", "setup_network"})

REMEDIES = {
    "timeout": _DURATION,
    "stall_timeout": f"{_DURATION[:-1]}, or never.",
    "api_timeout": f"{_DURATION[:-1]}, or never.",
    "home": "Write shared or per-session.",
    "sandbox": "Write none or bwrap.",
    "setup_sandbox": "Write none or bwrap.",
    **dict.fromkeys(NETWORK_KEYS, NETWORK),
    "allow": "Write a list of hosts: [api.example.com, '*.example.org'].",
    "fallback_resume": "Write stay or handover.",
    "checks.NAME": "Write a command line, such as 'make test', or a mapping: {run: make test,"
    " timeout: 5m}.",
    "bindings": "Write roles and executors: {implementer: codex, reviewer: [claude-code, codex]}.",
    "preset": "Write one of them, or remove the key: any agent works without a preset.",
    "type": "Write one of them. With type command sow runs any program.",
    "idle_exit": _DURATION,
    "keep_for": _DURATION,
    "setup_timeout": _DURATION,
    "copy": "Write a list of patterns: ['.env', 'config/*.local.json'].",
    "use": "Write never, parallel or always.",
    "setup": "Write one command line, such as 'npm ci'.",
    "keep_size": _SIZE,
    "min_free_disk": _SIZE,
    "min_free_memory": _SIZE,
    "memory": _SIZE,
    "cpu": _DURATION,
    "disk": _SIZE,
    "custom_args": "Write a list of strings, one for each argument: ['--flag', 'value'].",
    "command": "Write a list of strings, one for each argument: ['my-agent', '--flag'].",
    "resume": "Write a list of strings, one for each argument: ['my-agent', '--continue'].",
    "allowed_tools": "Write a list of strings, one for each tool: ['Bash(npm test:*)'].",
    "env": "Write names and strings: {API_KEY: '${API_KEY}', LEVEL: '3'}.",
    "env_inherit": "Write all, or a list of names: [ANTHROPIC_API_KEY].",
    "env_files": "Write names and paths: {API_KEY: ~/.secrets/api-key}.",
    "env_commands": "Write names and command lines: {API_KEY: 'pass show api-key'}.",
}
"""What to write instead, by the name of the setting that has a wrong value."""


def _other_place(names: Sequence[str]) -> str:
    """Return where a key belongs that is known, but not where it was written; else nothing."""
    match names:
        case ["agents", "executors", _, name] if name in SettingsSection.__struct_fields__:
            return f"Write it below settings: `settings: {{{name}: …}}`."
        case ["agents", "executors", _, "settings", name]:
            if name in ExecutorSection.__struct_fields__:
                return f"Write it beside settings, as a key of the executor: `{name}: …`."
    if names[:-1] != ["agents"] and names[-1] in AgentsSection.__struct_fields__:
        return f"Write it directly below agents: `{names[-1]}: …`."
    return ""


def _below(names: Sequence[str]) -> Sequence[str]:
    """Return the keys of a place that sow has named: not those that a person has chosen."""
    match names:
        case ["checks", _]:
            return ["checks.NAME"]
        case (
            ["agents", "executors", _, "network", "allow", *_]
            | ["checks", _, "network", "allow", *_]
            | ["clones", "setup_network", "allow", *_]
        ):
            return ["allow"]
        case ["agents", "executors", _, *below] | ["checks", _, *below]:
            return below
        case ["agents", "bindings", *_]:
            return ["bindings"]
    return names[1:]


def _schema_error(problem: "YamlProblem", text: bytes) -> InvalidConfiguration:
    """Return the user's form of what the schema says, without the value of a variable."""
    names = re.split(r"[.\[]", problem.key)
    if problem.reason.startswith("unknown key"):
        remedy = _other_place(names)
        reason = problem.reason.partition("; did you mean")[0] if remedy else problem.reason
        return _error(problem, text, reason=reason, remedy=remedy)
    setting = next((name for name in _below(names) if name in REMEDIES), "")
    reason = problem.reason.replace(" or nothing", "")  # a key without a value is no wish
    if setting in ("env", "env_files", "env_commands"):
        reason = "must be names of variables with strings as values"
    elif names[0] == "queue" and names[-1] in ("queue", "url"):
        reason, remedy = "is no address of a PostgreSQL database", QUEUE
        return _error(problem, text, reason=reason, remedy=remedy)
    elif setting in REMEDIES:
        reason = reason.partition("; quote it")[0]
    missing = re.fullmatch("the key '(.+)' is missing", reason)
    remedy = f"Add it: `{missing[1]}: …`." if missing else REMEDIES.get(setting, "")
    return _error(problem, text, reason=reason, remedy=remedy)
