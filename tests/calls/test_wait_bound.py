"""How long a call waits: --wait, then SOW_WAIT, then what an orchestrator's shell allows."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.agent_clis.description import AgentCli, ShellTimeout
from sow.agent_clis.known import shell_bound
from sow.calls.caller import Caller
from sow.cli.calling import WaitOptions, bound_of
from sow.errors import ExitCode, UsageError
from sow.paths import Workspace


def bound(wait: str | None = None, **environ: str) -> float | None:
    caller = Caller(Workspace(Path("/repo")), environ, Path("/repo"))
    return bound_of(WaitOptions(as_json=False, wait=wait), caller)


def test_a_person_waits_without_a_bound() -> None:
    assert bound() is None


@pytest.mark.parametrize(
    ("variables", "seconds"), [({}, 110.0), ({"BASH_DEFAULT_TIMEOUT_MS": "300000"}, 290.0)]
)
def test_below_claude_code_the_bound_is_its_shells_timeout_less_10_s(
    variables: dict[str, str], seconds: float
) -> None:
    assert bound(CLAUDECODE="1", **variables) == seconds


def test_below_gemini_it_is_five_minutes_less_10_s() -> None:
    """Its shell ends a command that has printed nothing for so long (measured)."""
    assert bound(GEMINI_CLI="1") == 290.0
    assert bound(GEMINI_CLI="1", CLAUDECODE="1") == 110.0


@pytest.mark.parametrize("value", ["", "soon", "-5", "1e9", "3.5"])
def test_a_timeout_that_is_no_number_counts_as_the_default(value: str) -> None:
    assert shell_bound({"CLAUDECODE": "1", "BASH_DEFAULT_TIMEOUT_MS": value}) == 110.0


@pytest.mark.parametrize("milliseconds", ["0", "1", "10000", "10999"])
def test_the_bound_is_never_less_than_a_second(milliseconds: str) -> None:
    environ = {"CLAUDECODE": "1", "BASH_DEFAULT_TIMEOUT_MS": milliseconds}
    assert shell_bound(environ) == 1.0


@pytest.mark.parametrize("claudecode", ["", None])
def test_the_shells_timeout_alone_binds_nobody(claudecode: str | None) -> None:
    environ = {"BASH_DEFAULT_TIMEOUT_MS": "60000"}
    assert shell_bound(environ if claudecode is None else {**environ, "CLAUDECODE": ""}) is None


def test_the_shortest_time_counts_of_all_whose_marks_are_there() -> None:
    def cli(name: str, seconds: float) -> AgentCli:
        shell = ShellTimeout(
            marker=name, milliseconds_variable=f"{name}_MS", default_seconds=seconds
        )
        return AgentCli(title=name, settings={}, shell_timeout=shell)

    clis = [cli("LONG", 90), cli("SHORT", 30), AgentCli(title="none", settings={})]
    assert shell_bound({}, clis) is None
    assert shell_bound({"LONG": "1"}, clis) == 80.0
    assert shell_bound({"LONG": "1", "SHORT": "1"}, clis) == 20.0
    assert shell_bound({"LONG": "1", "SHORT": "1", "SHORT_MS": "70000"}, clis) == 60.0


def test_sow_wait_comes_before_the_shells_timeout() -> None:
    assert bound(CLAUDECODE="1", SOW_WAIT="9m") == 540.0


def test_the_option_comes_before_sow_wait() -> None:
    assert bound("2s", CLAUDECODE="1", SOW_WAIT="9m") == 2.0


@given(st.integers(min_value=11_001, max_value=10**9))
def test_the_bound_always_leaves_the_shell_ten_seconds(milliseconds: int) -> None:
    environ = {"CLAUDECODE": "1", "BASH_DEFAULT_TIMEOUT_MS": str(milliseconds)}
    found = shell_bound(environ)
    assert found is not None
    assert found + 10 == pytest.approx(milliseconds / 1000)


@pytest.mark.parametrize("text", ["5", "five minutes", "-1s", "1w", "nan"])
def test_what_is_no_length_of_time_is_a_usage_error(text: str) -> None:
    for call in (lambda: bound(text), lambda: bound(SOW_WAIT=text)):
        with pytest.raises(UsageError) as refusal:
            call()
        assert refusal.value.exit_code is ExitCode.USAGE
        assert text in refusal.value.message
        assert "90s, 9m, 2h" in refusal.value.hint
