"""The command line of OpenCode 1.18.33, as far as sow uses it (measured; see README.md)."""

import json
import os
import re
import time

import record
from conversation import Conversation, complain, new_id, read_stdin, write
from flags import VALUE, Option, RefusedError, parse
from permissions import split_commands

VERSION = "1.18.33"
RUN = [
    Option("-h --help"),
    Option("-v --version"),
    Option("-c --continue"),
    Option("-s --session", VALUE),
    Option("-m --model", VALUE),
    Option("--agent", VALUE),
    Option("--format", VALUE, ("default", "json")),
    Option("--title", VALUE),
    Option("--dir", VALUE),
    Option("--variant", VALUE),
    Option("--auto"),
]
ERROR = "\x1b[91m\x1b[1mError: \x1b[0m"
DENIED = (
    "The user has specified a rule which prevents you from using this specific tool call."
    " Here are some of the relevant rules "
)
TOOLS = {"Bash": "bash", "Write": "write"}


def main(arguments):
    """Run one command line; return its exit code."""
    command = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    if command == "db":
        _make_store()
        write(f"{_data('opencode.db')}\n".encode())
        return 0
    try:
        options, words = parse(arguments[1:] if command else arguments, RUN)
        if "version" in options:
            write(f"{VERSION}\n".encode())
            return 0
        if "help" in options:
            write(_help().encode())
            return 0
        conversation = _open(options, words)
    except RefusedError as refusal:
        complain(str(refusal))
        record.append("refused", cli="opencode", argv=arguments, reason=str(refusal))
        return 1
    from performance import perform

    return perform(conversation)


def _open(options, words):
    prompt = "\n".join([*words, read_stdin()]) if words else read_stdin()
    if not prompt.strip():
        raise RefusedError(f"{ERROR}You must provide a message or a command")
    session = options.get("session")
    if session is not None and not os.path.exists(_data(f"{session}.jsonl")):
        raise RefusedError(f"{ERROR}Session not found")
    _make_store()
    os.chdir(options.get("dir", "."))
    session_id = session or f"ses_{new_id().replace('-', '')[:26]}"
    return OpencodeConversation(
        verb="resume" if session else "spawn",
        session_id=session_id,
        prompt=prompt,
        transcript=_data(f"{session_id}.jsonl"),
        permissions=Rules(options),
        events=options.get("format") == "json",
    )


def _data(name):
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.environ["HOME"], ".local/share")
    return os.path.join(home, "opencode", name)


def _make_store():
    """The first run in a home makes the database; a second one at that moment would fail."""
    path = _data("opencode.db")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _help():
    lines = ["opencode run [message..]", "", "Options:"]
    return "\n".join([*lines, *(f"  {option.shown}" for option in RUN), ""])


class Rules:
    """What the agent may do: of all rules the last that fits counts, its agent's own come last."""

    def __init__(self, options):
        self.auto = "auto" in options
        content = json.loads(os.environ.get("OPENCODE_CONFIG_CONTENT") or "{}")
        own = content.get("agent", {}).get(options.get("agent", "build"), {})
        self.rules = [
            *_rules(json.loads(os.environ.get("OPENCODE_PERMISSION") or "{}")),
            *_rules(own.get("permission", {})),
        ]

    def allows_shell(self, command):
        """Whether each simple command of a line may run."""
        parts = split_commands(command)
        if parts is None:
            return self.auto
        return all(self._allows("bash", part) for part in parts)

    def allows_write(self, path):
        """Whether a file may be written; its path is looked at from the folder."""
        return self._allows("edit", os.path.relpath(path))

    def _allows(self, permission, text):
        fitting = [
            action
            for name, pattern, action in self.rules
            if _fits(name, permission) and _fits(pattern, text)
        ]
        return (fitting or ["allow"])[-1] == "allow"


def _rules(permissions):
    for name, found in permissions.items():
        patterns = found if isinstance(found, dict) else {"*": found}
        for pattern, action in patterns.items():
            yield name, pattern, action


def _fits(pattern, text):
    """Whether a text is as a pattern says; one that ends with ` *` needs no more words."""
    if pattern.endswith(" *") and text == pattern[:-2]:
        return True
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


class OpencodeConversation(Conversation):
    """Speaks JSON: an answer of the model is a step, and a tool is told when it has ended."""

    cli = "opencode"
    nested_env = {"OPENCODE": "1"}  # noqa: RUF012 - never changed
    dies_by_signal = True

    def __init__(self, **rest):
        super().__init__(**rest)
        self.step = None
        self.calls = {}

    def emit(self, event):
        """Write an event; each of them shows that the session is kept."""
        super().emit({**event, "timestamp": int(time.time() * 1000), "sessionID": self.session_id})
        self.keep(b"\n")

    def begin(self):
        """Say nothing: the first line follows the model's first answer."""

    def say(self, text):
        """One answer in words, which ends the run unless a tool is called besides."""
        self.last_text = text
        self._answer()
        self._part("text", type="text", text=text)

    def tool_started(self, call, tool, arguments):
        """The model asks for a tool; nothing is told of it before it has ended."""
        self._answer()
        if tool == "Bash":
            arguments = {**arguments, "description": "run it"}
        self.calls[call] = TOOLS.get(tool, tool.lower()), arguments

    def tool_ended(self, call, output, *, is_error):
        """A tool has ended; a command's own failure is a success of the tool."""
        metadata = {"output": output, "exit": int(is_error), "truncated": False}
        self._tool(call, status="completed", output=output, metadata=metadata)

    def tool_denied(self, call, tool, arguments):
        """A rule refuses a tool, and the model goes on."""
        self.denials.append({"tool_name": tool, "tool_use_id": call})
        rules = [{"permission": "bash", "pattern": "*", "action": "deny"}]
        self._tool(call, status="error", error=DENIED + json.dumps(rules))

    def api_retry(self, status):
        """Nothing is shown of it."""

    def rate_limit(self, resets_at):
        """Nothing is shown of it."""

    def api_failure(self, status):
        """An error is the last line."""
        if status is None:
            data = {"message": "Unable to connect. Is the computer able to access the url?"}
        else:
            data = {"message": f"told {status}", "statusCode": status, "isRetryable": status > 404}
        self._error("APIError", data)
        return 1

    def not_logged_in(self):
        """The service refuses an empty key."""
        return self.api_failure(401)

    def finish(self, text, **_facts):
        """The step that ends with `stop` is the result."""
        if self.step is None:
            self.say(text)
        self._end_step("stop")

    def _answer(self):
        if self.step is None:
            self.step = f"msg_{new_id()[:13]}"
            self._part("step_start", type="step-start")

    def _end_step(self, reason):
        self.use()
        tokens = {
            "total": sum(self.uses.get(kind, 0) for kind in self.used),
            "input": self.uses.get("input", 0),
            "output": self.uses.get("output", 0),
            "reasoning": 0,
            "cache": {
                "write": self.uses.get("cache_write", 0),
                "read": self.uses.get("cache_read", 0),
            },
        }
        cost = self.uses.get("usd", 0)
        self._part("step_finish", type="step-finish", reason=reason, tokens=tokens, cost=cost)
        self.step = None

    def _tool(self, call, **state):
        tool, arguments = self.calls.pop(call)
        state = {"input": arguments, **state}
        self._part("tool_use", type="tool", tool=tool, callID=call, state=state)
        self._end_step("tool-calls")

    def _part(self, kind, **part):
        self.emit({"type": kind, "part": {"messageID": self.step, **part}})

    def _error(self, name, data):
        self.emit({"type": "error", "error": {"name": name, "data": data}})
