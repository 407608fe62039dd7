"""Agents that run git in the tree that holds `.sow/project`: no task loses what sow has written."""

import shutil

import pytest
from journeys.callers import await_end, await_state
from journeys.gitsite import (
    AGENT,
    commit,
    git,
    log_of,
    make_repository,
    others_are_whole,
    others_at_work,
    use_git_agent,
)
from journeys.site import Site, wait_until
from journeys.staff import QUICK, WorkerRun, await_supervisor, start_worker

from sow.processes import process_facts
from sow.schema.job import JobState

TASKS = ("010", "020", "030")

COMMANDS = {
    "checkout": "git checkout -q -- .",
    "reset": "git reset -q --hard",
    "stash": "git stash -q -u",
    "back": "git reset -q --hard HEAD~1",
    "away and back": "git checkout -qf other && git checkout -qf main",
    "stash and pop": "git stash -q -u && git stash pop -q",
}


@pytest.fixture
def repository(site: Site) -> Site:
    """A repository without a project, with a second branch."""
    make_repository(site)
    git(site, "branch", "other")
    return site


@pytest.mark.one_of
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("committed", ["at pending", "never", "later"])
def test_nobodys_state_is_lost(repository: Site, committed: str, name: str) -> None:
    site = repository
    site.project(*TASKS)
    if committed == "at pending":
        commit(site)
    others_at_work(site)
    command = COMMANDS[name]
    if committed == "later":
        command = f'git add -A && git commit -q -m later\nsow agent log "more"\n{command}'
    use_git_agent(site, command)
    record = site.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (record["state"], record["status"]) == ("done", "needs_review"), log_of(site, "010")
    assert site.task("010")["status"] == "needs_review"
    log = log_of(site, "010")
    assert log.count("before git") == log.count("after git") == 1
    assert log.count("more") == (1 if committed == "later" else 0)
    others_are_whole(site)
    for task in TASKS:
        assert log_of(site, task).count("Put back: ") <= 1, log_of(site, task)


@pytest.fixture
def gated(repository: Site) -> Site:
    """A committed project whose agent runs until the file `go` appears, and a worker by hand."""
    site = repository
    site.project(*TASKS)
    commit(site)
    others_at_work(site)
    wait = f"while [ ! -e {site.base}/go ]; do sleep 0.05; done"
    use_git_agent(site, wait, **QUICK)
    return site


def run_gated(site: Site) -> WorkerRun:
    """Start the agent and wait until it has begun."""
    worker = start_worker(site)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until(lambda: "before git" in log_of(site, "010"), "the agent has begun")
    return worker


def let_go(site: Site) -> None:
    """Let the agent end and see its job ended well."""
    (site.base / "go").touch()
    job = await_end(site, "010")
    assert (job.state, job.outcome_status) == (JobState.DONE, "needs_review"), job


@pytest.mark.parametrize("committed", ["at pending", "never"])
def test_a_clean_that_takes_everything(repository: Site, committed: str) -> None:
    """The whole `.sow`, queue and all, may go; the agent's own next call brings the state back."""
    site = repository
    site.project(*TASKS)
    if committed == "at pending":
        commit(site)
    others_at_work(site)
    end = f"while [ ! -e {site.base}/go ]; do sleep 0.05; done"
    use_git_agent(site, "git clean -qfdx", AGENT + end, **QUICK)
    worker = start_worker(site)
    site.sow("agent", "spawn", "implementer", "010", "--detach")

    def has_reported() -> bool:
        states = list(site.root.glob(".sow/project/phases/*/tasks/010/state.yaml"))
        return bool(states) and site.task("010")["status"] == "needs_review"

    wait_until(has_reported, "the agent reports after its git clean")
    log = log_of(site, "010")
    assert log.count("before git") == log.count("after git") == 1
    assert log.count("Put back: ") == (1 if committed == "never" else 0)
    others_are_whole(site)  # its untracked feedback too
    assert (site.root / ".sow/.gitignore").exists()
    worker.kill()
    (site.base / "go").touch()
    wait_until(lambda: not _carriers(site), "the agent has ended")


def test_a_clean_that_takes_everything_is_undone_by_the_worker_that_it_drives_away(
    repository: Site,
) -> None:
    """The agent makes no call that would bring the state back, and the queue is gone too."""
    site = repository
    site.project(*TASKS)
    others_at_work(site)
    end = f"touch {site.base}/cleaned; while [ ! -e {site.base}/go ]; do sleep 0.05; done"
    use_git_agent(site, "git clean -qfdx", "sow agent log begun\n{command}\n" + end, **QUICK)
    worker = start_worker(site)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until((site.base / "cleaned").exists, "everything is gone")
    worker.wait()
    others_are_whole(site)
    assert site.task("010")["status"] == "in_progress"
    assert _carriers(site)
    (site.base / "go").touch()
    wait_until(lambda: not _carriers(site), "the agent has ended")


