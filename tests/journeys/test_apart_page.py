"""The page on tasks apart: each command of it, in its order, does what the page says."""

import re
import shlex
from pathlib import Path

import yaml
from journeys.gitsite import commit, git, make_repository
from journeys.site import Site
from journeys.staff import shell_executor

PAGE = Path(__file__).parents[2] / "docs/apart.md"
AGENT = """
cat >/dev/null
echo "work" >>code.txt
sow task set status needs_review
"""


def commands() -> list[str]:
    """Return the lines of the page's shell blocks."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_each_command_of_the_page_is_run(site: Site) -> None:
    make_repository(site)
    site.project("010")
    executor = shell_executor(site, "agent", AGENT)
    executor["settings"]["command"].append("{session_id}")
    executor["settings"]["resume"] = executor["settings"]["command"]
    site.configure(
        {"agents": {"executors": {"mine": executor}, "bindings": {"implementer": "mine"}}}
    )
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    settings = yaml.safe_load(block)
    assert settings["clones"]["setup"] == "make setup"
    (site.root / ".sow/config.yaml").write_text(block)
    (site.root / "Makefile").write_text("setup:\n\ttrue\ntest:\n\tgrep -q work code.txt\n")
    (site.root / "findings.md").write_text("Say it twice.\n")
    commit(site, "a project")

    seen = {}
    for line in commands():
        words = shlex.split(line)
        assert words[0] == "sow", line
        seen[line] = site.sow(*words[1:]).out

    assert seen["sow task diff 010 --name-only"] == "code.txt\n"
    assert "corrections by orchestrator" in seen["sow review show 010"]
    assert "001.md (addressed)" in seen["sow review show 010"]
    assert git(site, "show", "main:code.txt") == "code\nwork\nwork\n"
    assert (site.root / "code.txt").read_text() == "code\nwork\nwork\n"
    assert site.task("010")["status"] == "completed"
    assert site.sow("clone", "list", "--json").out == ""
    assert len(seen) > 12
