"""`sow executor list`: what each executor of the configuration can do here."""

import json
from pathlib import Path
from typing import Any

import pytest
from in_process import run_in_process
from journeys.json_contract import hold
from journeys.site import Site, make_site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = make_site(tmp_path)
    made.configure(
        {
            "agents": {
                "executors": {
                    "free": {"type": "codex", "home": "shared", "settings": {"yolo_mode": True}},
                    "mine": {"type": "command", "settings": {"command": ["no-such-agent"]}},
                },
                "bindings": {"tester": "mine", "reviewer": ["cursor", "codex"]},
            }
        }
    )
    return made


def executors(site: Site) -> dict[str, Any]:
    ended = run_in_process("executor", "list", "--json", env=site.env, cwd=site.root)
    assert ended.code == 0, ended
    lines = [json.loads(line) for line in ended.out.splitlines()]
    hold("executor list", lines)
    return {each["executor"]: each for each in lines}


def test_what_each_can_do_is_listed(site: Site) -> None:
    found = executors(site)
    claude, codex, cursor = (found[name] for name in ("claude-code", "codex", "cursor"))
    assert claude["path"] == str(site.base / "bin/claude")
    assert (claude["can_resume"], claude["can_open"], claude["rights"]) == (True, True, "role")
    assert codex["path"] == str(site.base / "bin/codex")
    assert (codex["home"], codex["fence"]) == ("per-session", "sandbox")
    assert codex["usage_reported"] == "at its end"
    assert (cursor["rights"], cursor["tried"]["versions"]) == ("own", [])
    assert found["windsurf"]["tried"]["resume"] is None


def test_the_settings_of_an_executor_count(site: Site) -> None:
    found = executors(site)
    free, mine = found["free"], found["mine"]
    assert (free["home"], free["rights"], free["fence"]) == ("shared", "all", "none")
    assert (mine["binary"], mine["path"], mine["roles"]) == ("no-such-agent", None, ["tester"])
    assert mine["can_resume"] is False
    assert "tester" not in found["claude-code"]["roles"]
    assert found["codex"]["places"] == {"reviewer": 2}
    assert found["cursor"]["places"] == {"reviewer": 1}


def test_people_read_a_table(site: Site) -> None:
    table = run_in_process("executor", "list", env=site.env, cwd=site.root).out.splitlines()
    rows = {line.split()[0]: line for line in table}
    assert "no-such-agent: not found" in rows["mine"]
    assert "spawn, resume, open: real CLI run (2.1.197, 2.1.330)" in rows["claude-code"]
    assert " reviewer (no. 2) " in rows["codex"]
    assert " reviewer " in rows["cursor"]
    assert " 12 roles " in rows["claude-code"]
    assert rows["cursor"].endswith("spawn, resume: stand-in only; open: docs only")


def test_the_fence_of_an_agent_over_acp_is_that_of_its_preset(site: Site) -> None:
    command = {"command": ["an-agent"]}
    over_acp = {
        name: {"type": "acp", "settings": {**command, **settings}}
        for name, settings in (
            ("plain", {}),
            ("pi", {"preset": "pi"}),
            ("codex-acp", {"preset": "codex"}),
            ("free", {"preset": "cline", "yolo_mode": True}),
        )
    }
    site.configure({"agents": {"executors": over_acp}})
    found = executors(site)
    fences = {name: found[name]["fence"] for name in over_acp}
    assert fences == {"plain": "asking", "pi": "none", "codex-acp": "sandbox", "free": "none"}
    assert found["plain"]["rights"] == "role"
