"""The addresses of resources."""

import pytest

from sow.mcp_server.resources import NoSuchResource, forms_for, line_of

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
    with pytest.raises(NoSuchResource):
        line_of(address, forms_for(own_task=None))


def test_an_agent_reads_nothing_of_others() -> None:
    for address in ("sow://tasks/020/state", "sow://status", "sow://jobs/1/logs"):
        with pytest.raises(NoSuchResource):
            line_of(address, forms_for(own_task="010"))
