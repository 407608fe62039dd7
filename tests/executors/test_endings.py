"""Endings that no stand-in plays: judged from their facts alone."""

import pytest

from sow.errors import ExecutorError
from sow.executors.base import Ending, Event, EventKind, Observation, Verdict
from sow.executors.cursor import Dialect
from sow.executors.registry import make_executor
from sow.executors.session import Session
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Cause

BEGUN = Observation().after(Event(EventKind.SESSION, session_id="some-session"))


def verdict(
    type_: ExecutorType,
    *,
    code: int | None = 1,
    signal: int | None = None,
    stderr: str = "",
    output: str = "",
    seen: Observation = BEGUN,
) -> Verdict:
    executor = make_executor(ExecutorConfig(name="x", type=type_, command=("agent",)))
    return executor.classify(Ending(code, signal, stderr, output), seen)


def failed(text: str, status: int | None = None) -> Observation:
    return BEGUN.after(Event(EventKind.RESULT, text=text, is_error=True, status=status))


@pytest.mark.parametrize(
    ("type_", "seen", "cause"),
    [
        (ExecutorType.CLAUDE, Observation(), Cause.AUTH),
        (ExecutorType.CLAUDE, BEGUN, Cause.AUTH),
        (ExecutorType.CURSOR, BEGUN, Cause.AUTH),
        (ExecutorType.CURSOR, Observation(), Cause.CRASHED),
        (ExecutorType.WINDSURF, Observation(), Cause.CRASHED),
        (ExecutorType.COMMAND, BEGUN, Cause.CRASHED),
    ],
)
def test_plain_output_is_the_clis_own_only_where_the_agent_speaks_in_events(
    type_: ExecutorType, seen: Observation, cause: Cause
) -> None:
    assert verdict(type_, output="Invalid API key\n", seen=seen).cause is cause


def test_a_torn_event_at_the_start_of_a_tail_is_nobodys_words() -> None:
    torn = 'the page says 401: Invalid API key","is_error":false}]}}\n{"type":"user"}\n'
    assert verdict(ExecutorType.CLAUDE, output=torn).cause is Cause.CRASHED
    assert verdict(ExecutorType.CURSOR, stderr=torn).cause is Cause.CRASHED


@pytest.mark.parametrize("code", [0, 1, None])
def test_a_failed_result_counts_whatever_the_exit_code(code: int | None) -> None:
    judged = verdict(ExecutorType.CLAUDE, code=code, seen=failed("Overloaded", 529))
    assert (judged.cause, judged.reason) == (Cause.API_ERROR, "Overloaded")


def test_a_signal_says_more_than_a_request_that_was_being_tried_again() -> None:
    retrying = BEGUN.after(Event(EventKind.API_RETRY, status=401))
    killed = verdict(ExecutorType.CLAUDE, code=None, signal=9, seen=retrying)
    assert (killed.cause, killed.reason) == (Cause.CRASHED, "ended by SIGKILL")
    assert verdict(ExecutorType.CLAUDE, code=1, seen=retrying).cause is Cause.AUTH


def test_the_reset_time_in_the_words_is_taken_before_an_older_event() -> None:
    seen = failed("Claude AI usage limit reached|1900000000")
    judged = verdict(ExecutorType.CLAUDE, seen=seen)
    assert (judged.cause, judged.resets_at) == (Cause.RATE_LIMITED, 1_900_000_000.0)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("You've hit your limit · resets 3pm (Asia/Seoul)", Cause.RATE_LIMITED),
        ("You've hit your 5-hour limit · resets 3pm", Cause.RATE_LIMITED),
        ("You've hit your session limit · resets 3pm", Cause.RATE_LIMITED),
        ("Reached maximum number of turns (1)", Cause.NO_STATUS),
        ("Error: Reached max turns (1)", Cause.NO_STATUS),
        ("API Error: Connection refused (ECONNREFUSED)", Cause.API_ERROR),
        ("Credit balance is too low", Cause.AUTH),
        ("", Cause.CRASHED),
    ],
)
def test_words_of_a_failed_result(text: str, cause: Cause) -> None:
    assert verdict(ExecutorType.CLAUDE, seen=failed(text)).cause is cause


