"""Executors by type and by name, and the words of their errors."""

import pytest
from built_in import RESUMABLE_IN_WORDS
from msgspec.structs import replace

from sow.agent_clis.known import AGENT_CLIS, WITH_SHELL_TIMEOUT
from sow.errors import ExecutorError
from sow.executors.executor_errors import (
    ResumptionNotSupported,
    SessionLost,
    SessionMissing,
)
from sow.executors.registry import executor_class, make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, built_in_name


def config(name: str, type_: ExecutorType) -> ExecutorConfig:
    command = ("agent",) if type_ in (ExecutorType.ACP, ExecutorType.COMMAND) else ()
    return ExecutorConfig(name=name, type=type_, command=command)


@pytest.mark.parametrize("type_", list(ExecutorType))
def test_an_executor_is_made_from_its_settings(type_: ExecutorType) -> None:
    settings = config("mine", type_)
    executor = make_executor(settings)
    assert executor.name == "mine"
    assert executor.config is settings
    assert type(executor) is executor_class(type_)


def test_no_resumption_in_the_seeds_words() -> None:
    error = ResumptionNotSupported("windsurf", "010")
    assert error.message == 'executor "windsurf" does not support session resumption'
    assert error.hint == (
        "Cannot resume task 010. Consider:\n"
        "  - Spawning a new worker instance\n"
        f"  - Switching to an executor with session support ({RESUMABLE_IN_WORDS})"
    )
    assert error.exit_code == 5


def test_a_missing_session_in_the_seeds_words() -> None:
    error = SessionMissing("010", "implementer")
    assert error.message == "no session found for task 010"
    assert error.hint == (
        "Task has not been started or session has expired.\n"
        "Use `sow agent spawn implementer 010` to start a new session."
    )
    assert error.exit_code == 5


def test_what_is_known_without_a_description_is_what_it_says() -> None:
    for kind, cli in AGENT_CLIS.items():
        assert cli.built_in == built_in_name(kind)
    with_timeout = {
        cli.shell_timeout.marker: kind
        for kind, cli in AGENT_CLIS.items()
        if cli.shell_timeout is not None
    }
    assert with_timeout == WITH_SHELL_TIMEOUT


def test_a_lost_session_names_the_choices() -> None:
    error = SessionLost("claude-code", "010", "U", "implementer")
    assert error.message == 'executor "claude-code" no longer knows session U of task 010'
    assert "sow agent spawn implementer 010 --fresh" in error.hint
    assert error.exit_code == 5


@pytest.mark.parametrize("answer", ["", "\n", "Please log in first!\n", "--help", "x" * 300])
def test_a_chat_that_was_not_made_is_told(answer: str) -> None:
    executor = make_executor(config("cursor", ExecutorType.CURSOR))
    with pytest.raises(ExecutorError, match="`cursor-agent create-chat`") as caught:
        executor.create_session(lambda _argv: answer)
    assert caught.value.message.startswith('executor "cursor" could not create a session')
    assert len(caught.value.message) < 400


def test_a_record_without_a_command_may_be_continued() -> None:
    """A shared queue keeps a name and a type; what says otherwise stands on the host."""
    bare = ExecutorConfig(name="mine", type=ExecutorType.COMMAND)
    assert make_executor(bare).supports_resumption
    assert not make_executor(replace(bare, command=("agent",))).supports_resumption
