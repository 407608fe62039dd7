"""Which calls a task's status allows, through the true command (DESIGN, "The call")."""

import pytest
from journeys.callers import all_jobs, await_end, gate, good, open_gate, report
from journeys.site import Site
from standins import read_runs

SPAWN = ("agent", "spawn", "implementer", "010")
RESUME = ("agent", "resume", "010", "Go on.")


@pytest.mark.one_of
@pytest.mark.parametrize("status", ["needs_review", "paused", "failed"])
def test_a_started_session_is_resumed_and_not_spawned_again(site: Site, status: str) -> None:
    """`paused, needs_review, failed`: spawn only if no session ever started; resume yes."""
    site.project("010")
    site.script([[report(status)], good()])
    site.sow(*SPAWN, expect=1 if status == "failed" else 0)
    refused = site.sow(*SPAWN, "--prompt", "another", expect=4)
    assert f"task 010 is {status}" in refused.err
    assert f"sow agent {'answer' if status == 'paused' else 'resume'} 010" in refused.err
    assert "--fresh" in refused.err
    assert len(all_jobs(site)) == 1
    site.sow(*RESUME)
    assert [run.verb for run in read_runs(site.root)] == ["spawn", "resume"]


def test_fresh_starts_a_new_session_and_the_old_id_goes_to_the_log(site: Site) -> None:
    """`--fresh` (the old id goes to the log); the iteration stays."""
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN)
    old = site.task("010")["session_id"]
    site.sow(*SPAWN, "--fresh")
    first, second = read_runs(site.root)
    task = site.task("010")
    assert (first.session_id, second.verb) == (old, "spawn")
    assert second.session_id == task["session_id"] != old
    assert old in (site.task_folder("010") / "log.md").read_text()
    assert task["iteration"] == 1


@pytest.mark.one_of
@pytest.mark.parametrize("status", ["completed", "abandoned"])
def test_a_terminal_status_names_reopen_for_both_verbs(site: Site, status: str) -> None:
    """`completed, abandoned`: spawn no, names `sow task reopen`; resume no."""
    site.project("010")
    site.script([[report(status)], good()])
    site.sow(*SPAWN, expect=0 if status == "completed" else 1)
    for words in (SPAWN, (*SPAWN, "--fresh"), RESUME):
        refused = site.sow(*words, expect=4)
        assert f"task 010 is {status}" in refused.err
        assert "sow task reopen 010" in refused.err
    site.sow("task", "reopen", "010")
    site.sow(*SPAWN)
    assert site.task("010")["status"] == "needs_review"


def test_a_pending_task_has_nothing_to_resume(site: Site) -> None:
    """`pending`: no session: the seeds' error."""
    site.project("010")
    refused = site.sow(*RESUME, expect=5)
    assert refused.err == (
        "Error: no session found for task 010\n\n"
        "Task has not been started or session has expired.\n"
        "Use `sow agent spawn implementer 010` to start a new session.\n"
    )
    assert all_jobs(site) == []


def test_in_progress_without_a_live_job_is_resumed_where_the_session_started(site: Site) -> None:
    """`in_progress, no live job`: spawn if the session never started; resume yes."""
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN)
    site.sow("task", "set", "010", "status", "in_progress")
    refused = site.sow(*SPAWN, expect=4)
    assert "task 010 is in_progress" in refused.err
    site.sow(*RESUME)
    assert [run.verb for run in read_runs(site.root)] == ["spawn", "resume"]
    assert site.task("010")["iteration"] == 1


def test_in_progress_without_a_session_is_spawned(site: Site) -> None:
    site.project("010")
    site.script([good()])
    site.sow("task", "set", "010", "status", "in_progress")
    site.sow(*SPAWN)
    assert site.task("010")["status"] == "needs_review"


def test_an_executor_without_sessions_always_respawns(site: Site) -> None:
    """An executor without sessions always respawns; a resume gets the seeds' error."""
    site.project("010")
    site.configure({"agents": {"bindings": {"implementer": "windsurf"}}})
    site.script([good()])
    site.sow(*SPAWN)
    site.sow(*SPAWN, "--prompt", "Once more.")
    refused = site.sow(*RESUME, expect=5)
    assert 'executor "windsurf" does not support session resumption' in refused.err
    assert [run.verb for run in read_runs(site.root)] == ["spawn", "spawn"]


def test_unmet_dependencies_are_refused_by_name(site: Site) -> None:
    """Unmet `depends_on`: refused, naming them; `--ignore-deps`."""
    site.project("010", "020", "030")
    site.script([good()])
    site.sow("task", "set", "030", "depends_on", "010,020")
    refused = site.sow("agent", "spawn", "implementer", "030", expect=4)
    assert "010 (pending), 020 (pending)" in refused.err
    assert "--ignore-deps" in refused.err
    assert site.task("030")["status"] == "pending"
    assert all_jobs(site) == []
    site.sow("agent", "spawn", "implementer", "030", "--ignore-deps")
    assert [run.task for run in read_runs(site.root)] == ["030"]


