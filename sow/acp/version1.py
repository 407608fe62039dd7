"""What version 1 of the protocol says: the messages to an agent, and what its own mean.

Owns every name of the wire. Another version is another module beside this one, and
`conversation` takes the one that the agent speaks. Measured with eight agents (`presets`); what one
of them does differently is said where it is read. Pure.
"""

from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Json = dict[str, Any]

VERSION = 1
INITIALIZE, NEW, LOAD, RESUME = "initialize", "session/new", "session/load", "session/resume"
PROMPT, CANCEL, UPDATE = "session/prompt", "session/cancel", "session/update"
SET_MODE, SET_OPTION = "session/set_mode", "session/set_config_option"
PERMISSION = "session/request_permission"
AUTH_REQUIRED, NOT_FOUND, NO_SUCH_METHOD = -32000, -32002, -32601
END_TURN, CANCELLED = "end_turn", "cancelled"
MODE_WORDS = "[MODE_UPDATE] "
"""How gemini tells its mode: as words of the agent."""
MOST_TEXT = 2_000
"""How much is kept of what a tool answers or was called for, in characters."""
MOST_SHOWN = 100
LONGEST_ID = 200
"""A longer id of a session, a call or a request is none, in characters."""
MOST_LOGINS, MOST_MODES = 5, 10
"""How many of an agent's are shown to people."""
MOST_CODE = 1 << 31
MOST_OPTIONS = 1_000
"""How many options of a session are known; all beyond are not, and so do not hold."""


def initialize() -> Json:
    """Return what the client says of itself: it offers neither files nor terminals."""
    return {
        "protocolVersion": VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": False, "writeTextFile": False},
            "terminal": False,
        },
        "clientInfo": {"name": "sow", "title": "sow", "version": "1"},
    }


def begin(folder: str, writable: "Sequence[str]" = ()) -> Json:
    """Return what asks for a session in a folder, and says where else its agent may write."""
    more = {"additionalDirectories": list(writable)} if writable else {}
    return {"cwd": folder, "mcpServers": [], **more}


def go_on(session: str, folder: str, writable: "Sequence[str]" = ()) -> Json:
    """Return what asks for a session that was begun before."""
    return {"sessionId": session, **begin(folder, writable)}


def prompt(session: str, text: str) -> Json:
    """Return what begins a turn."""
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


def chosen(option: str | None) -> Json:
    """Return the answer to a request for permission; without an option it is cancelled."""
    if option is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option}}


def is_answer(message: Json, number: int) -> bool:
    """Whether a message answers the request of that number, and not one that looks like it."""
    found = message.get("id")
    return "method" not in message and not isinstance(found, bool) and bool(found == number)


def can_be_answered(message: Json) -> bool:
    """Whether a message is a request: it has an id of a kind that the protocol knows."""
    number = message.get("id")
    if isinstance(number, str):
        return len(number) <= LONGEST_ID
    return isinstance(number, int | float) and not isinstance(number, bool)


def is_same(found: Any, wanted: Any) -> bool:
    """Whether a value of the wire is the one wanted: to Python, True is 1 as well."""
    return type(found) is type(wanted) and bool(found == wanted)


def shown(found: Any) -> str:
    """Return a value of the wire for people: short, and nothing that is nested."""
    is_plain = found is None or isinstance(found, str | int | float)
    nested = "a list" if isinstance(found, list) else "an object"
    return repr(found)[:MOST_SHOWN] if is_plain else nested


def session_of(answer: Json) -> str | None:
    """Return the id of a session that was begun; None where it could not be put on record."""
    found = answer.get("sessionId")
    is_fit = (
        isinstance(found, str)
        and 0 < len(found) <= LONGEST_ID
        and found.isprintable()
        and not found.startswith("-")
    )
    return found if is_fit else None


def code_of(error: Json) -> int | None:
    """Return the code of an error; None where it is no number."""
    found = error.get("code")
    if not isinstance(found, int) or isinstance(found, bool):
        return None
    return found if abs(found) < MOST_CODE else None


class Abilities(NamedTuple):
    """What an agent says of itself."""

    version: Any
    loads: bool
    resumes: bool
    """Whether it goes on without a replay of what was said."""
    name: str
    logins: tuple[str, ...]
    """How a person can log in to it, each in its own words."""


def abilities(answer: Json) -> Abilities:
    """Return what an agent has answered to `initialize`."""
    found = _dict(answer.get("agentCapabilities"))
    about = _dict(answer.get("agentInfo"))
    words = [text for key in ("name", "version") if isinstance(text := about.get(key), str)]
    resumes = isinstance(_dict(found.get("sessionCapabilities")).get("resume"), dict)
    logins = tuple(map(_login_of, _dicts(answer.get("authMethods"))[:MOST_LOGINS]))
    version, loads = answer.get("protocolVersion"), found.get("loadSession") is True
    return Abilities(version, loads, resumes, " ".join(words), tuple(filter(None, logins)))


def _login_of(method: Json) -> str:
    words = [" ".join(_text(method.get(key)).split()) for key in ("name", "description")]
    return ": ".join(dict.fromkeys(filter(None, words)))[:MOST_SHOWN]


