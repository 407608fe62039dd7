"""README.md: its transcript prints what it shows, its configuration is one that counts."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from journeys.site import DEADLINE_SECONDS, Site, make_site
from repository.markdown import blocks, read, steps

from sow.agents.roles import AGENTS
from sow.config.load import load_configuration

README = read("README.md")
DURATION = re.compile(r"\b(\d+\.\d+s|\d+s|\d+m\d\ds|\d+h\d\dm)\b")
ELISION = "..."


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = make_site(tmp_path)
    yield made
    made.close()


def run(site: Site, command: str) -> list[str]:
    """Run one line of the transcript and return the lines that it prints."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=site.root,
        env=site.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{site.worker_logs()}"
    return done.stdout.splitlines()


def normalised(lines: Sequence[str]) -> list[str]:
    return [DURATION.sub("TIME", line) for line in lines]


@pytest.mark.slow
def test_the_transcript_prints_what_it_shows(site: Site) -> None:
    (transcript,) = blocks(README, "console")
    shown = list(steps(transcript))
    assert len(shown) >= 5
    for step in shown:
        printed = run(site, step.command)
        if step.output == (ELISION,):
            assert printed, f"elided, but nothing was printed: {step.command}"
        else:
            assert normalised(printed) == normalised(step.output), step.command


def test_the_transcript_is_short() -> None:
    (transcript,) = blocks(README, "console")
    assert transcript.count("\n") <= 10


def test_the_configuration_loads_and_every_line_of_it_counts(tmp_path: Path) -> None:
    (text,) = blocks(README, "yaml")
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    roles = [agent.name for agent in AGENTS]
    configuration = load_configuration(path=file, repository_path=None, environ={}, roles=roles)
    assert text.count("\n") <= 6
    assert not configuration.warnings
    assert configuration.worker.concurrency == 6
    assert configuration.executor("claude-code").model == "sonnet"
    assert configuration.executor("claude-code").allowed_tools == ("Bash(make test:*)",)
    assert configuration.executor("cursor").yolo_mode
    assert configuration.executor("cursor").max_parallel == 2
    assert configuration.bindings["implementer"] == configuration.bindings["tester"] == "cursor"
