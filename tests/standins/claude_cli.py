"""The command line of Claude Code 2.1.197, as far as sow uses it (measured; see README.md)."""

import json
import os
import re

import record
from claude_voice import VERSION, ClaudeConversation
from conversation import complain, new_id, read_stdin, write
from flags import MANY, OPTIONAL, VALUE, Option, RefusedError, parse
from permissions import Permissions

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
OPTIONS = [
    Option("-p --print"),
    Option("--verbose"),
    Option("--output-format", VALUE, ("text", "json", "stream-json")),
    Option("--input-format", VALUE, ("text", "stream-json")),
    Option("--dangerously-skip-permissions"),
    Option("--permission-mode", VALUE, MODES),
    Option("--allowedTools --allowed-tools", MANY),
    Option("--disallowedTools --disallowed-tools", MANY),
    Option("--model", VALUE),
    Option("--fallback-model", VALUE),
    Option("--session-id", VALUE),
    Option("-r --resume", OPTIONAL),
    Option("-c --continue"),
    Option("--fork-session"),
    Option("--append-system-prompt", VALUE),
    Option("--add-dir", MANY),
    Option("--mcp-config", MANY),
    Option("--settings", VALUE),
    Option("--setting-sources", VALUE),
    Option("--strict-mcp-config"),
    Option("--max-turns", VALUE),
    Option("--max-budget-usd", VALUE),
    Option("--effort", VALUE),
    Option("--agent", VALUE),
    Option("--agents", VALUE),
    Option("-n --name", VALUE),
    Option("-d --debug", OPTIONAL),
    Option("--include-partial-messages"),
    Option("--no-session-persistence"),
    Option("--bare"),
    Option("-h --help"),
    Option("-v --version"),
]
ROOT_REFUSAL = (
    "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
)


def main(arguments):
    """Run one command line; return its exit code."""
    try:
        options, words = parse(arguments, OPTIONS)
        if "version" in options:
            write(f"{VERSION} (Claude Code)\n".encode())
            return 0
        if "help" in options:
            write(_help().encode())
            return 0
        conversation = _open(options, words)
    except RefusedError as refusal:
        complain(str(refusal))
        record.append("refused", cli="claude", argv=arguments, reason=str(refusal))
        return 1
    if re.match(r"/\w", conversation.prompt):
        return _slash_command(conversation)
    from performance import perform

    return perform(conversation)


def _open(options, words):
    """Check in the real CLI's order, and return the conversation."""
    _check(options)
    if "print" not in options and os.isatty(1):
        import signal

        signal.pause()  # the real one opens its terminal interface and waits for ever
    prompt = "\n".join([*words, read_stdin()]) if words else read_stdin()
    if not prompt.strip():
        raise RefusedError(
            "Error: Input must be provided either through stdin or as a prompt argument"
            " when using --print"
        )
    transcript = _session(options)
    return ClaudeConversation(
        verb="resume" if "resume" in options else "spawn",
        session_id=os.path.basename(transcript).removesuffix(".jsonl"),
        prompt=prompt,
        transcript=transcript,
        permissions=_permissions(options),
        events=options.get("output-format") == "stream-json",
        output=options.get("output-format", "text"),
        model=options.get("model"),
        mode=_mode(options),
        budget=float(options["max-budget-usd"]) if "max-budget-usd" in options else None,
    )


def _check(options):
    chosen = options.get("session-id")
    if chosen is not None and not UUID.match(chosen):
        raise RefusedError("Error: Invalid session ID. Must be a valid UUID.")
    if chosen and ("resume" in options or "continue" in options) and "fork-session" not in options:
        raise RefusedError(
            "Error: --session-id can only be used with --continue or --resume"
            " if --fork-session is also specified."
        )
    lifted = os.environ.get("IS_SANDBOX") == "1" or os.environ.get("CLAUDE_CODE_BUBBLEWRAP") == "1"
    if _mode(options) == "bypassPermissions" and os.geteuid() == 0 and not lifted:
        raise RefusedError(ROOT_REFUSAL)
    if options.get("output-format") == "stream-json" and "verbose" not in options:
        raise RefusedError(
            "Error: When using --print, --output-format=stream-json requires --verbose"
        )
    if options.get("resume") == "":
        raise RefusedError(
            "Error: --resume requires a valid session ID or session title when used with"
            " --print. Usage: claude -p --resume <session-id|title>"
        )


