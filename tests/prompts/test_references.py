"""Every `sow` command that a text for agents or users names is one that exists."""

import re
from pathlib import Path

import click
import pytest

from sow.agents.roles import AGENTS
from sow.attempts.prompt_facts import NO_GOAL
from sow.cli.named_commands import Named, commands_of, fault_of
from sow.cli.tree import root
from sow.install.places import MARKETPLACE
from sow.prompts.library import (
    FOLDER,
    TEMPLATES,
    is_prompt,
    list_prompts,
    list_templates,
    load_prompt,
)
from sow.prompts.variables import VARIABLES

REPOSITORY = Path(__file__).parents[2]
TEXTS = [
    *sorted(TEMPLATES.glob("*.md")),
    *sorted(FOLDER.rglob("*.md")),
    *sorted(MARKETPLACE.rglob("*.md")),
    *sorted(set((REPOSITORY / "docs").rglob("*.md")) - {REPOSITORY / "docs/reference.md"}),
    *sorted(REPOSITORY.glob("*.md")),
]
"""All but the reference, which is written from the commands themselves."""
PROMPT = re.compile(
    r"(?<![\w/.-])(?:guidance|greeting|shared|states|templates)/[a-z-]+(?:/[a-z-]+)?"
)
"""What looks like the name of a prompt."""
WHOLE = {"guidance": 3, "states": 3, "greeting": 2, "shared": 2, "templates": 2}
"""How many words a name has that begins so; what has fewer names a folder."""


def text_name(file):
    return file.relative_to(REPOSITORY).as_posix()


@pytest.mark.slow
def test_every_command_named_exists():
    faults = [
        f"{text_name(file)}:{named.line}: sow {' '.join(named.words)}: {fault}"
        for file in TEXTS
        for named in commands_of(file.read_text(encoding="utf-8"))
        if (fault := fault_of(named, root))
    ]
    assert not faults, "\n".join(faults)


def test_every_prompt_named_exists():
    for file in TEXTS:
        found = {match[0] for match in PROMPT.finditer(file.read_text(encoding="utf-8"))}
        named = {name for name in found if name.count("/") + 1 == WHOLE[name.split("/")[0]]}
        assert {name for name in named if not is_prompt(name)} == set(), text_name(file)


def test_the_texts_agents_read_name_many_commands():
    """Guards the finder: the test above passes on nothing found."""
    texts = [file for file in TEXTS if REPOSITORY / "sow" in file.parents]
    found = [named for file in texts for named in commands_of(file.read_text(encoding="utf-8"))]
    assert len(found) > 8 * len(AGENTS)
    for file in TEMPLATES.glob("*.md"):
        words = [named.words for named in commands_of(file.read_text(encoding="utf-8"))]
        assert ("prompt", f"guidance/{file.stem}/base") in words
    protocol = commands_of((FOLDER / "shared/protocol.md").read_text(encoding="utf-8"))
    assert ("task", "set", "status", "needs_review") in [named.words for named in protocol]


MARKDOWN = """
Run `sow task list` first, or ``sow job show 1``, then `git status`; never sow by itself.

```bash
$ sow agent spawn implementer 010 --detach   # a comment
SOW_WAIT=9m sow agent wait 010 && sow task show 010 | cat
echo sow
sow task add "A; b" \\
    --agent tester
It's sow that speaks here
```

A span that is
broken: `sow task
set 010 status paused`. `VAR=1 sow …` is only a shape, as is `.sow/run`.

An indented block, and a text that goes on:

    sow batch wait [--since 0]

1. A list's
   sow is no command.
"""


def test_the_finder_finds_spans_blocks_pipes_and_continued_lines():
    assert [(named.words, named.in_block) for named in commands_of(MARKDOWN)] == [
        (("agent", "spawn", "implementer", "010", "--detach"), True),
        (("agent", "wait", "010"), True),
        (("task", "show", "010"), True),
        (("task", "add", "A; b", "--agent", "tester"), True),
        (("batch", "wait", "[--since", "0]"), True),
        (("task", "list"), False),
        (("job", "show", "1"), False),
        (("task", "set", "010", "status", "paused"), False),
        (("…",), False),
    ]


@click.group()
def tree():
    pass


@tree.group()
def task():
    pass


@task.command("set")
@click.argument("words", nargs=-1, required=True)
@click.option("--id", "task_id")
def set_field(words, task_id):
    pass


@tree.command("prompt")
@click.argument("path")
@click.option("--file", type=click.Path(exists=True))
def prompt(path, file):
    pass


@tree.group()
def agent():
    pass


@agent.command("spawn")
@click.argument("name")
@click.argument("task_id")
@click.option("--detach", is_flag=True)
@click.option("--retries", type=int)
def spawn(name, task_id, detach, retries):
    pass


@pytest.mark.parametrize(
    ("words", "in_block", "fault"),
    [
        ("task set 010 status needs_review", True, None),
        ("task set --id 010 status needs_review", True, None),
        ("task set", False, None),
        ("task", False, None),
        ("task …", False, None),
        ("", False, None),
        ("agent spawn implementer 010 --detach", True, None),
        ("agent spawn --detach", False, None),
        ("agent spawn --help", True, None),
        ("agent spawn implementer 010 [--detach]", True, None),
        ("agent spawn [AGENT] [TASK]...", False, None),
        ("agent spawn [AGENT] --detatch", False, "has no option --detatch"),
        ("agent spawn --retries", False, None),
        ("agent spawn implementer 010 --retries", True, "requires an argument"),
        ("agent spawn implementer 010 --retries N", True, None),
        ("prompt guidance/implementer/base --file no-such-file", True, None),
        ("task set", True, "Missing argument"),
        ("task put 010", False, "has no command 'put'"),
        ("tusk list", False, "has no command 'tusk'"),
        ("task set 010 status garbage", False, "no such status: garbage"),
        ("agent spawn implementer 010 --detatch", True, "has no option --detatch"),
        ("agent spawn implementer … --detatch", False, "has no option --detatch"),
        ("agent spawn implementor 010", True, "no such agent: implementor"),
        ("agent spawn implementer", True, "Missing argument"),
        ("agent spawn implementer 010 --retries two", True, "Invalid value"),
        ("agent spawn implementer 010 020", False, "unexpected extra argument"),
        ("prompt guidance/implementer/bass", False, "no such prompt: guidance/implementer/bass"),
        ("--verzion", False, "has no option --verzion"),
    ],
)
def test_the_judge_knows_right_from_wrong(words, in_block, fault):
    found = fault_of(Named(tuple(words.split()), 1, in_block), tree)
    if fault is None:
        assert found is None
    else:
        assert found is not None
        assert fault in found


@pytest.mark.slow
def test_a_command_with_arguments_is_understood_as_it_stands():
    """One that a prompt only mentions has none: with some it is run, and nothing may be missing."""
    anything = {each: lambda: NO_GOAL for each in VARIABLES}
    for name in (*list_prompts(), *list_templates()):
        for named in commands_of(load_prompt(name, None, anything)):
            if has_arguments(named):
                assert fault_of(named._replace(in_block=True), root) is None, (name, named)


def has_arguments(named):
    command, rest = root, list(named.words)
    while isinstance(command, click.Group) and rest:
        child = command.get_command(click.Context(command), rest[0])
        if child is None:
            return False
        command, rest = child, rest[1:]
    return bool(rest)
