"""docs/configuration.md: every example loads, and every setting and refused flag is in it."""

import re
from pathlib import Path

import msgspec
import pytest

from sow.agent_clis.known import AGENT_CLIS
from sow.agents.roles import AGENTS
from sow.config.config_errors import InvalidConfiguration
from sow.config.load import load_configuration
from sow.schema import config as schema

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml( repository)?\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_there_are_examples_of_both_files():
    assert len([text for repository, text in EXAMPLES if not repository]) >= 5
    assert len([text for repository, text in EXAMPLES if repository]) >= 2


@pytest.mark.parametrize(("repository", "text"), EXAMPLES)
def test_every_example_loads_and_says_something(tmp_path, repository, text):
    user, ours = tmp_path / "config.yaml", tmp_path / "repository.yaml"
    (ours if repository else user).write_text(text)
    roles = [agent.name for agent in AGENTS]

    configuration = load_configuration(path=user, repository_path=ours, environ={}, roles=roles)

    assert configuration.warnings == ()
    assert {str(origin) for origin in configuration.origins.values()} != {"default"}
    for role in roles:
        configuration.binding(role)


@pytest.mark.parametrize(
    "section",
    [
        schema.SettingsSection,
        schema.ExecutorSection,
        schema.WorkerSection,
        schema.RetrySection,
        schema.NotifySection,
        schema.NotifyEntry,
        schema.AgentsSection,
        schema.ClonesSection,
        schema.RepositoryConfigFile,
        schema.UserConfigFile,
        schema.PriceSection,
        schema.BudgetSection,
        schema.LimitsSection,
    ],
)
def test_every_key_is_described(section):
    for field in msgspec.structs.fields(section):
        assert re.search(rf"`(\w+\.)*{field.name}`", PAGE), field.name


def test_every_type_and_every_default_is_described():
    for kind in schema.ExecutorType:
        assert f"### Type `{kind}`" in PAGE
    for line in (
        "| `worker.concurrency` | `4` |",
        "| `worker.autostart` | `true` |",
        "| `worker.idle_exit` | `10m` |",
        "| `worker.keep_for` | `30d` |",
        "| `worker.keep_size` | `2GB` |",
        "| `worker.checks` | `2` |",
        "| `worker.min_free_disk` | `500MB` |",
        "| `worker.min_free_memory` | `300MB` |",
        "| `retry.on_quota` | `true` |",
        "| `clones.use` | `never` |",
        "| `clones.setup_timeout` | `10m` |",
        "| `clones.commit` | `true` |",
        "| `retry.worker_deaths` | `5` |",
        "| `retries` | `2` |",
        "| `settings.yolo_mode` | `false` |",
    ):
        assert line in PAGE


def test_every_refused_flag_is_in_the_table():
    table = PAGE.partition("### Arguments that are refused")[2].partition("## Bindings")[0]
    cells = [line.split("|") for line in table.splitlines() if line.startswith("|")]
    listed = {
        kind: set(re.findall(r"`([^`]*)`", " ".join(row[column] for row in cells[2:])))
        for column, kind in enumerate(schema.ExecutorType, 2)
        if AGENT_CLIS[kind].reserved_flags
    }
    assert len(listed) == len(cells[0]) - 4

    for kind, flags in listed.items():
        assert flags == set(AGENT_CLIS[kind].reserved_flags)


def test_the_error_shown_is_the_error_given(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(
        "agents:\n  executors:\n    claude-code:\n      settings:\n        yolo: true\n"
    )

    with pytest.raises(InvalidConfiguration) as caught:
        load_configuration(path=path, repository_path=None, environ={}, roles=[])

    shown = f"Error: {caught.value.message}\n\n{caught.value.hint}\n"
    assert shown.replace(str(path), "~/.config/sow/config.yaml") in PAGE
