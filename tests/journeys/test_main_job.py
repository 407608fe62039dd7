"""The main job: spawn, report, resume, complete."""

from journeys.site import Site
from standins import read_runs

from sow.state.task_log import read_entries


def test_spawn_waits_for_the_report_and_state_holds_it(site: Site) -> None:
    site.project("010")
    result = site.sow("agent", "spawn", "implementer", "010")
    task = site.task("010")
    (run,) = read_runs(site.root)
    assert result.out.startswith("010 needs_review")
    assert task["status"] == "needs_review"
    assert task["session_id"] == run.session_id
    assert run.verb == "spawn"
    logged = [
        (entry.action, entry.agent, entry.role, entry.job, entry.attempt)
        for entry in read_entries(site.task_folder("010") / "log.md")
        if entry.event
    ]
    assert logged == [
        ("Status: pending to in_progress", "sow", "implementer", 1, None),
        ("Status: in_progress to needs_review", "implementer", "", 1, 1),
        ("Job 1 done: spawn implementer, needs_review", "sow", "implementer", 1, 1),
    ]


def test_resume_continues_the_same_session(site: Site) -> None:
    site.project("010")
    site.sow("agent", "spawn", "implementer", "010")
    site.sow("agent", "resume", "010", "Use RS256 algorithm for JWT signing")
    first, second = read_runs(site.root)
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    assert "Use RS256 algorithm for JWT signing" in second.prompt
    assert site.task("010")["iteration"] == 2
    assert "Use RS256" in (site.task_folder("010") / "log.md").read_text()


def test_a_plain_crash_is_retried_as_a_resume(site: Site) -> None:
    site.project("010")
    report = {"sow": ["task", "set", "status", "needs_review"]}
    site.script([[{"say": "working"}, {"crash": 3}], [report]])
    result = site.sow("agent", "spawn", "implementer", "010", "--json").json
    first, second = read_runs(site.root)
    assert (result["exit_code"], result["attempt_count"]) == (0, 2)
    assert (first.verb, second.verb, second.session_id) == ("spawn", "resume", first.session_id)


def test_the_agent_gets_its_place_and_no_marker_of_a_parent(site: Site) -> None:
    site.project("010")
    site.sow("agent", "spawn", "implementer", "010", env={"CLAUDECODE": "1", "SOW_WAIT": "50s"})
    (run,) = read_runs(site.root)
    assert run.env["SOW_ROOT"] == str(site.root)
    assert run.env["SOW_TASK_ID"] == "010"
    assert "CLAUDECODE" not in run.env_names
    assert run.cwd == str(site.root)
    assert run.env["PATH"].split(":")[0] == str(site.base / "bin")