def test_completed_dependencies_are_met(site: Site) -> None:
    site.project("010", "020")
    site.script([[report("completed")]])
    site.sow("task", "set", "020", "depends_on", "010")
    site.sow(*SPAWN)
    site.sow("agent", "spawn", "implementer", "020")
    assert site.task("020")["status"] == "completed"


def test_another_agent_is_assigned_only_when_told_to(site: Site) -> None:
    """A task that was made for one role does not silently become another's."""
    site.project("010", agent="security-reviewer")
    site.script([good()])
    refused = site.sow(*SPAWN, expect=4)
    assert "task 010 is for security-reviewer, not for implementer" in refused.err
    assert "--reassign" in refused.err
    assert site.sow(*SPAWN, "--dry-run", expect=4).err == refused.err
    assert site.task("010")["assigned_agent"] == "security-reviewer"
    assert all_jobs(site) == []
    site.sow("agent", "spawn", "architect", "010", "--reassign")
    (run,) = read_runs(site.root)
    assert run.env["SOW_AGENT"] == "architect"
    assert site.task("010")["assigned_agent"] == "architect"


def test_another_agent_is_refused_once_a_session_has_started(site: Site) -> None:
    """… else refused, and a resume runs the assigned one; `--fresh --reassign` starts over."""
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN)
    refused = site.sow("agent", "spawn", "architect", "010", "--reassign", expect=4)
    assert "--fresh --reassign" in refused.err
    assert "task 010 is assigned to implementer, whose session has started" in refused.err
    assert site.task("010")["assigned_agent"] == "implementer"
    site.sow(*RESUME)
    refused = site.sow("agent", "spawn", "architect", "010", "--fresh", expect=4)
    assert "--fresh --reassign" in refused.err
    site.sow("agent", "spawn", "architect", "010", "--fresh", "--reassign")
    agents = [run.env["SOW_AGENT"] for run in read_runs(site.root)]
    assert agents == ["implementer", "implementer", "architect"]


@pytest.mark.parametrize(("before", "added"), [("needs_review", 1), ("failed", 1), ("paused", 0)])
def test_a_resume_counts_an_iteration_after_a_review_or_a_failure(
    site: Site, before: str, added: int
) -> None:
    """Iteration: + 1 from needs_review or failed only; answers to paused leave it."""
    site.project("010")
    site.script([[report(before)], good()])
    site.sow(*SPAWN, expect=None)
    site.sow(*RESUME)
    assert site.task("010")["iteration"] == 1 + added


def test_each_task_is_spawned_as_its_own_role_where_none_is_named(site: Site) -> None:
    """The role may be left out: the task knows it."""
    site.project("010", agent="security-reviewer")
    site.add_tasks("020", agent="implementer")
    site.script([good()])
    site.sow("agent", "spawn", "010", "020")
    roles = {run.task: run.env["SOW_AGENT"] for run in read_runs(site.root)}
    assert roles == {"010": "security-reviewer", "020": "implementer"}


def test_with_and_without_the_role_it_is_the_same_call(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    site.sow("agent", "spawn", "010", "--wait", "1s", expect=75)
    open_gate(site, "go")
    await_end(site, "010")
    assert site.sow(*SPAWN).out.startswith("outcome of job 1")
    assert len(all_jobs(site)) == 1


@pytest.mark.parametrize(
    ("word", "guess"), [("implementor", "Did you mean implementer?"), ("0x0", "")]
)
def test_a_first_word_that_is_neither_a_role_nor_a_task(site: Site, word: str, guess: str) -> None:
    site.project("010")
    refused = site.sow("agent", "spawn", word, "010", expect=2)
    assert refused.err.startswith(f"Error: unknown agent: {word}\n\n{guess}")
    assert (
        "The first word is an agent (`sow agent list` shows them all) or a task's id" in refused.err
    )


def test_a_first_word_of_digits_is_taken_for_a_task(site: Site) -> None:
    site.project("010")
    refused = site.sow("agent", "spawn", "10", expect=4)
    assert refused.err.startswith("Error: not a task id: '10'\n\nDid you mean 010?")


def test_a_role_that_somebody_wrote_into_the_file_is_refused_by_name(site: Site) -> None:
    site.project("010")
    state = site.task_folder("010") / "state.yaml"
    state.write_text(state.read_text().replace("implementer", "wizard"))
    assert "unknown agent: wizard" in site.sow("agent", "spawn", "010", expect=2).err
    assert all_jobs(site) == []
