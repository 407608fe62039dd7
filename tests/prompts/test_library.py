"""The texts themselves: which there are, that each is whole, and that no two roles say the same."""

from itertools import combinations

import pytest

from sow.agents.rights import REVIEWING
from sow.agents.roles import AGENTS
from sow.errors import ExitCode
from sow.lifecycle.types import LIFECYCLES
from sow.prompts.library import (
    FOLDER,
    TEMPLATES,
    UnknownPrompt,
    is_prompt,
    list_prompts,
    list_templates,
    load_prompt,
)
from sow.prompts.variables import includes_of, variables_of

ROLES = [agent.name for agent in AGENTS]
SPECIALITIES = {
    "architect": {"decision", "interfaces", "migration"},
    "debugger": {"intermittent", "regression", "reproduce"},
    "designer": {"commands", "messages", "screens"},
    "documenter": {"explanation", "guide", "reference"},
    "implementer": {"bug", "feature", "refactor", "tdd"},
    "integrator": {"branches", "conflicts", "meaning"},
    "orchestrator": {
        *("batches", "budgets", "ending", "planning", "review", "trouble", "waiting"),
    },
    "performance-engineer": {"measuring", "memory", "profiling"},
    "planner": {"breakdown", "dependencies", "tasks"},
    "refactorer": {"modules", "moves", "pinning"},
    "researcher": {"code", "comparing", "experiment"},
    "reviewer": {"correctness", "security", "tests", "verdict"},
    "security-reviewer": {"access", "inputs", "supply"},
    "tester": {"cases", "faults", "properties"},
}
MOST_SHARED = 0.3
"""What part of its lines a role's text may have in common with another role's."""
PROTOCOL = "shared/protocol"


def raw(name: str) -> str:
    folder = TEMPLATES.parent if name.startswith("templates/") else FOLDER
    return (folder / f"{name}.md").read_text(encoding="utf-8")


def lines_of(*names: str) -> list[str]:
    """Return the lines, as an agent gets them, of some texts one after the other."""
    lines = "\n".join(load_prompt(name) for name in names).splitlines()
    return [line.strip() for line in lines if line.strip()]


def test_every_role_has_its_base_and_its_specialities():
    found: dict[str, set[str]] = {}
    for name in list_prompts():
        if name.startswith("guidance/"):
            _, role, topic = name.split("/")
            found.setdefault(role, set()).add(topic)
    assert found == {role: {"base", *SPECIALITIES[role]} for role in ROLES}


def test_every_state_of_every_type_has_its_text_and_no_other_has_any():
    states = {f"states/{kind}/{state}" for kind in LIFECYCLES for state in LIFECYCLES[kind].states}
    assert {name for name in list_prompts() if name.startswith("states/")} == states


def test_each_text_is_whole():
    for name in (*list_prompts(), *list_templates()):
        text = raw(name)
        assert text.startswith("You are " if name.startswith("templates/") else "#"), name
        assert text.endswith("\n"), name
        assert not text.endswith("\n\n"), name
        if not variables_of(text):
            loaded = load_prompt(name)
            assert "{{include" not in loaded, name
            if not includes_of(text):
                assert loaded == text.replace("\\{{", "{{"), name


def test_what_greets_begins_with_a_heading_and_guidance_with_its_roles_name():
    for role in ROLES:
        assert raw(f"guidance/{role}/base").startswith(f"# {role.capitalize().replace('-', ' ')}\n")


def test_every_guidance_is_named_by_a_template_or_by_another_prompt():
    texts = {name: raw(name) for name in (*list_prompts(), *list_templates())}
    guidance = {name for name in list_prompts() if name.startswith("guidance/")}
    named = {
        name for name in guidance if any(name in texts[other] for other in texts if other != name)
    }
    assert guidance - named == set(), "no agent would ever load these"


def test_a_base_names_each_of_its_roles_specialities():
    for role in ROLES:
        text = raw(f"guidance/{role}/base")
        missing = {topic for topic in SPECIALITIES[role] if f"guidance/{role}/{topic}" not in text}
        assert not missing, role


def test_the_workers_protocol_stands_once_and_is_part_of_every_workers_base():
    for role in ROLES:
        base = raw(f"guidance/{role}/base")
        if role == "orchestrator" or role in REVIEWING:  # a review ends with no status
            assert f"sow prompt {PROTOCOL}" in base
            assert not includes_of(base)
        else:
            assert [name for _, name in includes_of(base)] == [PROTOCOL], role
        assert "`failed`: it cannot be done as it stands" not in base
    text = load_prompt(PROTOCOL)
    for words in ("state.yaml", "sow task set status needs_review", "sow agent log", "`paused`"):
        assert words in text
    assert "look at the tree before you repeat it" in text


@pytest.mark.parametrize("kinds", [("base",), ("template",), ("template", "base")], ids="+".join)
def test_no_two_roles_say_the_same(kinds):
    """Of the shorter text's lines, fences and all, how many stand in the other?"""
    names = {"base": "guidance/{}/base", "template": "templates/{}"}
    texts = {role: lines_of(*(names[kind].format(role) for kind in kinds)) for role in ROLES}
    shares = []
    for pair in combinations(ROLES, 2):
        smaller, larger = sorted((texts[role] for role in pair), key=len)
        shared = sum(line in set(larger) for line in smaller)
        shares.append((shared / len(smaller), *pair))
    worst, first, second = max(shares)
    assert worst < MOST_SHARED, f"{first} and {second} share {worst:.0%}"


def test_a_base_says_all_that_its_role_needs():
    """Not a stub: what is produced, the steps, checks, logging, questions, mistakes."""
    for role in ROLES:
        own = [line for line in raw(f"guidance/{role}/base").splitlines() if line.strip()]
        assert len(own) >= 70, role
        assert sum(line.startswith("## ") for line in own) >= 5, role
        text = load_prompt(f"guidance/{role}/base")
        assert "sow agent log" in text
        assert ("`paused`" in text) is (role not in REVIEWING)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "guidance",
        "guidance/implementer",
        "guidance/implementer/",
        "guidance/implementer/base.md",
        "/guidance/implementer/base",
        "./guidance/implementer/base",
        "guidance//implementer/base",
        "guidance/implementer/../implementer/base",
        "../agents/templates/implementer",
        "library",
        "/etc/passwd",
        "guidance/implementer/base\0",
        "guidance/implementer/base\n",
        "templates/../agents/roles",
    ],
)
def test_only_listed_names_are_opened(name):
    assert not is_prompt(name)
    with pytest.raises(UnknownPrompt) as caught:
        load_prompt(name)
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.message == f"unknown prompt: {name}"
    assert "sow prompt --list" in caught.value.hint


def test_an_unknown_prompt_names_the_nearest():
    with pytest.raises(UnknownPrompt) as caught:
        load_prompt("guidance/implementor/base")
    assert caught.value.nearest[0] == "guidance/implementer/base"
    assert "  - guidance/implementer/base" in caught.value.hint