class Settings:
    """The mode and the options of a session, as far as the agent has told them."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.mode_option = ""
        """The option that is the mode; empty for none."""
        self.modes: tuple[str, ...] = ()
        """Those that it has, as far as it has told them."""
        self._mode = ""

    @property
    def mode(self) -> str:
        """The mode that the agent told last; empty if it told none."""
        found = self.options.get(self.mode_option) if self.mode_option else self._mode
        return found if isinstance(found, str) else ""

    def note(self, update: Json, *, in_words: bool = False) -> None:
        """Take in an answer or an update; `in_words`: it is words that tell the mode."""
        modes = _dict(update.get("modes"))
        for mode in (
            modes.get("currentModeId"),
            update.get("currentModeId"),
            _mode_in_words(update) if in_words else None,
        ):
            if isinstance(mode, str):
                self._mode = mode
                if self.mode_option:
                    self.options[self.mode_option] = mode
        self._note_modes(modes.get("availableModes"), "id")
        for option in _dicts(update.get("configOptions")):
            name = option.get("id")
            if isinstance(name, str) and (name in self.options or len(self.options) < MOST_OPTIONS):
                self.options[name] = option.get("currentValue")
                if "mode" in (name, option.get("category")):
                    self.mode_option = name
                    self._note_modes(option.get("options"), "value")

    def _note_modes(self, found: Any, key: str) -> None:
        names = [_text(each.get(key))[:MOST_SHOWN] for each in _dicts(found)[:MOST_OPTIONS]]
        self.modes = tuple(filter(None, names)) or self.modes


def set_mode(session: str, mode: str) -> Json:
    """Return what asks for a mode."""
    return {"sessionId": session, "modeId": mode}


def set_option(session: str, option: str, value: str | bool) -> Json:
    """Return what asks for a value of an option."""
    kind = {"type": "boolean"} if isinstance(value, bool) else {}
    return {"sessionId": session, "configId": option, "value": value, **kind}


def is_mode_in_words(update: Json) -> bool:
    """Whether an update tells the mode as words of the agent."""
    return _mode_in_words(update) is not None


def _mode_in_words(update: Json) -> str | None:
    text = _dict(update.get("content")).get("text")
    if not isinstance(text, str) or not text.startswith(MODE_WORDS):
        return None
    return text.removeprefix(MODE_WORDS)


class Tool(NamedTuple):
    """What an update tells of a call of a tool."""

    id: str
    status: str
    """`pending`, `in_progress`, `completed`, `failed`, or empty."""
    name: str
    target: str
    answer: str


def tool_of(update: Json) -> Tool | None:
    """Return what an update, or a request for permission, tells of a tool's call."""
    call = _dict(update.get("toolCall")) or update
    number = call.get("toolCallId")
    if not isinstance(number, str) or len(number) > LONGEST_ID:
        return None
    found = _dict(call.get("rawInput"))
    commands = found.get("commands")
    lines = [found.get("command"), *(commands if isinstance(commands, list) else ())]
    target = next((line for line in lines if isinstance(line, str) and line), "")
    answer = "\n".join(_answers(call))[:MOST_TEXT]
    words = (target or _text(call.get("title")))[:MOST_TEXT]
    name = _text(call.get("kind"))[:MOST_SHOWN]
    return Tool(number, _text(call.get("status")), name, words, answer)


def text_of(update: Json) -> str:
    """Return what the agent says in an update; empty for none, and for its thoughts."""
    if update.get("sessionUpdate") != "agent_message_chunk":
        return ""
    return _text(_dict(update.get("content")).get("text"))


def message_of(update: Json) -> str:
    """Return which message an update is about; empty where the agent does not tell."""
    return _text(update.get("messageId"))


def usage_of(update: Json) -> Json:
    """Return what an update or the answer to a prompt tells of use, as it stands there.

    What the numbers count differs between agents: a turn, the session, or what the model holds now.
    """
    quota = _dict(update.get("_meta")).get("quota")
    found = {"usage": update.get("usage"), "quota": quota}
    if update.get("sessionUpdate") == "usage_update":
        found |= {key: update.get(key) for key in ("used", "size", "cost")}
    return {key: value for key, value in found.items() if value}


def has_failed(update: Json) -> bool | None:
    """Return whether the agent's turn has failed, where an update tells it beside the protocol.

    The answer to the prompt may say nothing of it (codex, beyond a limit).
    """
    status = _dict(_dict(_dict(update.get("_meta")).get("codex")).get("threadStatus")).get("type")
    return status == "systemError" if isinstance(status, str) else None


def error_words(error: Json) -> str:
    """Return what an error says: its message, and what its data add."""
    data = error.get("data")
    details = [data] if isinstance(data, str) else []
    if isinstance(data, dict):
        keys = ("details", "message", "errorKind", "errorName", "reason")
        details = [data[key] for key in keys if isinstance(data.get(key), str)]
    words = [" ".join(each.split()) for each in (_text(error.get("message")), *details)]
    return ": ".join(dict.fromkeys(filter(None, words)))[:MOST_TEXT]


def _answers(call: Json) -> "Iterator[str]":
    """Yield the words in which a tool has answered, from where the agents have them."""
    raw = call.get("rawOutput")
    if isinstance(raw, str):
        yield raw
        return
    texts = [_dict(each.get("content")).get("text") for each in _dicts(call.get("content"))]
    own = [_dict(raw).get(key) for key in ("output", "text", "content", "result")]
    own += [each.get("result") for each in _dicts(raw)]  # cline's
    meta = _dict(call.get("_meta"))  # pi's and codex's, in pieces
    own += [
        _dict(meta.get(key)).get("data") for key in ("terminal_output", "terminal_output_delta")
    ]
    first: Sequence[str] = [text for text in texts if isinstance(text, str)]
    yield from first or [text for text in own if isinstance(text, str)]


def _dict(found: Any) -> Json:
    return found if isinstance(found, dict) else {}


def _dicts(found: Any) -> list[Json]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""
