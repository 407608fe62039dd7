"""`sow demo`, as a new user runs it: an empty home, no agent CLI."""

from pathlib import Path

import pytest
from journeys.json_contract import hold
from journeys.site import Site

DONE = [("010", 2), ("020", 1), ("030", 1)]
"""Each task and its iterations: the first one's work was sent back once."""


@pytest.mark.one_of("demos")
def test_the_story_is_told_and_its_tasks_are_completed(site: Site) -> None:
    site.sow("init")
    folder = site.root / "kept"
    ended = site.sow("demo", "--keep", str(folder))
    assert "$ sow agent spawn implementer 010 020" in ended.out
    for task, _ in DONE:
        assert ended.out.count(f"{task}  completed") == 1
    assert (folder / ".sow/project/state.yaml").is_file()
    assert not (site.root / ".sow/project").exists(), "the user's own repository lies around it"
    assert ended.out.endswith("\nNext, in your own repository: sow init && sow next\n")
    assert "not empty" in site.sow("demo", "--keep", str(folder), expect=2).err


@pytest.mark.one_of("demos")
def test_programs_get_the_tasks_and_people_the_story(site: Site) -> None:
    ended = site.sow("demo", "--json")
    hold("demo", ended.json_lines)
    assert [(task["task"], task["iteration"]) for task in ended.json_lines] == DONE
    assert {task["status"] for task in ended.json_lines} == {"completed"}
    assert "$ sow agent spawn implementer 010 020" in ended.err
    state = Path(site.env["HOME"], ".local/state/sow")
    left = [str(path.relative_to(state)) for path in state.rglob("*") if path.is_file()]
    assert left == ["queue.key"], "of its folder that is gone nothing is kept"
