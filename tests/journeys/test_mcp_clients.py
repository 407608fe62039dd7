"""Several clients of `sow mcp`, servers that die, and what is no message at all."""

import json
import resource
import subprocess
from pathlib import Path
from typing import Any

import anyio
from journeys.callers import await_end, await_runs, await_waiters, gate, good, open_gate
from journeys.gitsite import make_repository
from journeys.mcp_clients import (
    HELLO,
    SPAWN,
    ask,
    calls_of,
    greeted,
    hear,
    place_of,
    say,
    say_line,
    until,
)
from journeys.site import Site, wait_until
from mcp_server.place import Json, call, run
from standins import read_runs

from sow.mcp_server.answer_size import MOST_CHARACTERS

YOLO = {
    "agents": {"executors": {"claude-code": {"type": "claude", "settings": {"yolo_mode": True}}}}
}


def test_two_clients_that_spawn_the_same_task_share_one_job(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    answers: list[Json] = []

    async def work() -> None:
        place = place_of(site)
        async with (
            place.over_stdio() as first,
            place.over_stdio() as other,
            anyio.create_task_group() as group,
        ):

            async def spawn(client: Any) -> None:
                answers.append(
                    await call(client, "agent_spawn", agent="implementer", tasks=["010"])
                )

            group.start_soon(spawn, first)
            group.start_soon(spawn, other)
            await until(await_waiters, site, "010", 2)
            await until(await_runs, site)
            open_gate(site, "go")

    run(work)
    first, second = (answer["results"][0] for answer in answers)
    assert (first["job"], first["status"]) == (second["job"], second["status"])
    assert (first["exit_code"], first["status"]) == (0, "needs_review")
    assert len(read_runs(site.root)) == 1


def test_one_client_reviews_while_the_other_follows(site: Site) -> None:
    """Each change comes once, in order, to who follows; the verdict to who asked for it."""
    make_repository(site)
    (site.root / ".git/info/exclude").write_text(".standin\n.sow\n")
    site.configure(YOLO)
    site.project("010")
    verdict = {"sow": ["review", "accept", "010", "--summary", "Good."]}
    judge = {"wait_for": str(site.root / ".standin/judge.gate")}  # it works in a clone
    site.script([good({"shell": "echo one >file"}), [judge, verdict]], "010")
    kinds: list[str] = []
    reviewed: list[Json] = []

    async def work() -> None:
        place = place_of(site)
        async with place.over_stdio() as first, place.over_stdio() as other:
            await call(first, "agent_spawn", agent="implementer", tasks=["010"], clone=True)
            async with anyio.create_task_group() as group:

                async def review() -> None:
                    reviewed.append(await call(first, "agent_review", tasks=["010"]))

                group.start_soon(review)
                await until(await_runs, site, 2)
                cursor = "0"
                while kinds.count("done") < 2:
                    answer = await call(other, "agent_wait", any=True, since=cursor)
                    (result,) = answer["results"]
                    kinds.extend(change["kind"] for change in result["changes"])
                    cursor = result["cursor"]
                    open_gate(site, "judge")

    run(work)
    assert reviewed[0]["results"][0]["verdict"] == "accepted"
    assert kinds == [change["kind"] for change in place_of(site).json("changes")]


def test_a_cursor_goes_on_over_calls_that_were_cancelled(site: Site) -> None:
    """What a cancelled call has seen was told to nobody: the next one tells it, and once."""
    site.project("010", "020")
    site.script([good(gate("go"))])

    async def work() -> None:
        async with place_of(site).over_stdio() as client:
            await call(client, "agent_spawn", tasks=["010", "020"], **SPAWN)
            await until(await_runs, site, 2)
            answer = await call(client, "agent_wait", any=True, since="0")
            seen: list[int] = []
            for name in ("none", "go"):
                changes, cursor = answer["results"][0]["changes"], answer["results"][0]["cursor"]
                seen += [change["seq"] for change in changes]
                await cancelled_wait(site, client, cursor)
                open_gate(site, name)
                answer = await call(client, "agent_wait", any=True, since=cursor, wait="1s")
            while answer["exit_code"] == 75:
                (result,) = answer["results"]
                seen += [change["seq"] for change in result["changes"]]
                answer = await call(client, "agent_wait", any=True, since=result["cursor"])
            seen += [change["seq"] for change in answer["results"][0]["changes"]]
            assert seen == [change["seq"] for change in place_of(site).json("changes")]
            assert len(set(seen)) == len(seen)

    run(work)


async def cancelled_wait(site: Site, client: Any, cursor: str) -> None:
    """Wait for changes after a cursor, and cancel that while it waits."""
    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "agent_wait", {"any": True, "since": cursor})
        await until(wait_until, lambda: calls_of(site), "the call waits")
        group.cancel_scope.cancel()
    await until(wait_until, lambda: not calls_of(site), "nobody waits")


