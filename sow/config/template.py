"""The file that `sow config init` writes: every role, every executor, every setting, explained.

Owns its words, but for those of each executor, which stand in the description of its CLI.
Roles, executors and defaults come from where they are defined;
a test holds the keys against the schema, so that the template cannot fall behind.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sow.agent_clis.known import AGENT_CLIS
from sow.config.defaults import (
    BUILT_IN_EXECUTORS,
    DEFAULT_EXECUTOR,
    DEFAULT_RETRY_ON_QUOTA,
    DEFAULT_RETRY_WORKER_DEATHS,
    DEFAULT_WORKER,
)
from sow.config.features import executor_examples
from sow.config.units import write_duration, write_size
from sow.paths import display_path
from sow.schema.config import FallbackResume
from sow.schema.executor_type import ExecutorType
from sow.schema.notification import MEANINGS

COMMENT_COLUMN = 42
ROLE_WIDTH = 21
SCHEMA_FILE = "config.schema.json"
"""What the template calls the schema; it lies beside the configuration."""

HEADER = """\
# Sow Agent Configuration
# Location: {path}
#
# This file configures which AI CLI tools handle which agent roles.
# If this file doesn't exist, all agents use Claude Code by default.
#
# Configuration priority:
#   1. Environment variables (SOW_AGENTS_IMPLEMENTER=cursor)
#   2. This config file
#   3. Built-in defaults (Claude Code)
#
# Check it with `sow config validate`; `sow config show` prints what is in effect.
# An editor with a YAML language server checks it as you type, once you have run
#   sow schema config > {schema}
# yaml-language-server: $schema={schema_file}
"""

Line = tuple[str, str]
"""A line of YAML, and the comment behind it."""

KEYS: dict[str, Line] = {
    "custom_args": ("[]", "Additional CLI flags"),
    "env": ("{}", 'Variables for the agent: {KEY: "${KEY}"}'),
    "env_inherit": ("all", "Or names: it inherits only these variables"),
    "env_files": ("{}", "Secrets by file: {KEY: ~/.secrets/key}"),
    "env_commands": ("{}", 'Secrets by command: {KEY: "pass show key"}'),
    "max_parallel": ("2", "How many of its agents run at once"),
    "timeout": ('"2h"', "Ends an agent that takes longer"),
    "stall_timeout": (
        '"15m"',
        "Ends an inactive one and resumes it once. never: not in a batch either",
    ),
    "api_timeout": ('"15m"', "Ends one whose model gives no answer for so long"),
    "retries": ("2", "After a crash or an API error"),
    "limits": (
        '{memory: "4GiB", cpu: "2h", processes: 500, disk: "10GiB"}',
        "What one run may use at most; default: all",
    ),
}
"""An example of every other key of an executor, but for those of features."""

CUSTOM = {"custom_args": KEYS["custom_args"]}
OF_HOMES: dict[str, Line] = {
    "home": ("per-session", "or shared: whose configuration it has"),
    "sandbox": ("bwrap", "It writes its own folder only; default: none"),
    "network": ("loopback", "None of it; or {allow: [a.host]}; default: on"),
}
"""What fits an executor whose sessions can have a configuration of their own."""


PRICES = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
"""An example of a price."""


def template(path: Path, roles: Mapping[str, str]) -> str:
    """Return the text for the file at `path`; `roles` are their names and what each does.

    As it stands it says what holds without a file, but for the origin of the bindings.
    """
    schema = display_path(path.with_name(SCHEMA_FILE))
    header = HEADER.format(path=display_path(path), schema=schema, schema_file=SCHEMA_FILE)
    sections = (_agents(roles), _worker(), _retry(), _approve(), _prices(), _notify(), _queue())
    body = "\n\n".join("\n".join(section) for section in sections)
    return f"{header}\n{body}\n"


def _agents(roles: Mapping[str, str]) -> Iterator[str]:
    yield "agents:"
    yield "  executors:"
    for name, executor in BUILT_IN_EXECUTORS.items():
        keys = KEYS | executor_examples() if name == DEFAULT_EXECUTOR else CUSTOM
        keys = keys | OF_HOMES if AGENT_CLIS[executor.type].home is not None else keys
        yield from _executor(name, executor.type, keys)
        yield ""
    for kind, cli in AGENT_CLIS.items():
        if not cli.built_in:
            yield from _executor(cli.example_name, kind, CUSTOM)
            yield ""
    yield "  # Bindings: which executor handles which agent role"
    yield '  # Change one to "cursor" to use Cursor for that role. With ["claude-code", "cursor"]'
    yield "  # a task begins with the next one if the first has reached a usage limit, is not"
    yield "  # installed or is not logged in"
    yield "  bindings:"
    for role, does in roles.items():
        yield f'    {role + ":":<{ROLE_WIDTH}} "{DEFAULT_EXECUTOR}"  # {does}'
    resume = f"  # fallback_resume: {FallbackResume.HANDOVER}"
    yield _line(resume, "Hands begun sessions over, too; default: stay")


def _executor(name: str, kind: ExecutorType, keys: Mapping[str, Line]) -> Iterator[str]:
    cli = AGENT_CLIS[kind]
    yield f"    # {cli.title}"
    yield "    # Uncomment and modify to customize it; what is left out keeps its default"
    yield f"    # {name}:"
    yield f'    #   type: "{kind}"'
    yield "    #   settings:"
    for key, setting in cli.settings.items():
        if not setting.idle:
            yield _line(f"    #     {key}: {setting.example}", setting.comment)
    for key, (value, comment) in keys.items():
        yield _line(f"    #   {key}: {value}", comment)


def _worker() -> Iterator[str]:
    yield "# The processes that run the agents; .sow/config.yaml of a repository can set this too"
    yield "# worker:"
    idle_exit = write_duration(DEFAULT_WORKER.idle_exit_seconds)
    keep_for = write_duration(DEFAULT_WORKER.keep_for_seconds)
    min_disk = write_size(DEFAULT_WORKER.min_free_disk_bytes)
    min_memory = write_size(DEFAULT_WORKER.min_free_memory_bytes)
    for key, value, comment in (
        ("concurrency", DEFAULT_WORKER.concurrency, "Agents at once in a project"),
        ("checks", DEFAULT_WORKER.checks, "Checks and merges at once beside them"),
        ("autostart", _bool(DEFAULT_WORKER.autostart), "Start a worker if none runs"),
        ("idle_exit", f'"{idle_exit}"', "How long such a worker waits for work"),
        ("keep_for", f'"{keep_for}"', "How long records and output are kept"),
        ("keep_size", f'"{write_size(DEFAULT_WORKER.keep_bytes)}"', "Disk space for that output"),
        ("min_free_disk", f'"{min_disk}"', "With less free space sow starts no jobs"),
        ("min_free_memory", f'"{min_memory}"', "The same for memory; 0B: no limit"),
    ):
        yield _line(f"#   {key}: {value}", comment)


def _retry() -> Iterator[str]:
    yield "# retry:"
    yield _line(f"#   on_quota: {_bool(DEFAULT_RETRY_ON_QUOTA)}", "Wait for a usage limit to reset")
    deaths = f"#   worker_deaths: {DEFAULT_RETRY_WORKER_DEATHS}"
    yield _line(deaths, "Workers in a row that may die with a job")


def _approve() -> Iterator[str]:
    yield _line("# approve: agents", "Let orchestrating agents approve; default: only people")


def _prices() -> Iterator[str]:
    yield "# Price of a million tokens in US dollars, for models whose CLI reports no price"
    yield "# prices:"
    prices = ", ".join(f"{kind}: {price}" for kind, price in PRICES.items())
    yield _line(f"#   my-model: {{{prices}}}", "Default for cached ones: as input")


def _queue() -> Iterator[str]:
    example = '# queue: {url: "postgresql://me@host/sow"}'
    yield _line(example, "Keep queues on a server; default: in files")


def _notify() -> Iterator[str]:
    yield "# Your own commands, run at events (they get JSON on standard input);"
    yield "# try them with `sow notify test`"
    yield "# notify:"
    for event, meaning in MEANINGS.items():
        yield _line(f'#   {event}: "my-command"', f"A task or batch {meaning}")


def _line(text: str, comment: str) -> str:
    return f"{text:<{COMMENT_COLUMN}}  # {comment}"


def _bool(value: bool) -> str:
    return "true" if value else "false"
