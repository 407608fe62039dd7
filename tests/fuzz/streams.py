"""Runs every command with its standard streams open, closed, full and unread; prints exit codes.

Called as a program: `streams.py FOLDER PARTS STATE...`, with the states of STREAMS that are wanted,
and which of the PARTS of all commands: `01` is all of them.
Prints one object a command: its words and, by the state of the streams, the exit code or the fault.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.arena import make_template
from fuzz.generator import EXCLUDED, Case
from fuzz.runner import all_commands, run_case

import sow.cli

STREAMS = {
    "open": ("null", "file", "file"),
    "stdout closed": ("null", "closed", "file"),
    "stderr closed": ("null", "file", "closed"),
    "all closed": ("closed", "closed", "closed"),
    "stderr full": ("null", "file", "full"),
    "stderr unread": ("null", "file", "broken"),
}
"""Standard input, output and error of a run."""
ARGUMENTS = {
    ("project", "new"): ("Another",),
    ("task", "add"): ("More", "--agent", "implementer"),
    ("task", "import"): ("tasks.yaml", "--new-phase"),
    ("task", "remove"): ("040",),
    ("task", "show"): ("010",),
    ("task", "log"): ("010",),
    ("task", "explain"): ("010",),
    ("task", "output"): ("010",),
    ("task", "set"): ("040", "name", "Another"),
    ("task", "abandon"): ("040",),
    ("task", "reopen"): ("040",),
    ("agent", "spawn"): ("implementer", "040", "--detach", "--verbose"),
    ("agent", "resume"): ("040", "Go on."),
    ("agent", "answer"): ("040", "Yes."),
    ("start",): ("A goal", "--headless", "--detach"),
    ("agent", "wait"): ("020",),
    ("job", "wait"): ("2",),
    ("agent", "cancel"): ("030",),
    ("agent", "log"): ("A line", "--result", "success", "--task", "010"),
    ("agent", "task", "state", "set-status"): ("needs_review", "--id", "040"),
    ("agent", "review"): ("040", "--detach"),
    ("task", "check"): ("040", "--detach"),
    ("task", "diff"): ("010",),
    ("clone", "path"): ("010",),
    ("clone", "remove"): ("010",),
    ("clone", "update"): ("010",),
    ("review", "accept"): ("010", "--summary", "Good."),
    ("review", "correct"): ("010", "--file", ".sow/config.yaml"),
    ("review", "show"): ("010",),
    ("knowledge", "search"): ("word",),
    ("knowledge", "show"): ("nothing",),
    ("merge",): ("010", "--detach"),
    ("advance",): ("--list",),
    ("approve",): ("plan",),
    ("phase", "add"): ("discovery",),
    ("phase", "finish"): ("implementation",),
    ("phase", "reopen"): ("implementation",),
    ("project", "set"): ("name", "Another"),
    ("output", "move"): (".sow/config.yaml", "--to", "docs"),
    ("input", "add"): (".sow/config.yaml", "--type", "settings"),
    ("input", "remove"): (".sow/config.yaml",),
    ("output", "add"): (".sow/config.yaml", "--type", "settings"),
    ("output", "remove"): (".sow/config.yaml",),
    ("feedback", "add"): ("More of it",),
    ("feedback", "settle"): ("001",),
    ("batch", "run"): ("010", "--detach"),
    ("batch", "add"): ("1", "020"),
    ("batch", "remove"): ("1", "020"),
    ("job", "show"): ("2",),
    ("job", "explain"): ("2",),
    ("job", "retry"): ("2", "--detach"),
    ("job", "cancel"): ("3",),
    ("job", "resolve"): ("2", "--gone"),
    ("job", "logs"): ("1",),
    ("prompt",): ("--list",),
    ("validate",): ("--fix",),
    ("config", "init"): ("--force",),
    ("config", "reset"): ("--yes",),
    ("refs", "add"): ("/nowhere/at/all",),
    ("refs", "remove"): ("none",),
    ("schema",): ("task",),
    ("completion",): ("bash",),
}
"""Arguments with which a command has something to do; the others need none."""
PARTS = "01"
"""Every second command is of the same part."""
ALWAYS = (("config", "edit"), ("nonsense",), ("task", "show", "999"))
"""What is refused, or fails."""


def main(folder: Path, parts: str, *states: str) -> None:
    """Run those of these parts, in each of these states of the streams."""
    for module in walk_packages(sow.cli.__path__, "sow.cli."):
        import_module(module.name)
    import yaml  # noqa: F401

    import worker.main  # noqa: F401 - warmed up like the rest

    template = make_template(folder)
    words = sorted({command.words for command in all_commands()} - set(EXCLUDED))
    wanted = {argv for part in parts for argv in words[int(part) :: len(PARTS)]}
    for argv in sorted({*wanted, *ALWAYS}):
        ran = {name: run(argv, STREAMS[name], template, folder) for name in states}
        print(json.dumps({"argv": argv, "ran": ran}), flush=True)


def run(
    argv: tuple[str, ...], streams: tuple[str, str, str], template: Path, folder: Path
) -> str | int:
    """Run one command in a fresh arena; return its exit code or what is wrong."""
    stdin, stdout, stderr = streams
    case = Case(
        number=0,
        argv=(*argv, *ARGUMENTS.get(argv, ())),
        environ={},
        damage=(),
        cwd=".",
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        encoding="utf-8",
        powerless=False,
    )
    fault, code = run_case(case, template, folder / "arena")
    return fault or code


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
