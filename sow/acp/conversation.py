"""One run of an agent over the protocol, step by step.

Initialize; begin a session, or go on in one; tell its id before the prompt; set the mode in which
the agent asks, and read it back; prompt, and answer what it asks for, until the turn has ended. A
cancel comes in three stages: the protocol's own, then the agent's input is closed, then its group
is ended. Owns that order and its clocks. What the messages are is `version1`; what is allowed is
`permissions`.
"""

import re
import time
from typing import Any, NoReturn

from sow.acp import version1 as wire
from sow.acp.agent_process import AgentProcess
from sow.acp.event_writer import EventWriter
from sow.acp.permissions import Decision, decide
from sow.acp.run_orders import Orders

Json = dict[str, Any]

START_SECONDS = 180.0
"""How long an agent may take for each answer before its turn begins."""
LOAD_SECONDS = 600.0
"""The same for a session that is loaded: all that was said is told once more."""
QUIET_SECONDS = 0.3
"""A replay is over when it was answered and nothing came for so long: gemini tells some after."""
REST_SECONDS = 60.0
"""How long it may take, once it was answered, until nothing comes."""
MODE_SECONDS = 2.0
"""How long a mode may take to be told, once it was set."""
LATE_SECONDS = 0.5
"""How long updates may come behind the answer to a prompt (claude: 0.4 s)."""
LEAVE_SECONDS = 5.0
"""How long an agent may take to end once its turn has; its supervisor ends what is left."""
CANCEL_SECONDS, CLOSE_SECONDS, END_SECONDS = 3.0, 1.5, 5.0
"""The stages of a cancel. The first two fit into the 5 s that a supervisor leaves to an interrupted
agent before it ends the tree; the third is for whoever starts this program without one."""


AT = re.compile(r"(^|\s)@")
"""What an agent takes for the name of a file; with a backslash before it, which stays, it does not
(cline and claude; to cline `@NAME` in quotes and brackets is text as well)."""
COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""What colours a program's words, and would hide where they begin."""
MOST_CALLS = 10_000
"""How many calls of tools are known again; one that was forgotten is told twice."""
NO_AGENT = "the program does not speak ACP"
ENDED = "ended"
"""The cause of a failure for an agent that has ended, or closed its output."""
MOST_REFUSALS = 10
"""How often an agent is asked to go on whose turn a refusal has ended (opencode, qwen, copilot)."""
REFUSED = """\
sow has refused this: {rule}
({why})
You may run the commands of sow that your instructions name, each alone on its line, and edit files
in your folder. Go on with your task without what was refused. If you cannot, log why and report so.
"""


class Failed(Exception):
    """The run has failed; the words say why."""

    def __init__(
        self, words: str, *, exit_code: int = 1, cause: str = "", code: Any = None
    ) -> None:
        super().__init__(words)
        # An executor takes a line that ends as an object does for no words: the end of a whole body
        # (codex, gemini).
        self.words = f"{words}." if words.endswith("}") else words
        self.exit_code = exit_code
        self.cause = cause
        self.code = code
        """Of the agent's own error, 0 for one without a code; None where it answered nothing."""


class Cancelled(Exception):
    """The end of the run was asked for."""


