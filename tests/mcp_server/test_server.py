"""The tools and resources, through the SDK's own client."""

from mcp_server.place import Place, call, run


def test_it_offers_the_commands(place: Place) -> None:
    async def work() -> None:
        async with place.client() as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"project_new", "agent_spawn", "agent_wait", "status", "next"} <= set(listed)
            answer = await call(client, "status")
            assert answer["exit_code"] == 0
            assert answer["results"][0]["name"] == "Sign-in"

    run(work)


def test_a_client_over_stdio(place: Place) -> None:
    async def work() -> None:
        async with place.over_stdio() as client:
            answer = await call(client, "task_show", tasks=["010"])
            assert answer["results"] == place.json("task", "show", "010")

    run(work)
