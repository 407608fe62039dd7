import re

import pytest

from sow.agents.roles import AGENTS, UnknownAgent, get_agent
from sow.errors import ExitCode
from sow.ids import SLUG_PATTERN, TaskId
from sow.prompts.compose import TaskBrief, spawn_prompt
from sow.prompts.library import TEMPLATES, list_prompts, load_prompt
from sow.schema.task import TaskStatus

NAMES = [agent.name for agent in AGENTS]
REPORTED = {TaskStatus.NEEDS_REVIEW, TaskStatus.PAUSED, TaskStatus.FAILED}


def test_there_are_the_seeds_roles_and_more_than_twelve():
    assert len(NAMES) >= 13
    seeds = {"orchestrator", "implementer", "architect", "reviewer", "planner", "researcher"}
    assert seeds <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("agent", AGENTS, ids=NAMES)
def test_an_agent_is_whole(agent):
    assert re.match(SLUG_PATTERN, agent.name), "it must fit assigned_agent"
    assert agent.description
    assert agent.capabilities
    assert "\n" not in agent.description + agent.capabilities
    assert get_agent(agent.name) is agent


def test_roles_have_distinct_environment_variables():
    assert len({name.upper().replace("-", "_") for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("agent", AGENTS, ids=NAMES)
def test_a_template_starts_the_agent_off(agent):
    text = load_prompt(f"templates/{agent.name}")
    assert text[0].isalnum(), "a CLI may take any other first character for a command of its own"
    assert f"sow prompt guidance/{agent.name}/base" in text
    assert f"guidance/{agent.name}/base" in list_prompts()
    assert len(text) < 1500, "the rest belongs in the guidance"


@pytest.mark.parametrize("agent", AGENTS, ids=NAMES)
def test_the_prompt_of_a_spawn_says_where_the_task_lies_and_how_to_report(agent):
    task = TaskBrief(
        id=TaskId("010"), name="Add it", location="the/folder", iteration=1, agent=agent.name
    )
    text = spawn_prompt(load_prompt(f"templates/{agent.name}"), task)
    for word in ("the/folder/", "state.yaml", "description.md", "log.md", "feedback/"):
        assert word in text
    for status in REPORTED:
        assert f"`sow task set status {status}`" in text
    assert "sow agent log" in text


def test_a_template_sends_nobody_to_another_roles_base():
    for agent in AGENTS:
        bases = re.findall(r"guidance/([a-z-]+)/base", load_prompt(f"templates/{agent.name}"))
        assert set(bases) == {agent.name}


def test_no_template_lies_unused():
    assert {f"{agent.name}.md" for agent in AGENTS} == {file.name for file in TEMPLATES.iterdir()}


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [("implementor", "implementer"), ("REVIEWER", "reviewer"), ("zzz", None), ("", None)],
)
def test_an_unknown_agent_is_refused_with_the_nearest_name(typed, nearest):
    with pytest.raises(UnknownAgent) as caught:
        get_agent(typed)
    error = caught.value
    assert error.exit_code is ExitCode.USAGE
    assert error.message == f"unknown agent: {typed}"
    assert error.nearest == nearest
    guess = f"Did you mean {nearest}? " if nearest else ""
    assert error.hint == f"{guess}Run `sow agent list` to see them all."


@pytest.mark.parametrize("typed", ["../roles", "implementer.md", "implementer/", "IMPLEMENTER"])
def test_a_name_is_matched_exactly(typed):
    with pytest.raises(UnknownAgent):
        get_agent(typed)
