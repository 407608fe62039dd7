"""Each error of a key names file and key, and what it says to do is enough: it is done here."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from sow.agents.roles import AGENTS
from sow.calls.foreground import secrets_for_session
from sow.config.config_errors import InvalidConfiguration
from sow.config.load import load_configuration
from sow.config.secrets import read_secrets
from sow.config.source import read_source
from sow.schema.config import RepositoryConfigFile
from sow.schema.executor_type import NetworkUse
from sow.trust.accepted import command_lines

ROLES = [agent.name for agent in AGENTS]


class Fault(NamedTuple):
    """A wrong text, what sow says to do, and that done: one part of the text is replaced."""

    text: str
    key: str
    remedy: str
    wrong: str
    right: str


def executor(kind: str, *keys: str) -> str:
    lines = ["agents:", "  executors:", "    x:", f"      type: {kind}"]
    return "\n".join([*lines, *(f"      {key}" for key in keys), ""])


X = "agents.executors.x"
NETWORK = "Write on, loopback for no network, or {allow: [api.example.com]} for some hosts."
TYPES = "claude, codex, gemini, opencode, qwen, copilot"
USERS = {
    "the names of env_inherit": Fault(
        executor("claude", "env_inherit: some"),
        f"{X}.env_inherit",
        "Write all, or a list of names: [ANTHROPIC_API_KEY].",
        "some",
        "[ANTHROPIC_API_KEY]",
    ),
    "env_inherit by a word": Fault(
        executor("claude", "env_inherit: none"),
        f"{X}.env_inherit",
        "Write all, or a list of names: [ANTHROPIC_API_KEY].",
        "none",
        "all",
    ),
    "no name of a variable": Fault(
        executor("claude", "env_inherit: [API-KEY]"),
        f"{X}.env_inherit[0]",
        "Write all, or a list of names: [ANTHROPIC_API_KEY].",
        "API-KEY",
        "API_KEY",
    ),
    "a list of files": Fault(
        executor("claude", "env_files: [~/key]"),
        f"{X}.env_files",
        "Write names and paths: {API_KEY: ~/.secrets/api-key}.",
        "[~/key]",
        "{API_KEY: ~/.secrets/api-key}",
    ),
    "a path that is not whole": Fault(
        executor("claude", "env_files: {K: secrets/key}"),
        f"{X}.env_files.K",
        "Write the whole path, such as ~/.secrets/api-key.",
        "secrets/key",
        "~/secrets/key",
    ),
    "a variable of sow's": Fault(
        executor("claude", "env_files: {SOW_SECRETS: /key}"),
        f"{X}.env_files.SOW_SECRETS",
        "Remove it, or give it another name.",
        "SOW_SECRETS",
        "MY_SECRETS",
    ),
    "PATH": Fault(
        executor("claude", "env_commands: {PATH: cat}"),
        f"{X}.env_commands.PATH",
        "Remove it, or give it another name.",
        "PATH: cat",
        "",
    ),
    "a command line in words": Fault(
        executor("claude", "env_commands: {K: [pass, show, key]}"),
        f"{X}.env_commands.K",
        "Write names and command lines: {API_KEY: 'pass show api-key'}.",
        "[pass, show, key]",
        "'pass show key'",
    ),
    "a variable twice": Fault(
        executor("claude", "env_files: {K: /key}", "env_commands: {K: cat}"),
        f"{X}.env_commands.K",
        "Remove it here, or in env_files.",
        "K: cat",
        "",
    ),
    "half a reference": Fault(
        executor("claude", "env: {K: '${HOME'}"),
        f"{X}.env.K",
        "Write the name of a variable between the braces, or remove the dollar sign.",
        "${HOME",
        "${HOME}",
    ),
    "another sandbox": Fault(
        executor("claude", "sandbox: docker"),
        f"{X}.sandbox",
        "Write none or bwrap.",
        "docker",
        "bwrap",
    ),
    "a sandbox below settings": Fault(
        executor("claude", "settings: {sandbox: bwrap}"),
        f"{X}.settings.sandbox",
        "Write it beside settings, as a key of the executor: `sandbox: …`.",
        "settings: {sandbox: bwrap}",
        "sandbox: bwrap",
    ),
    "a sandbox of a type that cannot have it": Fault(
        executor("acp", "settings: {command: [x]}", "sandbox: bwrap"),
        f"{X}.sandbox",
        "Remove it, or use an executor of another type. These can have a sandbox:"
        f" {TYPES} and command.",
        "type: acp",
        "type: command",
    ),
    "the user's home in a sandbox": Fault(
        executor("codex", "sandbox: bwrap", "home: shared"),
        f"{X}.home",
        "Remove it: with a sandbox each session has a folder of its own.",
        "home: shared",
        "",
    ),
    "a home of a type that has none": Fault(
        executor("cursor", "home: per-session"),
        f"{X}.home",
        f"Remove it. Only {TYPES.replace(', copilot', ' and copilot')} can have a configuration"
        " folder for each session.",
        "home: per-session",
        "",
    ),
    "another home": Fault(
        executor("codex", "home: own"),
        f"{X}.home",
        "Write shared or per-session.",
        "own",
        "per-session",
    ),
    "a network without a sandbox": Fault(
        executor("claude", "network: loopback"),
        f"{X}.network",
        "Remove it, or write `sandbox: bwrap` beside it.",
        "network",
        "sandbox: bwrap\n      network",
    ),
    "no network": Fault(
        executor("claude", "sandbox: bwrap", "network: off"),
        f"{X}.network",
        NETWORK,
        "off",
        "loopback",
    ),
    "another network": Fault(
        executor("claude", "sandbox: bwrap", "network: all"),
        f"{X}.network",
        NETWORK,
        "network: all",
        "network: on",
    ),
    "a network of some hosts": Fault(
        executor("claude", "sandbox: bwrap", "network: [api.example.com]"),
        f"{X}.network",
        NETWORK,
        "[api.example.com]",
        "{allow: [api.example.com]}",
    ),
    "an address for a host": Fault(
        executor("claude", "sandbox: bwrap", "network: {allow: ['https://api.example.com/']}"),
        f"{X}.network.allow[0]",
        "Write a list of hosts: [api.example.com, '*.example.org'].",
        "'https://api.example.com/'",
        "api.example.com",
    ),
    "an agent over ACP without its command": Fault(
        executor("acp"),
        X,
        'For example: settings: {command: ["cline", "--acp"]}',
        "acp",
        'acp\n      settings: {command: ["cline", "--acp"]}',
    ),
    "a command that is no list": Fault(
        executor("acp", "settings: {command: cline --acp}"),
        f"{X}.settings.command",
        "Write a list of strings, one for each argument: ['my-agent', '--flag'].",
        "cline --acp",
        "['cline', '--acp']",
    ),
    "another preset": Fault(
        executor("acp", "settings: {command: [x], preset: crush}"),
        f"{X}.settings.preset",
        "Write one of them, or remove the key: any agent works without a preset.",
        ", preset: crush",
        "",
    ),
    "a model over ACP": Fault(
        executor("acp", "settings: {command: [x], model: m}"),
        f"{X}.settings.model",
        "Put the program's own flag for it into custom_args or settings.command.",
        "[x], model: m",
        "[x, --model, m]",
    ),
    "another type": Fault(
        executor("aider", "settings: {command: [aider]}"),
        f"{X}.type",
        "Write one of them. With type command sow runs any program.",
        "type: aider",
        "type: command",
    ),
    "another rule for sessions": Fault(
        "agents: {fallback_resume: maybe}\n",
        "agents.fallback_resume",
        "Write stay or handover.",
        "maybe",
        "handover",
    ),
    "the rule for sessions beside agents": Fault(
        "fallback_resume: stay\n",
        "fallback_resume",
        "Write it directly below agents: `fallback_resume: …`.",
        "fallback_resume",
        "agents:\n  fallback_resume",
    ),
    "a role without an executor": Fault(
        "agents: {bindings: {implementer: []}}\n",
        "agents.bindings.implementer",
        "Write roles and executors: {implementer: codex, reviewer: [claude-code, codex]}.",
        "[]",
        "codex",
    ),
    "an executor twice": Fault(
        "agents: {bindings: {implementer: [codex, codex]}}\n",
        "agents.bindings.implementer[1]",
        "Name each executor once, in the order in which they are tried.",
        "[codex, codex]",
        "[codex]",
    ),
}
REPOSITORYS = {
    "a check in another sandbox": Fault(
        "checks: {unit: {run: make, sandbox: docker}}\n",
        "checks.unit.sandbox",
        "Write none or bwrap.",
        "docker",
        "bwrap",
    ),
    "a check with a network alone": Fault(
        "checks: {unit: {run: make, network: loopback}}\n",
        "checks.unit.network",
        "Remove it, or write `sandbox: bwrap` beside it.",
        "network",
        "sandbox: bwrap, network",
    ),
    "a check without a network": Fault(
        "checks: {unit: {run: make, sandbox: bwrap, network: off}}\n",
        "checks.unit.network",
        NETWORK,
        "off",
        "on",
    ),
    "a check with hosts alone": Fault(
        "checks: {unit: {run: make, network: {allow: [example.org]}}}\n",
        "checks.unit.network",
        "Remove it, or write `sandbox: bwrap` beside it.",
        "network",
        "sandbox: bwrap, network",
    ),
    "a check that asks one host": Fault(
        "checks: {unit: {run: make, sandbox: bwrap, network: example.org}}\n",
        "checks.unit.network",
        NETWORK,
        "example.org",
        "{allow: [example.org]}",
    ),
    "the setup with a network alone": Fault(
        "clones: {setup: npm ci, setup_network: loopback}\n",
        "clones.setup_network",
        "Remove it, or write `setup_sandbox: bwrap` beside it.",
        "setup_network",
        "setup_sandbox: bwrap, setup_network",
    ),
    "the setup without a network": Fault(
        "clones: {setup: npm ci, setup_sandbox: bwrap, setup_network: off}\n",
        "clones.setup_network",
        NETWORK,
        "off",
        "{allow: [packages.example.com]}",
    ),
    "a check without a command line": Fault(
        "checks: {unit: {sandbox: bwrap}}\n",
        "checks.unit",
        "Add it: `run: …`.",
        "{sandbox",
        "{run: make, sandbox",
    ),
    "a check that is called as a setting": Fault(
        "checks: {env: 7}\n",
        "checks.env",
        "Write a command line, such as 'make test', or a mapping: {run: make test, timeout: 5m}.",
        "7",
        "make",
    ),
    "the setup in another sandbox": Fault(
        "clones: {setup: npm ci, setup_sandbox: docker}\n",
        "clones.setup_sandbox",
        "Write none or bwrap.",
        "docker",
        "bwrap",
    ),
}


@pytest.mark.parametrize(
    ("place", "name"),
    [("config.yaml", name) for name in USERS] + [("repository.yaml", name) for name in REPOSITORYS],
)
def test_what_an_error_says_to_do_is_enough(tmp_path: Path, place: str, name: str) -> None:
    fault = {**USERS, **REPOSITORYS}[name]
    file = tmp_path / place

    def load(text: str) -> tuple[str, ...]:
        file.write_text(text)
        return load_configuration(
            path=tmp_path / "config.yaml",
            repository_path=tmp_path / "repository.yaml",
            environ={},
            roles=ROLES,
        ).warnings

    with pytest.raises(InvalidConfiguration) as caught:
        load(fault.text)
    error = caught.value
    assert (error.exit_code, error.path, error.key) == (3, file, fault.key)
    assert error.remedy == fault.remedy
    assert fault.text.count(fault.wrong) == 1
    assert load(fault.text.replace(fault.wrong, fault.right)) == ()


def test_a_repositorys_agents_are_moved_to_the_users_file(load, config_path) -> None:
    text = executor("codex", "sandbox: bwrap", "env_inherit: [HOME]")
    with pytest.raises(InvalidConfiguration) as caught:
        load("", repository=text)
    assert caught.value.remedy == f"Move it to {config_path}"
    assert load(text, repository="").executor("x").is_sandboxed


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("sandbox: docker", "none, bwrap"),
        ("network: all", "on, loopback"),
        ("sandboxs: bwrap", "did you mean 'sandbox'?"),
        ("fence: bwrap", "known here: run, timeout, sandbox, network"),
    ],
)
def test_the_errors_of_a_check_name_what_is_known(load, key: str, known: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        load(repository=f"checks: {{unit: {{run: make, {key}}}}}\n")
    assert known in caught.value.reason


def test_on_is_a_word_though_yaml_reads_it_as_true(load) -> None:
    check = "checks: {unit: {run: make, sandbox: bwrap, network: on}}\n"
    loaded = load(executor("claude", "sandbox: bwrap", "network: on"), repository=check)
    assert loaded.executor("x").network is NetworkUse.ON
    assert loaded.checks.commands["unit"].network is NetworkUse.ON
    source = read_source(loaded.repository_path, RepositoryConfigFile)
    (line,) = command_lines(source.content)
    assert line.fence == "sandbox: bwrap, network: on"


def test_a_key_below_another_form_is_answered_with_the_nearest(load) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        load("notify: {paused: {run: x, timeot: 3s}}\n")
    assert "did you mean 'timeout'?" in caught.value.reason


@pytest.fixture
def secret(config_path: Path, tmp_path: Path) -> Path:
    """Return the path of a secret's file, which is not there yet."""
    file = tmp_path / "api-key"
    config_path.write_text(executor("claude", f"env_files: {{API_KEY: {file}}}"))
    return file


