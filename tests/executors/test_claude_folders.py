"""What Claude Code is told of folders besides its own. That it obeys is `tests/real`."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from sow.agents.rights import commands_denied, commands_for
from sow.agents.roles import AGENTS
from sow.commands import CALLABLE
from sow.executors.base import LaunchRequest
from sow.executors.claude_folders import denying_rules, last_arguments
from sow.executors.session import Session


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "main"
    (folder / ".claude").mkdir(parents=True)
    write(folder / ".claude/settings.json", allow=["Bash(make:*)"], ask=["Bash(git push:*)"])
    write(
        folder / ".claude/settings.local.json",
        allow=["Bash(make:*)", "WebFetch"],
        additionalDirectories=["../docs"],
    )
    return folder


def write(file: Path, **permissions: list[str]) -> None:
    file.write_text(json.dumps({"permissions": permissions}))


def trust(home: Path, folder: Path, accepted: object = True) -> None:
    projects = {str(folder): {"hasTrustDialogAccepted": accepted}}
    (home / ".claude.json").write_text(json.dumps({"projects": projects}))


@pytest.fixture
def request_(tmp_path, checkout):
    clone = tmp_path / "clone"
    clone.mkdir()
    return LaunchRequest(
        session=Session("s"),
        prompt="Do it.",
        prompt_file=tmp_path / "prompt.md",
        task_dir=checkout / "tasks/010",
        cwd=clone,
        as_root=False,
        environ={"HOME": str(tmp_path)},
        readable=(checkout / "tasks/010",),
        checkout=checkout,
    )


def settings_of(arguments):
    return json.loads(arguments[arguments.index("--settings") + 1])


def test_a_run_in_the_main_checkout_gets_the_users_arguments_alone(request_):
    bare = replace(request_, readable=(), checkout=None)
    own = ("--settings", "x.json", "--effort", "low")
    assert last_arguments(bare, own) == own


def test_a_trusted_checkouts_rules_go_along_each_once(request_, tmp_path, checkout):
    trust(tmp_path, checkout)
    arguments = last_arguments(request_, ())
    assert settings_of(arguments)["permissions"] == {
        "allow": ["Bash(make:*)", "WebFetch"],
        "ask": ["Bash(git push:*)"],
        "deny": [f"Edit(/{checkout}/tasks/010/**)"],
    }
    folders = arguments[arguments.index("--add-dir") + 1 :]
    assert folders == (str(checkout / "tasks/010"), str(checkout / "../docs"))
    assert arguments[:2] == ("--setting-sources", "user,project")


@pytest.mark.parametrize("accepted", [False, "yes", None, 1])
def test_an_untrusted_checkouts_rules_stay_where_they_are(request_, tmp_path, checkout, accepted):
    trust(tmp_path, checkout, accepted)
    assert set(settings_of(last_arguments(request_, ()))["permissions"]) == {"deny"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"projects": []}', '{"projects": {"x": 1}}'])
def test_a_damaged_file_of_claudes_trusts_nothing(request_, tmp_path, text):
    (tmp_path / ".claude.json").write_text(text)
    assert set(settings_of(last_arguments(request_, ()))["permissions"]) == {"deny"}


def test_another_configuration_folder_is_looked_into(request_, tmp_path, checkout):
    other = tmp_path / "other"
    other.mkdir()
    trust(other, checkout)
    environ = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(other)}
    arguments = last_arguments(replace(request_, environ=environ), ())
    assert "allow" in settings_of(arguments)["permissions"]


def test_the_users_own_settings_become_part_of_ours(request_, tmp_path, checkout):
    trust(tmp_path, checkout)
    given = {"model": "m", "permissions": {"allow": ["Bash(ls:*)"], "defaultMode": "plan"}}
    (request_.cwd / "mine.json").write_text(json.dumps(given))
    for own in (
        ("--settings", json.dumps(given), "--effort", "low"),
        ("--settings=mine.json", "--effort", "low"),
    ):
        arguments = last_arguments(request_, own)
        assert arguments[:2] == ("--effort", "low")
        assert arguments.count("--settings") == 1
        settings = settings_of(arguments)
        assert settings["model"] == "m"
        assert settings["permissions"]["defaultMode"] == "plan"
        assert settings["permissions"]["allow"] == ["Bash(ls:*)", "Bash(make:*)", "WebFetch"]
        assert settings["permissions"]["deny"]


def test_an_isolated_run_takes_no_rule_of_the_project_whatever_the_user_says(
    request_, tmp_path, checkout
):
    trust(tmp_path, checkout)
    isolated = replace(request_, is_isolated=True)
    arguments = last_arguments(isolated, ("--setting-sources", "user,project,local"))
    assert arguments[:3] == ("--setting-sources", "user", "--strict-mcp-config")
    assert arguments.count("--setting-sources") == 1
    assert set(settings_of(arguments)["permissions"]) == {"deny"}


def test_an_agent_s_cli_refuses_what_is_not_its_own_and_has_no_plugin(request_):
    """`sow worker list` stays allowed, though `sow worker` is not."""
    bare = replace(request_, readable=(), checkout=None)
    agents = replace(bare, commands=("worker list",), denied=("worker", "agent spawn"))
    own = ("--settings", json.dumps({"enabledPlugins": {"x@y": True, "sow@sow": True}}))
    settings = settings_of(last_arguments(agents, own))
    assert settings["enabledPlugins"] == {"x@y": True, "sow@sow": False}
    assert settings["permissions"] == {
        "deny": ["Bash(sow worker)", "Bash(sow worker -*)", "Bash(sow agent spawn:*)"]
    }
    assert last_arguments(bare, own) == own, "a person's session keeps the plugin"


@pytest.mark.parametrize("role", [agent.name for agent in AGENTS])
@pytest.mark.parametrize("reviews", [False, True])
def test_no_rule_of_a_role_refuses_what_another_of_it_allows(role, reviews):
    allowed = [" ".join(words) for words in commands_for(role, reviews=reviews)]
    denied = [" ".join(words) for words in commands_denied(role, reviews=reviews)]
    assert sorted(allowed + denied) == sorted(" ".join(words) for words in CALLABLE)
    prefixes = [
        rule.removeprefix("Bash(sow ").removesuffix(":*)")
        for rule in denying_rules(denied, allowed)
        if rule.endswith(":*)")
    ]
    assert [
        (prefix, command)
        for prefix in prefixes
        for command in allowed
        if f"{command} ".startswith(f"{prefix} ")
    ] == []
