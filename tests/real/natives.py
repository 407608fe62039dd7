"""The real agent CLIs: their pinned versions, and what each needs to run here.

Owns how each is installed from npm (below `.tools`, once) and made to talk to a model server on
loopback. Claude Code, which has more tests than the others, stands by itself. Knows nothing of sow.
"""

import json
import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claude_install import PACKAGE, TOOLS, alone, install, pinned_version, platform_build, run_npm
from sandbox import SETTINGS as CLAUDE_SETTINGS

KEY = "odd-and-long-dummy-key-7f3a9c"
"""For every model's key: some CLIs mask it wherever its text stands."""
MODEL = "told-1"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
NODE = f"node-linux-{MACHINE}@22.23.5"
"""Node.js itself, which the package `node` only links by a script of its own: npm runs none here.
npm links this one beside the programs of other packages, so that it comes first on PATH."""


@dataclass(frozen=True)
class Native:
    """One CLI."""

    name: str
    """Its executor's type, and its program."""
    package: str
    version: str
    variables: Callable[[str], Mapping[str, str]]
    """What its environment holds besides, given the server's address."""
    files: Callable[[str], Mapping[str, str]]
    """What lies in its user's home, given the server's address: text by path."""
    model: str = MODEL
    """As its settings name the model."""
    custom_args: tuple[str, ...] = ()
    with_packages: tuple[str, ...] = ()
    """What else npm has to bring."""
    binary: str = ""
    """The program behind its launcher, where users have that one too: beside it, on PATH."""
    executor: str = ""
    """The name of its executor, where it is another one."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What its executor's settings hold besides."""
    type: str = ""
    """The type of its executor, where that is not a built-in one."""
    in_place: str = ""
    """The program below `node_modules`, where a script of the package would put it in its place;
    `{build}` is this platform's. Scripts do not run."""


def _codex_files(address: str) -> Mapping[str, str]:
    provider = {"name": "told", "base_url": f"{address}/v1", "env_key": "TOLD_KEY"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in provider.items()]
    lines.append('wire_api = "responses"')
    text = 'model_provider = "told"\n[model_providers.told]\n' + "\n".join(lines) + "\n"
    return {".codex/config.toml": text}


def _claude_variables(address: str) -> Mapping[str, str]:
    return {**CLAUDE_SETTINGS, "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address}


def _gemini_files(_: str) -> Mapping[str, str]:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    return {".gemini/settings.json": json.dumps(settings)}


def _opencode_files(address: str) -> Mapping[str, str]:
    cost = {"input": 1, "output": 2, "cache_read": 0.5}  # an answer of told_model costs 0.1 cent
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "told",
        "options": {"baseURL": f"{address}/v1", "apiKey": KEY},
        "models": {MODEL: {"name": MODEL, "cost": cost}},
    }
    settings = {"autoupdate": False, "share": "disabled", "provider": {"told": provider}}
    return {".config/opencode/opencode.json": json.dumps(settings)}


def _qwen_files(_: str) -> Mapping[str, str]:
    settings = {"memory": {"enableManagedAutoMemory": False}}
    return {".qwen/settings.json": json.dumps(settings)}


NATIVES = {
    native.name: native
    for native in (
        Native("codex", "@openai/codex", "0.171.0", lambda _: {"TOLD_KEY": KEY}, _codex_files),
        Native(
            "gemini",
            "@google/gemini-cli",
            "0.61.0",
            lambda address: {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": address},
            _gemini_files,
            model="gemini-2.5-pro",
        ),
        Native(
            "opencode",
            "opencode-ai",
            "1.18.33",
            lambda _: {"OPENCODE_DISABLE_AUTOUPDATE": "true"},
            _opencode_files,
            model=f"told/{MODEL}",
            in_place="opencode-{build}/bin/opencode",
        ),
        Native(
            "qwen",
            "@qwen-code/qwen-code",
            "0.24.4",
            lambda address: {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{address}/v1"},
            _qwen_files,
            custom_args=("--auth-type", "openai"),
            with_packages=(NODE,),
        ),
        Native(
            "copilot",
            "@github/copilot",
            "1.0.102",
            lambda address: {
                "COPILOT_PROVIDER_BASE_URL": f"{address}/v1",
                "COPILOT_PROVIDER_TYPE": "openai",
                "COPILOT_PROVIDER_API_KEY": KEY,
                "COPILOT_MODEL": MODEL,
                "COPILOT_OFFLINE": "true",
            },
            lambda _: {},
            binary="copilot-linux-x64",
        ),
    )
}

CLAUDE = Native(
    "claude",
    PACKAGE,
    pinned_version(),
    _claude_variables,
    lambda _: {},
    executor="claude-code",
)
EVERY = {CLAUDE.name: CLAUDE, **NATIVES}


def install_native(native: Native, environ: Mapping[str, str], tools: Path = TOOLS) -> Path:
    """Return the folder that holds the CLI, ready for PATH, installing it where it is missing.

    Safe for several processes at once. Raises ClaudeUnavailable.
    """
    if native is CLAUDE:
        return install(environ, tools=tools)
    home = tools / f"{native.name}-{native.version}"
    tools.mkdir(exist_ok=True)
    with alone(tools / f"{native.name}.lock"):
        if not home.exists():
            new = home.with_name(f"{home.name}.new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            (new / "package.json").write_text("{}", encoding="utf-8")
            wanted = (f"{native.package}@{native.version}", *native.with_packages)
            run_npm(new, environ, "install", *wanted)
            if native.in_place:
                program = new / "node_modules/.bin" / native.name
                program.unlink()
                program.symlink_to(Path("..") / native.in_place.format(build=platform_build()))
            new.rename(home)
    return home / "node_modules/.bin"
