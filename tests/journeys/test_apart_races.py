"""Tasks apart when things meet: faults that pass, kills while work is gathered, workers, merges and
spawns at once, and a task that goes on after it was merged."""

from pathlib import Path

import pytest
from journeys.gitsite import commit, git
from journeys.site import Site, wait_until
from journeys.staff import await_supervisor, kill, nothing_is_taken, start_worker
from journeys.test_task_apart import WORK, begin, clone_of

FULL = "fatal: sha1 file write error: No space left on device"


def slow_git(site: Site, word: str, act: str) -> None:
    """Put a git before the real one that acts by a script where its words hold one word."""
    path = site.base / "bin" / "git"
    path.write_text(
        f'#!/bin/sh\ncase " $* " in *" {word} "*) {act} ;; esac\nexec /usr/bin/git "$@"\n'
    )
    path.chmod(0o755)


def once(site: Site, name: str) -> str:
    """Return a script that fails with a full disk the first time."""
    mark = site.base / name
    return f"if ! test -e {mark}; then touch {mark}; echo '{FULL}' >&2; exit 128; fi"


def resumed(site: Site) -> None:
    """Let the agents go on in a session: they only say that they do."""
    command = [str(site.base / "agent.sh"), "{session_id}"]
    executor = {"type": "command", "settings": {"command": command, "resume": command}}
    site.configure(
        {"agents": {"executors": {"mine": executor}, "bindings": {"implementer": "mine"}}}
    )


def test_a_disk_that_is_full_while_the_clone_is_made_is_waited_for(site: Site) -> None:
    begin(site, WORK)
    slow_git(site, "checkout", once(site, "was-full"))
    done = site.sow("agent", "spawn", "010", "--json").json
    assert (done["state"], done["attempt_count"]) == ("done", 2)
    shown = site.sow("job", "show", "1", "--json").json
    assert [attempt["cause"] for attempt in shown["attempts"]] == ["setup_prevented", "reported"]
    assert "No space left on device" in shown["attempts"][0]["reason"]
    assert site.task("010")["files_modified"] == ["code.txt", "new-010"]
    nothing_is_taken(site)


def test_a_disk_that_is_full_while_work_is_gathered_is_waited_for(site: Site) -> None:
    begin(site, WORK)
    slow_git(site, "fetch", once(site, "was-full"))
    done = site.sow("agent", "spawn", "010", "--json").json
    assert (done["attempt_count"], done["warnings"]) == (1, [])
    assert site.task("010")["files_modified"] == ["code.txt", "new-010"]
    assert "cannot be settled yet" in site.worker_logs()


@pytest.mark.one_of
@pytest.mark.parametrize("who", ["supervisor", "worker", "both"])
def test_a_kill_while_work_is_gathered_loses_nothing_and_brings_it_once(
    site: Site, who: str
) -> None:
    begin(site, WORK)
    begun, go = site.base / "begun", site.base / "go"
    slow_git(site, "fetch", f"touch {begun}; while ! test -e {go}; do sleep 0.05; done")
    caller = site.start("agent", "spawn", "010")
    wait_until(begun.exists, "its work is gathered")
    supervisor = await_supervisor(site, 1)
    for worker in site.workers() if who != "supervisor" else []:
        kill(worker["pid"])
    kill(*([supervisor] if who != "worker" else []))
    go.touch()
    out, err = caller.communicate(timeout=240)
    assert caller.returncode == 0, out + err
    task = site.task("010")
    assert (task["status"], task["files_modified"]) == ("needs_review", ["code.txt", "new-010"])
    log = git(site, "log", "--format=%s", f"main..{task['clone']['branch']}").splitlines()
    assert len(log) == 1, "it was committed once"
    assert len(site.job(1)["attempts"]) == 1
    git(site, "fsck", "--strict")
    nothing_is_taken(site)


def test_two_workers_make_clones_at_once(site: Site) -> None:
    there = 'touch "$SOW_ROOT/.sow/run/here-$SOW_TASK_ID"'
    both = 'test -e "$SOW_ROOT/.sow/run/here-010" && test -e "$SOW_ROOT/.sow/run/here-020"'
    setup = f"{there}; until {both}; do sleep 0.05; done"
    begin(site, WORK, {"setup": setup})
    site.sow("trust", "--yes")
    site.sow("queue", "pause")
    for task in ("010", "020"):
        site.sow("agent", "spawn", task, "--detach")
    site.sow("worker", "stop")
    workers = [start_worker(site, "--concurrency", "1") for _ in range(2)]
    site.sow("queue", "resume")
    site.sow("agent", "wait", "010", "020")
    assert {site.job(job)["attempts"][0]["worker"] for job in (1, 2)} == {
        worker.name for worker in workers
    }
    for task in ("010", "020"):
        assert site.task(task)["files_modified"] == ["code.txt", f"new-{task}"]
        git(site, "-C", str(clone_of(site, task)), "fsck", "--strict")
    git(site, "fsck", "--strict")


def test_of_a_merge_and_a_resume_of_one_task_at_once_one_is_refused(site: Site) -> None:
    begin(site, WORK)
    resumed(site)
    site.sow("agent", "spawn", "010")
    site.sow("review", "accept", "010", "--summary", "Good.")
    commit(site, "state")
    before = git(site, "rev-parse", "main")
    site.sow("queue", "pause")
    for _ in range(3):
        calls = [
            site.start("merge", "010", "--wait", "1s"),
            site.start("agent", "resume", "010", "Once more.", "--wait", "1s"),
        ]
        ends = [call.communicate(timeout=240) for call in calls]
        assert sorted(call.returncode for call in calls) == [4, 75], ends
        assert git(site, "rev-parse", "main") == before
        site.sow("agent", "cancel", "010")
        assert site.task("010")["status"] == "needs_review"
    site.sow("queue", "resume")
    site.sow("merge", "010")
    assert site.task("010")["status"] == "completed"
    nothing_is_taken(site)


def test_a_task_that_goes_on_after_its_merge_brings_only_what_is_new(site: Site) -> None:
    begin(site, WORK)
    site.sow("agent", "spawn", "010")
    site.sow("review", "accept", "010", "--summary", "Good.")
    commit(site, "state")
    site.sow("merge", "010")
    clone = Path(site.task("010")["clone"]["path"])
    assert not clone.exists()
    merged = git(site, "rev-parse", "main")

    site.sow("task", "reopen", "010")
    (site.base / "agent.sh").write_text(
        "#!/bin/sh\ncat >/dev/null\necho second >second\nsow task set status needs_review\n"
    )
    site.sow("agent", "spawn", "010")

    assert clone_of(site, "010") == clone
    assert (clone / "new-010").read_text() == "new of 010\n", "it has what was merged"
    assert site.task("010")["files_modified"] == ["second"]
    assert site.sow("task", "diff", "010", "--name-only").out == "second\n"
    site.sow("merge", "010", expect=4)  # it was accepted at another commit
    site.sow("review", "accept", "010", "--summary", "Good.")
    commit(site, "state again")
    site.sow("merge", "010")
    assert git(site, "show", "main:second") == "second\n"
    assert git(site, "show", "main:new-010") == "new of 010\n"
    subjects = git(site, "log", "--format=%s", f"{merged.strip()}..main")
    name = site.task("010")["name"]
    assert subjects.splitlines().count(f"010: {name}") == 1, subjects
    git(site, "fsck", "--strict")
    nothing_is_taken(site)
