"""The command line of cursor-agent, in two dialects (from documents, not run; see README.md).

Today's: `create-chat` makes an id, `-p --resume ID` begins and continues. The
seeds' one: `agent --chat-id ID` begins, `agent --resume ID` continues.
"""

import json
import os
import re

import record
from conversation import Conversation, complain, new_id, read_stdin, write
from flags import MANY, OPTIONAL, VALUE, Option, RefusedError, parse
from permissions import Permissions

SHARED = [
    Option("--model", VALUE),
    Option("-f --force --yolo"),
    Option("--resume", OPTIONAL),
    Option("-h --help"),
    Option("-v --version"),
]
TODAY = [
    *SHARED,
    Option("-p --print"),
    Option("--output-format", VALUE, ("text", "json", "stream-json")),
    Option("--stream-partial-output"),
    Option("--trust"),
    Option("--continue"),
    Option("--workspace", VALUE),
    Option("--mode", VALUE, ("plan", "ask")),
    Option("--sandbox", VALUE, ("enabled", "disabled")),
    Option("--approve-mcps"),
    Option("--api-key", VALUE),
    Option("-H --header", MANY),
]
SEEDS = [*SHARED, Option("--chat-id", VALUE)]
COMMANDS = """
Commands:
  create-chat  Create a new empty chat and return its ID
"""
TOOLS = {"Bash": "shellToolCall", "Write": "editToolCall"}
USED = {
    "input": "input",
    "output": "output",
    "cache_read": "cacheRead",
    "cache_write": "cacheWrite",
}
RULE = re.compile(r"Shell\((.*)\)\Z")


def main(arguments, *, seeds):
    """Run one command line; return its exit code."""
    command = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    if command == "create-chat":
        return _create_chat()
    try:
        if seeds and command != "agent" and arguments not in (["--help"], ["--version"]):
            raise RefusedError("error: use `cursor-agent agent`")
        words = arguments[1:] if command == "agent" else arguments
        options, prompts = parse(words, SEEDS if seeds else TODAY)
        if "version" in options:
            write(b"2026.02.13-standin\n")
            return 0
        if "help" in options:
            write(_help(SEEDS).encode() if seeds else (_help(TODAY) + COMMANDS).encode())
            return 0
        conversation = _open(options, prompts, seeds=seeds)
    except RefusedError as refusal:
        complain(str(refusal))
        record.append("refused", cli="cursor-agent", argv=arguments, reason=str(refusal))
        return 1
    from performance import perform

    return perform(conversation)


def _create_chat():
    chat = new_id()
    _keep_empty(_chat(chat))
    write(chat.encode() + b"\n")
    return 0


