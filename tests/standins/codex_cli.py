"""The command line of Codex, `codex exec --json` (recorded, 0.171.0)."""

import json
import os
import re
import shlex
import signal

import record
from conversation import TOKENS, Conversation, complain, new_id, read_stdin, write
from flags import VALUE, Option, RefusedError, parse
from permissions import Permissions, split_commands

OPTIONS = [
    Option("--json --experimental-json"),
    Option("--skip-git-repo-check"),
    Option("-s --sandbox", VALUE, ("read-only", "workspace-write", "danger-full-access")),
    Option("--dangerously-bypass-approvals-and-sandbox"),
    Option("--add-dir", VALUE),
    Option("-c --config", VALUE),
    Option("-m --model", VALUE),
    Option("-C --cd", VALUE),
    Option("-h --help"),
    Option("-V --version"),
]
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
FORBIDS = re.compile(r'prefix_rule\(pattern=(\[.*\]), decision="forbidden"\)')
HELP = (
    "Usage: codex exec [OPTIONS] [PROMPT]",
    "resume  Resume a previous session by id",
    "[PROMPT]  If not provided as an argument (or if `-` is used), read from stdin",
)
TRIES = 5
URL = "url: http://127.0.0.1:8080/v1/responses"
REASONS = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found"}


def main(arguments):
    """Run one command line; return its exit code."""
    try:
        options, words = parse(arguments, OPTIONS)
        if "version" in options:
            write(b"codex-cli 0.171.0\n")
            return 0
        if "help" in options:
            write("\n".join([*HELP, *(each.shown for each in OPTIONS)]).encode() + b"\n")
            return 0
        conversation = _open(options, words)
    except RefusedError as refusal:
        words = str(refusal).replace("unknown option", "unexpected argument")
        complain(f"{words} found" if words != str(refusal) else words)
        record.append("refused", cli="codex", argv=arguments, reason=words)
        return 2 if words != str(refusal) else 1
    from performance import perform

    return perform(conversation)


def _open(options, words):
    home = os.environ.get("CODEX_HOME")
    if home and not os.path.isdir(home):
        raise RefusedError(f"Error finding codex home: CODEX_HOME points to {home}")
    if words[:1] != ["exec"] or words[-1:] != ["-"]:
        raise RefusedError(f"Error: the stand-in has no terminal for `codex {' '.join(words)}`")
    prompt = read_stdin()
    if not prompt.strip():
        raise RefusedError("No prompt provided via stdin.")
    thread = words[2] if words[1] == "resume" else ""
    if thread and not os.path.exists(_rollout(thread)):
        if UUID.match(thread):
            raise RefusedError(
                "Error: thread/resume: thread/resume failed: no rollout found for thread id"
                f" {thread} (code -32600)"
            )
        thread = ""  # another conversation begins, without a word of it
    session = thread or new_id()
    return CodexConversation(
        verb="resume" if thread else "spawn",
        session_id=session,
        prompt=prompt,
        transcript=_rollout(session),
        permissions=CodexRules(is_free="dangerously-bypass-approvals-and-sandbox" in options),
        events="json" in options,
    )


def _home():
    return os.environ.get("CODEX_HOME") or os.path.join(os.environ["HOME"], ".codex")


def _rollout(thread):
    return os.path.join(_home(), "sessions", f"rollout-{thread}.jsonl")


class CodexRules(Permissions):
    """Any program runs; what a rule forbids does not, and its edits stay in its folder."""

    def __init__(self, *, is_free):
        super().__init__(bypass=is_free, mode="acceptEdits")
        self.forbidden = []
        folder = os.path.join(_home(), "rules")
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found = FORBIDS.findall(file.read())
            self.forbidden += [" ".join(json.loads(pattern)) for pattern in found]

    def forbidding(self, command):
        """The words that a rule forbids and a command line begins with, or None."""
        for part in split_commands(command) or [command]:
            for words in self.forbidden:
                if f"{part} ".startswith(f"{words} "):
                    return words
        return None

    def allows_shell(self, command):
        """Whether a command line may run."""
        return self.forbidding(command) is None


