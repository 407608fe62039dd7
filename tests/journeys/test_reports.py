"""Agents in sandboxes report through a socket: what arrives, once, in its order, and as whom."""

from journeys.callers import await_end, await_runs, gate, good, open_gate
from journeys.report_site import (
    as_agent,
    begin,
    entries_of,
    logged,
    paths_of,
    served,
    server_pids,
    socket_worker,
    spawn,
)
from journeys.site import Site, wait_until
from journeys.staff import start_worker
from standins import read_runs

OUTSIDE = "it lies outside of this agent's sandbox"


def test_an_agent_reports_through_the_socket_as_by_the_plain_command(site: Site) -> None:
    begin(site, "010")
    log = {"sow": ["agent", "log", "Did it", "--result", "success", "--body", "All of it"]}
    site.script([[log, {"sow": ["task", "set", "status", "needs_review"]}]])
    spawn(site)
    worker = socket_worker(site, "--drain")
    assert worker.wait() == 0, worker.log_text
    (run,) = read_runs(site.root)
    assert "SOW_REPORT_SOCKET" in run.env_names
    assert site.task("010")["status"] == "needs_review"
    entry = next(entry for entry in entries_of(site) if entry.action == "Did it")
    assert (entry.agent, entry.job, entry.attempt) == ("implementer", 1, 1)
    assert (entry.result, entry.text.strip()) == ("success", "All of it")
    assert not paths_of(site).reports.exists()


def test_what_a_report_prints_and_its_exit_code_are_the_commands_own(site: Site) -> None:
    begin(site, "010", "020")
    site.script([good(gate("go"))])
    spawn(site)
    worker = socket_worker(site, "--drain")
    served(site)
    env = as_agent(site)
    done = site.sow("task", "set", "feedback", "a,b", env=env)
    assert done.out == "Task 010: feedback is a,b\n"
    done = site.sow("agent", "log", "seen", "--json", env=env)
    assert done.json == {
        "path": ".sow/project/phases/implementation/tasks/010/log.md",
        "task": "010",
    }
    wrong = site.sow("task", "set", "status", "sunny", env=env, expect=4)
    assert "sunny" in wrong.err
    other = site.sow("task", "set", "020", "status", "completed", env=env, expect=4)
    assert "is for your own task, 010, and names task 020" in other.err
    usage = site.sow("agent", "log", env=env, expect=2)
    assert "TEXT" in usage.err
    open_gate(site, "go")
    assert worker.wait() == 0
    assert site.task("010")["feedback"] == ["a", "b"]
    assert logged(site) == ["seen"]


def test_reading_commands_run_inside_and_those_of_the_queue_say_that_there_is_none(
    site: Site,
) -> None:
    begin(site, "010")
    site.script([good(gate("go"))])
    spawn(site)
    socket_worker(site)
    served(site)
    env = {**as_agent(site), "SOW_ROOT": str(site.root), "SOW_TASK_ID": "010"}
    site.sow("task", "show", "010", env=env)
    site.sow("prompt", "guidance/implementer/base", env=env)
    site.sow("agent", "log", "--help", env=env)
    for words in (("job", "list"), ("agent", "wait", "010")):
        refused = site.sow(*words, env=env, expect=6)
        assert OUTSIDE in refused.err
    assert OUTSIDE in site.sow("next", env=env).out
    open_gate(site, "go")
    await_end(site, "010")


def test_what_is_kept_while_no_worker_lives_is_carried_out_in_its_order(site: Site) -> None:
    begin(site, "010")
    site.script([[gate("go")], good()])
    spawn(site)
    worker = socket_worker(site)
    served(site)
    worker.kill()
    env = as_agent(site)
    for text in ("one", "two", "three"):
        kept = site.sow("agent", "log", text, env=env)
        assert (kept.out, "is kept; the next worker" in kept.err) == ("", True)
    site.sow("task", "set", "status", "paused", env=env)
    assert logged(site) == []
    assert site.task("010")["status"] == "in_progress"
    open_gate(site, "go")
    wait_until(paths_of(site).exit.exists, "the agent's end")
    assert socket_worker(site, "--drain").wait() == 0
    assert logged(site) == ["one", "two", "three"]
    assert site.task("010")["status"] == "paused"
    assert len(read_runs(site.root)) == 1
    assert not paths_of(site).reports.exists()


def test_a_kept_report_that_is_refused_is_told_in_the_log_once(site: Site) -> None:
    begin(site, "010", "020")
    site.script([good(gate("go"))])
    spawn(site)
    worker = socket_worker(site)
    served(site)
    worker.kill()
    site.sow("task", "set", "020", "status", "completed", env=as_agent(site))
    site.sow("agent", "log", "later", env=as_agent(site))
    again = socket_worker(site, "--drain")
    wait_until(lambda: logged(site)[-1:] == ["later"], "what came after it")
    open_gate(site, "go")
    assert again.wait() == 0
    refused, _ = logged(site)
    line = "`sow task set 020 status completed`"
    assert refused == f"Refused a report that was kept while no worker took any: {line}"
    (entry,) = [each for each in entries_of(site) if each.action == refused]
    assert "names task 020" in entry.text
    assert site.task("020")["status"] == "pending"


def test_reports_after_the_end_are_refused_and_reach_no_later_attempt(site: Site) -> None:
    begin(site, "010")
    site.script([[{"say": "working"}, {"crash": 3}], good(gate("go"))])
    spawn(site)
    worker = socket_worker(site, "--drain")
    await_runs(site, 2)
    wait_until(paths_of(site, attempt=2).report_folder.exists, "a second attempt")
    for words in (("agent", "log", "late"), ("task", "set", "status", "completed")):
        late = site.sow(*words, env=as_agent(site, attempt=1), expect=4)
        assert "this attempt has ended: it reports nothing any more" in late.err
    assert site.task("010")["status"] == "in_progress"
    open_gate(site, "go")
    assert worker.wait() == 0
    assert logged(site) == []


def test_a_reviewers_findings_are_read_inside(site: Site) -> None:
    begin(site, "010", agent="implementer")
    site.script([good(), [{"write": ["findings.md", "Mend it.\n"]}, gate("go")]])
    worker = socket_worker(site)
    spawn(site)
    await_end(site, "010")
    site.sow("agent", "review", "010", "--detach")
    wait_until(lambda: paths_of(site, job=2).report_folder.joinpath("socket").exists(), "a socket")
    env = as_agent(site, job=2)
    findings = site.base / "findings.md"
    findings.write_text("Mend it.\n")
    site.sow("task", "set", "status", "completed", env=env, expect=4)
    site.sow("review", "correct", "010", "--file", str(findings), env=env)
    (written,) = (site.task_folder("010") / "feedback").iterdir()
    assert written.read_text() == "Mend it.\n"
    site.sow("review", "correct", "010", "--file", "-", stdin="And this.\n", env=env)
    assert len(list((site.task_folder("010") / "feedback").iterdir())) == 2
    assert site.task("010")["review"]["by"] == "reviewer"
    open_gate(site, "go")
    assert worker.log_text
    await_end(site, "010")


def test_a_worker_without_sandboxes_has_nothing_of_it(site: Site) -> None:
    begin(site, "010")
    site.script([good(gate("go"))])
    spawn(site)
    worker = start_worker(site, "--drain")
    (run,) = await_runs(site)
    assert "SOW_REPORT_SOCKET" not in run.env_names
    assert not paths_of(site).reports.exists()
    assert server_pids(worker.pid) == []
    open_gate(site, "go")
    assert worker.wait() == 0
