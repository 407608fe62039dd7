"""The command line of Gemini CLI 0.61.0, and how it speaks (recorded: tests/recordings)."""

import json
import os
import re
import time

import record
from conversation import Conversation, complain, new_id, read_stdin, write
from flags import VALUE, Option, RefusedError, parse
from permissions import split_commands

OPTIONS = [
    Option("-m --model", VALUE),
    Option("-p --prompt", VALUE),
    Option("-s --sandbox"),
    Option("-y --yolo"),
    Option("--approval-mode", VALUE, ("default", "auto_edit", "yolo", "plan")),
    Option("--policy", VALUE),
    Option("--include-directories", VALUE),
    Option("--allowed-tools", VALUE),
    Option("-r --resume", VALUE),
    Option("--session-id", VALUE),
    Option("-o --output-format", VALUE, ("text", "json", "stream-json")),
    Option("-v --version"),
    Option("-h --help"),
]
TOOLS = {"Bash": "run_shell_command", "Write": "write_file"}
INPUT_ERROR, UNTRUSTED = 42, 55
NO_MODEL = 404
DENIED = ("policy_violation", "Tool execution denied by policy.")
UNCONFIRMED = (
    "unhandled_exception",
    'Tool execution for "Shell" requires user confirmation, which is not supported in'
    " non-interactive mode.",
)
NO_INPUT = (
    "No input provided via stdin. Input can be provided by piping data into gemini or using the"
    " --prompt option."
)
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
NAMED = re.compile(r"(?<!\\)@((?:[^\s,;!?()\[\]{}.]|\.(?!$|\s))+)")


def main(arguments):
    """Run one command line; return its exit code."""
    policies = [arguments[i + 1] for i, word in enumerate(arguments[:-1]) if word == "--policy"]
    try:
        options, words = _parsed(arguments)
        if "version" in options:
            write(b"0.61.0\n")
            return 0
        if "help" in options:
            write("\n".join([*(f"  {option.shown}" for option in OPTIONS), ""]).encode())
            return 0
        conversation = _open(options, words, policies)
    except RefusedError as refusal:
        text, code = refusal.args[0], refusal.args[1] if len(refusal.args) > 1 else 1
        complain(text)
        record.append("refused", cli="gemini", argv=arguments, reason=text)
        return code
    from performance import perform

    return perform(conversation)


def _parsed(arguments):
    try:
        return parse(arguments, OPTIONS)
    except RefusedError as refusal:
        # Its parser takes `--no-x` for the contrary of `--x`.
        name = re.search(r"unknown option '-*(?:no-)?(.*)'", str(refusal))
        words = f"Unknown argument: {name[1]}" if name else str(refusal)
        raise RefusedError(f"Usage: gemini [options] [command]\n\n{words}") from None


def _open(options, words, policies):
    if os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") != "true":
        raise RefusedError("Gemini CLI is not running in a trusted directory.", UNTRUSTED)
    prompt = "\n\n".join(filter(None, (read_stdin(), *words)))
    transcript, verb = _session(options)
    if not prompt:
        raise RefusedError(NO_INPUT, INPUT_ERROR)
    return GeminiConversation(
        verb=verb,
        session_id=options.get("resume") or options.get("session-id") or new_id(),
        prompt=_expanded(prompt),
        transcript=transcript,
        permissions=Rules(policies, bypass="yolo" in options),
        events=options.get("output-format") == "stream-json",
        model=options.get("model", "auto"),
        given=prompt,
    )


def _home():
    return os.path.join(os.environ.get("GEMINI_CLI_HOME") or os.environ["HOME"], ".gemini")


def _session(options):
    """Return (file, verb): it keeps its sessions by the very folder that they ran in."""
    chosen = options.get("resume") or options.get("session-id") or new_id()
    folder = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(os.getcwd()))
    file = os.path.join(_home(), "tmp", folder, "chats", f"{chosen}.jsonl")
    if "resume" in options:
        if not os.path.isdir(os.path.dirname(file)):
            words = "Error resuming session: No previous sessions found for this project."
            raise RefusedError(words, INPUT_ERROR)
        if not os.path.exists(file):
            words = f'Error resuming session: Invalid session identifier "{chosen}".'
            raise RefusedError(words, INPUT_ERROR)
        return file, "resume"
    if os.path.exists(file):
        raise RefusedError(
            f'Error starting session: Session ID "{chosen}" already exists. Use --resume to'
            " resume it, or provide a different ID.",
            INPUT_ERROR,
        )
    return file, "spawn"


def _expanded(prompt):
    """Return what the model is given: a prompt is no text to this CLI."""
    if prompt.startswith("/"):
        name, _, rest = prompt[1:].partition("\n")
        file = os.path.join(_home(), "commands", f"{name.split()[0] if name else ''}.toml")
        if os.path.exists(file):
            import tomllib

            with open(file, "rb") as data:
                answer = tomllib.load(data)["prompt"]
            return f"{answer}\n\n{prompt.strip()}" if rest else answer
    parts = [prompt]
    for name in NAMED.findall(prompt):
        if os.path.isfile(name):
            with open(name, encoding="utf-8") as file:
                parts.append(f"\nContent from @{name}:\n{file.read()}")
    return "".join(parts)