@pytest.mark.parametrize(
    ("stderr", "cause"),
    [
        ('Error: thread/resume failed: no rollout found for thread id "x"', Cause.SESSION_UNKNOWN),
        ("Error: Session not found", Cause.SESSION_UNKNOWN),
        ('Session ID "x" already exists. Use --resume', Cause.SESSION_IN_USE),
        ("error: unexpected argument '--bogus' found", Cause.BAD_FLAGS),
        ("agent: error: unrecognized arguments: --bogus", Cause.BAD_FLAGS),
    ],
)
def test_words_of_other_clis_behind_a_command(stderr: str, cause: Cause) -> None:
    assert verdict(ExecutorType.COMMAND, stderr=stderr).cause is cause


@pytest.mark.parametrize(
    ("type_", "stderr"),
    [
        (ExecutorType.CLAUDE, "Chat 3f0c0b5e not found"),
        (ExecutorType.CLAUDE, "Authentication required"),
        (ExecutorType.CLAUDE, "Error: Session not found"),
        (ExecutorType.CURSOR, "No conversation found with session ID: 3f0c0b5e"),
        (ExecutorType.CURSOR, "Error: Session ID 3f0c0b5e is already in use."),
        (ExecutorType.CURSOR, "Credit balance is too low"),
        (ExecutorType.WINDSURF, "No conversation found with session ID: 3f0c0b5e"),
        (ExecutorType.WINDSURF, "Workspace Trust Required"),
    ],
)
def test_the_words_of_one_cli_say_nothing_in_the_mouth_of_another(
    type_: ExecutorType, stderr: str
) -> None:
    """What another prints is a line of some program that it ran, or chance."""
    assert verdict(type_, stderr=stderr).cause is Cause.CRASHED


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (400, Cause.API_ERROR),
        (401, Cause.AUTH),
        (403, Cause.AUTH),
        (404, Cause.BAD_MODEL),
        (429, Cause.RATE_LIMITED),
        (500, Cause.API_ERROR),
        (529, Cause.API_ERROR),
        (418, Cause.API_ERROR),
    ],
)
def test_a_status_without_words(status: int, cause: Cause) -> None:
    judged = verdict(ExecutorType.CLAUDE, seen=failed("", status))
    assert (judged.cause, judged.reason) == (cause, f"HTTP status {status}")


@pytest.mark.parametrize(
    ("code", "signal", "reason"),
    [
        (None, 64, "ended by SIGRTMAX"),
        (None, 99, "ended by signal 99"),
        (143, None, "ended by SIGTERM"),
        (5, None, "exit code 5, without a word"),
        (None, None, "ended in a way that nobody saw"),
    ],
)
def test_a_silent_end_is_told_in_our_words(
    code: int | None, signal: int | None, reason: str
) -> None:
    judged = verdict(ExecutorType.CLAUDE, code=code, signal=signal)
    assert (judged.cause, judged.reason) == (Cause.CRASHED, reason)


def test_an_interrupted_run_is_told_by_its_reason_not_by_its_diagnostics() -> None:
    executor = make_executor(ExecutorConfig(name="x", type=ExecutorType.CLAUDE))
    (event,) = executor.read_line(
        b'{"type":"result","is_error":true,"num_turns":3,"terminal_reason":"aborted_tools",'
        b'"errors":["[ede_diagnostic] result_type=user"]}'
    )
    assert event.text == "aborted_tools"


def test_a_cursor_without_the_subcommand_speaks_todays_dialect() -> None:
    def run(argv: object) -> str:
        if "--help" in tuple(argv):  # type: ignore[arg-type]
            raise ExecutorError("unknown command 'agent'")
        return "\n3f0c0b5e-1111-4222-8333-444455556667\n"

    executor = make_executor(ExecutorConfig(name="x", type=ExecutorType.CURSOR))
    made = executor.create_session(run)
    assert made == Session("3f0c0b5e-1111-4222-8333-444455556667", Dialect.PRINT)
