"""What the texts for agents tell them to run, they may run."""

from pathlib import Path

import pytest
import yaml
from named_commands import commands_of

from sow.agents.roles import AGENTS, TEMPLATES
from sow.cli.agent_rights import RIGHTS, CallingAgent, refuse_without_right
from sow.executors.claude import SOW_VERBS
from sow.prompts.library import FOLDER

GUIDE = Path(__file__).parents[2] / "docs/guide.md"


def rules_of_the_guides_orchestrator() -> list[str]:
    """Return the rules that the guide gives to an orchestrator's executor."""
    blocks = GUIDE.read_text(encoding="utf-8").split("```")
    (block,) = [block for block in blocks if "orchestrator: claude-lead" in block]
    executors = yaml.safe_load(block.removeprefix("yaml"))["agents"]["executors"]
    rules: list[str] = executors["claude-lead"]["settings"]["allowed_tools"]
    return rules


def is_allowed(line: str, rules: list[str]) -> bool:
    """Whether one of Claude Code's rules names the command that a line begins with."""
    prefixes = [rule.removeprefix("Bash(sow ").removesuffix(":*)") for rule in rules]
    return any(f"{line} ".startswith(f"{prefix} ") for prefix in prefixes)


def test_the_guides_rules_for_an_orchestrator_cover_what_it_is_told_to_run() -> None:
    """Verb by verb: no rule names a group of commands."""
    rules = [*SOW_VERBS, *rules_of_the_guides_orchestrator()]
    for rule in (one for one in rules if one.startswith("Bash(sow")):  # others: its own checks
        assert tuple(rule.removeprefix("Bash(sow ").removesuffix(":*)").split()) in RIGHTS, rule
    texts = [TEMPLATES / "orchestrator.md", *(FOLDER / "guidance/orchestrator").glob("*.md")]
    named = [one for file in texts for one in commands_of(file.read_text(encoding="utf-8"))]
    lines = [" ".join(one.words) for one in named if one.words and one.words[0] != "…"]
    assert len(lines) > 30
    assert [line for line in lines if not is_allowed(line, rules)] == []


@pytest.mark.parametrize("role", [agent.name for agent in AGENTS if agent.name != "orchestrator"])
def test_what_an_agents_texts_tell_it_to_run_is_allowed(role: str) -> None:
    """By sow, and by the rules that sow gives to Claude Code."""
    texts = [TEMPLATES / f"{role}.md", *(FOLDER / "guidance" / role).glob("*.md")]
    for file in texts:
        for named in commands_of(file.read_text(encoding="utf-8")):
            if not named.words or named.words[0] == "…":
                continue
            line = " ".join(named.words)
            assert is_allowed(line, list(SOW_VERBS)), (file, line)
            words = next(words for words in RIGHTS if named.words[: len(words)] == words)
            refuse_without_right(CallingAgent("010", role), words, {})