LAST_ACT = """
while [ ! -e {go} ]; do sleep 0.05; done
sow task set status needs_review
{before}git clean -qfdx
"""


@pytest.mark.one_of
@pytest.mark.parametrize("before", ["", "touch .git/index.lock\n"], ids=["clean", "stale lock"])
@pytest.mark.parametrize("left", ["worker", "call"])
def test_a_clean_that_is_an_agents_last_act(repository: Site, left: str, before: str) -> None:
    """Nobody of the job lives when it is looked for; who has the queue open still knows of it."""
    site = repository
    site.project(*TASKS)
    others_at_work(site)
    use_git_agent(site, "", LAST_ACT.format(go=f"{site.base}/go", before=before), **QUICK)
    worker = start_worker(site)
    how = ["--detach"] if left == "worker" else ["--wait", "60s"]
    call = site.start("agent", "spawn", "implementer", "010", *how)
    await_state(site, "010", JobState.RUNNING)
    await_supervisor(site, 1)
    wait_until(lambda: _carriers(site), "the agent has begun")
    if left == "call":
        worker.freeze(site)
    (site.base / "go").touch()
    if left == "call":
        assert call.wait(60) == 6
        worker.kill()
    else:
        assert worker.wait() == 6
    wait_until(lambda: not _carriers(site), "the agent has ended")
    assert site.sow("task", "list").err == ""
    assert site.task("010")["status"] == "needs_review"
    others_are_whole(site)


def test_git_that_never_rests_takes_nobodys_report(repository: Site) -> None:
    """Each read waits for git to rest, and reports come all the same."""
    site = repository
    site.project(*TASKS)
    commit(site)
    others_at_work(site)
    loop = f"(while [ ! -e {site.base}/go ]; do git reset -q --hard; done) &\nsleep 0.5"
    end = f"touch {site.base}/go\nwait\n"
    use_git_agent(site, loop, AGENT + end)
    record = site.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (record["state"], record["status"]) == ("done", "needs_review"), log_of(site, "010")
    log = log_of(site, "010")
    assert log.count("before git") == log.count("after git") == 1, log
    others_are_whole(site)


def _carriers(site: Site) -> list[int]:
    return process_facts.carriers("SOW_ROOT", str(site.root))


def test_it_is_said_once_by_the_command_that_did_it(gated: Site) -> None:
    run_gated(gated)
    git(gated, "reset", "-q", "--hard")
    first = gated.sow("task", "list")
    assert first.err.startswith("Note: put back: "), first
    assert (
        "state.yaml, log.md of task 020" in first.err
        or "log.md, state.yaml of task 020" in first.err
    )
    assert "job 1 has not ended" in first.err
    assert gated.sow("task", "list").err == ""
    others_are_whole(gated)
    for task in ("020", "030"):
        assert log_of(gated, task).count("Put back: ") == 1
    let_go(gated)


def test_the_worker_puts_back_by_itself_while_an_agent_runs(gated: Site) -> None:
    worker = run_gated(gated)
    git(gated, "reset", "-q", "--hard")
    wait_until(lambda: gated.task("020")["status"] == "completed", "the worker has looked")
    worker.wait_for("put back: ")
    let_go(gated)
    others_are_whole(gated)


def test_with_nothing_alive_going_back_is_a_persons_own(repository: Site) -> None:
    site = repository
    site.project(*TASKS)
    commit(site)
    others_at_work(site)
    git(site, "reset", "-q", "--hard")
    shown = site.sow("task", "show", "020", "--json")
    assert (shown.json["status"], shown.err) == ("pending", "")
    use_git_agent(site, "true")
    site.sow("agent", "spawn", "implementer", "010")
    assert site.task("020")["status"] == "pending"
    assert site.task("030")["status"] == "pending"


def test_a_task_removed_while_nothing_lived_stays_removed(repository: Site) -> None:
    site = repository
    site.project(*TASKS)
    shutil.rmtree(site.task_folder("020"))
    use_git_agent(site, "true")
    site.sow("agent", "spawn", "implementer", "010")
    assert [task["task"] for task in site.sow("task", "list", "--json").json_lines] == [
        "010",
        "030",
    ]


