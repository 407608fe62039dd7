"""README.md: its transcript prints what it shows, its configuration is one that counts."""

import os
import pty
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from journeys.callers import besides_news, gate, good, open_gate
from journeys.site import DEADLINE_SECONDS, Site, make_site, wait_until
from repository.markdown import blocks, read, steps

from sow.agents.roles import AGENTS
from sow.config.load import load_configuration

README = read("README.md")
DURATION = re.compile(r"\b(\d+\.\d+s|\d+s|\d+m\d\ds|\d+h\d\dm|\d\d:\d\d:\d\d)\b *")
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
    return besides_news(done.stdout).splitlines()


def normalised(lines: Sequence[str]) -> list[str]:
    return [DURATION.sub("TIME ", line) for line in lines]


@pytest.mark.slow
def test_the_transcript_prints_what_it_shows(site: Site) -> None:
    transcript, *_ = blocks(README, "console")
    shown = list(steps(transcript))
    assert len(shown) >= 5
    for step in shown:
        printed = run(site, step.command)
        if step.output == (ELISION,):
            assert printed, f"elided, but nothing was printed: {step.command}"
        else:
            assert normalised(printed) == normalised(step.output), step.command


def test_the_transcripts_are_short() -> None:
    for transcript in blocks(README, "console"):
        assert transcript.count("\n") <= 10


@pytest.mark.slow
def test_what_is_seen_meanwhile_looks_as_shown(site: Site) -> None:
    _, called, watched = blocks(README, "console")
    (call,), (watch,) = steps(called), steps(watched)
    site.project("010", "020", "030", "040")
    limits = {"max_parallel": 2, "settings": {"allowed_tools": ["Bash(make test:*)"]}}
    site.configure({"agents": {"executors": {"claude-code": limits}}})
    makefile = "test:\n\t@while ! test -e .standin/go.gate; do sleep 0.1; done\n"
    (site.root / "Makefile").write_text(makefile)
    site.script([good({"shell": "make test"})], task="010")
    site.script([good(*[{"api_retry": 429}] * 4, gate("go"))], task="020")
    site.script([[{"say": "Reading"}, {"crash": 3}], good()], task="040")
    log, errors = site.base / "watched", site.base / "errors"
    with log.open("w") as out, errors.open("w") as err:
        site.start(*watch.command.split()[1:], stdout=out, stderr=err)
    wait_until(errors.read_text, "that it watches")
    site.sow("agent", "spawn", "implementer", "040")
    last = watch.output[-1].split(maxsplit=1)[1]
    wait_until(lambda: last in log.read_text(), "the last line")
    assert normalised(log.read_text().splitlines()) == normalised(watch.output)
    with on_screen(site, *call.command.split()[1:]) as seen:
        wanted = "\n".join(normalised(call.output))
        wait_until(lambda: wanted in "\n".join(normalised(seen().splitlines())), "the rows")
        open_gate(site, "go")


@contextmanager
def on_screen(site: Site, *words: str) -> Iterator[Callable[[], str]]:
    """Run a command whose stderr is a terminal of 80 columns; give what stands there by now."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    parts: list[bytes] = []

    def seen() -> str:
        with suppress(BlockingIOError):
            parts.append(os.read(ours, 1 << 16))
        return re.sub(r"\x1b\[\d*[A-Z]", "\n", b"".join(parts).decode().replace("\r", ""))

    process = site.start(*words, stderr=theirs, env={"COLUMNS": "80"})
    try:
        yield seen
        process.communicate(timeout=DEADLINE_SECONDS)
        assert process.returncode == 0
    finally:
        os.close(ours)
        os.close(theirs)


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