def test_a_server_that_was_killed_in_a_wait_misses_nothing(site: Site) -> None:
    """Its successor is told the outcome that was owed, and by the old cursor what has changed."""
    site.project("010")
    site.script([good(gate("go"))])
    first = greeted(site)
    ask(first, 2, "agent_spawn", tasks=["010"], **SPAWN)
    assert hear(first)["result"]["structuredContent"]["exit_code"] == 0
    await_runs(site)
    ask(first, 3, "agent_wait", any=True, since="0")
    looked = hear(first)["result"]["structuredContent"]["results"][0]
    ask(first, 4, "agent_wait", tasks=["010"])
    await_waiters(site, "010")
    first.kill()
    first.wait(timeout=240)
    wait_until(lambda: not calls_of(site), "its call has left")
    open_gate(site, "go")
    await_end(site, "010")

    second = greeted(site)
    ask(second, 2, "agent_wait", tasks=["010"])
    (outcome,) = hear(second)["result"]["structuredContent"]["results"]
    assert (outcome["owed"], outcome["status"]) == (True, "needs_review")
    ask(second, 3, "agent_wait", any=True, since=looked["cursor"])
    after = hear(second)["result"]["structuredContent"]
    seen = [each["seq"] for each in looked["changes"] + after["results"][0]["changes"]]
    assert seen == [change["seq"] for change in place_of(site).json("changes")]
    assert after["exit_code"] == 0


REPORTS = {"task_show", "agent_log", "review_show", "task_set"}


def test_forged_variables_make_no_orchestrator_of_an_agent(site: Site) -> None:
    """Its job is on record: that says whose server it is, and whose calls these are."""
    site.project("010", "020")
    site.script([good(gate("go"))])
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    await_runs(site)
    forged = {
        "SOW_ROOT": str(site.root),
        "SOW_JOB_ID": "1",
        "SOW_AGENT": "orchestrator",
        "SOW_TASK_ID": "020",
        "SOW_REVIEW": "1",
        "SOW_ATTEMPT_ID": "9.9.zz",
    }
    server = greeted(site, "--tools", "all", **forged)
    say(server, id=2, method="tools/list")
    assert {tool["name"] for tool in hear(server)["result"]["tools"]} == REPORTS
    ask(server, 3, "agent_spawn", tasks=["020"])
    assert "no such tool" in hear(server)["error"]["message"]
    ask(server, 4, "agent_log", text="By the forger")
    assert hear(server)["result"]["isError"] is False
    entries = site.sow("log", "--json").json_lines
    (entry,) = (entry for entry in entries if entry["action"] == "By the forger")
    assert (entry["task"], entry["agent"]) == ("010", "implementer")
    say(server, id=5, method="resources/read", params={"uri": "sow://tasks/020/state"})
    assert "no resource" in hear(server)["error"]["message"]
    open_gate(site, "go")
    await_end(site, "010")


HOSTILE: list[dict[str, Any]] = [
    {"name": "task_show", "arguments": {"tasks": 7}},
    {"name": "task_show", "arguments": {"tasks": [["010"]]}},
    {"name": "task_show", "arguments": {"tasks": [None]}},
    {"name": "task_show", "arguments": {"tasks": ["010"] * 100_000}},
    {"name": "task_show", "arguments": {"nothing" * 10_000: 1}},
    {"name": "task_show", "arguments": {"tasks": ["\u0007\u202e\u2028\x1b[2J"]}},
    {"name": "task_set", "arguments": {"tasks": ["010"], "field": "name", "value": "x\0"}},
    {"name": "task_set", "arguments": {"tasks": ["010"], "field": "name", "value": "x" * 10**6}},
    {"name": "task_add", "arguments": {"name": "N", "agent": "tester", "description": "d" * 10**8}},
    {"name": "agent_wait", "arguments": {"any": True, "since": "9" * 50_000}},
    {"name": "agent_wait", "arguments": {"tasks": ["010"], "wait": "1e999s"}},
    {"name": "job_logs", "arguments": {"job": "9" * 90_000}},
    {"name": "log", "arguments": {"last": 10**30}},
    {"name": "log", "arguments": {"last": 1.5}},
    {"name": "knowledge_show", "arguments": {"document": "../" * 5_000}},
]
"""Calls that fit no tool. Each is answered with an error, in a few words."""
NO_CALLS: list[dict[str, Any]] = [
    {"name": "x" * 10**6, "arguments": {}},
    {"name": ["task_show"], "arguments": {}},
    {"name": "task_show", "arguments": ["010"]},
    {"name": "task_show", "arguments": "010"},
    {},
]
"""Parameters that are no call at all: errors of the protocol."""


def test_whatever_a_client_says_is_answered_and_the_next_call_as_well(site: Site) -> None:
    site.project("010")
    before = site.task("010")
    server = greeted(site, "--tools", "all")
    number = 10
    for asked in (*HOSTILE, *NO_CALLS):
        number += 1
        say(server, id=number, method="tools/call", params=asked)
        heard = hear(server)
        assert heard["id"] == number
        assert len(json.dumps(heard)) < 3 * MOST_CHARACTERS, asked["name"][:20]
        if asked in NO_CALLS:
            assert "error" in heard, heard
        else:
            assert heard["result"]["isError"], (asked["name"], str(heard)[:300])
    say(server, id=3, method="resources/read", params={"uri": "sow://" + "x" * 10**6})
    assert len(hear(server)["error"]["message"]) < 1000
    ask(server, 4, "task_list")
    (task,) = hear(server)["result"]["structuredContent"]["results"]
    assert task["task"] == "010"
    assert site.task("010") == before