def _keep_empty(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _chat(chat_id):
    return os.path.join(os.environ["HOME"], ".cursor", "chats", f"{chat_id}.jsonl")


def _open(options, words, *, seeds):
    output = "stream-json" if seeds else options.get("output-format", "text")
    if not seeds and not {"trust", "force"} & options.keys():
        raise RefusedError("Workspace Trust Required: pass --trust, --yolo, or -f")
    prompt = "\n".join([*words, read_stdin()]) if words else read_stdin()
    if not prompt.strip():
        raise RefusedError("Error: No prompt provided for print mode")
    chat, verb = _select_chat(options)
    return CursorConversation(
        verb=verb,
        session_id=chat,
        prompt=prompt,
        transcript=_chat(chat),
        permissions=Permissions(bypass="force" in options, allowed=_allowed()),
        events=output == "stream-json",
        output=output,
        model=options.get("model", "auto"),
        forced="force" in options,
    )


def _select_chat(options):
    """Return (chat id, verb). A chat made beforehand and still empty is begun, not continued."""
    if "resume" in options:
        chat = options["resume"]
        if not os.path.exists(_chat(chat)):
            raise RefusedError(f"Error: Chat {chat} not found")
        return chat, "resume" if os.path.getsize(_chat(chat)) else "spawn"
    chat = options.get("chat-id") or new_id()
    if os.path.exists(_chat(chat)):
        raise RefusedError(f"Error: Chat {chat} already exists")
    return chat, "spawn"


def _allowed():
    """`permissions.allow` of the project's and the user's files: `Shell(sow)` and the like."""
    rules = []
    for path in (".cursor/cli.json", os.path.join(os.environ["HOME"], ".cursor/cli-config.json")):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                rules += json.load(file).get("permissions", {}).get("allow", [])
    shell = [match.group(1) for match in map(RULE.match, rules) if match]
    writes = ["Write"] if any(rule.startswith("Write(") for rule in rules) else []
    return [*writes, *(f"Bash({name}:*)" for name in shell)]


def _help(options):
    lines = ["Usage: cursor-agent agent [options] [prompt...]", "", "Options:"]
    return "\n".join([*lines, *(f"  {option.shown}" for option in options), ""])


class CursorConversation(Conversation):
    """Speaks stream-json, json or text."""

    cli = "cursor-agent"
    nested_env = {"CURSOR_AGENT": "1"}  # noqa: RUF012 - never changed

    def __init__(self, *, output, model, forced, **rest):
        super().__init__(**rest)
        self.output = output
        self.model = model
        self.forced = forced
        self.arguments = {}

    def begin(self):
        """Announce the session and echo the prompt."""
        self._event(
            "system",
            subtype="init",
            apiKeySource="login",
            cwd=os.getcwd(),
            model=self.model,
            permissionMode="force" if self.forced else "default",
        )
        self._event("user", message=_message("user", self.prompt))

    def say(self, text):
        """One assistant message."""
        self.last_text = text
        self.use()
        self._event("assistant", message=_message("assistant", text))

    def tool_started(self, call, tool, arguments):
        """A tool call begins."""
        self.arguments[call] = (tool, arguments)
        self._tool("started", call)

    def tool_ended(self, call, output, *, is_error):
        """A tool call ends; a command's own failure is a success of the tool."""
        exit_code = 1 if is_error else 0
        self._tool("completed", call, {"success": {"exitCode": exit_code, "stdout": output}})

    def tool_denied(self, call, tool, arguments):
        """A tool call is rejected, since nobody can be asked."""
        self.denials.append({"tool_name": tool, "tool_use_id": call})
        reason = "Rejected: not allowed without --force"
        self._tool("completed", call, {"rejected": {**arguments, "reason": reason}})

    def api_retry(self, status):
        """Nothing is shown of it."""

    def rate_limit(self, resets_at):
        """Nothing is shown of it."""

    def api_failure(self, status):
        """On failure there is no result line, only words on stderr."""
        complain(f"Error: request failed with status {status}")
        return 1

    def not_logged_in(self):
        """No key."""
        complain(
            "Error: Authentication required. Please run 'cursor-agent login' first,"
            " or set CURSOR_API_KEY environment variable."
        )
        return 1

    def finish(self, text, *, is_error=False, **_facts):
        """The last word, in the format that was asked for."""
        result = {
            "type": "result",
            "subtype": "success",
            "duration_ms": 10,
            "duration_api_ms": 10,
            "is_error": is_error,
            "result": text,
            "session_id": self.session_id,
            "request_id": new_id(),
            **(
                {"usage": {f"{USED[kind]}Tokens": self.used[kind] for kind in USED}}
                if any(self.used.values())
                else {}
            ),
        }
        if self.output == "text":
            write(text.encode(errors="surrogateescape") + b"\n")
        elif self.output == "json":
            write(json.dumps(result).encode() + b"\n")
        else:
            self.emit(result)

    def on_interrupt(self):
        """Not known; the shells' convention."""
        return 130

    def _tool(self, subtype, call, result=None):
        tool, arguments = self.arguments[call]
        body = {"args": arguments}
        if result is not None:
            body["result"] = result
        called = {TOOLS.get(tool, f"{tool.lower()}ToolCall"): body}
        self._event("tool_call", subtype=subtype, call_id=call, tool_call=called)

    def _event(self, kind, **fields):
        self.emit({"type": kind, **fields, "session_id": self.session_id})


def _message(role, text):
    return {"role": role, "content": [{"type": "text", "text": text}]}
