"""Every agent that sow knows, as data.

Owns the roles' names, their words for people and their templates. Knows
nothing of executors: which CLI plays which role is the user's configuration.
To add a role, add it to `AGENTS`, write `templates/<name>.md`, and write
`<name>/base.md` in the guidance of `sow.prompts`.
"""

from pathlib import Path

import msgspec

from sow.errors import UsageError

TEMPLATES = Path(__file__).parent / "templates"
WITHOUT_FILES = frozenset(
    {"orchestrator", "planner", "researcher", "reviewer", "security-reviewer"}
)
"""The roles whose work need not be a changed file: tasks, answers, verdicts."""


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A role."""

    name: str
    description: str
    """What it does, in one line."""
    capabilities: str
    """What an executor must let it do, in one line."""
    prompt_path: str
    """The file of its template, relative to `TEMPLATES`."""


AGENTS: tuple[Agent, ...] = (
    Agent(
        name="orchestrator",
        description="Plans the work, spawns agents, reviews what they did",
        capabilities="read and write files, run commands, spawn agents",
        prompt_path="orchestrator.md",
    ),
    Agent(
        name="planner",
        description="Breaks a goal into tasks that can be done and judged alone",
        capabilities="read and write files, search code",
        prompt_path="planner.md",
    ),
    Agent(
        name="researcher",
        description="Answers a question from sources and names them",
        capabilities="read and write files, search code, fetch web pages",
        prompt_path="researcher.md",
    ),
    Agent(
        name="architect",
        description="Designs systems and records the decisions",
        capabilities="read and write files, search code",
        prompt_path="architect.md",
    ),
    Agent(
        name="designer",
        description="Designs what users see: commands, screens, words",
        capabilities="read and write files, search code",
        prompt_path="designer.md",
    ),
    Agent(
        name="implementer",
        description="Writes code, tests first",
        capabilities="read and write files, run commands, search code",
        prompt_path="implementer.md",
    ),
    Agent(
        name="tester",
        description="Writes tests that find what does not hold",
        capabilities="read and write files, run commands, search code",
        prompt_path="tester.md",
    ),
    Agent(
        name="debugger",
        description="Finds the cause of a fault and proves it",
        capabilities="read and write files, run commands, search code",
        prompt_path="debugger.md",
    ),
    Agent(
        name="refactorer",
        description="Improves the structure of code and keeps its behaviour",
        capabilities="read and write files, run commands, search code",
        prompt_path="refactorer.md",
    ),
    Agent(
        name="reviewer",
        description="Judges work against what its task asked",
        capabilities="read files, write feedback, run commands, search code",
        prompt_path="reviewer.md",
    ),
    Agent(
        name="security-reviewer",
        description="Looks for ways to misuse a change",
        capabilities="read files, write feedback, run commands, search code",
        prompt_path="security-reviewer.md",
    ),
    Agent(
        name="performance-engineer",
        description="Measures, finds the bottleneck, removes it",
        capabilities="read and write files, run commands, search code",
        prompt_path="performance-engineer.md",
    ),
    Agent(
        name="documenter",
        description="Writes documentation that is true and short",
        capabilities="read and write files, run commands, search code",
        prompt_path="documenter.md",
    ),
    Agent(
        name="integrator",
        description="Joins finished work into one tree that passes its checks",
        capabilities="read and write files, run commands, use git",
        prompt_path="integrator.md",
    ),
)


class UnknownAgent(UsageError):
    """A role was named that does not exist."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nearest = _nearest(name)
        guess = f"Did you mean {self.nearest}? " if self.nearest else ""
        super().__init__(
            f"unknown agent: {name}", hint=f"{guess}Run `sow agent list` to see them all."
        )


def get_agent(name: str) -> Agent:
    """Return the agent called `name`.

    Raises UnknownAgent.
    """
    for agent in AGENTS:
        if agent.name == name:
            return agent
    raise UnknownAgent(name)


def _nearest(name: str) -> str | None:
    from difflib import get_close_matches  # heavy, and for an error's hint alone

    matches = get_close_matches(name.lower(), [agent.name for agent in AGENTS], n=1)
    return matches[0] if matches else None
