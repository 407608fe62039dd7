"""docs/mcp.md says what the server offers."""

import json
import re
from pathlib import Path

from mcp_server.mcp_page import PAGE, with_rows
from mcp_server.place import Place, run

from sow.agents.rights import CallingAgent
from sow.cli.mcp import BOUND
from sow.cli.mcp_tools import tools_for
from sow.cli.tree import root
from sow.config.units import parse_duration
from sow.mcp_server.answer_size import MOST_CHARACTERS
from sow.mcp_server.calls import MOST_WAITS
from sow.mcp_server.resources import forms_for

TEXT = PAGE.read_text("utf-8")
TOOLS = {tool.name: tool for tool in tools_for(root, None, 50.0)}


def test_its_table_has_every_tool() -> None:
    assert with_rows(TEXT, TOOLS.values()) == TEXT, "run python tests/mcp_server/mcp_page.py"


def test_the_server_lists_the_tools_of_the_page(tmp_path: Path) -> None:
    """In a folder without anything: the list is the same everywhere."""
    import os

    place = Place(tmp_path, dict(os.environ))

    async def work() -> None:
        async with place.client() as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            table = TEXT.partition("## The tools")[2].partition("## Resources")[0]
            assert listed == re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)

    run(work)


def test_every_tool_named_anywhere_in_it_is_one() -> None:
    groups = {tool.command[0] for tool in TOOLS.values() if len(tool.command) > 1}
    named = {
        name for name in re.findall(r"`([a-z]+_[a-z_]+)`", TEXT) if name.split("_")[0] in groups
    }
    assert len(named) > 8
    assert named <= set(TOOLS)


def test_its_addresses_are_the_servers() -> None:
    addresses = re.findall(r"^\| `(sow://[^`]+)`", TEXT, re.MULTILINE)
    assert addresses == [form.address for form in forms_for(own_task=None)]


def test_what_it_says_of_agents() -> None:
    rows = dict(re.findall(r"^\| (of a task|that reviews a task) \| (.*) \|$", TEXT, re.MULTILINE))
    for row, agent in (
        ("of a task", CallingAgent("010", "implementer")),
        ("that reviews a task", CallingAgent("010", "reviewer", reviews=True)),
    ):
        offered = {tool.name for tool in tools_for(root, agent, 50.0)}
        assert set(re.findall(r"`(\w+)`", rows[row])) == offered


def test_its_figures_are_those_of_the_code() -> None:
    assert f"at most {parse_duration(BOUND):.0f} seconds" in TEXT
    assert f"about {MOST_CHARACTERS:,} characters" in TEXT
    assert "At most sixteen calls wait at once" in TEXT
    assert MOST_WAITS == 16
    assert 45 < len(tools_for(root, None, 50.0, leading=True)) < 65, "some fifty"
    assert json.loads(re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)[0])["mcpServers"]["sow"]
