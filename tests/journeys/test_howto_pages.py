"""The how-to pages of fallback, secrets and the sandbox, followed literally by a newcomer."""

import re

import pytest
from capabilities import skip_or_fail
from journeys.callers import Step, good
from journeys.gitsite import commit, make_repository
from journeys.site import Site
from journeys.test_tutorial import run
from repository.markdown import read, steps
from standins import read_runs

from sow.sandbox.probe import SandboxUnavailable, usable
from sow.sandbox.proxy_probe import usable_proxy

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LIMITED: list[Step] = [{"rate_limit": 0, "in": 3600}, {"error_result": 429}]
TALKS: Step = {
    "aside": 'sow agent log "$NPM_TOKEN and $GH_TOKEN"; echo "$NPM_TOKEN" >config.js',
}
PASS = '#!/bin/sh\ntest "$*" = "show github/agents" && echo ghp_0123456789\n'
CLAUDE = """#!/bin/sh
case "$*" in *--version*) echo 2.1.330; exit ;; *--help*) exit ;; esac
cat >/dev/null
[ -z "$NODE_USE_ENV_PROXY" ] || python3 -c '
import urllib.request
urllib.request.urlopen("http://packages.example.com/")
' 2>/dev/null
echo made >made.txt
sow agent log "The key is $(cat ~/.ssh/id_test 2>/dev/null || echo hidden)"
sow task set status needs_review
"""


def follow(site: Site, page: str) -> str:
    """Save and run what a page says, in its order; return all that was printed."""
    printed = []
    for language, which, body in BLOCK.findall(read(page)):
        if language == "yaml":
            file = site.root / ".sow/config.yaml" if which == "repository" else site.config_file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(body)
        elif language == "bash":
            printed += run(site, site.root, body)
        elif language == "console":
            for step in steps(body):
                refused = "! " if which == "refused" else ""
                shown = run(site, site.root, f"{refused}{step.command}")
                assert not refused or set(step.output) <= {*shown, "..."}
                printed += shown
    return "\n".join(printed)


@pytest.fixture
def project(site: Site) -> Site:
    make_repository(site)
    (site.root / "Makefile").write_text("setup:\n\t@true\ntest:\n\t@test -f made.txt\n")
    site.project("010", "020", "030")
    commit(site, "a project")
    return site


def test_the_next_executor_takes_over(project: Site) -> None:
    project.script([LIMITED, good()], "010")
    project.script([[{"sow": ["task", "set", "status", "paused"]}], good()], "030")
    printed = follow(project, "docs/howto/fallback.md")
    assert "implementer: claude-code (no login found), then codex (no login found)" in printed
    runs = [(run.task, run.cli) for run in read_runs(project.root)]
    first = [("010", "claude"), ("010", "codex")]
    assert runs == [*first, ("030", "codex"), ("030", "gemini"), ("020", "codex")]
    taken_over = next(run.prompt for run in read_runs(project.root) if run.cli == "gemini")
    assert "You take this task over from another agent" in taken_over
    assert "Use RS256" in taken_over
    assert "claude-code has reached a usage limit" in printed
    for words in (("task", "log", "010"), ("job", "explain", "1")):
        assert "claude-code has reached a usage limit" in project.sow(*words).out


def test_an_agent_gets_the_secrets_of_the_page(project: Site) -> None:
    project.script([good(TALKS)], "010")
    (project.base / "bin/pass").write_text(PASS)
    (project.base / "bin/pass").chmod(0o755)
    project.env["DATABASE_TOKEN"] = "never-for-an-agent"
    page = "docs/howto/secrets.md"
    printed = follow(project, page)
    assert "its agents inherit variables that look like secrets: DATABASE_TOKEN" in printed
    (example,) = re.findall(r"^```text\n(.*?)^```$", read(page), re.DOTALL | re.MULTILINE)
    for line in example.splitlines():
        assert line in printed
    assert "[NPM_TOKEN] and [GH_TOKEN]" in project.sow("task", "log", "010").out
    (run,) = read_runs(project.root)
    assert {"NPM_TOKEN", "GH_TOKEN"} <= set(run.env_names)
    assert "DATABASE_TOKEN" not in run.env_names


def test_an_agent_and_a_check_work_in_the_sandbox_of_the_page(project: Site) -> None:
    try:
        usable("this test")
        usable_proxy("this test")
    except SandboxUnavailable as error:
        skip_or_fail(error.message)
    (project.base / "bin/claude").write_text(CLAUDE)
    key = project.base / "home/.ssh/id_test"
    key.parent.mkdir()
    key.write_text("mine\n")
    page = "docs/howto/sandbox.md"
    printed = follow(project, page)
    assert "claude-code: its sandbox works" in printed
    assert "and by /usr/bin/tinyproxy these hosts: api.anthropic.com" in printed
    (refused,) = re.findall(r"^Warning: 020: .*$", read(page), re.MULTILINE)
    assert refused in printed
    assert "010 passed (check unit" in printed
    assert "The key is hidden" in project.sow("task", "log", "010").out
    assert not (project.root / "made.txt").exists()