class CodexConversation(Conversation):
    """Speaks JSON lines."""

    cli = "codex"
    kept = ("thread.started", "item.completed")
    kills_command = True
    nested_env = {"CODEX_CI": "1"}  # noqa: RUF012 - never changed

    def __init__(self, **rest):
        super().__init__(**rest)
        self.items = 0
        self.open = {}

    def begin(self):
        """Announce the thread and its turn; the thread's use goes on where it was."""
        if os.path.exists(self._usage_file):
            with open(self._usage_file, encoding="utf-8") as file:
                self.used = json.load(file)
        self.emit({"type": "thread.started", "thread_id": self.session_id})
        self.emit({"type": "turn.started"})

    def say(self, text):
        """What the agent says is an item."""
        self.last_text = text
        self.use()
        self._item("completed", type="agent_message", text=text)

    def tool_started(self, call, tool, arguments):
        """A command begins; a change of files is told when it has ended, a refused one never."""
        self.use()
        if tool == "Write":
            change = {"path": arguments["file_path"], "kind": "add"}
            self.open[call] = {"type": "file_change", "changes": [change]}
        elif self.permissions.allows_shell(arguments["command"]):
            command = f"/bin/bash -c {shlex.quote(arguments['command'])}"
            self.open[call] = {"type": "command_execution", "command": command}
            self._item("started", **self.open[call], status="in_progress", exit_code=None)

    def tool_ended(self, call, output, *, is_error):
        """It has ended."""
        item = self.open.pop(call)
        if item["type"] == "command_execution":
            item |= {"aggregated_output": output, "exit_code": int(is_error)}
        status = "failed" if is_error else "completed"
        self._item("completed", **item, status=status)

    def tool_denied(self, call, tool, arguments):
        """Its words stand on standard error alone."""
        self.open.pop(call, None)
        self.denials.append({"tool_name": tool, "tool_use_id": call})
        words = self.permissions.forbidding(arguments.get("command", "")) or tool
        complain(f"ERROR exec error: policy forbids commands starting with `{words}`")

    def api_retry(self, status):
        """A failed request is tried again."""
        self.emit({"type": "error", "message": f"Reconnecting... 1/{TRIES} ({_failure(status)})"})

    def rate_limit(self, resets_at):
        """Nothing is shown of it."""

    def api_failure(self, status):
        """The turn has failed; all but some failures were tried again before."""
        words = _failure(status)
        for number in range(1, TRIES + 1) if status not in (400, 429) else ():
            self.emit({"type": "error", "message": f"Reconnecting... {number}/{TRIES} ({words})"})
        self.emit({"type": "error", "message": words})
        self.emit({"type": "turn.failed", "error": {"message": words}})
        return 1

    def not_logged_in(self):
        """No key."""
        complain("ERROR: Not logged in. Run `codex login`.")
        return 1

    def finish(self, text, **_facts):
        """The turn has ended; its usage is of the whole thread."""
        if text != self.last_text:
            self.say(text)
        if self.keeps:
            with open(self._usage_file, "w", encoding="utf-8") as file:
                json.dump(self.used, file)
        used = {kind: self.used[kind] for kind in TOKENS}
        usage = {
            "input_tokens": used["input"] + used["cache_read"],
            "cached_input_tokens": used["cache_read"],
            "cache_write_input_tokens": used["cache_write"],
            "output_tokens": used["output"],
        }
        self.emit({"type": "turn.completed", "usage": usage})

    def on_signal(self, number):
        """It dies by the signal."""
        signal.signal(number, signal.SIG_DFL)
        return -number

    @property
    def _usage_file(self):
        return f"{self.transcript}.usage"

    def _item(self, event, **item):
        if event == "started" or item["type"] != "command_execution":
            self.items += 1
        self.emit({"type": f"item.{event}", "item": {"id": f"item_{self.items}", **item}})


def _failure(status):
    if status is None:
        return "stream disconnected before completion: error sending request"
    if status == 400:
        return json.dumps({"error": {"message": "told 400", "type": "told"}})
    if status == 429:
        return "exceeded retry limit, last status: 429 Too Many Requests"
    if status >= 500:
        return "We’re currently experiencing high demand, which may cause temporary errors."
    return f"unexpected status {status} {REASONS.get(status, '')}: told {status}, {URL}"
