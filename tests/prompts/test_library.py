import pytest

from sow.agents.roles import AGENTS, TEMPLATES
from sow.errors import ExitCode
from sow.prompts.library import FOLDER, UnknownPrompt, list_prompts, load_prompt


def test_every_role_has_its_base_and_no_other_has_any():
    roles = {name.split("/")[1] for name in list_prompts()}
    assert roles == {agent.name for agent in AGENTS}
    for role in roles:
        assert f"guidance/{role}/base" in list_prompts()


def test_the_complete_roles_are_complete():
    names = set(list_prompts())
    for topic in ("base", "tdd", "feature", "bug", "refactor"):
        assert f"guidance/implementer/{topic}" in names
    for topic in ("base", "code", "tests", "verdict"):
        assert f"guidance/reviewer/{topic}" in names
    for topic in ("base", "tasks", "review"):
        assert f"guidance/orchestrator/{topic}" in names


@pytest.mark.parametrize("name", list_prompts())
def test_a_prompt_is_loaded_as_it_lies(name):
    text = load_prompt(name)
    assert text == (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("name", list_prompts())
def test_every_prompt_is_named_by_a_template_or_by_another_prompt(name):
    others = [load_prompt(other) for other in list_prompts() if other != name]
    templates = [file.read_text(encoding="utf-8") for file in TEMPLATES.iterdir()]
    assert any(name in text for text in others + templates), "no agent would ever load it"


def test_the_prompts_statuses_are_what_a_base_ends_with():
    for agent in AGENTS:
        text = load_prompt(f"guidance/{agent.name}/base")
        for line in ("sow task set status needs_review", "`paused`", "`failed`", "sow agent log"):
            assert line in text, agent.name
        assert "run again" in text.lower(), agent.name
        if agent.name != "orchestrator":
            assert "check the" in text or "Look at the tree" in text, agent.name


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
    ],
)
def test_only_listed_names_are_opened(name):
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
