"""The page "Several hosts": each command of it is run, on machines of its own."""

import sys
from pathlib import Path

import pytest
from hosts.fleet import open_fleet
from hosts.page_story import HOSTS, NO_RULES, Story, blocks, ran_on

pytestmark = [
    pytest.mark.storm,
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's"),
]


@pytest.mark.one_of("what shows storms over hosts")
def test_each_command_of_the_page_is_run_and_its_batch_runs_on_all_hosts(tmp_path: Path) -> None:
    with open_fleet(tmp_path, rules=NO_RULES) as fleet:
        story = Story(fleet)
        story.run()
        assert ran_on(fleet) == [*HOSTS]
        assert story.printed["sow hosts list"].count(" alive ") == len(HOSTS)


def test_no_block_is_left_out() -> None:
    languages = [block.language for block in blocks()]
    assert {*languages} == {"sql", "text", "yaml", "bash"}
