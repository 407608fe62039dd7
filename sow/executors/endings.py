"""Why an agent's process ended, judged by exit code, HTTP status and the CLI's own words.

Owns the order in which these are asked; the words stand in each CLI's description
(`sow.agent_clis`), and no ending is read with another's. They are looked for on
standard error and in the final result only, never in what an agent said while it
worked: an agent that talks about a 401 has not failed with one.
"""

import re
import signal

from sow.agent_clis.description import AgentCli
from sow.executors.base import Ending, Event, Observation, Verdict
from sow.executors.stream import excerpt
from sow.schema.causes import WITHOUT_CALL, Cause
from sow.terminal_text import without_sequences

REASON_LIMIT = 400
SILENT = "without a word"
"""How the reason ends of a program that has said nothing of its failure."""
EXEC_FAILURES = (126, 127)
"""A shell's and `env`'s codes for a program that cannot be run or found."""

KILLING = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})


def classify_ending(
    ending: Ending, seen: Observation, cli: AgentCli, *, remedy: str, output_is_own: bool = False
) -> Verdict:
    """Return the cause of an ending of `cli` without a status, and the reason in its own words.

    `remedy` says how denied tools are allowed, for the one verdict whose cure is
    a setting. `output_is_own`: plain lines on standard output are the CLI's, not
    the agent's.
    """
    failed = seen.result if seen.result is not None and seen.result.is_error else None
    if ending.code == 0 and failed is None:
        return _quiet_ending(seen, remedy)
    killer = _killing_signal(ending)
    if killer is not None and failed is None:
        if seen.concluded:  # killed when its work was done: a background task had kept it, say
            return _quiet_ending(seen, remedy)
        return Verdict(Cause.CRASHED, f"ended by {killer}")
    words = _own_words(ending, failed, output_is_own=output_is_own)
    return _by_status(words, seen, cli) or _by_words(words, seen, cli) or _by_code(ending, words)


def _quiet_ending(seen: Observation, remedy: str) -> Verdict:
    # Claude Code 2.1.330 ends an interrupted run with code 0 and no result (measured).
    if seen.session_id is not None and seen.result is None:
        return Verdict(Cause.CRASHED, "the CLI ended in the middle of its work, without a result")
    if seen.denied_tools:
        tools = ", ".join(dict.fromkeys(seen.denied_tools))
        return Verdict(Cause.DENIED, excerpt(f"not allowed: {tools}", REASON_LIMIT) + f". {remedy}")
    from sow.schema.cause_table import CAUSES  # who makes an executor judges no ending yet

    without_status = CAUSES[Cause.NO_STATUS].words
    return Verdict(Cause.NO_STATUS, WITHOUT_CALL if seen.is_empty else without_status)


def _killing_signal(ending: Ending) -> str | None:
    """Return the signal that ended it: by itself, or as a shell's exit code (Claude's habit)."""
    number = ending.signal
    if number is None and ending.code is not None and ending.code - 128 in KILLING:
        number = ending.code - 128
    if number is None:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _own_words(ending: Ending, failed: Event | None, *, output_is_own: bool) -> list[str]:
    """Return the lines that the CLI itself wrote about its failure; no events, whole or torn."""
    sources = [failed.text if failed else "", ending.output_tail if output_is_own else ""]
    text = without_sequences("\n".join([*sources, ending.stderr_tail]))  # some colour a pipe
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("{") and not line.endswith("}")]


def _by_words(
    words: list[str], seen: Observation, cli: AgentCli, wanted: tuple[Cause, ...] = tuple(Cause)
) -> Verdict | None:
    for pattern, cause in cli.words:
        for line in words if cause in wanted else ():
            if re.search(pattern, line, re.IGNORECASE):
                resets_at = _reset_time(line, seen, cli) if cause is Cause.RATE_LIMITED else None
                return Verdict(cause, excerpt(line, REASON_LIMIT), resets_at)
    return None


def _reset_time(line: str, seen: Observation, cli: AgentCli) -> float | None:
    written = re.search(cli.reset_time, line) if cli.reset_time else None
    return float(written.group(1)) if written else seen.resets_at


def _by_status(words: list[str], seen: Observation, cli: AgentCli) -> Verdict | None:
    """Judge by the HTTP status of the request that failed last."""
    reason = excerpt("\n".join(words[:2]), REASON_LIMIT) or f"HTTP status {seen.api_status}"
    match seen.api_status:
        case None:
            return None
        case 401 | 403:
            return Verdict(Cause.AUTH, reason)
        case 404:
            return _by_words(words, seen, cli) or Verdict(Cause.BAD_MODEL, reason)
        case 429:
            return _by_words(words, seen, cli, (Cause.RATE_LIMITED, Cause.AUTH)) or Verdict(
                Cause.RATE_LIMITED, reason, seen.resets_at
            )
        case _:
            found = (Cause.RATE_LIMITED, Cause.AUTH, Cause.TOO_LONG)
            return _by_words(words, seen, cli, found) or Verdict(Cause.API_ERROR, reason)


def _by_code(ending: Ending, words: list[str]) -> Verdict:
    last = excerpt("\n".join(words[-2:]), REASON_LIMIT)
    if ending.code is None:
        return Verdict(Cause.CRASHED, last or "ended in a way that nobody saw")
    if ending.code in EXEC_FAILURES:
        return Verdict(Cause.MISSING_BINARY, last or f"exit code {ending.code}: cannot be run")
    return Verdict(Cause.CRASHED, last or f"exit code {ending.code}, {SILENT}")
