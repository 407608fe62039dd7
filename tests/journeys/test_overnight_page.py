"""The page on batches: each command of it, in its order, does what the page says."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from journeys.batch_site import accept, author
from journeys.callers import await_runs, report
from journeys.gitsite import git, make_repository
from journeys.site import Result, Site

PAGE = Path(__file__).parents[2] / "docs/overnight.md"
STILL_RUNNING = 75
FOLLOWS = "sow batch wait again --since 0 --wait 100s --json"
EXIT_CODES = {
    FOLLOWS: None,
}
"""What is not 0; that of a wait for the first change may be 75 as well."""


def commands() -> list[str]:
    """Return the lines of the page's shell blocks."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_each_command_of_the_page_is_run(site: Site) -> None:
    make_repository(site)
    (site.root / ".git/info/exclude").write_text(".standin\n.sow/run\n.sow/project\n")
    site.project()
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (site.root / ".sow/config.yaml").write_text(block)
    (tasks,) = re.findall(r"```yaml tasks\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (site.root / "tasks.yaml").write_text(tasks)
    (site.root / "Makefile").write_text("test:\n\ttrue\n")
    git(site, "add", "-A")
    git(site, "commit", "-qm", "settings")
    yolo = {"claude-code": {"type": "claude", "settings": {"yolo_mode": True}}}
    site.configure({"agents": {"executors": yolo}})
    for task in ("010", "020"):
        site.script([author(f"echo work >{task}"), accept(task)], task)
    asks = {"sow": ["agent", "log", "Should a refusal name the token's owner?"]}
    hangs = [{"hang": True}]
    work = [author("echo work >030"), accept("030")]
    more = [author("echo more >>030"), accept("030")]
    site.script([[asks, report("paused")], *work, hangs, *more], "030")
    seen = {}
    for line in commands():
        words = shlex.split(line)
        assert words[0] == "sow", line
        if line == "sow batch resume night" and line not in seen:
            # The next night: from here on the page is about a batch that goes on.
            site.sow("task", "reopen", "030")
            site.sow("batch", "run", "030", "--name", "night", "--detach")
            await_runs(site, 8)
        expected = EXIT_CODES.get(line, 0)
        if line == "sow batch wait night" and line not in seen:
            expected = 1  # the question
        seen[line] = site.sow(*words[1:], expect=expected)
        if line == FOLLOWS:
            follow(site, words[1:], seen[line])

    shown = seen["sow batch show night"].out
    assert "Batch 1 night is running: 2 done, 1 needs_person" in shown
    assert "    Should a refusal name the token's owner?" in shown
    assert "Batch 1 night is over: 3 done" in seen["sow batch wait night"].out
    assert "Batch 2 is without 030" in seen["sow batch remove night 030"].out
    assert "Batch 2 has 030" in seen["sow batch add night 030"].out
    assert git(site, "show", "main:030") == "work\nmore\n"


def follow(site: Site, words: Sequence[str], first: Result) -> None:
    """Call again with each cursor that was printed, as the page says, until the batch is over."""
    step, changes = first, list(first.json["changes"])
    while step.code == STILL_RUNNING:
        again = [step.json["cursor"] if word == "0" else word for word in words]
        step = site.sow(*again, expect=None)
        changes += step.json["changes"]
    assert step.code == 0
    last = [change["data"]["status"] for change in changes if change["kind"] == "item"][-1]
    assert last == "done"
