"""Agents that hang in a batch, of an executor that cannot continue a session."""

from journeys.site import Site
from journeys.staff import drain, nothing_is_taken, shell_executor

HANGS_ONCE = """
cat >"$HOME/prompt-$SOW_TASK_ID"
if [ ! -e "$HOME/hung-$SOW_TASK_ID" ]; then
    touch "$HOME/hung-$SOW_TASK_ID"
    sleep 600
fi
echo done >did.txt
sow task set status needs_review
"""
HANGS = "cat >/dev/null; sleep 600"


def run(site: Site, script: str) -> dict:
    """Run a batch of one task whose agent is this script, and return how it stands then."""
    executors = {"mute": shell_executor(site, "mute", script, stall_timeout="2s")}
    bindings = {"implementer": "mute"}
    site.configure({"agents": {"executors": executors, "bindings": bindings}})
    site.project("010")
    (site.root / ".sow/config.yaml").write_text(
        "checks: {unit: test -e did.txt, default: [unit]}\n"
    )
    site.sow("trust", "--yes")
    return site.sow("batch", "run", "--check", "--accept", "check", "--json", expect=None).json


def test_it_is_run_once_more_from_the_beginning(site: Site) -> None:
    done = run(site, HANGS_ONCE)
    (item,) = done["items"]
    assert (done["counts"], item["attempt_count"]) == ({"done": 1}, 2), done
    prompt = (site.base / "home/prompt-010").read_text()
    assert "you showed no activity for so long" in prompt


def test_a_second_hang_is_a_persons_matter(site: Site) -> None:
    done = run(site, HANGS)
    (item,) = done["items"]
    assert (item["state"], item["attempt_count"]) == ("failed", 2), done
    assert "stalled" in item["reason"]
    assert site.sow("next").out.startswith("sow agent spawn 010 ")
    drain(site)
    nothing_is_taken(site)