class Rules:
    """What its policy files allow of commands and edits."""

    def __init__(self, files, *, bypass):
        import tomllib

        self.bypass = bypass
        self.rules = []
        for path in files:
            if os.path.isfile(path):
                with open(path, "rb") as data:
                    self.rules += tomllib.load(data).get("rule", [])
        self.rules.sort(key=lambda rule: -rule["priority"])

    def allows_write(self, path):
        """Whether a file may be written: never one by which the project is built."""
        if os.path.basename(path) in {"package.json", "pyproject.toml", "Makefile", "Dockerfile"}:
            return False
        arguments = json.dumps({"file_path": path})
        return self._decision("write_file", arguments) != "deny"

    def allows_shell(self, command):
        """Whether a command line may run."""
        return self.refusal(command) is None

    def refusal(self, command):
        """Return why a command line may not run; None where it may."""
        parts = split_commands(command)
        found = [self._decision("run_shell_command", _as_json(part)) for part in parts or ["$("]]
        if "deny" in found or (not self.bypass and None in found):
            return DENIED
        if self.bypass or not re.search("[<>]", QUOTED.sub("", command)):
            return None
        joined = self._decision("run_shell_command", _as_json(command), joined=True) == "allow"
        return None if joined else UNCONFIRMED

    def _decision(self, tool, arguments, *, joined=False):
        for rule in self.rules:
            names = rule["toolName"]
            if tool not in ([names] if isinstance(names, str) else names):
                continue
            if "commandPrefix" in rule:
                start = re.escape('"command": "' + rule["commandPrefix"])
                pattern = start + r'(?:[\s"]|\\")'
            elif "commandRegex" in rule:
                pattern = '"command": "' + rule["commandRegex"]
            else:
                pattern = rule.get("argsPattern", "").replace('":"', '": "')
            if joined and not rule.get("allowRedirection"):
                continue
            if re.search(pattern, arguments):
                return rule["decision"]
        return None


def _as_json(command):
    return json.dumps({"command": command})


class GeminiConversation(Conversation):
    """Speaks stream-json."""

    cli = "gemini"
    nested_env = {"GEMINI_CLI": "1"}  # noqa: RUF012 - never changed

    def __init__(self, *, model, given, **rest):
        super().__init__(**rest)
        self.model = model
        self.given = given
        self.names = {}
        """The whole id of each call of a tool, which names the tool."""

    def begin(self):
        """Announce the session and echo the prompt as it was given."""
        self._event("init", session_id=self.session_id, model=self.model)
        self.keep(json.dumps({"type": "user", "content": self.prompt}).encode() + b"\n")
        self._event("message", role="user", content=self.given)

    def say(self, text):
        """A piece of what the model says."""
        self.last_text = text
        self.use()
        self._event("message", role="assistant", content=text, delta=True)

    def tool_started(self, call, tool, arguments):
        """A tool's call."""
        name = TOOLS.get(tool, tool)
        self.names[call] = f"{name}__{call}"
        self._event("tool_use", tool_name=name, tool_id=self.names[call], parameters=arguments)

    def tool_ended(self, call, output, *, is_error):
        """The tool's answer; a command that fails is a success of the tool."""
        self._event("tool_result", tool_id=self.names[call], status="success", output=output)

    def tool_denied(self, call, tool, arguments):
        """The refusal of a tool; the run goes on."""
        self.denials.append({"tool_name": TOOLS.get(tool, tool), "tool_use_id": call})
        is_command = tool == "Bash" and "command" in arguments
        kind, words = (is_command and self.permissions.refusal(arguments["command"])) or DENIED
        self._event(
            "tool_result",
            tool_id=self.names[call],
            status="error",
            output=words,
            error={"type": kind, "message": words},
        )

    def api_retry(self, status):
        """Nothing on standard output tells of it."""
        complain(f"Attempt 1 failed with status {status}. Retrying with backoff...")

    def rate_limit(self, resets_at):
        """Nothing tells of it."""

    def api_failure(self, status):
        """The request failed for good."""
        words = f'[API Error: {{"error":{{"message":"told {status}","type":"told"}}}}]'
        name = "code" if status == NO_MODEL else "status"
        complain(f"Error when talking to Gemini API ApiError: {{\n  {name}: {status}\n}}")
        self._result("error", error={"type": "unknown", "message": words})
        return 1 if status in (None, NO_MODEL) else status % 256

    def not_logged_in(self):
        """No key."""
        complain(
            "Please set an Auth method in your ~/.gemini/settings.json or specify one of the"
            " following environment variables before running: GEMINI_API_KEY"
        )
        return 41

    def finish(self, _text, **_facts):
        """The last word."""
        self._result("success")

    def on_signal(self, _number):
        """Measured: 0, and no result."""
        return 0

    def on_interrupt(self):
        """Likewise."""
        return 0

    def _result(self, status, **more):
        used = {
            "total_tokens": sum(self.used[kind] for kind in ("input", "cache_read", "output")),
            "input_tokens": self.used["input"] + self.used["cache_read"],
            "output_tokens": self.used["output"],
            "cached": self.used["cache_read"],
            "input": self.used["input"],
        }
        stats = {**used, "tool_calls": len(self.names), "models": {self.model: used}}
        self._event("result", status=status, **more, stats=stats)

    def _event(self, kind, **fields):
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        self.emit({"type": kind, "timestamp": now, **fields})
