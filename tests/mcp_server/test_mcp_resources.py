"""The addresses of resources."""

import json

import pytest

from sow.errors import StateError
from sow.mcp_server.answer_size import MOST_CHARACTERS, fit_lines
from sow.mcp_server.resources import forms_for, line_of

READ = {
    "sow://status": ("status", "--json", "--"),
    "sow://project": ("project", "status", "--json", "--"),
    "sow://log": ("log", "--json", "--"),
    "sow://tasks/010/state": ("task", "show", "--json", "--", "010"),
    "sow://tasks/010/log": ("task", "log", "--json", "--", "010"),
    "sow://jobs/7/logs": ("job", "logs", "--json", "--", "7"),
}


@pytest.mark.parametrize("address", READ)
def test_an_address_is_a_command_that_reads(address: str) -> None:
    line, _ = line_of(address, forms_for(own_task=None))
    assert line.words == READ[address]


@pytest.mark.parametrize("address", ["sow://tasks/010/state", "sow://tasks/010/log"])
def test_an_agent_reads_its_own_task(address: str) -> None:
    line, _ = line_of(address, forms_for(own_task="010"))
    assert line.words == READ[address]


@pytest.mark.parametrize(
    "address",
    [
        *(
            "sow://tasks/--fix/state",
            "sow://tasks/010",
            "sow://tasks/../state",
            "file:///etc/passwd",
        ),
        *("sow://tasks/010/state?x", "sow://jobs//logs", "sow://tasks/01٣/state", "sow://status/"),
    ],
)
def test_nothing_else_is_one(address: str) -> None:
    with pytest.raises(StateError, match="no resource:"):
        line_of(address, forms_for(own_task=None))


def test_an_agent_reads_nothing_of_others() -> None:
    for address in ("sow://tasks/020/state", "sow://status", "sow://jobs/1/logs"):
        with pytest.raises(StateError, match="no resource:"):
            line_of(address, forms_for(own_task="010"))


def test_a_resource_is_as_long_as_an_answer_at_most() -> None:
    """Of a log the last entries stay, and the first line says how many others there are."""
    entries = [{"number": number, "text": "x\u2028" * 500} for number in range(200)]
    text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in entries)
    cut = fit_lines(text, keeps_last=True)
    assert len(cut) < MOST_CHARACTERS + 1000
    first, *rest = [json.loads(line) for line in cut.split("\n") if line]
    assert rest == entries[-len(rest) :]
    assert first["notes"][0].startswith(f"{200 - len(rest)} more results are left out")
    assert fit_lines(text[:1500], keeps_last=True) == text[:1500]
