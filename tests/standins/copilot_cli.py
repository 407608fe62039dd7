"""The command line of GitHub's Copilot, with its events as JSON lines (measured, 1.0.102)."""

import fnmatch
import os
import re

import record
from conversation import Conversation, complain, new_id, read_stdin, write
from flags import MANY, OPTIONAL, VALUE, Option, RefusedError, parse
from permissions import Permissions, split_commands

OPTIONS = [
    Option("--output-format", VALUE, ("text", "json")),
    Option("--allow-tool", MANY),
    Option("--deny-tool", MANY),
    Option("--add-dir", MANY),
    Option("--allow-all --yolo"),
    Option("--disallow-temp-dir"),
    Option("--model", VALUE),
    Option("--reasoning-effort", VALUE),
    Option("--no-color"),
    Option("--session-id", VALUE),
    Option("-r --resume", OPTIONAL),
    Option("-C", VALUE),
    Option("-h --help"),
    Option("-v --version"),
]
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
RULE = re.compile(r"(shell|write)(?:\((.*)\))?\Z", re.DOTALL)
WITH_SUBCOMMANDS = ("git", "gh", "npm")
"""The programs of which a rule may name more than the program."""
TOOLS = {"Bash": "bash", "Write": "create"}
KINDS = {401: "authentication", 403: "authentication", 429: "rate_limit"}
REASONS = {401: "transient_auth_error", 429: "rate_limit"}


def main(arguments):
    """Run one command line; return its exit code."""
    try:
        options, _ = parse(arguments, OPTIONS)
        if "version" in options:
            write(b"GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.\n")
            return 0
        if "help" in options:
            write("\n".join(option.shown for option in OPTIONS).encode() + b"\n")
            return 0
        conversation = _open(options)
    except RefusedError as refusal:
        words = str(refusal).replace("unknown option", "unexpected argument")
        complain(f"{words} found" if words != str(refusal) else words)
        record.append("refused", cli="copilot", argv=arguments, reason=words)
        return 1
    from performance import perform

    return perform(conversation)


def _open(options):
    if "C" in options:
        os.chdir(options["C"])
    session = options.get("resume") or options.get("session-id") or new_id()
    known = os.path.exists(_events_of(session))
    if "resume" in options and not known:
        raise RefusedError(f"Error: No session, task, or name matched '{session}'.")
    if not known and not UUID.match(session):
        raise RefusedError(f"Error: No session or task matched '{session}'.")
    prompt = read_stdin()
    if not prompt.strip():
        raise RefusedError(
            "No prompt provided. Run in an interactive terminal or provide a prompt with -p or"
            " via standard in."
        )
    for folder in options.get("add-dir", []):
        if not os.path.isdir(folder):
            raise RefusedError(
                f"error: option '--add-dir <directory>' argument '{folder}' is invalid."
            )
    return CopilotConversation(
        verb="resume" if known else "spawn",
        session_id=session,
        prompt=prompt,
        transcript=_events_of(session),
        permissions=CopilotRules(options),
        events=options.get("output-format") == "json",
    )


def _events_of(session):
    home = os.environ.get("COPILOT_HOME") or os.path.join(os.environ["HOME"], ".copilot")
    return os.path.join(home, "session-state", session, "events.jsonl")


class CopilotRules(Permissions):
    """What is allowed: an allowing rule names a program, a denying one holds against all."""

    def __init__(self, options):
        allows_all = os.environ.get("COPILOT_ALLOW_ALL") == "true"
        allowed = [RULE.match(rule) for rule in options.get("allow-tool", [])]
        denied = [RULE.match(rule) for rule in options.get("deny-tool", [])]
        own = [found for found in allowed if found and found[1] == "write"]
        super().__init__(bypass="allow-all" in options or allows_all, allowed=["Write"] * bool(own))
        self.programs = [found[2] or "" for found in allowed if found and found[1] == "shell"]
        self.refused = [found[2] or "" for found in denied if found and found[1] == "shell"]
        self.unwritable = [found[2] or "*" for found in denied if found and found[1] == "write"]

    def denying(self, command):
        """The rule that refuses a command line, or None."""
        parts = split_commands(command) or [command]
        return next((rule for rule in self.refused for part in parts if _begins(rule, part)), None)

    def allows_shell(self, command):
        """Whether a command line may run."""
        parts = split_commands(command)
        if parts is None or self.denying(command) is not None:
            return False
        return self.bypass or all(map(self._allows_simple, parts))

    def allows_write(self, path):
        """Whether a file may be written."""
        whole = os.path.realpath(path)
        if any(fnmatch.fnmatchcase(whole, pattern) for pattern in self.unwritable):
            return False
        here = os.path.realpath(os.getcwd())
        return self.bypass or ("Write" in self.tools and whole.startswith(here + os.sep))

    def _allows_simple(self, part):
        words = re.sub(r"^(\w+=\S*\s+)+", "", part).split()
        if not words or any(self._names(rule, words) for rule in self.programs):
            return True
        return super()._allows_simple(part)

    def _names(self, rule, words):
        name = rule.removesuffix(":*")
        if name in ("", words[0]):
            return True
        return words[0] in WITH_SUBCOMMANDS and _begins(rule, " ".join(words))


