"""A check by the true command and a true worker: held, trusted, and told whoever dies meanwhile."""

import json

import yaml
from journeys.callers import await_end, await_state, end, gate, good, job_of, open_gate
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
    assert site.sow("trust", "--yes").out.endswith("Continues: job 1\n")

    runs = site.root / "runs"
    wait_until(runs.exists, what="the check runs")
    end(caller)
    for worker in site.workers():
        kill(worker["pid"])
    again = site.start("task", "check", "010")
    await_state(site, "010", JobState.RUNNING)
    (site.root / "go").touch()
    out, err = again.communicate(timeout=240)

    assert (again.returncode, out.startswith("010 failed (check unit, job 1")) == (1, True), err
    assert runs.read_text() == "begun\n", "it was run once"
    task = site.task("010")
    assert (task["status"], task["check"]["passed"]) == ("pending", False)
    assert task["check"]["results"][0]["exit_code"] == 3
    job = job_of(site, "010")
    assert job is not None
    assert (job.id, job.settled) == (1, 1)
    nothing_is_taken(site)


def test_checks_run_beside_agents_that_take_every_slot(site: Site) -> None:
    site.configure({"worker": {"concurrency": 1, "checks": 1}})
    site.project("010", "020", "030")
    site.script([good(gate("agent"))], task="010")
    line = 'until test -e "$SOW_ROOT/go-$SOW_TASK_ID"; do sleep 0.05; done'
    checks = {"unit": line, "default": ["unit"]}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"checks": checks}))
    site.sow("trust", "--yes")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    await_state(site, "010", JobState.RUNNING)
    for task in ("020", "030"):
        site.sow("task", "check", task, "--detach")
    site.start("agent", "wait", "020")  # whoever waits sees to a worker
    await_state(site, "020", JobState.RUNNING)
    assert await_state(site, "030", JobState.QUEUED)
    assert "(worker.checks)" in site.sow("task", "explain", "030").out
    status = site.sow("queue", "status", "--json").json
    assert status["running_by_executor"] == {"": 1, "claude-code": 1}
    for task in ("020", "030"):
        (site.root / f"go-{task}").touch()
        assert await_end(site, task).state is JobState.DONE
    open_gate(site, "agent")
    assert await_end(site, "010").state is JobState.DONE


def test_a_check_of_the_project_is_waited_for_by_its_number(site: Site) -> None:
    site.project("010")
    settings = site.root / ".sow" / "config.yaml"
    settings.write_text(yaml.safe_dump({"checks": {"unit": SLOW}}))
    site.sow("trust", "--yes")
    bounded = site.sow("project", "check", "unit", "--wait", "1s", expect=75)
    assert bounded.out.splitlines()[-1] == "sow job wait 1 --wait 1s"
    waiting = site.start("job", "wait", "1", "--json")
    wait_until((site.root / "runs").exists, what="the check runs")
    (site.root / "go").touch()
    out, err = waiting.communicate(timeout=240)
    assert waiting.returncode == 1, err
    outcome = json.loads(out)
    assert (outcome["job"], outcome["task"], outcome["state"]) == (1, None, "failed")
    assert site.sow("job", "wait", "1", expect=1).out.startswith(
        "project failed (check unit, job 1"
    )
    assert "`sow agent wait 010`" in site.sow("job", "wait", "010", expect=4).err
    assert site.sow("job", "wait", "7", expect=4).err.startswith("Error: no job 7")

    site.sow("project", "check", "unit", "--detach")
    assert await_end(site, "").id == 2
    named = "sow job wait 2  # a check of the project has ended, and no command has shown how yet"
    assert site.sow("next").out.splitlines()[0] == named
    site.sow("job", "wait", "2", expect=1)
    assert named not in site.sow("next").out
