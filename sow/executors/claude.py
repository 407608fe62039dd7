"""Claude Code: `claude -p` with its events as stream-json.

Owns its command line and its permission rules: one for each command of sow that
the agent may run, because a rule for a group of commands would let agents run
whatever joins that group one day. Facts measured with Claude Code
2.1.197: `stream-json` needs `--verbose`; the id of a session is ours to choose;
a resume remembers the model, but neither the permissions nor any other flag.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from sow.agent_clis.claude import CLI, MONEY_FLAG
from sow.executors.program_executor import ProgramExecutor
from sow.executors.session import SessionSource
from sow.user_folders import home_in

if TYPE_CHECKING:
    from sow.executors.base import (
        Ending,
        Event,
        Executor,
        Launch,
        LaunchRequest,
        Observation,
        Verdict,
    )

MESSAGE = re.compile(rb'"type": ?"(user|assistant)"')
"""A message in a transcript; inside a text of it, these quotation marks are escaped."""
STREAM = ("-p", "--output-format", "stream-json", "--verbose")
SKIPS = ("--dangerously-skip-permissions",)
INSTRUCTIONS = "--append-system-prompt"


class ClaudeExecutor(ProgramExecutor, frozen=True):
    """Drives Claude Code."""

    cli = CLI
    has_terminal_mode: ClassVar[bool] = True
    isolates: ClassVar[bool] = True
    session_source: ClassVar[SessionSource] = SessionSource.CHOSEN

    def spawn(self, request: "LaunchRequest") -> "Launch":
        """Return the launch that begins `request.session`."""
        return self._launch(request, "--session-id")

    def resume(self, request: "LaunchRequest") -> "Launch":
        """Return the launch that continues `request.session`, permissions and all."""
        return self._launch(request, "--resume")

    def take_over(self, request: "LaunchRequest") -> "Launch":
        """Return the launch that opens `request.session` on a terminal.

        Claude Code asks the person there, so only the rules are given, and no mode.
        """
        # By a worker, or with a terminal.
        from sow.executors.base import Launch
        from sow.executors.claude_folders import last_arguments

        skips = SKIPS if self.config.yolo_mode else self._rules(request)
        session = ("--resume", request.required_session.id)
        return Launch(
            argv=(
                self.binary,
                *skips,
                *self._model(),
                *session,
                *last_arguments(request, self.config.custom_args),
            ),
            stdin="",
            cwd=request.cwd,
            env=self._environment(request),
        )

    def begin_on_terminal(self, request: "LaunchRequest") -> "Launch":
        """Return the launch that begins `request.session` on a terminal (measured, 2.1.330).

        `--` keeps the message from being taken for a rule of `--allowedTools`.
        """
        # As above.
        from sow.executors.base import Launch
        from sow.executors.claude_folders import last_arguments, take_option

        own, rest = take_option(self.config.custom_args, INSTRUCTIONS)
        instructions = "\n\n".join(filter(None, (own, request.instructions)))
        argv = (self.binary, *self._permissions(request), *self._model())
        session = ("--session-id", request.required_session.id)
        above = (INSTRUCTIONS, instructions) if instructions else ()
        return Launch(
            argv=(*argv, *session, *last_arguments(request, rest), *above, "--", request.prompt),
            stdin="",
            cwd=request.cwd,
            env=self._environment(request),
        )

    def limit_arguments(self, usd: float) -> tuple[str, ...]:
        """Return the flag of its own limit: it looks after each answer (measured, 2.1.330)."""
        return (MONEY_FLAG, f"{usd:.4f}")

    def transcripts(self, session_id: str, environ: Mapping[str, str]) -> Iterable[Path]:
        """Return the session's transcript: one file in a folder for each project (measured)."""
        config = Path(environ.get("CLAUDE_CONFIG_DIR") or home_in(environ) / ".claude")
        return config.glob(f"projects/*/{session_id}.jsonl")

    def holds_conversation(self, transcript: bytes) -> bool:
        """Return whether anybody has said a word in it.

        Claude Code 2.1.330 begins a transcript with the prompt's way through its queue. Cut off
        there, a resume finds no conversation, and a spawn finds its id in use (measured).
        """
        return MESSAGE.search(transcript) is not None

    def read_line(self, line: bytes) -> "tuple[Event, ...]":
        """Return what a line of stream-json tells."""
        from sow.executors.claude_stream import read_claude_line  # by a worker alone

        return read_claude_line(line)

    def read(self, data: bytes) -> "Iterator[Event]":
        """Return the events of many lines."""
        # As above.
        from sow.executors.claude_stream import EVENT_LINES
        from sow.executors.lines import read_matching

        return read_matching(data, EVENT_LINES, self.read_line)

    def skim(self, data: bytes) -> "Iterator[Event]":
        """Return the events of many lines that an observation needs."""
        # As above.
        from sow.executors.claude_stream import TELLING_LINES
        from sow.executors.lines import read_matching

        return read_matching(data, TELLING_LINES, self.read_line)

    def classify(self, ending: "Ending", seen: "Observation") -> "Verdict":
        """Return the cause of an ending without a status."""
        from sow.executors.endings import classify_ending  # as above

        return classify_ending(ending, seen, self.cli, remedy=self.remedy, output_is_own=True)

    def _launch(self, request: "LaunchRequest", session_flag: str) -> "Launch":
        # As above.
        from sow.executors.base import Launch
        from sow.executors.claude_folders import last_arguments

        # --allowedTools takes every word up to the next flag, so a flag of ours
        # stands between it and the user's own arguments.
        argv = (self.binary, *STREAM, *self._permissions(request), *self._model())
        session = (session_flag, request.required_session.id)
        return Launch(
            argv=(*argv, *session, *last_arguments(request, self.config.custom_args)),
            stdin=request.prompt,
            cwd=request.cwd,
            env=self._environment(request),
        )

    def _permissions(self, request: "LaunchRequest") -> tuple[str, ...]:
        if self.config.yolo_mode:
            return SKIPS
        return ("--permission-mode", "acceptEdits", *self._rules(request))

    def _rules(self, request: "LaunchRequest") -> tuple[str, ...]:
        rules = (*map(rule_for, request.commands), *self.config.allowed_tools)
        return ("--allowedTools", ",".join(rules)) if rules else ()

    def _model(self) -> tuple[str, ...]:
        return ("--model", self.config.model) if self.config.model else ()

    def _environment(self, request: "LaunchRequest") -> dict[str, str]:
        """Return what lifts the CLI's refusal to skip permissions as root (measured)."""
        return {"IS_SANDBOX": "1"} if self.config.yolo_mode and request.as_root else {}


def rule_for(command: str) -> str:
    """Return the rule that allows one command of sow, whatever follows it."""
    return f"Bash(sow {command}:*)"


EXECUTOR: "type[Executor]" = ClaudeExecutor