def _mode(options):
    if "dangerously-skip-permissions" in options:
        return "bypassPermissions"
    return options.get("permission-mode", "default")


def _permissions(options):
    allowed = _rules(options.get("allowedTools", []))
    if "settings" in options:
        settings = json.loads(options["settings"])
        allowed += settings.get("permissions", {}).get("allow", [])
    return Permissions(mode=_mode(options), allowed=allowed)


def _rules(values):
    """Split at commas and spaces outside parentheses, as the real CLI does."""
    return [rule for value in values for rule in re.findall(r"[^\s,(]+(?:\([^)]*\))?", value)]


def _session(options):
    """Return the transcript's path, or refuse as the real CLI does."""
    if "resume" in options:
        found = _find_transcript(options["resume"])
        if found is None:
            _report_unknown(options)
            raise RefusedError(f"No conversation found with session ID: {options['resume']}")
        return found
    session_id = options.get("session-id", "").lower() or new_id()
    path = os.path.join(_projects(), _key(os.getcwd()), f"{session_id}.jsonl")
    if os.path.exists(path):
        raise RefusedError(f"Error: Session ID {session_id} is already in use.")
    return path


def _report_unknown(options):
    if options.get("output-format") == "stream-json":
        unknown = f"No conversation found with session ID: {options['resume']}"
        result = {
            "type": "result",
            "subtype": "error_during_execution",
            "is_error": True,
            "num_turns": 0,
            "session_id": options["resume"],
            "total_cost_usd": 0,
            "permission_denials": [],
            "errors": [unknown],
        }
        write(json.dumps(result).encode() + b"\n")


def _projects():
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.environ["HOME"], ".claude")
    return os.path.join(home, "projects")


def _key(folder):
    """The name of a folder's transcripts: all but letters and digits becomes a dash."""
    return re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(folder))


def _find_transcript(session_id):
    """Look in this folder first, then anywhere in the same repository (its worktrees too)."""
    own = os.path.join(_projects(), _key(os.getcwd()), f"{session_id}.jsonl")
    if _is_begun(own):
        return own
    repository = _repository(os.getcwd())
    if repository is None or not os.path.isdir(_projects()):
        return None
    for entry in os.scandir(_projects()):
        path = os.path.join(entry.path, f"{session_id}.jsonl")
        if _is_begun(path) and _repository(_began_in(path)) == repository:
            return path
    return None


def _is_begun(transcript):
    """An empty transcript is in use for a new session, and unknown to a resume (measured)."""
    return os.path.exists(transcript) and os.path.getsize(transcript) > 0


def _began_in(transcript):
    with open(transcript, "rb") as lines:
        return json.loads(lines.readline())["cwd"]


def _repository(folder):
    """The main checkout that a folder belongs to, or None."""
    folder = os.path.realpath(folder)
    while not os.path.exists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    marker = os.path.join(folder, ".git")
    if os.path.isdir(marker):
        return folder
    with open(marker, encoding="utf-8") as file:
        return file.read().split("gitdir: ")[-1].split("/.git/worktrees/")[0].strip()


def _slash_command(conversation):
    """A prompt that begins with a slash is a command: nothing is asked of a model (measured)."""
    command = conversation.prompt.split()[0]
    conversation.finish(f"Unknown command: {command}")
    record.append("refused", cli="claude", argv=[], reason=f"Unknown command: {command}")
    return 0


def _help():
    lines = ["Usage: claude [options] [command] [prompt]", "", "Options:"]
    return "\n".join([*lines, *(f"  {option.shown}" for option in OPTIONS), ""])
