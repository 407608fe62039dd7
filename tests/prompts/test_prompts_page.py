"""What docs/prompts.md says of the texts and the variables is so."""

import re
from pathlib import Path

from sow.agents.roles import AGENTS
from sow.prompts.library import list_prompts
from sow.prompts.variables import VARIABLES, Given

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs/prompts.md").read_text(encoding="utf-8")
SAID = {
    Given.WORKSPACE: "in a workspace",
    Given.PROJECT: "where there is one",
    Given.TASK: "for the agent of a task",
    Given.HERE: "in what `sow prompt` puts together",
}
"""How the page's table says where a variable has a value."""


def test_the_page_names_every_role_with_its_specialities() -> None:
    table = PAGE.split("The specialities, by role:")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| ([a-z-]+) \| ([a-z, ]+) \|$", table, re.MULTILINE))
    del rows["role"]
    found = {agent.name: {"base"} for agent in AGENTS}
    for name in list_prompts():
        if name.startswith("guidance/"):
            _, role, topic = name.split("/")
            found[role].add(topic)
    assert {role: {"base", *topics.split(", ")} for role, topics in rows.items()} == found


def test_the_page_names_every_kind_of_text() -> None:
    kinds = {name.split("/")[0] for name in list_prompts()} | {"templates"}
    assert set(re.findall(r"^\| `([a-z]+)/", PAGE, re.MULTILINE)) == kinds


def test_the_page_tells_of_every_variable_where_it_has_a_value() -> None:
    described: dict[str, str] = {}
    for line in PAGE.splitlines():
        if line.startswith("| `{{"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            described |= dict.fromkeys(re.findall(r"\{\{(\w+)\}\}", cells[0]), cells[-1])
    assert set(described) == set(VARIABLES)
    for name, words in described.items():
        given = VARIABLES[name].given
        assert words in (SAID[given], "where there is a project" if given is Given.PROJECT else "")


def test_the_guide_leads_to_the_page() -> None:
    assert "(prompts.md)" in (REPOSITORY / "docs/guide.md").read_text(encoding="utf-8")