def _begins(rule, part):
    if not rule.endswith(":*"):
        return part == rule
    words = rule.removesuffix(":*")
    return part == words or part.startswith(f"{words} ")


class CopilotConversation(Conversation):
    """Speaks JSON lines, or nothing but its words."""

    cli = "copilot"
    kept = ("user.message", "assistant.message", "tool.execution_complete")
    kills_command = True

    def __init__(self, **rest):
        super().__init__(**rest)
        self.nested_env = {"COPILOT_CLI": "1", "COPILOT_AGENT_SESSION_ID": self.session_id}
        self.turn = 0

    def begin(self):
        """Keep the session, and echo the prompt."""
        self._event("session.tools_updated", ephemeral=True, model="told-1")
        self._event("user.message", content=self.prompt, transformedContent=self.prompt)

    def say(self, text):
        """A turn of words alone."""
        self.last_text = text
        self._begin_turn()
        self._event("assistant.message", content=text, toolRequests=[])
        self._end_turn()

    def tool_started(self, call, tool, arguments):
        """A turn with a tool's call."""
        name, target = TOOLS.get(tool, tool), dict(arguments)
        if "file_path" in target:
            target = {"path": target["file_path"], "file_text": target["content"]}
        self._begin_turn()
        asked = [{"toolCallId": call, "name": name, "arguments": target, "type": "function"}]
        self._event("assistant.message", content="", toolRequests=asked)
        self._event("tool.execution_start", toolCallId=call, toolName=name, arguments=target)
        self._event("session.background_tasks_changed", ephemeral=True)

    def tool_ended(self, call, output, *, is_error):
        """Its answer: a command that fails is a success of the tool."""
        shown = f"{output}\n<shellId: 0 completed with exit code {int(is_error)}>"
        result = {"content": shown, "detailedContent": shown}
        self._event("tool.execution_complete", toolCallId=call, success=True, result=result)
        self._end_turn()

    def tool_denied(self, call, tool, arguments):
        """Its refusal, by a rule or since nobody can be asked."""
        self.denials.append({"tool_name": tool, "tool_use_id": call})
        rule = self.permissions.denying(arguments["command"]) if "command" in arguments else None
        words = (
            f"Permission to run this tool was denied due to the following rules: `shell({rule})`"
            if rule is not None
            else "Permission denied because no interactive user response was available."
        )
        properties = {} if tool == "Bash" else {"command": TOOLS.get(tool, tool)}
        self._event(
            "tool.execution_complete",
            toolCallId=call,
            success=False,
            error={"message": words, "code": "denied"},
            toolTelemetry={"properties": properties},
        )
        self._end_turn()

    def api_retry(self, status):
        """A failed request is tried again."""
        self._begin_turn()
        reason = REASONS.get(status, "api_error")
        self._event("assistant.turn_retry", ephemeral=True, reason=reason, model="told-1")

    def rate_limit(self, resets_at):
        """Nothing is shown of it."""

    def api_failure(self, status):
        """A request has failed for good."""
        self._begin_turn()
        self._end_turn()
        code = {} if status is None else {"statusCode": status}
        self._event(
            "session.error", errorType=KINDS.get(status, "query"), message=_words(status), **code
        )
        self._result(1)
        return 1

    def not_logged_in(self):
        """No login."""
        complain("Error: No authentication information found.")
        return 1

    def finish(self, text, *, is_error=False, **_facts):
        """The last line; what it has not said before goes before."""
        if text != self.last_text:
            self.say(text)
        self._event("assistant.idle", ephemeral=True)
        self._result(int(is_error))

    def on_interrupt(self):
        """An abort, and a result as if all were well."""
        self._event("abort", reason="user_initiated")
        self._event("assistant.idle", ephemeral=True, aborted=True)
        self._result(0)
        return 0

    def on_signal(self, number):
        """An abort and no result; the exit code is that of a success."""
        if number != 15:
            return super().on_signal(number)
        self._event("abort", reason="user_abort")
        complain(
            "Error executing prompt: Error: Cannot invoke native session after disposal has started"
        )
        return 0

    def _begin_turn(self):
        self._event("assistant.turn_start", turnId=str(self.turn))

    def _end_turn(self):
        self._event("assistant.turn_end", turnId=str(self.turn))
        self.turn += 1

    def _result(self, code):
        self.emit({"type": "result", "sessionId": self.session_id, "exitCode": code})

    def _event(self, kind, *, ephemeral=False, **data):
        mark = {"ephemeral": True} if ephemeral else {}
        self.emit({"type": kind, "data": data, **mark, "id": new_id()})


def _words(status):
    if status is None:
        return "Could not connect to local model provider at http://127.0.0.1:8080/v1."
    if status in (401, 403):
        return f"Authentication failed with provider at http://127.0.0.1:8080/v1 (HTTP {status})."
    if status == 404:
        return "Model 'told-1' not found on provider at http://127.0.0.1:8080/v1 (HTTP 404)."
    if status == 400:
        return "400 told 400"
    return f"Failed to get response from the AI model; retried 5 times Last error: {status} told"