def test_an_edit_by_hand_stands_while_a_job_lives(gated: Site) -> None:
    run_gated(gated)
    state = gated.task_folder("020") / "state.yaml"
    state.write_text(state.read_text().replace("Task 020", "Another name"))
    assert gated.sow("task", "show", "020", "--json").json["name"] == "Another name"
    git(gated, "checkout", "-q", "--", ".")
    assert gated.sow("task", "show", "020", "--json").json["name"] == "Another name"
    assert gated.task("020")["status"] == "completed"
    let_go(gated)


def test_a_commit_and_another_branch_stay_possible_while_a_job_lives(gated: Site) -> None:
    run_gated(gated)
    state = gated.task_folder("030") / "state.yaml"
    state.write_text(state.read_text().replace("Task 030", "By hand"))
    commit(gated, "with an edit")
    assert gated.sow("task", "show", "030", "--json").json["name"] == "By hand"
    git(gated, "checkout", "-q", "other")
    missing = gated.sow("project", "status", expect=4)
    assert "there is no project" in missing.err
    assert not list(gated.root.glob(".sow/project/**/state.yaml"))
    git(gated, "checkout", "-q", "main")
    assert gated.task("030")["name"] == "By hand"
    others_are_whole(gated)
    let_go(gated)


def test_back_on_its_branch_the_newest_state_of_the_branch_is_there(gated: Site) -> None:
    """What `checkout -f` threw away while a job lived was sow's, not the person's."""
    run_gated(gated)
    git(gated, "checkout", "-qf", "other")
    git(gated, "checkout", "-q", "main")
    assert gated.sow("task", "show", "020", "--json").json["status"] == "completed"
    others_are_whole(gated)
    let_go(gated)


def test_what_others_committed_and_a_pull_brings_stands(gated: Site) -> None:
    run_gated(gated)
    commit(gated, "all that stands")
    git(gated, "branch", "-f", "theirs")
    elsewhere = gated.base / "elsewhere"
    git(gated, "worktree", "add", "-q", str(elsewhere), "theirs")
    (state,) = elsewhere.glob(".sow/project/phases/*/tasks/020/state.yaml")
    state.write_text(state.read_text().replace("Task 020", "Their name"))
    git(gated, "commit", "-q", "-am", "theirs", cwd=elsewhere)
    git(gated, "merge", "-q", "--no-edit", "theirs")
    assert gated.sow("task", "show", "020", "--json").json["name"] == "Their name"
    let_go(gated)


def test_a_checkout_of_its_own_and_a_project_in_a_subfolder(repository: Site) -> None:
    """A worktree has git's folder elsewhere, and `.sow` need not lie in the repository's root."""
    site = repository
    tree = site.base / "tree"
    git(site, "worktree", "add", "-q", "-b", "feature", str(tree))
    (tree / "part").mkdir()
    moved = Site(site.base, site.env, site.started)
    shutil.move(site.base / "repo", site.base / "main")
    git(moved, "worktree", "repair", str(tree), cwd=site.base / "main")
    (site.base / "repo").symlink_to(tree / "part")
    moved.project(*TASKS)
    commit(moved)
    others_at_work(moved)
    use_git_agent(moved, "git reset -q --hard")
    record = moved.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (record["state"], record["status"]) == ("done", "needs_review")
    others_are_whole(moved)
    copies = site.base / "main/.git/worktrees/tree/sow/kept/part@refs%2Fheads%2Ffeature"
    assert len(list(copies.glob("*/files/project/phases/*/tasks/*/state.yaml"))) == 3


def test_without_git_a_deletion_is_put_back_too(site: Site) -> None:
    site.project(*TASKS)
    use_git_agent(site, 'rm -r "$SOW_ROOT/.sow/project"')
    record = site.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (record["state"], record["status"]) == ("done", "needs_review")
    assert log_of(site, "010").count("before git") == 1
    assert len(site.sow("task", "list", "--json").json_lines) == 3


def test_a_status_that_an_agent_took_back_by_hand_is_no_report(repository: Site) -> None:
    site = repository
    site.project(*TASKS)
    script = """
    sed -i 's/status: in_progress/status: pending  # by hand/' "$1/state.yaml"
    """
    use_git_agent(site, "", script)
    record = site.sow("agent", "spawn", "implementer", "010", "--json", expect=1).json
    assert (record["state"], record["cause"], record["status"]) == ("failed", "no_status", "failed")
    assert site.task("010")["status"] == "failed"
