"""The tools and resources through the SDK's own client: it gets what the commands print."""

import json
from typing import Any

import anyio
import mcp_types as types
import pytest
from journeys.json_contract import hold
from mcp.shared.exceptions import MCPError
from mcp_server.place import Place, call, run

pytestmark = pytest.mark.slow

READS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("next", {}, ("next",)),
    ("project_status", {}, ("project", "status")),
    ("task_list", {"ready": True}, ("task", "list", "--ready")),
    ("task_show", {"tasks": ["010", "020"]}, ("task", "show", "010", "020")),
    ("task_show", {"tasks": ["010", "999"]}, ("task", "show", "010", "999")),
    ("task_log", {"task": "010"}, ("task", "log", "010")),
    ("agent_list", {}, ("agent", "list")),
    ("job_list", {}, ("job", "list")),
    ("job_show", {"job": "1"}, ("job", "show", "1")),
    ("agent_wait", {"tasks": ["010"]}, ("agent", "wait", "010")),
    ("agent_wait", {"since": "0"}, ("agent", "wait", "--since", "0")),
    ("agent_answer", {"task": "010", "answer": "Yes."}, ("agent", "answer", "010", "Yes.")),
    ("batch_show", {}, ("batch", "show")),
    ("phase_list", {}, ("phase", "list")),
    ("cost", {}, ("cost",)),
    ("advance", {"list": True}, ("advance", "--list")),
    ("prompt", {"name": "guidance/tester/base"}, ("prompt", "guidance/tester/base")),
]
"""A call, and the command of which it has to get the very same."""


def test_what_is_read_is_what_the_command_prints(place: Place) -> None:
    async def work() -> None:
        async with place.client() as client:
            for tool, arguments, words in READS:
                answer = await call(client, tool, **arguments)
                done = place.sow(*words, "--json")
                wanted = [json.loads(line) for line in done.stdout.splitlines()]
                assert (answer["exit_code"], answer["results"]) == (done.returncode, wanted), tool

    run(work)


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("project_set", {"field": "description", "value": "--fix; $(id) `id`"}),
    ("task_add", {"name": "--agent", "agent": "tester", "description": "# Do\n\nit"}),
    ("task_import", {"entries": '- {key: k, name: From a list, agent: tester, id: "090"}'}),
    ("task_set", {"tasks": ["010"], "field": "name", "value": "--cancel-job"}),
    ("task_set", {"tasks": ["010"], "field": "status", "value": "bogus"}),
    ("agent_log", {"text": "--task", "task": "010", "body": "--", "files": ["-n", "a b"]}),
    ("task_abandon", {"task": "020"}),
    ("task_reopen", {"task": "020"}),
    ("task_remove", {"tasks": ["090"]}),
    ("feedback_add", {"text": "- shorter\n- better"}),
    ("feedback_list", {}),
    ("feedback_settle", {"ids": ["001"]}),
    ("phase_add", {"name": "discovery"}),
    ("input_add", {"path": ".sow/config.yaml", "type": "settings"}),
    ("input_add", {"path": "--json"}),
    ("agent_spawn", {"agent": "implementer", "tasks": ["999"]}),
    ("agent_spawn", {"tasks": ["--fresh"], "detach": True}),
    ("agent_spawn", {"tasks": ["010"], "dry_run": True}),
    ("review_correct", {"task": "010", "findings": "Twice.", "summary": "-"}),
    ("review_show", {"task": "010"}),
    ("queue_pause", {}),
    ("queue_resume", {}),
    ("changes", {}),
    ("log", {"last": 5}),
    ("status", {}),
    ("validate", {}),
    ("approve", {"names": ["plan"]}),
]


def test_what_is_changed_is_answered_as_the_command_says(place: Place) -> None:
    """Each object has the keys of the command's `--json`; what looks like an option is a word."""

    async def work() -> None:
        async with place.client() as client:
            for tool, arguments in CHANGES:
                answer = await call(client, tool, **arguments)
                hold(tool.replace("_", " "), answer["results"])
                assert answer["results"], tool
            assert place.json("task", "show", "010")[0]["name"] == "--cancel-job"
            added = place.json("task", "show", "030", "--description")[0]
            assert added["description"] == "# Do\n\nit"
            entry = place.json("task", "log", "010")[0]
            assert (entry["action"], entry["text"]) == ("--task", "--")
            assert [job["task"] for job in place.json("job", "list")] == []

    run(work)


