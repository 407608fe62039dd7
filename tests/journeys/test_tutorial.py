"""The tutorial, followed literally with an empty HOME and a stand-in for Claude Code."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from journeys.callers import besides_news, report
from journeys.gitsite import make_repository
from journeys.site import DEADLINE_SECONDS, Site
from repository.markdown import BLOCK, SPAN, Step, read, steps

PAGE = "docs/tutorial.md"
FIRST = 'def greet(name):\n    return f"Hello, {name}"\n'
SECOND = 'def greet(name):\n    return f"Hello, {name}" if name else "Hello"\n'
VARIABLE = re.compile(r"\b(\d+\.\d+s|\d+s|\d+m\d\ds|[0-9a-f]{7}|[0-9a-f]{12})\b")


def tutorial() -> list[Step]:
    """Return what the page runs, in its order: a block of the shell is one step."""
    found: list[Step] = []
    for language, body in BLOCK.findall(read(PAGE)):
        found += steps(body) if language == "console" else [Step(body, ())]
    return found


def run(site: Site, folder: Path, command: str) -> list[str]:
    """Run a step where the one before it has ended, and return the lines that it prints."""
    where = site.base / "where"
    current = where.read_text().strip() if where.exists() else str(folder)
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", f"{command}\npwd >{where}"],
        cwd=current,
        env=site.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    # On a terminal no limit is named, and a person is there.
    printed = done.stdout.replace(" --wait 100s", "").replace("The orchestrator", "A person")
    return [VARIABLE.sub("#", line) for line in besides_news(printed).splitlines()]


def test_no_command_has_what_bash_replaces_on_a_terminal() -> None:
    """In double quotes too, `!` stands there for a line of the history."""
    assert [step.command for step in tutorial() if "!" in step.command] == []


@pytest.mark.slow
def test_each_step_of_the_tutorial_prints_what_it_shows(site: Site) -> None:
    script = site.root / ".standin/010.json"
    script.parent.mkdir()
    writes = [{"write": ["greeting.py", text]} for text in (FIRST, SECOND)]
    script.write_text(json.dumps([[each, report()] for each in writes]))
    # The page begins with `mkdir shop`: the stand-in finds its script in the root of that.
    first, *others = tutorial()
    run(site, site.root, first.command.partition("cd shop")[0])
    script.parent.rename(site.root / "shop/.standin")
    (site.root / "shop/.standin/.gitignore").write_text("*\n")
    run(site, site.root, f"cd shop{first.command.partition('cd shop')[2]}")
    try:
        follow(site, others)
    finally:
        site.sow("worker", "stop", "--end-agents", cwd=site.root / "shop", expect=None)
    assert (site.root / "shop/greeting.py").read_text() == SECOND


def instead(status: str) -> str:
    """Return the command of the paragraph about another status than the one that is shown."""
    [paragraph] = [part for part in read(PAGE).split("\n\n") if f"`{status}` instead" in part]
    [command] = [span.strip("`") for span in SPAN.findall(paragraph) if "sow " in span]
    return command


@pytest.mark.slow
def test_what_the_tutorial_says_to_do_where_it_comes_otherwise_goes_on(site: Site) -> None:
    make_repository(site)
    site.project("010")
    asks = [{"sow": ["agent", "log", "Which way?"]}, report("paused")]
    site.script([asks, [report()]], task="010")
    asked = run(site, site.root, "sow agent spawn 010")
    assert asked[0].startswith("010 paused")
    assert "Which way?" in asked[1]
    assert run(site, site.root, instead("paused"))[0].startswith("010 needs_review (resume")

    (site.root / ".sow/config.yaml").write_text("checks: {unit: 'true', default: [unit]}\n")
    assert "is held" in site.sow("task", "check", "010", expect=75).err
    assert "010 passed" in run(site, site.root, instead("held"))[-1]  # it may have ended by then


def follow(site: Site, others: Sequence[Step]) -> None:
    """Run these steps, and compare what they print."""
    for step in others:
        printed = run(site, site.root, step.command)
        shown = [VARIABLE.sub("#", line) for line in step.output]
        if "..." in shown:
            shown = shown[: shown.index("...")]
            assert printed, f"elided, but nothing was printed: {step.command}"
            printed = printed[: len(shown)]
        assert printed == shown, step.command
