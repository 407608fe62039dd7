"""A task in a clone of its own: the true command, a true worker, agents that spare nothing."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from clones.fingerprints import fingerprint
from journeys.callers import await_state
from journeys.gitsite import commit, git, make_repository
from journeys.site import Site, wait_until
from journeys.staff import await_supervisor, kill, nothing_is_taken, shell_executor

from sow.schema.job import JobState

WORK = """
cat >/dev/null
sow agent log "began in $PWD"
echo "work of $SOW_TASK_ID" >>code.txt
echo "new of $SOW_TASK_ID" >"new-$SOW_TASK_ID"
sow task set status needs_review
"""
RUINOUS = """
cat >/dev/null
touch "$SOW_ROOT/.sow/run/here-$SOW_TASK_ID"
while ! test -e "$SOW_ROOT/.sow/run/here-010" || ! test -e "$SOW_ROOT/.sow/run/here-020"; do
  sleep 0.05
done
echo "work of $SOW_TASK_ID" >>code.txt
git stash -q
test "$(cat code.txt)" = code || exit 9
git stash pop -q
git config user.name "Agent of $SOW_TASK_ID"
git add -A && git commit -q -m "Work of $SOW_TASK_ID"
git push -q --force origin HEAD:main && exit 8
git branch -D main 2>/dev/null
git gc -q --prune=now
git clean -ffdxq
git reset --hard -q
echo later >"later-$SOW_TASK_ID"
sow task set status needs_review
"""


def begin(site: Site, script: str, settings: dict[str, Any] | None = None) -> None:
    """Make a repository with two tasks, and agents that run a script."""
    make_repository(site)
    site.project("010", "020")
    executors = {"mine": shell_executor(site, "agent", script)}
    site.configure({"agents": {"executors": executors, "bindings": {"implementer": "mine"}}})
    write_settings(site, {"use": "always", **(settings or {})})
    commit(site, "a project")


def write_settings(site: Site, clones: dict[str, Any]) -> None:
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"clones": clones}))


def clone_of(site: Site, task: str) -> Path:
    return Path(site.task(task)["clone"]["path"])


def without_sow(found: dict[str, str]) -> dict[str, str]:
    """Return the part of a fingerprint that is not sow's own."""
    return {name: value for name, value in found.items() if not name.startswith(".sow/")}


def test_two_agents_at_once_see_neither_each_other_nor_the_repository(site: Site) -> None:
    begin(site, RUINOUS)
    git(site, "remote", "add", "origin", str(site.base / "nowhere"))
    (site.root / "code.txt").write_text("a person's edit\n")
    before = without_sow(fingerprint(site.root))

    site.sow("agent", "spawn", "010", "020")

    branches = [site.task(task)["clone"]["branch"] for task in ("010", "020")]
    assert without_sow(fingerprint(site.root, *branches)) == before
    for task, branch in zip(("010", "020"), branches, strict=True):
        assert site.task(task)["files_modified"] == ["code.txt", f"later-{task}"]
        assert git(site, "show", f"{branch}:code.txt") == f"code\nwork of {task}\n"
        log = git(site, "log", "--format=%an: %s", f"main..{branch}").splitlines()
        assert log[0].startswith(f"A Tester: {task}: ")
        assert log[1:] == [f"Agent of {task}: Work of {task}"]
        diff = site.sow("task", "diff", task).out
        assert f"+work of {task}" in diff
        assert not (clone_of(site, task) / ".sow/project").exists()
    git(site, "fsck", "--strict")
    nothing_is_taken(site)


def test_what_is_run_in_a_clone_acts_on_the_workspace(site: Site) -> None:
    begin(site, WORK)
    site.sow("agent", "spawn", "010")
    clone = clone_of(site, "010")
    assert f"began in {clone}" in (site.task_folder("010") / "log.md").read_text()
    shown = site.sow("task", "show", "010", "--json", cwd=clone / ".git" / "..").json
    assert shown["clone"]["path"] == str(clone)
    site.sow("task", "set", "010", "status", "completed", cwd=clone)
    assert site.task("010")["status"] == "completed"


