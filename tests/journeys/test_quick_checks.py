"""A quick project whose checks are red: `sow next` leads through them, and nothing ends before."""

from typing import Any

import pytest
import yaml
from journeys.gitsite import git, make_repository
from journeys.site import Site
from journeys.staff import shell_executor
from journeys.zero_context import Newcomer, run_to_its_end

from sow.lifecycle.lifecycle_facts import TaskFacts
from sow.lifecycle.task_ways import ways_on

AUTHOR = """
cat >/dev/null
if [ -e did.txt ]; then echo done >did.txt; else echo broken >did.txt; fi
sow agent log "Did the work"
sow task set status needs_review
"""
REVIEWER = """
cat >/dev/null
sow review accept "$SOW_TASK_ID" --summary "Good."
"""
ANSWERS = {"<what the check has printed>": "broken: did.txt"}


@pytest.fixture
def quick(site: Site) -> Site:
    """A quick project of one task, in the working tree itself, whose first work is red."""
    make_repository(site)
    executors = {}
    for name, script in (("author", AUTHOR), ("reviewer", REVIEWER)):
        executor = shell_executor(site, name, script)
        executor["settings"]["resume"] = executor["settings"]["command"]
        executors[name] = executor
    bindings = {"implementer": "author", "reviewer": "reviewer"}
    site.configure({"approve": "agents", "agents": {"executors": executors, "bindings": bindings}})
    site.sow("init")
    checks: dict[str, Any] = {"unit": "! grep broken did.txt", "default": ["unit"]}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"checks": checks}))
    git(site, "add", "-A")
    git(site, "commit", "-qm", "settings")
    site.sow("trust", "--yes")
    site.sow("project", "new", "Small", "--type", "quick")
    site.sow("task", "add", "Do it", "--agent", "implementer")
    return site


def test_a_red_check_is_given_back_before_anybody_judges(quick: Site) -> None:
    steps = run_to_its_end(Newcomer(quick, ANSWERS, {}), forgiving=True)
    taken = [" ".join(step.words[:2]) for step in steps]
    assert taken == [
        *("agent spawn", "task check", "agent resume", "task check", "agent review"),
        *("task set", "project check", "advance", "project finish"),
    ]
    assert "`sow job logs 2` prints its whole output" in steps[2].why


def test_a_project_over_a_red_check_is_not_completed(quick: Site) -> None:
    quick.sow("agent", "spawn", "010")
    quick.sow("task", "set", "010", "status", "completed")
    refused = quick.sow("advance", expect=4)
    assert "sow project check" in refused.err
    quick.sow("project", "check", expect=1)
    refused = quick.sow("advance", expect=4)
    assert "`sow job logs 2` prints its output" in refused.err + refused.out
    assert "`sow job logs 2`" in quick.sow("next").out.splitlines()[0]


@pytest.mark.parametrize(
    ("status", "words"),
    [("needs_review", "failed its check"), ("completed", "fails a check")],
)
def test_a_red_merge_names_the_log_of_its_check(status: str, words: str) -> None:
    task = TaskFacts(
        "010",
        status,
        has_session=status == "needs_review",
        has_clone=True,
        is_unmerged=status == "completed",
        verdict="accepted",
        verdict_holds=True,
        ended="check_failed",
        ended_in_merge=True,
        ended_job=7,
        ended_words="check unit failed (exit 1)",
    )
    first = ways_on([task])[0]
    assert first.why.endswith(
        f"{words}: check unit failed (exit 1); `sow job logs 7` prints its whole output"
    )