def refusal(config_path: Path) -> InvalidConfiguration:
    with pytest.raises(InvalidConfiguration) as caught:
        read_secrets(config_path, "x")
    assert (caught.value.path, caught.value.key) == (config_path, f"{X}.env_files.API_KEY")
    return caught.value


def test_a_secret_that_is_not_there_is_written(config_path: Path, secret: Path) -> None:
    command = f"chmod 600 {secret}"
    assert refusal(config_path).remedy == f"Write the secret into it, then run `{command}`."
    secret.write_text("sk-0815\n")
    subprocess.run(command.split(), check=True)
    assert read_secrets(config_path, "x").values == {"API_KEY": "sk-0815"}


def test_a_secret_that_others_can_read_is_closed(config_path: Path, secret: Path) -> None:
    secret.write_text("sk-0815\n")
    secret.chmod(0o644)
    command = f"chmod 600 {secret}"
    assert refusal(config_path).remedy == f"Run `{command}`."
    subprocess.run(command.split(), check=True)
    assert read_secrets(config_path, "x").values == {"API_KEY": "sk-0815"}


def test_a_text_with_more_than_the_secret_is_made_shorter(config_path: Path, secret: Path) -> None:
    secret.write_text("\nsk-0815\n")
    secret.chmod(0o600)
    assert refusal(config_path).remedy.startswith("Write the secret alone into the file.")
    secret.write_text("sk-0815\n")
    assert read_secrets(config_path, "x").values == {"API_KEY": "sk-0815"}


