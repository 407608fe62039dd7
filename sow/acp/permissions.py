"""What is answered when an agent asks for permission.

Owns the rule: allowed is a command of sow that its role may run, an edit inside its folder, and
reading where it may read; all else is refused, this once. Of the options that an agent offers, none
is taken that would allow more than this one call: an answer `always` widens the agent's own
settings. What was asked for is found by the agent's preset; never by a title where the agent has
told its input, for a title may be a free description (copilot) or cut (cline). Opens no file; it
looks where links lead.
"""

import os
import re
from typing import Any, NamedTuple

from sow.acp.own_commands import is_own_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sow.acp.presets import Preset

ONE_COMMAND = frozenset({"command", "commands", "description", "cwd", "is_background", "timeout"})
"""The keys of an input that is one command. Any other may say how the command is run, by what, or
what with."""
PATHS = ("file_path", "filepath", "filePath", "fileName", "path", "absolute_path", "notebook_path")
"""The keys of an input under which agents name the file that they edit or read."""
EDITS = ("edit", "delete")
"""A move names two files, and no agent that was measured asks for one."""
READS = ("read", "search")
ALLOW, REJECT = "allow_once", "reject_once"
HEADER = re.compile(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)")
PROTECTED = frozenset(
    (
        ".git",
        *(".claude", ".cline", ".codex", ".copilot", ".gemini", ".opencode", ".pi", ".qwen"),
        *(".mcp.json", "opencode.json", "opencode.jsonc"),
    )
)
"""No edit reaches into these: git's hooks and settings are programs, and what an agent has in its
own settings says what it does without asking in its next run. In small letters, for a file system
that makes no difference."""
MOST_PATHS = 1_000
"""A question that names more files is of no known form: each is looked up."""


class Rights(NamedTuple):
    """What an agent may do."""

    folder: str
    """Where it edits."""
    commands: "Sequence[str]" = ()
    """The commands of sow that it may run, each by its words."""
    denied: "Sequence[str]" = ()
    """Those that it may not."""
    readable: "Sequence[str]" = ()
    """Where it may read besides."""
    unwritable: "Sequence[str]" = ()
    """What it may not edit, wherever that lies."""
    allows_all: bool = False
    """Whether nothing is refused to it."""


class Decision(NamedTuple):
    """What is answered, and why."""

    option: str | None
    """The id of the option that is chosen; None where none fits, and the question is cancelled."""
    is_allowed: bool
    rule: str
    """What was decided on: the command, or the files."""
    reason: str = ""
    """Why it is refused."""


def decide(question: dict[str, Any], preset: "Preset", rights: Rights) -> Decision:
    """Return what is answered to a request for permission."""
    call = question.get("toolCall")
    call = call if isinstance(call, dict) else {}
    rule, reason = judge(call, preset, rights)
    if rights.allows_all:
        reason = ""
    option = _option(question, ALLOW, preset.allows) if not reason else None
    if option is not None:
        return Decision(option, True, rule)
    refusal = _option(question, REJECT)
    return Decision(refusal, False, rule, reason or "no option allows this one call alone")


def judge(call: dict[str, Any], preset: "Preset", rights: Rights) -> tuple[str, str]:
    """Return what a call of a tool is about, and why it is not allowed; empty if it is."""
    shown = _text(call.get("title")) or _text(call.get("kind")) or "a tool"
    commands = _commands(call, preset)
    if commands:
        allowed = all(is_own_command(line, rights.commands, rights.denied) for line in commands)
        return "; ".join(commands), "" if allowed else "it is no command of sow for its role"
    if call.get("kind") == "execute":
        return shown, "the form of its command is not known"
    edits, reads = _edited(call, preset), call.get("kind") in READS
    if len(edits) > MOST_PATHS:
        return shown, "it names too many files"
    if edits:
        outside = [path for path in edits if not _may_edit(path, rights)]
        return ", ".join(edits), f"{outside[0]} is not its to edit" if outside else ""
    paths = list(_named(call, preset)) if reads else []
    if len(paths) > MOST_PATHS:
        return shown, "it names too many files"
    if paths:
        outside = [path for path in paths if not _may_read(path, rights)]
        return ", ".join(paths), f"{outside[0]} is not its to read" if outside else ""
    if reads and preset.patches and set(_input(call)) == {"queries"}:
        return shown, ""  # cline searches its folder alone
    return shown, "the form of the question is not known"


