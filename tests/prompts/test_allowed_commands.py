"""What the texts for agents tell them to run, they may run."""

import pytest

from sow.agents.rights import CallingAgent, commands_for, refuse_without_right
from sow.agents.roles import AGENTS
from sow.cli.named_commands import Named, commands_of
from sow.commands import CALLABLE
from sow.prompts.library import all_parts, list_prompts

WHOEVER_LEADS = ("guidance/orchestrator/", "states/", "greeting/no-", "greeting/orchestrator")
PEOPLES = {("doctor",), ("trust",), ("pr",), ("start",), ("project", "list"), ("prompt",)}
"""What a text for whoever leads names for the person: no rule of an agent's is needed."""


def texts_for(role: str) -> list[str]:
    """Return the names of the texts that are for a role."""
    if role == "orchestrator":
        guidance = [name for name in list_prompts() if name.startswith(WHOEVER_LEADS)]
    else:
        guidance = [name for name in list_prompts() if name.startswith(f"guidance/{role}/")]
    return [f"templates/{role}", *guidance, "shared/protocol"]


def named_for(role: str) -> list[tuple[str, Named]]:
    """Return the commands that a role's texts name, each with the name of its text."""
    return [
        (part.name, named)
        for name in texts_for(role)
        for part in all_parts(name)
        for named in commands_of(part.text)
        if named.words and named.words[0] != "…"
    ]


def is_allowed(named: Named, rules: list[tuple[str, ...]]) -> bool:
    """Whether one of Claude Code's rules names the command that a line begins with."""
    return any(named.words[: len(words)] == words for words in rules)


@pytest.mark.parametrize("role", [agent.name for agent in AGENTS])
def test_what_an_agents_texts_tell_it_to_run_it_may_run(role: str) -> None:
    """Each command is one that sow refuses to no agent of that role, and that its CLI lets run."""
    found, rules = named_for(role), commands_for(role)
    assert len(found) > 5
    for name, named in found:
        if tuple(named.words[:1]) in PEOPLES and role == "orchestrator":
            continue
        words = next((words for words in CALLABLE if named.words[: len(words)] == words), None)
        assert words is not None or not named.in_block, (name, named.words)
        if words is not None:
            refuse_without_right(CallingAgent("010", role), words, {})
            assert is_allowed(named, rules), (name, named.words)
