"""Follows a prompt to the letter: the command lines of its blocks, in their order, nothing else.

What stands in `<…>` is filled in from one fixed table, and a file that a command names is
written before, from another: a reader would do that by understanding. Whatever else a text
needs is missing.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sow.cli.named_commands import commands_of
from sow.prompts.library import is_prompt, load_prompt

BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)
YAML = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLANK = re.compile(r"<[^<>\n]+>")
ANSWERS = {
    "<name>": "Add the login route",
    "<role>": "implementer",
    "<what is true when the goal is reached>": "Whoever has an account can sign in.",
    "<what you did>": "Added the login route",
    "<path>": "code.txt",
    "<what you think of it>": "Meets its criteria.",
    "<what you think of the whole>": "It meets the goal.",
    "<your answer>": "RS256.",
}
"""What a reader puts where a text has `<…>`."""
FINDINGS = "1. **blocking**, code.txt line 1: it says code.\n"
FILES = {
    "findings.md": FINDINGS,
    ".sow/project/context/summary.md": "# Summary\n\nIt can be done.\n",
    ".sow/project/context/design.md": "# Design\n\nOne queue.\n",
    "tasks.yaml": "\n".join(YAML.findall(load_prompt("guidance/planner/base"))),
}
"""What a reader writes before a command that names the file."""


def lines_of(text: str) -> list[str]:
    """Return the command lines that a text wants run, filled in."""
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    return [BLANK.sub(lambda blank: ANSWERS[blank[0]], line) for line in lines if line.strip()]


def followed(name: str) -> Iterator[str]:
    """Yield the command lines of a prompt, and of each that it names, where it is named first."""
    yield from _followed(name, {name})


def _followed(name: str, seen: set[str]) -> Iterator[str]:
    text = load_prompt(name)
    yield from lines_of(text)
    for named in commands_of(text):
        if named.words[:1] == ("prompt",) and len(named.words) == 2:
            inner = named.words[1]
            if inner not in seen and is_prompt(inner):
                seen.add(inner)
                yield f"sow prompt {inner}"
                yield from _followed(inner, seen)


def write_files(root: Path, line: str) -> None:
    """Write the files that a command line names and that are not there."""
    for place, text in FILES.items():
        path = root / place
        if place in line and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
