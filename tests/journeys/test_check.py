"""A check by the true command and a true worker: held, trusted, and told whoever dies meanwhile."""

import yaml
from journeys.calls import await_state, end, job_of
from journeys.site import Site, wait_until
from journeys.staff import kill, nothing_is_taken

from sow.schema.job import JobState

SLOW = 'echo begun >>"$SOW_ROOT/runs"; while ! test -e "$SOW_ROOT/go"; do sleep 0.05; done; exit 3'


def test_a_check_outlives_its_caller_and_its_worker(site: Site) -> None:
    site.project("010")
    settings = site.root / ".sow" / "config.yaml"
    settings.write_text(yaml.safe_dump({"checks": {"unit": SLOW, "default": ["unit"]}}))
    caller = site.start("task", "check", "010")
    await_state(site, "010", JobState.HELD)
    assert "`sow trust` shows them and asks" in site.sow("job", "explain", "1").out
    assert site.sow("trust", "--yes").out.endswith("Goes on: job 1\n")

    runs = site.root / "runs"
    wait_until(runs.exists, what="the check runs")
    end(caller)
    for worker in site.workers():
        kill(worker["pid"])
    again = site.start("task", "check", "010")
    await_state(site, "010", JobState.RUNNING)
    (site.root / "go").touch()
    out, err = again.communicate(timeout=60)

    assert (again.returncode, out.startswith("010 failed (check unit, job 1")) == (1, True), err
    assert runs.read_text() == "begun\n", "it was run once"
    task = site.task("010")
    assert (task["status"], task["check"]["passed"]) == ("pending", False)
    assert task["check"]["results"][0]["exit_code"] == 3
    job = job_of(site, "010")
    assert job is not None
    assert (job.id, job.settled) == (1, 1)
    nothing_is_taken(site)