def test_a_resume_goes_on_in_the_clone_and_makes_it_again_where_it_was(site: Site) -> None:
    begin(site, WORK)
    command = [str(site.base / "agent.sh")]
    executor = {"type": "command", "settings": {"command": [*command, "{session_id}"]}}
    executor["settings"]["resume"] = [*command, "{session_id}"]
    site.configure(
        {"agents": {"executors": {"mine": executor}, "bindings": {"implementer": "mine"}}}
    )
    site.sow("agent", "spawn", "010")
    clone = clone_of(site, "010")
    site.sow("agent", "resume", "010", "Once more.")
    assert (clone / "code.txt").read_text() == "code\nwork of 010\nwork of 010\n"
    site.sow("clone", "remove", "010", "--discard")
    assert not clone.exists()
    site.sow("agent", "resume", "010", "And again.")
    assert clone_of(site, "010") == clone
    branch = site.task("010")["clone"]["branch"]
    assert git(site, "show", f"{branch}:code.txt") == "code\n" + 3 * "work of 010\n"


def test_a_clone_is_set_up_by_what_the_user_has_accepted(site: Site) -> None:
    setup = 'echo "set up in $PWD as $SOW_AGENT"; cat .env; touch made-by-setup'
    begin(site, WORK, {"setup": setup, "copy": [".env"]})
    (site.root / ".env").write_text("KEY=1\n")
    site.sow("agent", "spawn", "010", "--detach")
    await_state(site, "010", JobState.HELD)
    site.sow("trust", "--yes")
    waited = site.sow("agent", "wait", "010")
    assert "Warning" not in waited.out + waited.err
    log = site.root / ".sow/run/jobs/1/1/setup.log"
    assert log.read_text() == f"set up in {clone_of(site, '010')} as sow-step\nKEY=1\n"
    assert site.task("010")["files_modified"] == ["code.txt", "new-010"]
    write_settings(site, {"use": "always", "setup": "touch elsewhere"})
    site.sow("agent", "spawn", "020", "--detach")
    await_state(site, "020", JobState.HELD)


def test_a_setup_that_fails_is_told_in_its_own_words_and_tried_anew(site: Site) -> None:
    setup = 'test -e "$SOW_ROOT/good" || { echo "no such package: leftpad" >&2; exit 3; }'
    begin(site, WORK, {"setup": setup})
    site.sow("trust", "--yes")
    failed = site.sow("agent", "spawn", "010", "--json", expect=1).json
    assert (failed["cause"], failed["status"]) == ("setup_failed", "failed")
    assert "exit code 3" in failed["reason"]
    assert "no such package: leftpad" in failed["reason"]
    assert failed["attempt_count"] == 1
    printed = site.sow("job", "logs", "1").out
    assert printed == "==> clones.setup <==\nno such package: leftpad\n==> attempt 1 <==\n"
    (line,) = site.sow("job", "logs", "1", "--json").json_lines
    assert (line["tool"], line["text"]) == ("clones.setup", "no such package: leftpad")
    assert "started the agent" not in site.sow("job", "explain", "1").out
    (site.root / "good").touch()
    site.sow("agent", "spawn", "010", "--again")
    assert site.task("010")["files_modified"] == ["code.txt", "new-010"]


def test_a_setup_that_hangs_is_ended_with_all_that_it_started(site: Site) -> None:
    setup = 'sleep 1000 & echo $! >"$SOW_ROOT/pid"; wait'
    begin(site, WORK, {"setup": setup, "setup_timeout": "2s"})
    site.sow("trust", "--yes")
    failed = site.sow("agent", "spawn", "010", "--json", expect=1).json
    assert "took longer than 2s (clones.setup_timeout)" in failed["reason"]
    assert not Path(f"/proc/{(site.root / 'pid').read_text().strip()}").exists()


