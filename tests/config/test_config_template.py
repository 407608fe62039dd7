"""The template: what it says holds anyway, and it leaves nothing out."""

import re
from pathlib import Path

import msgspec
import pytest
from built_in import BUILT_IN

from sow.agent_clis.known import AGENT_CLIS
from sow.agents.roles import AGENTS
from sow.config import template as written
from sow.config.defaults import BUILT_IN_EXECUTORS
from sow.config.features import executor_examples
from sow.config.load import load_configuration
from sow.schema.config import ExecutorSection, NotifySection, RetrySection, WorkerSection
from sow.schema.notification import NotifyEvent

ROLES = {agent.name: agent.description for agent in AGENTS}
COMMENTED_OUT = re.compile(r"^( *)# ( *[a-z][\w-]*:( .*)?)$")


@pytest.fixture
def text(tmp_path: Path) -> str:
    return written.template(tmp_path / "config.yaml", ROLES)


def load(tmp_path: Path, text: str):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return load_configuration(path=path, repository_path=None, environ={}, roles=list(ROLES))


def uncommented(text: str) -> str:
    """Return the template with everything that is YAML below `agents:` uncommented."""
    head, body = text.split("\nagents:\n")
    lines = []
    for line in body.splitlines():
        found = COMMENTED_OUT.match(line)
        title = found and not found[3] and found[2].strip() not in SECTIONS
        lines.append(found[1] + found[2] if found and not title else line)
    return "\n".join((head, "agents:", *lines)) + "\n"


SECTIONS = (
    *(f"{name}:" for name in BUILT_IN),
    "my-agent:",
    "cline:",
    "settings:",
    "worker:",
    "retry:",
    "prices:",
    "notify:",
)


def test_it_says_what_holds_without_it(tmp_path, text):
    without = load_configuration(
        path=tmp_path / "none", repository_path=None, environ={}, roles=list(ROLES)
    )
    configuration = load(tmp_path, text)
    assert configuration.executors == without.executors
    assert configuration.bindings == without.bindings
    assert configuration.worker == without.worker
    assert configuration.retry_on_quota == without.retry_on_quota
    assert configuration.retry_worker_deaths == without.retry_worker_deaths
    assert configuration.warnings == ()


def test_what_is_commented_out_loads_too(tmp_path, text):
    configuration = load(tmp_path, uncommented(text))
    assert configuration.warnings == ()
    assert list(configuration.executors) == [*BUILT_IN_EXECUTORS, "cline", "my-agent"]
    assert configuration.executors["claude-code"].model == "sonnet"
    assert configuration.executors["cursor"].yolo_mode
    assert configuration.executors["my-agent"].resume
    assert configuration.executors["cline"].preset == "cline"
    assert str(configuration.origin("worker", "idle_exit")) == "file"
    assert str(configuration.origin("retry", "on_quota")) == "file"
    assert list(configuration.notify) == list(NotifyEvent)
    assert str(configuration.origin("retry", "worker_deaths")) == "file"
    assert configuration.prices["my-model"].cache_read == 0.3


def test_every_role_type_and_setting_is_in_it(text):
    for role in ROLES:
        assert re.search(rf'^    {role}: +"claude-code"  #', text, re.MULTILINE)
    for kind, cli in AGENT_CLIS.items():
        block = text.partition(f'#   type: "{kind}"')[2].partition("custom_args")[0]
        shown = {key for key, setting in cli.settings.items() if not setting.idle}
        assert set(re.findall(r"#     (\w+): ", block)) == shown
    general = {field.name for field in msgspec.structs.fields(ExecutorSection)}
    shown = set(written.KEYS | written.OF_HOMES | executor_examples())
    assert shown == general - {"type", "settings"}
    for section in (WorkerSection, RetrySection, NotifySection):
        for field in msgspec.structs.fields(section):
            assert f"#   {field.name}: " in text


def test_its_words_are_the_seeds(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    text = written.template(tmp_path / ".config/sow/config.yaml", ROLES)
    assert text.startswith(SEED)
    assert "# yaml-language-server: $schema=config.schema.json\n" in text
    assert "sow schema config > ~/.config/sow/config.schema.json\n" in text


SEED = """\
# Sow Agent Configuration
# Location: ~/.config/sow/config.yaml
#
# This file configures which AI CLI tools handle which agent roles.
# If this file doesn't exist, all agents use Claude Code by default.
#
# Configuration priority:
#   1. Environment variables (SOW_AGENTS_IMPLEMENTER=cursor)
#   2. This config file
#   3. Built-in defaults (Claude Code)
#
"""
