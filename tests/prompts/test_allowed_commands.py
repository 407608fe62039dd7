"""What the texts for agents tell them to run, they may run."""

import pytest
from named_commands import commands_of

from sow.agents.roles import AGENTS, TEMPLATES
from sow.cli.agent_rights import RIGHTS, CallingAgent, refuse_without_right
from sow.executors.claude import SOW_VERBS
from sow.prompts.library import FOLDER


@pytest.mark.parametrize("role", [agent.name for agent in AGENTS if agent.name != "orchestrator"])
def test_what_an_agents_texts_tell_it_to_run_is_allowed(role: str) -> None:
    """By sow, and by the rules that sow gives to Claude Code."""
    texts = [TEMPLATES / f"{role}.md", *(FOLDER / "guidance" / role).glob("*.md")]
    prefixes = [rule.removeprefix("Bash(sow ").removesuffix(":*)") for rule in SOW_VERBS]
    for file in texts:
        for named in commands_of(file.read_text(encoding="utf-8")):
            if not named.words or named.words[0] == "…":
                continue
            line = " ".join(named.words)
            assert any(f"{line} ".startswith(f"{prefix} ") for prefix in prefixes), (file, line)
            words = next(words for words in RIGHTS if named.words[: len(words)] == words)
            refuse_without_right(CallingAgent("010", role), words, {})
