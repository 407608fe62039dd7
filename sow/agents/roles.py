"""Every agent that sow knows, as data.

Owns the roles' names and their words for people. Knows
nothing of executors: which CLI plays which role is the user's configuration.
To add a role, add it to `AGENTS`, write `templates/<name>.md`, and write
`<name>/base.md` in the guidance of `sow.prompts`.
"""

from sow.errors import UsageError
from sow.plain_record import PlainRecord

WITHOUT_FILES = frozenset(
    {"orchestrator", "planner", "researcher", "reviewer", "security-reviewer"}
)
"""The roles whose work need not be a changed file: tasks, answers, verdicts."""


class Agent(PlainRecord):
    """A role."""

    name: str
    description: str
    """What it does, in one line."""
    capabilities: str
    """What an executor must let it do, in one line."""


SEARCHES = "read and write files, search code"
RUNS = "read and write files, run commands, search code"
JUDGES = "read files, write feedback, run commands, search code"

AGENTS: tuple[Agent, ...] = (
    Agent(
        "orchestrator",
        "Plans the work, spawns agents, reviews what they did",
        "read and write files, run commands, spawn agents",
    ),
    Agent("planner", "Breaks a goal into tasks that can be done and judged alone", SEARCHES),
    Agent(
        "researcher",
        "Answers a question from sources and names them",
        "read and write files, search code, fetch web pages",
    ),
    Agent("architect", "Designs systems and records the decisions", SEARCHES),
    Agent("designer", "Designs what users see: commands, screens, words", SEARCHES),
    Agent("implementer", "Writes code, tests first", RUNS),
    Agent("tester", "Writes tests that find what does not hold", RUNS),
    Agent("debugger", "Finds the cause of a fault and proves it", RUNS),
    Agent("refactorer", "Improves the structure of code and keeps its behaviour", RUNS),
    Agent("reviewer", "Judges work against what its task asked", JUDGES),
    Agent("security-reviewer", "Looks for ways to misuse a change", JUDGES),
    Agent("performance-engineer", "Measures, finds the bottleneck, removes it", RUNS),
    Agent("documenter", "Writes documentation that is true and short", RUNS),
    Agent(
        "integrator",
        "Joins finished work into one tree that passes its checks",
        "read and write files, run commands, use git",
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
