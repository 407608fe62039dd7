"""The real agents that are driven over ACP: their pinned versions, and what each needs to run here.

Owns the table. How they are installed is `natives`, whose form of a CLI they have. Knows nothing of
sow.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

from natives import KEY, MODEL, NATIVES, NODE, Native
from sandbox import SETTINGS as CLAUDE_SETTINGS


def _acp(native: Native, *command: str, preset: str = "") -> Native:
    """Return a CLI as an agent over ACP; its flags go where its command line has them."""
    preset = preset or native.name
    return replace(
        native,
        executor=f"{preset}-acp",
        type="acp",
        model="",
        settings={"command": list(command), "preset": preset},
    )


def _cline_files(address: str) -> Mapping[str, str]:
    """Return what `cline auth` writes."""
    provider = "openai-compatible"
    settings = {"provider": provider, "apiKey": KEY, "model": MODEL, "baseUrl": f"{address}/v1"}
    of_provider = {"settings": settings, "updatedAt": "2026-11-29T00:00:00.000Z"}
    known = {"version": 1, "lastUsedProvider": provider, "modes": {}}
    known["providers"] = {provider: {**of_provider, "tokenSource": "manual"}}
    return {".cline/data/settings/providers.json": json.dumps(known)}


def _pi_files(address: str) -> Mapping[str, str]:
    provider = {"baseUrl": f"{address}/v1", "api": "openai-completions", "apiKey": KEY}
    models = {"providers": {"told": {**provider, "models": [{"id": MODEL}]}}}
    settings = {"defaultProvider": "told", "defaultModel": MODEL, "quietStartup": True}
    return {
        ".pi/agent/models.json": json.dumps(models),
        ".pi/agent/settings.json": json.dumps(settings),
    }


def _opencode_files(address: str) -> Mapping[str, str]:
    """Return its settings with a model, for which it has no flag here."""
    [(name, text)] = NATIVES["opencode"].files(address).items()
    return {name: json.dumps({**json.loads(text), "model": f"told/{MODEL}"})}


def _claude_variables(address: str) -> Mapping[str, str]:
    own = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address, "ANTHROPIC_MODEL": MODEL}
    return {**CLAUDE_SETTINGS, **own}


def _codex_files(address: str) -> Mapping[str, str]:
    """Return its settings with a model, for which it has no flag here."""
    [(name, text)] = NATIVES["codex"].files(address).items()
    return {name: f"model = {json.dumps(MODEL)}\n{text}"}


CODEX_BELOW = "0.166.0"
"""The Codex that the adapter brings: it asks for any 0.166."""
CLINE = Native(
    "cline",
    "cline",
    "3.0.65",
    lambda _: {"CLINE_PROVIDER": "openai-compatible", "CLINE_API_KEY": KEY},
    _cline_files,
)
PI = Native(
    "pi",
    "pi-acp",
    "0.0.34",
    lambda _: {},
    _pi_files,
    with_packages=("@earendil-works/pi-coding-agent@1.6.0", NODE),
)
OPENCODE = replace(NATIVES["opencode"], files=_opencode_files)
CLAUDE = Native(
    "claude-agent-acp",
    "@agentclientprotocol/claude-agent-acp",
    "0.101.0",
    _claude_variables,
    lambda _: {},
    with_packages=(NODE,),
)
CODEX = Native(
    "codex-acp",
    "@agentclientprotocol/codex-acp",
    "2.6.0",
    lambda _: {"TOLD_KEY": KEY},
    _codex_files,
    with_packages=(f"@openai/codex@{CODEX_BELOW}",),
)

AGENTS = {
    agent.settings["preset"]: agent
    for agent in (
        _acp(CLINE, "cline", "--acp"),
        _acp(PI, "pi-acp"),
        _acp(OPENCODE, "opencode", "acp"),
        _acp(NATIVES["gemini"], "gemini", "--acp", "-m", NATIVES["gemini"].model),
        _acp(NATIVES["qwen"], "qwen", "--acp", "-m", MODEL),
        _acp(NATIVES["copilot"], "copilot", "--acp", "--model", MODEL),
        _acp(CLAUDE, "claude-agent-acp", preset="claude"),
        _acp(CODEX, "codex-acp", preset="codex"),
    )
}
