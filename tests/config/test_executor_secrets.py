"""Secrets by file and by command, as the user's file names them; none is ever quoted."""

import os

import pytest

from sow.config.config_errors import InvalidConfiguration
from sow.config.effective import effective_settings
from sow.config.secrets import read_secrets
from sow.environment import agent_environment, worker_environment

SECRET = "sk-0815-not-to-be-seen"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "key"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o600)
    return path


def configure(config_path, *lines):
    section = "".join(f"      {line}\n" for line in lines)
    config_path.write_text(f"agents:\n  executors:\n    cursor:\n{section}")
    return config_path


def test_a_value_is_the_text_of_a_file_less_its_last_newline(config_path, file):
    file.write_text(f"{SECRET}\n\n")
    path = configure(
        config_path, f"env_files: {{KEY: {file}}}", "env_commands: {TOKEN: pass show token}"
    )
    secrets = read_secrets(path, "cursor")
    assert secrets.values == {"KEY": f"{SECRET}\n"}
    assert secrets.commands == {"TOKEN": "pass show token"}
    assert secrets.names == ("KEY", "TOKEN")
    assert SECRET not in repr(secrets)
    assert read_secrets(path, "claude-code").names == ()


def test_a_path_may_begin_at_home(config_path, file, monkeypatch):
    monkeypatch.setenv("HOME", str(file.parent))
    assert read_secrets(configure(config_path, "env_files: {KEY: ~/key}"), "cursor").values


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610])
def test_a_file_that_others_can_read_is_refused(config_path, file, mode):
    file.chmod(mode)
    with pytest.raises(InvalidConfiguration) as caught:
        read_secrets(configure(config_path, f"env_files: {{KEY: {file}}}"), "cursor")
    error = caught.value
    assert (error.exit_code, error.key) == (3, "agents.executors.cursor.env_files.KEY")
    assert error.reason == f"{file}: other users can read or change it"
    assert f"Run `chmod 600 {file}`." in error.hint
    assert SECRET not in error.message + error.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(config_path, file):
    os.chown(file, 12345, -1)
    with pytest.raises(InvalidConfiguration, match="it belongs to another user"):
        read_secrets(configure(config_path, f"env_files: {{KEY: {file}}}"), "cursor")


def test_what_is_no_secret_is_refused_and_not_quoted(config_path, file):
    for data, words in (
        (b"short\n", "shorter than 6 bytes"),
        (b"\nsk-0815", "begins with a line break"),
        (b"sk-08\x0015", "NUL"),
        (b"x" * 70_000, "longer than 64 KiB"),
    ):
        file.write_bytes(data)
        with pytest.raises(InvalidConfiguration) as caught:
            read_secrets(configure(config_path, f"env_files: {{KEY: {file}}}"), "cursor")
        assert words in caught.value.reason
        assert "sk-08" not in caught.value.message + caught.value.hint


def test_what_is_no_file_is_refused(config_path, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("none", "there is no such file"), ("pipe", "pipe"), (".", "folder")):
        path = configure(config_path, f"env_files: {{KEY: {tmp_path / name}}}")
        with pytest.raises(InvalidConfiguration, match=words):
            read_secrets(path, "cursor")


@pytest.mark.parametrize(
    ("lines", "key", "reason"),
    [
        (["env_files: {KEY: secrets/key}"], "env_files.KEY", "must begin with"),
        (["env_files: {PATH: /key}"], "env_files.PATH", "this PATH has no effect"),
        (["env_files: {SOW_SECRETS: /key}"], "env_files.SOW_SECRETS", "sow itself sets"),
        (["env_commands: {9X: echo}"], "env_commands.9X", "not a variable name"),
        (["env: {K: v}", "env_files: {K: /key}"], "env_files.K", "env sets this variable already"),
        (
            ["env_files: {K: /key}", "env_commands: {K: echo}"],
            "env_commands.K",
            "env_files sets this variable already",
        ),
        (["env_inherit: some"], "env_inherit", ""),
        (["env_inherit: [A-B]"], "env_inherit[0]", ""),
        (["env_commands: {K: 5}"], "env_commands.K", "must be names of variables with strings"),
    ],
)
def test_half_a_setting_is_refused_when_the_file_is_loaded(load, config_path, lines, key, reason):
    text = configure(config_path, *lines).read_text()
    with pytest.raises(InvalidConfiguration) as caught:
        load(text)
    assert caught.value.key == f"agents.executors.cursor.{key}"
    assert reason in caught.value.reason


def test_the_repository_can_set_none_of_them(load):
    for key in ("env_inherit: all", "env_files: {K: /etc/key}", "env_commands: {K: id}"):
        with pytest.raises(InvalidConfiguration, match="a repository cannot set this"):
            load("", repository=f"agents:\n  executors:\n    cursor:\n      {key}\n")


def test_names_alone_are_kept_and_shown(load):
    loaded = load(
        "agents:\n  executors:\n    cursor:\n      env_inherit: [A, B]\n"
        "      env_files: {KEY: /secret/place}\n      env_commands: {TOKEN: pass show secret}\n"
    )
    executor = loaded.executor("cursor")
    assert (executor.env_inherit, executor.secret_names) == (("A", "B"), ("KEY", "TOKEN"))
    assert "secret" not in repr(executor).replace("secret_names", "")
    shown = {".".join(each.key[3:]): each.value for each in effective_settings(loaded)}
    assert shown["env_inherit"] == ["A", "B"]
    assert shown["env_files.KEY"] == shown["env_commands.TOKEN"] == "***"


def test_all_is_what_holds_without_the_key(load):
    loaded = load("agents:\n  executors:\n    cursor:\n      env_inherit: all\n")
    assert loaded.executor("cursor").env_inherit is None
    shown = {".".join(each.key[3:]): each.value for each in effective_settings(loaded)}
    assert shown["env_inherit"] == "all"


AROUND = {
    **dict.fromkeys(("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL"), "x"),
    **dict.fromkeys(("TZ", "TMPDIR", "TERM", "MINE", "AWS_SECRET_ACCESS_KEY"), "x"),
}


def test_a_list_passes_the_basis_and_what_it_names():
    assert agent_environment(AROUND) == AROUND
    without = {
        name: AROUND[name] for name in AROUND if name not in ("MINE", "AWS_SECRET_ACCESS_KEY")
    }
    assert agent_environment(AROUND, ()) == without
    assert agent_environment(AROUND, ("MINE", "GONE")) == {**without, "MINE": "x"}


def test_what_a_program_around_has_set_passes_by_no_list():
    around = {**AROUND, "MAKELEVEL": "1", "MAKEFLAGS": "-i", "CLAUDECODE": "1"}
    assert not {"MAKEFLAGS", "CLAUDECODE"} & set(
        agent_environment(around, ("MAKEFLAGS", "CLAUDECODE"))
    )


def test_no_worker_takes_over_the_secrets_of_an_agent():
    around = {**AROUND, "SOW_SECRETS": "KEY,TOKEN", "KEY": SECRET, "TOKEN": SECRET}
    assert set(worker_environment(around)) == set(AROUND)