class Conversation:
    """A run."""

    def __init__(self, orders: Orders, agent: AgentProcess, events: EventWriter) -> None:
        self._orders = orders
        self._agent = agent
        self._events = events
        self._settings = wire.Settings()
        self._session = ""
        self._logins: tuple[str, ...] = ()
        """How a person can log in to the agent."""
        self._is_cancelled = False
        self._has_answered = False
        """Whether it has answered anything, as an agent over the protocol does."""
        self._is_listening = False
        """Whether updates are told: those of a replay are not."""
        self._is_replayed = True
        """Whether words may be those of an earlier turn."""
        self._calls = 0
        self._told_calls: set[str] = set()
        self._answers: dict[str, str] = {}
        """What calls that go on have answered so far."""
        self._has_failed = False
        """Whether the agent has told that its turn has failed."""
        self._last_words = ""
        self._refused: Decision | None = None
        """What was refused last, if nothing of the agent has come since."""

    def cancel(self) -> None:
        """Ask for the end; may be called by a handler of a signal."""
        self._is_cancelled = True
        self._agent.wake()

    def run(self, prompt: str) -> None:
        """Carry out the orders. Raises Failed and Cancelled."""
        abilities = self._initialize()
        self._open_session(abilities)
        self._events.write("session", session_id=self._session, agent=abilities.name)
        self._set_mode()
        self._is_listening = True
        self._take_turn(prompt)

    def end(self, *, cuts_off: bool = False) -> None:
        """Part from an agent whose turn has ended, or that has failed; `cuts_off`: it goes on."""
        if cuts_off and self._session:
            self._agent.send({"method": wire.CANCEL, "params": {"sessionId": self._session}})
        self._agent.close_input()
        self._wait_for_end(LEAVE_SECONDS)

    def end_cancelled(self) -> None:
        """End an agent in three stages."""
        if self._session:
            self._agent.send({"method": wire.CANCEL, "params": {"sessionId": self._session}})
            self._listen_until(time.monotonic() + CANCEL_SECONDS, turn=self._calls)
        self._agent.close_input()
        if self._wait_for_end(CLOSE_SECONDS) is None:
            self._agent.terminate()
            self._wait_for_end(END_SECONDS)

    def _initialize(self) -> wire.Abilities:
        try:
            answer = self._call(wire.INITIALIZE, wire.initialize(), START_SECONDS)
        except Failed as failed:
            if failed.code == wire.NO_SUCH_METHOD:
                raise _unfit(f"{NO_AGENT}: {failed.words}") from None
            raise
        abilities = wire.abilities(answer)
        self._logins = abilities.logins
        if not wire.is_same(abilities.version, wire.VERSION):
            version = wire.shown(abilities.version)
            raise _unfit(f"the agent speaks version {version} of the protocol; sow speaks 1")
        if not abilities.loads:
            raise _unfit("the agent cannot load a session again, so its tasks could not be resumed")
        return abilities

    def _open_session(self, abilities: wire.Abilities) -> None:
        orders = self._orders
        if orders.session is None:
            answer = self._call(wire.NEW, wire.begin(orders.folder, orders.writable), START_SECONDS)
            session = wire.session_of(answer)
            if session is None:
                raise Failed("the agent has begun a session without an id that sow could keep")
            self._session = session
        else:
            self._session = orders.session
            method = wire.RESUME if abilities.resumes else wire.LOAD
            try:
                params = wire.go_on(orders.session, orders.folder, orders.writable)
                answer = self._call(method, params, LOAD_SECONDS)
            except Failed as failed:
                if failed.code is None or failed.cause:
                    raise
                words = f"the agent cannot go on in session {orders.session}: {failed.words}"
                raise Failed(words, cause="session_unknown", code=failed.code) from None
        self._settings.note(answer)
        if orders.session is not None:
            self._swallow_rest()

    def _swallow_rest(self) -> None:
        """Read what still comes of a replay."""
        last = time.monotonic() + REST_SECONDS
        until = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < until:
            if self._receive(until) is not None:
                until = min(last, time.monotonic() + QUIET_SECONDS)

    def _set_mode(self) -> None:
        """Have the agent ask for permission, and read back that it will. Raises Failed."""
        preset, settings = self._orders.preset, self._settings
        self._is_replayed = False
        if preset.mode and settings.mode != preset.mode:
            if settings.mode_option:
                self._set_option(settings.mode_option, preset.mode)
            else:
                self._set(wire.SET_MODE, wire.set_mode(self._session, preset.mode))
        for option, value in preset.options.items():
            if not wire.is_same(settings.options.get(option), value):
                self._set_option(option, value)
        until = time.monotonic() + MODE_SECONDS
        while (wrong := self._wrong_setting()) and time.monotonic() < until:
            self._receive(until)
        if wrong:
            raise Failed(f"the agent would not ask for permission: {wrong}", cause="unfit")

    def _set_option(self, option: str, value: str | bool) -> None:
        self._set(wire.SET_OPTION, wire.set_option(self._session, option, value))

    def _set(self, method: str, params: Json) -> None:
        try:
            self._settings.note(self._call(method, params, START_SECONDS))
        except Failed as failed:
            if failed.code is None:
                raise  # else what holds is read back

    def _wrong_setting(self) -> str:
        preset, settings = self._orders.preset, self._settings
        if preset.mode and settings.mode != preset.mode:
            known = ", ".join(settings.modes[: wire.MOST_MODES])
            others = f" (it has {known})" if known and preset.mode not in settings.modes else ""
            return f"its mode is {settings.mode or 'not known'}, not {preset.mode}{others}"
        return next(
            (
                f"its option {option} is {wire.shown(settings.options.get(option))}, not {value!r}"
                for option, value in preset.options.items()
                if not wire.is_same(settings.options.get(option), value)
            ),
            "",
        )

    def _take_turn(self, prompt: str) -> None:
        reason = self._turn(prompt)
        for _ in range(MOST_REFUSALS):
            if self._refused is None or reason not in (wire.END_TURN, wire.CANCELLED):
                break
            rule, why = self._refused.rule[: wire.MOST_TEXT], self._refused.reason[: wire.MOST_TEXT]
            reason = self._turn(REFUSED.format(rule=rule, why=why))
        fails_with = self._orders.preset.fails_with
        if self._has_failed or (fails_with and re.match(fails_with, self._last_words)):
            raise Failed(f"the agent's turn failed: {self._last_words or 'without a word'}")
        if reason != wire.END_TURN:
            raise Failed(f"the agent's turn ended with {wire.shown(reason)}", cause="stopped")
        if not self._events.has_written_work:
            raise Failed(
                "the agent's turn ended without a word and without a tool's call", cause="api_error"
            )
        self._events.write("result", session_id=self._session, stop_reason=reason)

    def _turn(self, prompt: str) -> Any:
        """Carry out a turn; return why it ended."""
        self._refused = None
        text = AT.sub(r"\1\@", prompt) if self._orders.preset.reads_at else prompt
        answer = self._call(wire.PROMPT, wire.prompt(self._session, text), None)
        self._listen_until(time.monotonic() + LATE_SECONDS)
        self._tell_usage(answer)
        self._events.flush()
        return answer.get("stopReason")

    def _call(self, method: str, params: Json, seconds: float | None) -> Json:
        """Return the answer to a request; meanwhile see to what the agent sends.

        Raises Failed, with `code` where the agent has refused; Cancelled.
        """
        self._calls += 1
        number = self._calls
        self._agent.send({"id": number, "method": method, "params": params})
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            message = self._receive(until)
            if message is None or not wire.is_answer(message, number):
                continue
            self._has_answered = True
            error = message.get("error")
            if error is not None:
                self._refuse(error if isinstance(error, dict) else {"message": error})
            answer = message.get("result")
            return answer if isinstance(answer, dict) else {}
        if not self._has_answered and (prose := self._prose()):
            raise _unfit(f"{NO_AGENT}: it has written {prose} and answers nothing")
        raise Failed(f"the agent has not answered {method} within {seconds:g} s", cause="api_error")

    def _refuse(self, error: Json) -> NoReturn:
        """Raise what the agent has answered a request with."""
        code = wire.code_of(error)
        words = wire.error_words(error) or "without a word"
        asks_for_login = code == wire.AUTH_REQUIRED
        cause = "auth" if asks_for_login else ""
        number = "" if code is None else f" {code}"
        ways = "; ".join(self._logins) if asks_for_login else ""
        known = f" (its ways to log in: {ways})" if ways else ""
        raise Failed(f"the agent's error{number}: {words}{known}", cause=cause, code=code or 0)

    def _listen_until(self, until: float, *, turn: int | None = None) -> None:
        """See to what the agent sends until a time, or until it has answered the call `turn`.

        Raises Failed for what ends a run, but not where it is ending.
        """
        while time.monotonic() < until:
            try:
                message = self._receive(until, is_ending=turn is not None)
            except Failed as failed:
                if turn is None and failed.cause != ENDED:
                    raise
                return
            if message is not None and turn is not None and wire.is_answer(message, turn):
                return

    def _receive(self, until: float | None, *, is_ending: bool = False) -> Json | None:
        """Return the next message, having seen to it; None where none came for a while.

        Raises Cancelled unless the run `is_ending`; Failed where the agent has ended.
        """
        if self._is_cancelled and not is_ending:
            raise Cancelled
        seconds = 1.0 if until is None else min(1.0, until - time.monotonic())
        try:
            message = self._agent.receive(seconds)
        except EOFError:
            if self._is_cancelled and not is_ending:
                raise Cancelled from None
            code = self._agent.wait(LEAVE_SECONDS)
            raise self._ended(code) from None
        self._events.flush(due_only=True)
        if message is not None:
            self._see_to(message, is_ending=is_ending)
        return message

    def _ended(self, code: int | None) -> Failed:
        """Return the failure of an agent that will write no more.

        An agent may greet, and then end by a fault that passes: only one that ends well before it
        has answered is none. What another has written tells the cause.
        """
        how = "has closed its output" if code is None else f"has ended with exit code {code}"
        if self._has_answered:
            return Failed(f"the agent {how} in the middle of its work", cause=ENDED)
        prose = self._prose()
        if prose and code == 0:
            return _unfit(f"{NO_AGENT}: it has written {prose} and {how}")
        wrote = f"; it has written {prose}" if prose else ""
        words = f"the agent {how} before it had answered {wire.INITIALIZE}{wrote}"
        return Failed(words, cause=ENDED)

    def _prose(self) -> str:
        """Return what the agent has written besides messages, for people; empty for nothing."""
        return ", ".join(repr(COLOUR.sub("", line)) for line in self._agent.prose)

    def _see_to(self, message: Json, *, is_ending: bool) -> None:
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == wire.UPDATE:
            update = params.get("update")
            if isinstance(update, dict) and params.get("sessionId") == self._session:
                self._note(update)
        elif method is not None and wire.can_be_answered(message):
            if method == wire.PERMISSION:
                answer = wire.chosen(None) if is_ending else self._decide(params)
                self._agent.send({"id": message["id"], "result": answer})
            else:
                error = {"code": wire.NO_SUCH_METHOD, "message": "this client has no such method"}
                self._agent.send({"id": message["id"], "error": error})
            if self._agent.is_deaf and not is_ending:
                raise Failed("the agent asks, and does not read the answers", cause="api_error")

    def _note(self, update: Json) -> None:
        """Tell what an update says. Raises Failed where the agent will ask no more."""
        in_words = self._orders.preset.tells_mode_in_words and not self._is_replayed
        self._settings.note(update, in_words=in_words)
        if not self._is_listening:
            return
        wrong = self._wrong_setting()
        if wrong:
            raise Failed(f"the agent would not ask for permission any more: {wrong}", cause="unfit")
        text, tool = wire.text_of(update), wire.tool_of(update)
        if in_words and wire.is_mode_in_words(update):
            text = ""
        failed = wire.has_failed(update)
        if failed is not None:
            self._has_failed = failed
        if text:
            notes_with = self._orders.preset.notes_with
            if not (notes_with and re.match(notes_with, text)):
                self._refused = None
            self._last_words = " ".join(text[: wire.MOST_TEXT].split())
            self._events.add_text(text, wire.message_of(update))
        elif tool is not None:
            self._note_tool(tool)
        elif update.get("sessionUpdate") == "agent_thought_chunk":
            self._events.note_thought()
        self._tell_usage(update)

    def _note_tool(self, tool: wire.Tool) -> None:
        """Tell a tool's call once it runs, and once it has ended.

        While it is prepared what it is about may not be known (qwen, opencode, claude).
        """
        if tool.status == "pending" or (not tool.status and not tool.answer):
            return
        self._tell_call(tool)
        if tool.status in ("completed", "failed"):
            failed, pieces = tool.status == "failed", self._answers.pop(tool.id, "")
            answer = tool.answer or pieces
            self._events.write("tool_result", id=tool.id, text=answer, is_error=failed)
        elif tool.answer and len(self._answers) < MOST_CALLS:
            pieces = self._answers.get(tool.id, "") + tool.answer
            self._answers[tool.id] = pieces[: wire.MOST_TEXT]

    def _tell_call(self, tool: wire.Tool) -> None:
        if tool.id not in self._told_calls:
            self._refused = None
            if len(self._told_calls) >= MOST_CALLS:
                self._told_calls.clear()
            self._told_calls.add(tool.id)
            self._last_words = ""
            self._events.write("tool_use", id=tool.id, tool=tool.name or "tool", text=tool.target)

    def _decide(self, question: Json) -> Json:
        """Return the answer to a request for permission, and tell it."""
        if self._is_listening:
            tool = wire.tool_of(question)
            if tool is not None:
                self._tell_call(tool)
        decision = decide(question, self._orders.preset, self._orders.rights)
        self._refused = None if decision.is_allowed else decision
        kind = "permission" if decision.is_allowed else "denial"
        rule, why = decision.rule[: wire.MOST_TEXT], decision.reason[: wire.MOST_TEXT]
        self._events.write(kind, rule=rule, option=decision.option, reason=why)
        return wire.chosen(decision.option)

    def _tell_usage(self, update: Json) -> None:
        usage = wire.usage_of(update)
        if usage:
            self._events.write("usage", **usage)

    def _wait_for_end(self, seconds: float) -> int | None:
        return self._agent.wait(seconds)


def _unfit(words: str) -> Failed:
    """Return the failure of a program that sow cannot drive."""
    return Failed(words, exit_code=6, cause="unfit")