def test_what_does_not_fit_is_an_error_of_the_tool(place: Place) -> None:
    async def work() -> None:
        async with place.client() as client:
            for tool, arguments in (
                ("task_show", {"task": "010"}),
                ("task_add", {"name": "N"}),
                ("task_set", {"field": "name", "value": "a\0b"}),
                ("task_show", {"tasks": ["9" * 90_000] * 40}),
            ):
                answer = await call(client, tool, **arguments)
                (error,) = answer["results"]
                assert (answer["exit_code"], error["error"]["kind"]) == (2, "usage")
            with pytest.raises(MCPError, match="no such tool: rm"):
                await client.call_tool("rm", {})

    run(work)


def test_its_resources_are_states_and_logs(place: Place) -> None:
    async def work() -> None:
        async with place.client() as client:
            listed = {each.uri: each for each in (await client.list_resources()).resources}
            assert {"sow://status", "sow://log", "sow://tasks/020/state"} <= set(listed)
            forms = (await client.list_resource_templates()).resource_templates
            assert "sow://tasks/{task}/log" in {each.uri_template for each in forms}
            (state,) = (await client.read_resource("sow://tasks/010/state")).contents
            assert isinstance(state, types.TextResourceContents)
            assert state.mime_type == "application/json"
            assert json.loads(state.text) == place.json("task", "show", "010")[0]
            for address, message in (
                ("sow://tasks/999/state", "999"),
                ("sow://tasks/--fix/state", "no resource"),
            ):
                with pytest.raises(MCPError, match=message) as refused:
                    await client.read_resource(address)
                assert refused.value.data["error"]["kind"] == "state"

    run(work)


def test_many_calls_at_once_are_all_answered(place: Place) -> None:
    async def work() -> None:
        answers = []
        async with place.client() as client, anyio.create_task_group() as group:

            async def ask() -> None:
                answers.append(await call(client, "task_list"))

            for _ in range(12):
                group.start_soon(ask)
        assert len(answers) == 12
        assert all(answer["results"] == answers[0]["results"] for answer in answers)

    run(work)


def of_agent(place: Place, role: str = "implementer", **more: str) -> Place:
    """Return the same repository for the agent of task 010."""
    given = {"SOW_ROOT": str(place.root), "SOW_JOB_ID": "7", "SOW_TASK_ID": "010"}
    return Place(place.root, {**place.environ, **given, "SOW_AGENT": role, **more})


def test_an_agent_reports_on_its_own_task(place: Place) -> None:
    async def work() -> None:
        async with of_agent(place).client() as client:
            shown = await call(client, "task_show")
            assert [task["task"] for task in shown["results"]] == ["010"]
            await call(client, "agent_log", text="Did it")
            changed = await call(client, "task_set", field="files_modified", value="a.py,b.py")
            assert changed["results"][0]["files_modified"] == ["a.py", "b.py"]
            with pytest.raises(MCPError, match="no such tool"):
                await client.call_tool("agent_spawn", {"tasks": ["020"]})
            uris = [each.uri for each in (await client.list_resources()).resources]
            assert uris == ["sow://tasks/010/state", "sow://tasks/010/log"]
            with pytest.raises(MCPError, match="no resource"):
                await client.read_resource("sow://tasks/020/state")

    run(work)
    assert "Did it" in place.sow("task", "log", "010").stdout


def test_a_reviewer_sets_no_status_here_or_on_the_command_line(place: Place) -> None:
    reviewer = of_agent(place, "reviewer", SOW_REVIEW="1")

    async def work() -> None:
        async with reviewer.client() as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert "task_set" not in tools

    run(work)
    for words in (("task", "set", "status", "completed"), ("task", "abandon")):
        assert reviewer.sow(*words).returncode == 4
    assert reviewer.sow("agent", "spawn", "020").returncode == 4


def test_a_client_over_stdio(place: Place) -> None:
    async def work() -> None:
        async with place.over_stdio() as client:
            answer = await call(client, "task_show", tasks=["010"])
            assert answer["results"] == place.json("task", "show", "010")

    run(work)


def test_what_is_not_offered_is_named_with_the_option_that_offers_it(place: Place) -> None:
    async def work() -> None:
        async with place.over_stdio() as client:
            offered = {tool.name for tool in (await client.list_tools()).tools}
            assert "refs_add" not in offered
            with pytest.raises(MCPError, match="no such tool: refs_add; `sow mcp --tools all`"):
                await client.call_tool("refs_add", {"url": "x"})
            with pytest.raises(MCPError, match=r"no such tool: rm$"):
                await client.call_tool("rm", {})
        async with place.over_stdio("--tools", "all") as client:
            assert offered < {tool.name for tool in (await client.list_tools()).tools}

    run(work)