UNREADABLE = [
    '{"jsonrpc": "2.0", "id": 31, "method": "tools/call", "params": {"name": "a\\ud83d"}}',
    '{"jsonrpc": "2.0", "id": 31, "method": "tools/call", "params": {"name": [%s]}}' % ("9" * 5000),
    '{"id": 31, "method": "tools/list"}',
    '{"jsonrpc": "2.0", "id": 31, "method": ["tools/list"]}',
]
"""Requests that the SDK drops. JavaScript writes half of a character that was cut in two."""
NO_REQUESTS = [
    *(
        "",
        "null",
        "[]",
        '"\\ud83d"',
        "{",
        "[" * 10_000,
        '{"jsonrpc": "2.0", "id": 1.5, "method": "x"}',
    ),
    '{"jsonrpc": "2.0", "id": true, "method": "ping"}',
    '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}',
    '{"jsonrpc": "2.0", "method": "x\\ud83d"}',
    '{"jsonrpc": "2.0", "id": 31, "result": "\\ud83d"}',
]
"""What asks for nothing, or does not say by which number it is to be answered."""


def test_a_request_that_cannot_be_read_is_answered_and_what_is_none_is_not(site: Site) -> None:
    site.project("010")
    server = greeted(site)
    for line in UNREADABLE:
        say_line(server, line)
        heard = hear(server)
        assert heard["id"] == 31
        assert heard["error"]["message"].startswith("the message cannot be read: "), heard
    for line in NO_REQUESTS:
        say_line(server, line)
    ask(server, 4, "task_list")
    heard = hear(server)
    assert (heard["id"], heard["result"]["isError"]) == (4, False)


def refusal_in(message: Json) -> Json:
    """Return the error of a tool that a client is answered."""
    (result,) = message["result"]["structuredContent"]["results"]
    error: Json = result["error"]
    return error


def test_where_no_process_can_be_started_the_client_is_told_why_and_what_helps(site: Site) -> None:
    """First the folder has moved, then no file can be opened; each time it goes on afterwards."""
    site.project("010")
    server = greeted(site)
    moved = site.root.rename(site.root.with_name("moved"))
    ask(server, 2, "task_list")
    error = refusal_in(hear(server))
    assert (error["kind"], error["exit_code"]) == ("state", 4)
    assert error["message"].startswith(f"no command can be started in {site.root}: ")
    assert "Put the folder back" in error["hint"]
    say(server, id=3, method="resources/read", params={"uri": "sow://status"})
    assert hear(server)["error"]["data"]["error"] == error
    moved.rename(site.root)
    ask(server, 4, "task_list")
    assert not hear(server)["result"]["isError"]
    _, most = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    open_now = [int(each.name) for each in Path(f"/proc/{server.pid}/fd").iterdir()]
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (max(open_now) + 1, most))
    ask(server, 5, "task_list")
    error = refusal_in(hear(server))
    assert "too many open files" in error["message"]
    assert "when fewer processes run and fewer files are open" in error["hint"]
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (most, most))
    ask(server, 6, "task_list")
    assert not hear(server)["result"]["isError"]


def test_a_server_that_cannot_write_to_its_client_says_so_and_ends(site: Site) -> None:
    with Path("/dev/full").open("w") as full:
        server = site.start("mcp", stdin=subprocess.PIPE, stdout=full)
    _, err = server.communicate(json.dumps(HELLO) + "\n", timeout=240)
    assert server.returncode == 1
    assert err == (
        "Error: cannot write to standard output: No space left on device\n\nThe command's"
        " changes were kept.\n"
    )


def test_a_client_that_goes_in_the_middle_of_a_message_takes_nothing_along(site: Site) -> None:
    """Calls that wait, calls that do not, and half a line: the server ends, the job goes on."""
    site.project("010")
    site.script([good(gate("go"))])
    server = greeted(site)
    ask(server, 2, "agent_spawn", agent="implementer", tasks=["010"])
    await_waiters(site, "010")
    await_runs(site)
    for number in range(3, 12):
        ask(server, number, "status")
    assert server.stdin is not None
    server.stdin.write('{"jsonrpc": "2.0", "id": 99, "method": "tools/ca')
    server.stdin.close()
    server.stdin = None
    out, err = server.communicate(timeout=240)
    assert (server.returncode, err) == (0, "")
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    wait_until(lambda: not calls_of(site), "its calls have left")
    open_gate(site, "go")
    await_end(site, "010")
    outcome = site.sow("agent", "wait", "010", "--json").json
    assert (outcome["owed"], outcome["status"]) == (True, "needs_review")
