"""The command line of Qwen Code 0.24.4, as far as sow uses it (measured; see README.md)."""

import os
import re

import record
from conversation import complain, new_id, read_stdin, write
from flags import MANY, OPTIONAL, VALUE, Option, RefusedError, parse
from permissions import Permissions, split_commands
from qwen_voice import VERSION, QwenConversation

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
RULE = re.compile(r"run_shell_command\((.*)\)\Z", re.DOTALL)
MENTION = re.compile(r"(?<!\\)@([^\s,;!?()\[\]{}]+)")
OWN_COMMANDS = {"/clear": "Context cleared. Previous messages are no longer in context."}
OPTIONS = [
    Option("-m --model", VALUE),
    Option("-y --yolo"),
    Option("--approval-mode", VALUE, ("plan", "default", "auto-edit", "auto", "yolo")),
    Option("--allowed-tools", MANY),
    Option("--exclude-tools", MANY),
    Option("--include-directories --add-dir", MANY),
    Option("--input-format", VALUE, ("text", "stream-json")),
    Option("-o --output-format", VALUE, ("text", "json", "stream-json")),
    Option("-c --continue"),
    Option("-r --resume", OPTIONAL),
    Option("--session-id", VALUE),
    Option("--fork-session"),
    Option("--max-wall-time", VALUE),
    Option("--auth-type", VALUE),
    Option("--bare"),
    Option("-v --version"),
    Option("-h --help"),
]
DESCRIPTION = "What it is for, told at length. " * 20


def main(arguments):
    """Run one command line; return its exit code."""
    try:
        options, words = parse(arguments, OPTIONS)
        if "version" in options:
            write(f"{VERSION}\n".encode())
            return 0
        if "help" in options:
            write(_usage().encode())
            return 0
        prompt = _prompt(options, words)
        conversation = _open(options, prompt)
    except RefusedError as refusal:
        words = str(refusal)
        if words.startswith("error: unknown option"):
            words = f"Unknown argument: {words.split(chr(39))[1].lstrip('-')}\n{_usage()}"
        complain(words)
        record.append("refused", cli="qwen", argv=arguments, reason=words[:200])
        return 1
    if prompt.split()[0] in OWN_COMMANDS:
        return _own_command(conversation, prompt.split()[0])
    from performance import perform

    return perform(conversation)


def _prompt(options, words):
    """Return what it is asked to do, or refuse in the real CLI's order."""
    chosen = options.get("session-id")
    if chosen is not None and not UUID.match(chosen):
        raise RefusedError(f'Invalid --session-id: "{chosen}". Must be a valid UUID.\n{_usage()}')
    _session(options)
    prompt = "\n\n".join(filter(None, (read_stdin(), *words)))
    if not prompt.strip():
        raise RefusedError(
            "No input provided via stdin. Input can be provided by piping data into gemini or"
            " using the --prompt option."
        )
    return prompt


def _open(options, prompt):
    transcript = _session(options)
    return QwenConversation(
        verb="resume" if "resume" in options else "spawn",
        session_id=os.path.basename(transcript).removesuffix(".jsonl"),
        prompt=_expanded(prompt),
        transcript=transcript,
        permissions=_permissions(options),
        events=options.get("output-format") == "stream-json",
        model=options.get("model", "qwen-standin-1"),
        mode="yolo" if "yolo" in options else options.get("approval-mode", "auto"),
    )


def _home():
    return os.environ.get("QWEN_HOME") or os.path.join(os.environ["HOME"], ".qwen")


def _session(options):
    """Return the transcript's path, or refuse; it is found from the very same folder only."""
    key = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(os.getcwd()))
    session_id = options.get("resume") or options.get("session-id", "").lower() or new_id()
    path = os.path.join(_home(), "projects", key, "chats", f"{session_id}.jsonl")
    if "resume" in options and not os.path.exists(path):
        raise RefusedError(
            f"No saved session found with ID {session_id}. Run `qwen --resume` without an ID to"
            " choose from existing sessions."
        )
    if "resume" not in options and os.path.exists(path):
        raise RefusedError(
            f"Error: Session Id {session_id} already exists (active or archived). Delete or"
            " unarchive it first."
        )
    return path


def _expanded(prompt):
    """Return what the model sees: a command of the user's is carried out, a mention is read."""
    name, _, arguments = prompt.partition(" ")
    path = os.path.join(_home(), "commands", f"{name[1:]}.md")
    if prompt.startswith("/") and "/" not in name[1:] and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read().split("---\n")[-1].strip()
        return text.replace("{{args}}", arguments.strip().replace("$$", "$"))
    found = [name for name in MENTION.findall(prompt) if os.path.isfile(name)]
    if not MENTION.search(prompt):
        return prompt
    text = re.sub(r"(?<![ \\])@", " @", prompt).strip()
    contents = []
    for name in found:
        with open(name, encoding="utf-8", errors="replace") as file:
            contents.append(f"\nContent from {name}:\n{file.read()}")
    return text + "".join(contents)


def _own_command(conversation, command):
    """Nothing is asked of a model (measured)."""
    conversation.finish(OWN_COMMANDS[command])
    record.append("refused", cli="qwen", argv=[], reason=f"{command} was carried out")
    return 0


def _permissions(options):
    mode = "yolo" if "yolo" in options else options.get("approval-mode", "auto")
    return QwenPermissions(
        bypass=mode == "yolo",
        edits=mode == "auto-edit",
        files="write_file(/**)" in ",".join(options.get("allowed-tools", [])).split(","),
        allowed=[f"Bash({rule}:*)" for rule in _shell_rules(options.get("allowed-tools", []))],
        excluded=_shell_rules(options.get("exclude-tools", [])),
    )


def _shell_rules(values):
    """The commands of rules, which every comma parts."""
    rules = (RULE.match(rule.strip()) for value in values for rule in value.split(","))
    return [rule[1] for rule in rules if rule]


class QwenPermissions(Permissions):
    """Its rules: files are written in the folder, and an excluded command never runs."""

    def __init__(self, *, bypass, edits, files, allowed, excluded):
        super().__init__(bypass=bypass, allowed=allowed)
        self.anywhere = bypass or edits
        self.files = files
        self.excluded = excluded

    def allows_write(self, path):
        """Whether a file may be written."""
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(os.getcwd()))
        is_own = inside.split(os.sep)[0] not in ("..", ".git")
        return self.anywhere or (self.files and is_own)

    def allows_shell(self, command):
        """Whether a command line may run."""
        for part in split_commands(command) or []:
            if any(part == rule or part.startswith(f"{rule} ") for rule in self.excluded):
                return False
        return super().allows_shell(command)


def _usage():
    """As long as the real one: longer than what sow keeps of standard error."""
    lines = ["Usage: qwen [options] [command]", "", "Options:"]
    shown = (f"      {option.shown}  {DESCRIPTION} [string]" for option in OPTIONS[:-1])
    return "\n".join([*lines, *shown, "  -h, --help    Show help  [boolean]", ""])
