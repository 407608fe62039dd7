"""Clients of `sow mcp` while agents work: waits, cancels, and clients that go away."""

import json
import signal
import subprocess

import anyio
import pytest
from journeys.callers import await_end, await_runs, await_waiters, gate, good, open_gate
from journeys.mcp_clients import SPAWN, ask, calls_of, greeted, hear, place_of, until
from journeys.site import SOW, Site, wait_until
from mcp_server.place import Json, call, run


def test_two_waits_hold_up_no_other_call(site: Site) -> None:
    site.project("010", "020")
    site.script([good(gate("go"))])
    answers: dict[str, Json] = {}

    async def work() -> None:
        async with place_of(site).over_stdio() as client, anyio.create_task_group() as group:
            queued = await call(client, "agent_spawn", tasks=["010", "020"], **SPAWN)
            assert [each["task"] for each in queued["results"]] == ["010", "020"]

            async def wait_for(task: str) -> None:
                answers[task] = await call(client, "agent_wait", tasks=[task])

            group.start_soon(wait_for, "010")
            group.start_soon(wait_for, "020")
            await until(await_waiters, site, "010")
            await until(await_waiters, site, "020")
            status = await call(client, "status")
            assert len(status["results"][0]["runs"]) == 2
            assert answers == {}
            open_gate(site, "go")
        assert {task: each["results"][0]["status"] for task, each in answers.items()} == {
            "010": "needs_review",
            "020": "needs_review",
        }

    run(work)


def test_a_wait_has_a_bound_and_says_how_it_goes_on(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])

    async def work() -> None:
        async with place_of(site).over_stdio("--wait", "0.5s") as client:
            early = await call(client, "agent_spawn", agent="implementer", tasks=["010"], wait="1h")
            assert early["exit_code"] == 75
            assert early["results"][0]["continue_with"] == "sow agent wait 010 --wait 500ms --json"
            assert early["continue_with"] == {"tool": "agent_wait", "arguments": {"tasks": ["010"]}}
            await until(await_runs, site)
            open_gate(site, "go")
            await until(await_end, site, "010")
            goes_on = early["continue_with"]
            late = await call(client, goes_on["tool"], **goes_on["arguments"])
            assert late["exit_code"] == 0
            assert late["results"][0]["owed"] is True

    run(work)


def test_a_cursor_misses_nothing(site: Site) -> None:
    site.project("010")
    site.script([good()])

    async def work() -> None:
        async with place_of(site).over_stdio() as client:
            await call(client, "agent_spawn", tasks=["010"], **SPAWN)
            cursor, kinds, exit_code = "0", [], 75
            while exit_code == 75:
                answer = await call(client, "agent_wait", any=True, since=cursor)
                (result,) = answer["results"]
                exit_code, cursor = answer["exit_code"], result["cursor"]
                kinds += [change["kind"] for change in result["changes"]]
                if exit_code == 75:
                    goes_on = {"any": True, "since": cursor}
                    assert answer["continue_with"]["arguments"] == goes_on
            recorded = [
                change["kind"] for change in place_of(site).json("changes", "--task", "010")
            ]
            assert kinds == recorded
            assert kinds[-1] == "done"

    run(work)


def test_a_client_hears_of_the_agents_while_it_waits(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))
        if len(heard) == 3:
            open_gate(site, "go")

    async def work() -> None:
        async with place_of(site, progress_seconds=0.1).client() as client:
            await call(client, "agent_spawn", tasks=["010"], **SPAWN)
            await until(await_runs, site)
            arguments = {"tasks": ["010"]}
            result = await client.call_tool("agent_wait", arguments, progress_callback=hear)
            assert result.structured_content["exit_code"] == 0

    run(work)
    assert [progress for progress, _, _ in heard] == sorted({progress for progress, _, _ in heard})
    assert {total for _, total, _ in heard} == {30.0}
    assert any("010" in (message or "") for _, _, message in heard), heard


def test_a_call_that_is_cancelled_leaves_its_job(site: Site) -> None:
    site.project("010", "020")
    site.script([good(gate("go"))])

    async def work() -> None:
        async with place_of(site).over_stdio() as client, anyio.create_task_group() as group:
            scope = anyio.CancelScope()

            async def wait_in_vain() -> None:
                with scope:
                    await call(client, "agent_spawn", agent="implementer", tasks=["010"])

            group.start_soon(wait_in_vain)
            await until(await_waiters, site, "010")
            await until(await_runs, site)
            scope.cancel()
            await until(wait_until, lambda: not calls_of(site), "nobody waits")
            open_gate(site, "go")
            await until(await_end, site, "010")
            answer = await call(client, "agent_wait", tasks=["010"])
            assert answer["results"][0]["owed"] is True
            assert answer["results"][0]["status"] == "needs_review"

    run(work)


def waiting_server(site: Site) -> "subprocess.Popen[str]":
    """Start a server, and have it wait for an agent."""
    site.project("010")
    site.script([good(gate("go"))])
    server = greeted(site)
    ask(server, 2, "agent_spawn", agent="implementer", tasks=["010"])
    await_waiters(site, "010")
    await_runs(site)
    return server


@pytest.mark.one_of
@pytest.mark.parametrize(
    "how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL, None]
)
def test_a_server_that_goes_leaves_no_call_and_every_job(
    site: Site, how: signal.Signals | None
) -> None:
    """Where its client closes standard input as well (None)."""
    server = waiting_server(site)
    assert server.stdin is not None
    assert len(calls_of(site)) == 1
    if how is None:
        server.stdin.close()
        server.stdin = None
    else:
        server.send_signal(how)
    out, err = server.communicate(timeout=240)
    code = {None: 0, signal.SIGKILL: -9}.get(how, 130)
    assert (server.returncode, err) == (code, "")
    assert {json.loads(line)["jsonrpc"] for line in out.splitlines()} <= {"2.0"}
    wait_until(lambda: not calls_of(site), "the call left, too")
    open_gate(site, "go")
    await_end(site, "010")
    outcome = site.sow("agent", "wait", "010", "--json").json
    assert (outcome["owed"], outcome["status"]) == (True, "needs_review")


def test_a_call_that_is_killed_is_an_error_and_its_job_goes_on(site: Site) -> None:
    server = waiting_server(site)
    (caller,) = calls_of(site)
    site.kill(caller)
    answer = hear(server)
    assert (answer["id"], answer["result"]["isError"]) == (2, True)
    assert answer["result"]["structuredContent"]["exit_code"] == 128 + signal.SIGKILL
    open_gate(site, "go")
    ask(server, 3, "agent_wait", tasks=["010"])
    (outcome,) = hear(server)["result"]["structuredContent"]["results"]
    assert outcome["status"] == "needs_review"


def test_it_says_so_where_the_sdk_is_missing(site: Site) -> None:
    hidden = "import sys; sys.modules['mcp'] = None; from sow.cli.root import run;"
    program = f"{hidden} sys.exit(run(['mcp', '--json']))"
    done = subprocess.run(
        [str(SOW.with_name("python")), "-P", "-c", program],
        cwd=site.root,
        env=site.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["kind"]) == (3, "configuration")
    assert "pipx inject sow-agents mcp" in error["hint"]
