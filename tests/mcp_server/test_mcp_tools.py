"""The tools as values: what they take, which command line comes of it, and who is offered them."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repository.command_tree import COMMANDS

from sow.agents.rights import CallingAgent
from sow.cli.mcp_tools import tools_for
from sow.cli.tree import root
from sow.commands import CALLABLE, Right
from sow.errors import UsageError
from sow.mcp_server.server import fitting
from sow.mcp_server.tool import Line, Tool

BOUND = 50.0
TOOLS = {tool.name: tool for tool in tools_for(root, None, BOUND)}

LEADING = {
    row.words for row in CALLABLE.values() if not isinstance(row.tool, str) and row.tool.leads
}


def line(tool: str, **arguments: Any) -> Line:
    """Return the command line of a call whose arguments fit."""
    return TOOLS[tool].line(fitting(TOOLS[tool], arguments))


def test_each_is_named_and_told_of_as_its_command_is() -> None:
    for tool in TOOLS.values():
        text = re.sub(r"\n +", "\n", COMMANDS[tool.command].help)
        assert tool.name == "_".join(tool.command)
        assert tool.description.partition("\n")[0] in text, tool.name
        assert all(schema["description"] for schema in tool.schema["properties"].values())
        is_reader = CALLABLE[tool.command].right is Right.READS and tool.name != "validate"
        assert tool.only_reads is is_reader, tool.name


def test_what_takes_time_waits_no_longer_than_the_bound() -> None:
    waits = {name for name, tool in TOOLS.items() if "wait" in tool.schema["properties"]}
    commands = {"_".join(words) for words in COMMANDS if _has_wait(words)}
    assert waits == commands - {"start", "watch", "executor_try", "executor_compare"}
    for given_time, waited in (("10s", "10s"), ("1h", "50s"), (None, "50s"), ("soon", "soon")):
        arguments = {"tasks": ["010"], **({"wait": given_time} if given_time else {})}
        assert f"--wait={waited}" in line("agent_wait", **arguments).words
    assert line("agent_spawn", tasks=["010"], detach=True).seconds is None


def _has_wait(words: tuple[str, ...]) -> bool:
    return any("--wait" in option.opts for option in COMMANDS[words].params) and words != ("mcp",)


LINES = [
    (("status", {}), ("status", "--json", "--"), None),
    (
        ("agent_spawn", {"agent": "implementer", "tasks": ["010", "020"], "detach": True}),
        ("agent", "spawn", "--json", "--id=010", "--id=020", "--detach", "--", "implementer"),
        None,
    ),
    (
        ("agent_spawn", {"tasks": ["010"], "clone": False, "detach": True, "fresh": False}),
        ("agent", "spawn", "--json", "--id=010", "--no-clone", "--detach", "--"),
        None,
    ),
    (
        ("agent_resume", {"task": "010", "prompt": "--again", "detach": True}),
        ("agent", "resume", "--json", "--id=010", "--detach", "--", "-"),
        "--again",
    ),
    (
        ("agent_resume", {"task": "010", "feedback": True, "detach": True}),
        ("agent", "resume", "--json", "--id=010", "--feedback", "--detach", "--"),
        None,
    ),
    (
        ("task_set", {"tasks": ["010"], "field": "name", "value": "--cancel-job"}),
        ("task", "set", "--json", "--id=010", "--", "name", "--cancel-job"),
        None,
    ),
    (
        ("task_add", {"name": "N", "agent": "tester", "description": "D", "depends_on": ["010"]}),
        (
            *("task", "add", "--json", "--agent=tester", "--description-file=-"),
            *("--depends-on=010", "--", "N"),
        ),
        "D",
    ),
    (
        ("review_correct", {"task": "010", "findings": "Twice."}),
        ("review", "correct", "--json", "--id=010", "--file=-", "--"),
        "Twice.",
    ),
    (("job_logs", {"job": "1"}), ("job", "logs", "--json", "--", "1"), None),
    (("log", {"last": 3}), ("log", "--json", "--last=3", "--"), None),
]


@pytest.mark.parametrize(("called", "words", "text"), LINES, ids=lambda value: str(value)[:60])
def test_a_call_comes_to_a_command_line(
    called: tuple[str, dict[str, Any]], words: tuple[str, ...], text: str | None
) -> None:
    found = line(called[0], **called[1])
    assert (found.words, found.text) == (words, text)


HOSTILE = st.one_of(
    st.sampled_from(
        ["--fix", "-h", "--", "-", "--json", "--wait=0s", "@file", "$(id)", "`id`", ""]
    ),
    st.text(max_size=30),
)
KINDS = {"string": HOSTILE, "boolean": st.booleans(), "integer": st.integers(1, 20)}


def arguments_of(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Draw arguments that fit a tool's schema, their texts as bad as can be."""
    drawn = {}
    for name, schema in tool.schema["properties"].items():
        if "enum" in schema:
            drawn[name] = st.sampled_from(schema["enum"])
        elif schema["type"] == "array":
            drawn[name] = st.lists(HOSTILE, max_size=3)
        else:
            drawn[name] = KINDS[schema["type"]]
    required = tool.schema["required"]
    return st.fixed_dictionaries(
        {name: drawn[name] for name in required},
        optional={name: each for name, each in drawn.items() if name not in required},
    )


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
@settings(max_examples=max(2, settings.default.max_examples // 5))
@given(data=st.data())
def test_no_word_of_a_client_becomes_an_option(tool: Tool, data: st.DataObject) -> None:
    """Every word before `--` is a command's or an option's that the table names."""
    arguments = data.draw(arguments_of(tool))
    try:
        words = tool.line(fitting(tool, arguments)).words
    except UsageError:
        return
    options = words[len(tool.command) : words.index("--")]
    known = {name for each in COMMANDS[tool.command].params for name in each.opts}
    known |= {name for each in COMMANDS[tool.command].params for name in each.secondary_opts}
    assert words[: len(tool.command)] == tool.command
    assert {word.partition("=")[0] for word in options} <= known
    texts = [value for value in arguments.values() if isinstance(value, str)]
    assert all(word in ("-", *texts, *_listed(arguments)) for word in _behind(words))


def _behind(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[words.index("--") + 1 :]


def _listed(arguments: dict[str, Any]) -> list[str]:
    return [each for value in arguments.values() if isinstance(value, list) for each in value]


UNFIT = [
    ("agent_wait", {"task": ["010"]}, "no such argument: 'task'", "Did you mean tasks?"),
    ("agent_wait", {"tasks": "010"}, "tasks has to be a list", ""),
    ("agent_wait", {"tasks": [10]}, "tasks has to be a text", ""),
    ("task_add", {"name": "N"}, "agent has to be given", ""),
    ("agent_spawn", {"agent": "010"}, "agent is no name", ""),
    ("agent_spawn", {"priority": 5000}, "priority is not between -1000 and 1000", ""),
    ("agent_spawn", {"priority": True}, "priority has to be a whole number", ""),
    ("cost", {"by": "moon"}, "by is one of", ""),
    ("task_set", {"field": "name", "value": "a\0b"}, "a NUL character is in it", ""),
    ("task_set", {"field": "name", "value": "\ud800"}, "half of a surrogate pair", ""),
    ("task_set", {"field": "name", "value": "x" * 200_000}, "longer than 100000 bytes", ""),
    ("agent_resume", {"task": "010", "prompt": "\ud800"}, "half of a surrogate pair", ""),
]


@pytest.mark.parametrize(("tool", "arguments", "message", "hint"), UNFIT, ids=lambda v: str(v)[:40])
def test_what_does_not_fit_is_refused_in_words(
    tool: str, arguments: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        line(tool, **arguments)
    assert message in refused.value.message
    assert refused.value.hint.startswith(hint)


def test_a_long_text_goes_in_on_standard_input() -> None:
    assert line("agent_answer", task="010", answer="x" * 500_000).text == "x" * 500_000


OWN = {
    "implementer": "task_show agent_log review_show task_set",
    "planner": "task_show agent_log review_show task_set",
    "reviewer": "task_show agent_log review_show task_set review_accept review_correct",
    "sow-step": "task_show review_show",
}


@pytest.mark.parametrize("role", OWN)
def test_an_agents_own_server_reports_on_its_task_alone(role: str) -> None:
    tools = {tool.name: tool for tool in tools_for(root, CallingAgent("010", role), BOUND)}
    assert set(tools) == set(OWN[role].split())
    assert tools["task_show"].line({}).words == ("task", "show", "--json", "--id=010", "--")
    for tool in tools.values():
        assert not {"task", "tasks", "project", "id"} & set(tool.schema["properties"])
        assert any(word in tool.line(example_for(tool)).words for word in NAMES_OWN), tool.name


NAMED = re.compile(r"\bsow ([a-z]+(?: [a-z]+)?)")


def named_in(folder: str) -> set[str]:
    """Return the commands with tools that the modules of a folder name."""
    package = Path(__file__).parents[2] / "sow" / folder
    words = {word for file in package.glob("*.py") for word in NAMED.findall(file.read_text())}
    commands = {" ".join(tool.command) for tool in TOOLS.values()}
    return (words | {word.split()[0] for word in words}) & commands


def test_what_leads_a_project_has_all_that_comes_next() -> None:
    """`sow next`, the guards, and where a call says with which tool it goes on."""
    named = named_in("situation") | named_in("lifecycle")
    assert len(named) > 30
    assert named <= LEADING | {"cost", "task remove", "job list", "project list"}
    assert {"agent wait", "batch wait", "job wait"} <= LEADING
    assert {" ".join(tool.command) for tool in TOOLS.values()} > LEADING


@pytest.mark.parametrize("agent", [None, CallingAgent("010", "orchestrator")])
def test_whoever_leads_is_offered_what_leads(agent: CallingAgent | None) -> None:
    offered = {tool.name for tool in tools_for(root, agent, BOUND, leading=True)}
    everything = {tool.name for tool in tools_for(root, agent, BOUND)}
    assert offered < everything
    assert offered == {name for name in everything if " ".join(TOOLS[name].command) in LEADING}


@pytest.mark.parametrize("reviews", [False, True])
def test_to_report_an_agent_needs_all_of_its_tools(reviews: bool) -> None:
    agent = CallingAgent("010", "reviewer", reviews=reviews)
    names = [tool.name for tool in tools_for(root, agent, BOUND)]
    assert [tool.name for tool in tools_for(root, agent, BOUND, leading=True)] == names


NAMES_OWN = ("--id=010", "--task=010", "--project")


def example_for(tool: Tool) -> dict[str, str]:
    examples = {"field": "status", "value": "paused"}
    return {name: examples.get(name, "Words.") for name in tool.schema["required"]}


def test_an_agent_that_reviews_judges_and_sets_no_status() -> None:
    for role in ("reviewer", "orchestrator", "implementer"):
        agent = CallingAgent("010", role, reviews=True)
        tools = {tool.name: tool for tool in tools_for(root, agent, BOUND)}
        wanted = {"task_show", "agent_log", "review_show", "review_accept", "review_correct"}
        assert set(tools) == wanted
        accept = tools["review_accept"]
        assert set(accept.schema["properties"]) == {"summary"}
        assert "--id=010" in accept.line({"summary": "Good."}).words


def test_an_orchestrator_has_all_that_it_has_a_right_to() -> None:
    tools = tools_for(root, CallingAgent("010", "orchestrator"), BOUND)
    assert len(tools) == len(TOOLS)
