"""What keeps an agent over ACP from its first turn is told with a remedy, and following it helps.

Each test makes a mistake that a user makes, does what the message says, and runs the command that
the message names.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from journeys.site import Site

STAND_IN = Path(__file__).parents[1] / "standins/acp_agent.py"
COMMAND = re.compile(r"`sow (agent (?:spawn|resume) [^`]+)`")
KEY = "agents.executors.mine."
WORKS = {"turn": [{"say": "Done."}, {"run": "sow task set status needs_review"}]}

STUBBORN = {"modes": ["ask", "plan"], "mode_told": "never"}


def agent(site: Site, name: str = "agent", **script: Any) -> list[str]:
    """Return the command of an agent that behaves so."""
    file = site.base / f"{name}.json"
    file.write_text(json.dumps({"known": ["session-1"], **WORKS, **script}), encoding="utf-8")
    return [sys.executable, str(STAND_IN), str(file)]


def use(site: Site, command: list[str], **fields: Any) -> None:
    """Have the implementer be run by an agent over ACP; `preset` is a setting, the rest keys."""
    preset = {"preset": fields.pop("preset")} if "preset" in fields else {}
    mine = {"type": "acp", "settings": {"command": command, **preset}, "retries": 0, **fields}
    site.configure({"agents": {"executors": {"mine": mine}, "bindings": {"implementer": "mine"}}})


def log_in(site: Site) -> None:
    command = agent(site, key="OWN_KEY")
    subprocess.run([*command, "login"], check=True)


Mistake = tuple[Callable[[Site], None], str, str, str, Callable[[Site], None]]
MISTAKES: dict[str, Mistake] = {
    "not logged in": (
        lambda site: use(site, agent(site, key="OWN_KEY")),
        "auth",
        "Authentication required (its ways to log in: Stand-in login: Run it with `login`)",
        "Log in with the agent's own program",
        log_in,
    ),
    "no key": (
        lambda site: use(site, agent(site, key="OWN_KEY")),
        "auth",
        "Authentication required",
        f"give it its key by {KEY}env",
        lambda site: use(site, agent(site, key="OWN_KEY"), env={"OWN_KEY": "x"}),
    ),
    "no such mode": (
        lambda site: use(site, agent(site, **STUBBORN), preset="qwen"),
        "bad_flags",
        "its mode is ask, not default (it has ask, plan)",
        f"{KEY}settings.preset has to name the agent",
        lambda site: use(site, agent(site, **STUBBORN)),
    ),
    "another version of the protocol": (
        lambda site: use(site, agent(site, version=2)),
        "bad_flags",
        "the agent speaks version 2 of the protocol; sow speaks 1",
        f"have {KEY}settings.command start it",
        lambda site: use(site, agent(site, "older")),
    ),
    "cannot load": (
        lambda site: use(site, agent(site, loads=False)),
        "bad_flags",
        "the agent cannot load a session again",
        f"Have {KEY}settings.command start an agent, or a version of it, that can load",
        lambda site: use(site, agent(site, "newer")),
    ),
    "no agent over ACP": (
        lambda site: use(site, ["/bin/sh", "-c", "echo 'Welcome! How can I help?'"]),
        "bad_flags",
        "does not speak ACP: it has written 'Welcome! How can I help?' and has ended with exit",
        f'{KEY}settings.command has to start the agent so that it speaks ACP, such as ["cline"',
        lambda site: use(site, agent(site)),
    ),
    "dies at once": (
        lambda site: use(site, agent(site), custom_args=["--old-flag"]),
        "bad_flags",
        "unknown option: --old-flag",
        f"Run {KEY}settings.command by hand with its custom_args, and correct it",
        lambda site: use(site, agent(site)),
    ),
    "dies without a word": (
        lambda site: use(site, ["/bin/sh", "-c", "read request; exit 9"]),
        "crashed",
        "the agent has ended with exit code 9 before it had answered initialize",
        f"Run {KEY}settings.command by hand with its custom_args, and correct it",
        lambda site: use(site, agent(site)),
    ),
}


@pytest.mark.one_of
@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_who_follows_the_message_gets_the_work_done(site: Site, mistake: Mistake) -> None:
    make, cause, words, remedy, follow = mistake
    site.project("010")
    make(site)
    failed = site.sow("agent", "spawn", "implementer", "010", expect=1)
    job = site.job(1)
    assert job["cause"] == cause, job["reason"]
    assert len(job["attempts"]) == 1, "nothing that only a person can correct is tried again"
    for part in (words, remedy):
        assert part in failed.out + failed.err
    follow(site)
    [command, *_] = COMMAND.findall(failed.out + failed.err)
    done = site.sow(*shlex.split(command))
    assert done.out.startswith("010 needs_review"), done.out + done.err