def test_what_is_too_short_for_a_secret_fits_into_env(
    config_path: Path, secret: Path, load
) -> None:
    secret.write_text("short")
    secret.chmod(0o600)
    assert refusal(config_path).remedy.endswith("Put a value that is no secret into env.")
    assert load(executor("claude", "env: {API_KEY: short}")).executor("x").env_names == ("API_KEY",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_secret_of_another_user_is_copied(config_path: Path, secret: Path) -> None:
    theirs = secret.with_name("theirs")
    theirs.write_text("sk-0815\n")
    os.chown(theirs, 12345, -1)
    config_path.write_text(executor("claude", f"env_files: {{API_KEY: {theirs}}}"))
    words = "Copy it into a file of your own that nobody else can read (`chmod 600`)."
    assert refusal(config_path).remedy == words
    secret.write_text(theirs.read_text())
    secret.chmod(0o600)
    config_path.write_text(executor("claude", f"env_files: {{API_KEY: {secret}}}"))
    assert read_secrets(config_path, "x").values == {"API_KEY": "sk-0815"}


@pytest.mark.parametrize(
    ("command", "how"),
    [
        ("exit 3", "it ended with exit code 3"),
        ("echo short", "it is shorter than 6 bytes: sow could not tell it from other text"),
    ],
)
def test_a_command_that_gives_no_secret_is_named_with_its_place(
    config_path: Path, load, tmp_path: Path, command: str, how: str
) -> None:
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    loaded = load(executor("claude", f"env_commands: {{API_KEY: '{command}'}}"))
    with pytest.raises(InvalidConfiguration) as caught:
        secrets_for_session(loaded.executor("x"), config_path, environ)
    error = caught.value
    assert (error.path, error.key) == (config_path, f"{X}.env_commands.API_KEY")
    assert error.reason == f"the command gives no secret: {how}"
    assert command not in error.message + error.hint
    loaded = load(executor("claude", "env_commands: {API_KEY: 'echo sk-0815'}"))
    assert secrets_for_session(loaded.executor("x"), config_path, environ) == {
        "API_KEY": "sk-0815",
        "SOW_SECRETS": "API_KEY",
    }
