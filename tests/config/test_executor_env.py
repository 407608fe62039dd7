"""The variables of an executor, as the worker reads them."""

import pytest

from sow.config.config_errors import InvalidConfiguration
from sow.config.environment import read_executor_env
from sow.environment import worker_environment

TEXT = """\
agents:
  executors:
    claude-code:
      env:
        API_KEY: ${MY_KEY}
        URL: "https://${HOST}:${PORT}/"
        PLAIN: $HOME costs 5$ {x}
        EMPTY: ""
    mine:
      type: claude
"""
ENVIRON = {"MY_KEY": "sk-secret", "HOST": "localhost", "PORT": "8080", "HOME": "/root"}


@pytest.fixture
def path(config_path):
    config_path.write_text(TEXT)
    return config_path


def test_references_are_replaced_and_nothing_else(path):
    assert read_executor_env(path, "claude-code", ENVIRON) == {
        "API_KEY": "sk-secret",
        "URL": "https://localhost:8080/",
        "PLAIN": "$HOME costs 5$ {x}",
        "EMPTY": "",
    }


def test_a_value_is_not_looked_into_again(path):
    environ = ENVIRON | {"MY_KEY": "${HOST}"}

    assert read_executor_env(path, "claude-code", environ)["API_KEY"] == "${HOST}"


def test_an_executor_without_env_has_no_variables(path, tmp_path):
    assert read_executor_env(path, "mine", ENVIRON) == {}
    assert read_executor_env(path, "cursor", ENVIRON) == {}
    assert read_executor_env(tmp_path / "none.yaml", "cursor", ENVIRON) == {}


def test_an_unset_variable_is_named_and_no_value_shown(path):
    environ = {"MY_KEY": "sk-secret", "HOST": "localhost"}

    with pytest.raises(InvalidConfiguration) as caught:
        read_executor_env(path, "claude-code", environ)

    error = caught.value
    assert (error.exit_code, error.line) == (3, 6)
    assert error.key == "agents.executors.claude-code.env.URL"
    assert error.reason == "the variable PORT is not set where the worker runs"
    assert "Export PORT" in error.hint
    shown = error.message + error.hint
    assert "sk-secret" not in shown
    assert "localhost" not in shown


@pytest.mark.parametrize("value", ["${", "${}", "${A-B}", "${HOST:-x}", "a ${HOST", "${1}"])
def test_half_a_reference_is_refused_when_the_file_is_loaded(load, value):
    with pytest.raises(InvalidConfiguration) as caught:
        load(f"agents: {{executors: {{cursor: {{env: {{KEY: '{value}'}}}}}}}}")

    assert caught.value.key == "agents.executors.cursor.env.KEY"
    assert "after ${ only a variable's name and } may follow" in caught.value.message
    assert value not in caught.value.hint


def test_loading_takes_the_names_only(load):
    executor = load(TEXT, environ=ENVIRON).executor("claude-code")

    assert executor.env_names == ("API_KEY", "URL", "PLAIN", "EMPTY")
    assert "sk-secret" not in repr(executor)


def test_an_executor_that_is_gone_is_told(path):
    with pytest.raises(InvalidConfiguration, match="'aider' is no longer defined here"):
        read_executor_env(path, "aider", ENVIRON)


def test_a_variable_that_a_ci_service_makes_for_its_job_has_a_remedy_that_works(
    config_path,
):
    config_path.write_text(
        "agents:\n  executors:\n    cursor:\n      env: {T: '${CI_JOB_TOKEN}'}\n"
    )
    with pytest.raises(InvalidConfiguration) as caught:
        read_executor_env(config_path, "cursor", worker_environment({"CI_JOB_TOKEN": "secret"}))
    assert caught.value.reason == (
        "GitLab CI sets CI_JOB_TOKEN only for its own job, so no worker gets it"
    )
    assert "Export its value under another name" in caught.value.hint
    config_path.write_text("agents:\n  executors:\n    cursor:\n      env: {T: '${MY_TOKEN}'}\n")
    environ = worker_environment({"CI_JOB_TOKEN": "secret", "MY_TOKEN": "secret"})
    assert read_executor_env(config_path, "cursor", environ) == {"T": "secret"}
