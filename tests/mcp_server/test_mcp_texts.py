"""What is no UTF-8 in an answer, such as a file's name: it is answered, and the server goes on."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_server.place import call, make_place, run

from sow.mcp_server.escrow import Escrows
from sow.mcp_server.stdio import Output, pass_out

NO_TEXT = os.fsdecode(b"caf\xe9")
READABLE = "caf\ufffd"


@pytest.mark.slow
def test_names_that_are_no_utf8_are_answered_readably(tmp_path: Path) -> None:
    (tmp_path / NO_TEXT).mkdir()
    place = make_place(tmp_path / NO_TEXT)
    document = f".sow/knowledge/designs/{NO_TEXT}.md"
    (place.root / document).parent.mkdir(parents=True)
    (place.root / document).write_text("# Beans\n")

    async def work() -> None:
        async with place.over_stdio("--tools", "all") as client:
            (status,) = (await call(client, "status"))["results"]
            assert status["root"].endswith(f"{READABLE}/repo")
            (listed,) = (await call(client, "knowledge_list"))["results"]
            (shown,) = (await call(client, "knowledge_show", document=listed["id"]))["results"]
            assert (shown["path"], shown["text"]) == (
                document.replace(NO_TEXT, READABLE),
                "# Beans\n",
            )
            (found,) = (await call(client, "knowledge_search", query="beans"))["results"]
            assert found["file"] == shown["path"]
            (read,) = (await client.read_resource("sow://status")).contents
            assert isinstance(read, types.TextResourceContents)
            assert json.loads(read.text) == status

    run(work)


class Always(Output):
    """An output to which each message has been written at once."""

    def __init__(self) -> None:
        """Take nothing."""

    async def written(self) -> None:
        """Return."""


class Heard(Escrows):
    """Remembers which answers were written, and which calls got none."""

    def __init__(self) -> None:
        """Hold nothing."""
        self.heard: list[tuple[str, object]] = []

    def written(self, request: object) -> None:
        """Remember it."""
        self.heard.append(("written", request))

    def gone(self, request: object) -> None:
        """Remember it."""
        self.heard.append(("gone", request))


def passed_on(*messages: types.JSONRPCMessage) -> tuple[list[Any], list[tuple[str, object]]]:
    """Return what is passed on of what the server says, and what the escrows hear."""
    escrows, passed = Heard(), list[Any]()

    async def work() -> None:
        to_pass, from_client = anyio.create_memory_object_stream[SessionMessage](len(messages))
        to_client, client = anyio.create_memory_object_stream[SessionMessage](len(messages))
        async with to_pass:
            for message in messages:
                await to_pass.send(SessionMessage(message))
        async with client:
            async with from_client:
                await pass_out(from_client, to_client, Always(), escrows)
            passed.extend([item.message async for item in client])

    run(work)
    return passed, escrows.heard


TEXTS = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"])))


@pytest.mark.slow
@given(st.recursive(TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_every_text_of_a_message_can_be_written(value: Any) -> None:
    messages: list[types.JSONRPCMessage] = [
        types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"value": value}),
        types.JSONRPCNotification(jsonrpc="2.0", method="progress", params={"value": value}),
        types.JSONRPCError(
            jsonrpc="2.0", id=2, error=types.ErrorData(code=1, message=str(value), data=value)
        ),
    ]
    passed, heard = passed_on(*messages)
    for message in passed:
        assert message.model_dump_json()
    assert [type(message) for message in passed] == [type(message) for message in messages]
    assert heard == [("written", 1), ("gone", 2)]


def test_an_answer_that_cannot_be_written_is_an_error_and_the_next_is_written() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    passed, heard = passed_on(
        types.JSONRPCResponse(jsonrpc="2.0", id="a", result={"deep": deep}),
        types.JSONRPCNotification(jsonrpc="2.0", method="progress", params={"deep": deep}),
        types.JSONRPCResponse(jsonrpc="2.0", id="b", result={}),
    )
    refused, answered = passed
    assert (refused.id, refused.error.code) == ("a", types.INTERNAL_ERROR)
    assert (answered.id, answered.result) == ("b", {})
    assert heard == [("gone", "a"), ("written", "b")]
