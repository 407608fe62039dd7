"""A task carried out by Gemini CLI's stand-in: its prompts reach the model as they were given."""

import json

from journeys.site import Site
from standins import read_runs

BY_GEMINI = {"SOW_AGENTS_IMPLEMENTER": "gemini"}
PAUSE = [{"sow": ["agent", "log", "Which?"]}, {"sow": ["task", "set", "status", "paused"]}]
REPORT = [{"shell": 'sow agent log "a > b" && sow task set status needs_review'}]
CRASH = [{"write": ["work.txt", "begun"]}, {"crash": 3}]
WORDS = "/own words: see @README.md\nand a@README.md."


def test_a_prompt_reaches_it_as_it_is(site: Site) -> None:
    site.project("010")
    site.script([PAUSE, CRASH, REPORT])
    (site.root / "README.md").write_text("what stands in the file")
    site.sow("agent", "spawn", "implementer", "010", env=BY_GEMINI)
    session = site.task("010")["session_id"]
    site.sow("agent", "resume", "010", WORDS, env=BY_GEMINI)
    assert site.task("010")["status"] == "needs_review"
    runs = read_runs(site.root)
    assert [run.verb for run in runs] == ["spawn", "resume", "resume"]
    assert {run.session_id for run in runs} == {session}
    assert WORDS in runs[1].prompt
    assert not any("what stands in the file" in run.prompt for run in runs)
    assert not any(run.denied for run in runs)


def test_with_the_users_own_folder_each_name_has_a_backslash(site: Site) -> None:
    site.configure({"agents": {"executors": {"gemini": {"home": "shared"}}}})
    site.project("010")
    site.script([PAUSE, REPORT])
    (site.root / "README.md").write_text("what stands in the file")
    site.sow("agent", "spawn", "implementer", "010", env=BY_GEMINI)
    site.sow("agent", "resume", "010", WORDS, env=BY_GEMINI)
    [_, resumed] = read_runs(site.root)
    assert WORDS.replace("@", "\\@") in resumed.prompt
    assert "what stands in the file" not in resumed.prompt
    assert json.dumps(str(site.base / "home/.gemini/policies")) in json.dumps(resumed.argv)