def _commands(call: dict[str, Any], preset: "Preset") -> list[str]:
    """Return the commands that a call would run; none where that is not known for certain."""
    found = _input(call)
    if not found and preset.commands_in == "title" and call.get("kind") == "execute":
        title = call.get("title")
        return [title] if isinstance(title, str) and title.strip() else []
    if not found.keys() <= ONE_COMMAND:
        return []
    several = found.get("commands")
    lines = [found["command"]] if "command" in found else []
    lines += several if isinstance(several, list) else []
    known = all(isinstance(line, str) and line.strip() for line in lines)
    return list(dict.fromkeys(lines)) if known else []


def _edited(call: dict[str, Any], preset: "Preset") -> list[str]:
    """Return every file that an edit touches; none where it is no edit, or that is not known."""
    if preset.patches and set(_input(call)) == {"input"}:
        return _patched(call["rawInput"]["input"])
    return list(_named(call, preset)) if call.get("kind") in EDITS else []


def _named(call: dict[str, Any], preset: "Preset") -> "Iterator[str]":
    """Yield each path that a call names, wherever agents name one."""
    found = _input(call)
    files = found.get("files") if preset.patches else None
    for holder, keys in (
        (found, PATHS),
        *((each, ("path",)) for each in _dicts(call.get("locations"))),
        *((each, ("path",)) for each in _dicts(call.get("content"))),
        *((each, ("path",)) for each in _dicts(files)),
    ):
        for key in keys:
            if _text(holder.get(key)):
                yield _text(holder[key])


def _patched(patch: Any) -> list[str]:
    """Return the files that a patch touches; none where a line of it is of another form.

    A character that ends a line to some programs alone may hide a file, or a part of its name.
    """
    text = patch.strip().replace("\r\n", "\n") if isinstance(patch, str) else ""
    lines = text.split("\n")
    if lines[0] != "*** Begin Patch" or lines[-1] != "*** End Patch" or lines != text.splitlines():
        return []
    headers = [line for line in lines[1:-1] if line.lstrip().startswith("***")]
    found = [HEADER.fullmatch(line) for line in headers if line != "*** End of File"]
    return [match[1].strip() for match in found if match] if all(found) else []


def _may_edit(path: str, rights: Rights) -> bool:
    place = _real(path, rights)
    if place is None or not _is_in(place, rights.folder):
        return False
    parts = place.removeprefix(os.path.realpath(rights.folder)).lower().split("/")
    if not PROTECTED.isdisjoint(parts):
        return False
    return not any(_is_in(place, folder) for folder in rights.unwritable)


def _may_read(path: str, rights: Rights) -> bool:
    place = _real(path, rights)
    readable = (rights.folder, *rights.readable)
    return place is not None and any(_is_in(place, folder) for folder in readable)


def _real(path: str, rights: Rights) -> str | None:
    """Return the place that a path leads to; None for one that may lead an agent elsewhere.

    Claude takes blanks away at both ends and `~` for the home (2.1.330), and most agents go up from
    a link by its name, not from where it leads.
    """
    if path != path.strip() or path.startswith("~") or not path.isprintable():
        return None
    joined = os.path.join(rights.folder, path)  # noqa: PTH118 - as text, and light
    place = os.path.realpath(joined)
    return place if place == os.path.realpath(os.path.normpath(joined)) else None


def _is_in(place: str, folder: str) -> bool:
    top = os.path.realpath(folder)
    return place == top or place.startswith(top.rstrip(os.sep) + os.sep)


def _option(question: dict[str, Any], kind: str, wanted: str = "") -> str | None:
    """Return the id of the option of a kind; None where there is none, or it is not the only one.

    `wanted` is its id, where that is known of the agent.
    """
    offered = _dicts(question.get("options"))
    ids = [each.get("optionId") for each in offered if each.get("kind") == kind]
    fitting = [each for each in ids if isinstance(each, str) and (not wanted or each == wanted)]
    return fitting[0] if fitting and (wanted or kind == REJECT or len(ids) == 1) else None


def _input(call: dict[str, Any]) -> dict[str, Any]:
    found = call.get("rawInput")
    return found if isinstance(found, dict) else {}


def _dicts(found: Any) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""