@pytest.mark.one_of
@pytest.mark.parametrize("who", ["worker", "supervisor", "everybody"])
def test_a_kill_while_the_clone_is_set_up_leaves_a_clean_second_try(site: Site, who: str) -> None:
    setup = (
        'echo once >>"$SOW_ROOT/runs"; echo $$ >"$SOW_ROOT/pid"; echo half >half-made;'
        ' while ! test -e "$SOW_ROOT/go"; do sleep 0.05; done; rm half-made'
    )
    begin(site, WORK, {"setup": setup})
    site.sow("trust", "--yes")
    caller = site.start("agent", "spawn", "010")
    pid = site.root / "pid"
    wait_until(lambda: pid.exists() and pid.read_text().strip(), "the setup runs")
    workers = [worker["pid"] for worker in site.workers()]
    supervisor = await_supervisor(site, 1)
    kill(*(workers if who != "supervisor" else []))
    kill(*([supervisor] if who != "worker" else []))
    if who == "everybody":
        kill(_parent(int(pid.read_text())), int(pid.read_text()))
    (site.root / "go").touch()
    out, err = caller.communicate(timeout=240)
    assert caller.returncode == 0, out + err
    assert site.task("010")["files_modified"] == ["code.txt", "new-010"]
    assert not (clone_of(site, "010") / "half-made").exists()
    assert site.sow("clone", "list", "--json").json_lines[0]["state"] == "whole"
    nothing_is_taken(site)


def _parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def test_where_several_run_all_but_the_first_get_a_clone(site: Site) -> None:
    begin(site, WORK)
    write_settings(site, {"use": "parallel"})
    site.sow("queue", "pause")
    site.sow("agent", "spawn", "010", "--detach")
    site.sow("agent", "spawn", "020", "--detach")
    site.sow("queue", "resume")
    site.sow("agent", "wait", "010", "020")
    assert "clone" not in site.task("010")
    assert "new-020" in site.task("020")["files_modified"]


def test_an_option_decides_and_what_cannot_be_is_refused(site: Site) -> None:
    begin(site, WORK)
    site.sow("agent", "spawn", "010", "--no-clone")
    assert "clone" not in site.task("010")
    assert (site.root / "new-010").exists()
    write_settings(site, {"use": "never"})
    site.sow("agent", "spawn", "020", "--clone")
    refused = site.sow("agent", "spawn", "020", "--no-clone", "--fresh", expect=2)
    assert "in a clone of its own" in refused.err
    outside = site.sow("agent", "spawn", "010", "--clone", "--fresh", "--cwd", "..", expect=2)
    assert "outside the workspace" in outside.err


def test_without_a_repository_the_call_says_so_and_queues_nothing(site: Site) -> None:
    site.project("010")
    executors = {"mine": shell_executor(site, "agent", WORK)}
    site.configure({"agents": {"executors": executors, "bindings": {"implementer": "mine"}}})
    refused = site.sow("agent", "spawn", "010", "--clone", expect=4)
    assert "lies in no git repository" in refused.err
    assert "--no-clone" in refused.err
    assert site.task("010")["status"] == "pending"


def test_what_keeps_a_clone_from_being_made_is_told_by_the_call(site: Site) -> None:
    """Nothing is queued then, and no task fails for it."""
    begin(site, WORK)
    git(site, "branch", "sow")
    assert "git branch -m sow" in site.sow("agent", "spawn", "010", expect=4).err
    git(site, "branch", "-m", "sow", "theirs")
    write_settings(site, {"use": "always", "folder": "clones"})
    for more in ((), ("--dry-run",)):
        refused = site.sow("agent", "spawn", "010", *more, expect=3)
        assert "is inside the repository" in refused.err
        assert "Set a folder outside it" in refused.err
    assert site.task("010")["status"] == "pending"
    assert site.sow("job", "list", "--json").out == ""


def test_a_worker_that_comes_to_rest_takes_away_what_killed_processes_have_left(
    site: Site,
) -> None:
    """The agent leaves what a process leaves that is killed while it removes a clone."""
    begin(site, WORK.replace("sow task set", "mkdir -p ../.gone-020-0a1b2c3d/deep\nsow task set"))
    scratch = site.base / "scratch"
    (scratch / "sow-git-abcdefgh.tmp").mkdir(parents=True)
    site.sow("agent", "spawn", "010", env={"TMPDIR": str(scratch)})
    half_gone = clone_of(site, "010").with_name(".gone-020-0a1b2c3d")
    wait_until(lambda: not half_gone.exists(), "the worker has swept")
    assert list(scratch.glob("sow-git-*")) == []
    assert clone_of(site, "010").is_dir()
