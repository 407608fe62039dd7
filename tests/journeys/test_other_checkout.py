"""An agent that calls `sow` in another checkout: what it started there goes on without it (§6)."""

from pathlib import Path

from journeys.callers import await_end
from journeys.site import Site, make_site, wait_until
from journeys.staff import shell_executor

from sow.schema.job import JobState

AGENT = """
    case "$SOW_TASK_ID" in
    010) cd "$OTHER" && env -u SOW_ROOT sow agent spawn implementer 020 --detach;;
    020) touch "$SOW_ROOT/up"; while [ ! -e "$SOW_ROOT/go" ]; do sleep 0.02; done;;
    esac
    sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
"""


def test_a_worker_that_an_agent_started_in_another_checkout_outlives_the_agent(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = make_site(tmp_path / "other")
    executor = shell_executor(site, "brief", AGENT, env={"OTHER": str(other.root)})
    site.configure(
        {
            "worker": {"idle_exit": "1s"},
            "agents": {"executors": {"brief": executor}, "bindings": {"implementer": "brief"}},
        }
    )
    site.project("010")
    other.project("020")
    other.env = site.env
    try:
        site.sow("agent", "spawn", "implementer", "010")
        wait_until((other.root / "up").exists, "the other agent runs")
        assert "leaving" not in other.worker_logs()
        (worker,) = other.workers()
        assert worker["alive"], other.worker_logs()
        groups = Path(f"/proc/{worker['pid']}/cgroup").read_text()
        assert "/sow-" not in groups, "it has left the group of the agent"
        (other.root / "go").touch()
        assert await_end(other, "020").state is JobState.DONE
    finally:
        other.close()
