"""Authors work on another host; their work is checked, reviewed and merged at the owner's."""

import os
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
import yaml
from journeys.gitsite import commit, git
from journeys.site import wait_until
from journeys.staff import start_worker
from journeys.two_checkouts import Pair, host_of, pair_at

AUTHOR = """
if [ -e .git/MERGE_HEAD ]; then
    cat shared.txt >conflict.txt
    printf 'by 010\\nby 020\\n' >shared.txt
    git add -A && git -c user.name=A -c user.email=a@b.example commit -qm Solve
fi
[ -e shared.txt ] || echo "by $SOW_TASK_ID" >shared.txt
echo "by $SOW_TASK_ID" >"$SOW_TASK_ID.txt"
sow task set status needs_review
"""
REVIEWER = """
test -f "$SOW_TASK_ID.txt" && test -f made && sow review accept "$SOW_TASK_ID" --summary Good.
"""
SECRET = "a secret of this machine\n"
SETTINGS = {
    "clones": {"setup": "cp .env made", "copy": [".env"]},
    "checks": {"unit": "grep -q secret made && ls | grep -q 0.txt", "default": ["unit"]},
}


@pytest.fixture
def pair(tmp_path: Path, postgres_server: postgres.Server) -> Iterator[Pair]:
    with pair_at(tmp_path, postgres_server) as made:
        begin(made)
        yield made


def begin(pair: Pair) -> None:
    """Begin a project whose authors work at the host, and whose reviewers work at the owner's."""
    scripts = {"author": AUTHOR, "reviewer": REVIEWER}
    serves = {"owner": ["judge"], "host": ["author"]}
    pair.begin_with_shell("010", "020", settings=SETTINGS, **scripts, **serves)
    for site in (pair.owner, pair.host):
        (site.root / ".env").write_text(SECRET)


def work_came_home(pair: Pair, task: str = "010") -> None:
    """Have the host's author do a task, whose work is at the owner's then."""
    pair.owner.sow("agent", "spawn", task, "--detach")
    start_worker(pair.host, "--drain").wait()
    assert "needs_review" in pair.owner.sow("agent", "wait", task).out
    assert not clone_of(pair, task).exists(), "its setup is left to whoever needs it"


def clone_of(pair: Pair, task: str) -> Path:
    return Path(pair.owner.task(task)["clone"]["path"])


def test_a_batch_ends_by_itself_whose_authors_work_on_another_host(pair: Pair) -> None:
    for site in (pair.owner, pair.host):
        site.sow("trust", "--yes")
    there, here = start_worker(pair.host), start_worker(pair.owner)
    done = pair.owner.sow("batch", "run", "010", "020", "--check", "--review", "--merge")
    assert "2 done" in done.out, (done, here.log_text)
    for task in ("010", "020"):
        assert git(pair.owner, "show", f"main:{task}.txt") == f"by {task}\n"
        found = pair.owner.task(task)
        assert (found["status"], found["check"]["passed"]) == ("completed", True)
    assert git(pair.owner, "show", "main:shared.txt") == "by 010\nby 020\n", "its agent solved it"
    assert "<<<<<<< " in git(pair.owner, "show", "main:conflict.txt"), "it lay in its clone there"
    at_home = {(verb, host_of(here)) for verb in ("review", "update", "merge")}
    ran = {(verb, host) for verb, host in pair.ran() if verb != "check"}
    assert ran == {("spawn", host_of(there)), *at_home}


def test_a_check_makes_the_clone_that_is_missing_and_is_held_until_its_setup_is_accepted(
    pair: Pair,
) -> None:
    pair.host.sow("trust", "--yes")
    work_came_home(pair)
    start_worker(pair.owner)
    held = pair.owner.sow("task", "check", "010", expect=75)
    assert "sow trust" in held.out + held.err
    assert not clone_of(pair, "010").exists()
    pair.owner.sow("trust", "--yes")
    assert pair.owner.sow("agent", "wait", "010").out.startswith("010 passed")
    found = pair.owner.task("010")["check"]
    assert (found["passed"], found.get("dirty", False)) == (True, False)
    assert found["commit"] == git(pair.owner, "rev-parse", pair.branch_of("010")).strip()
    assert (clone_of(pair, "010") / "made").read_text() == SECRET


def test_a_setup_that_fails_at_home_is_the_checks_reason_and_is_run_again(pair: Pair) -> None:
    for site in (pair.owner, pair.host):
        site.sow("trust", "--yes")
    work_came_home(pair)
    start_worker(pair.owner)
    fails = {**SETTINGS, "clones": {"setup": "false"}}
    (pair.owner.root / ".sow/config.yaml").write_text(yaml.safe_dump(fails))
    pair.owner.sow("trust", "--yes")
    failed = pair.owner.sow("task", "check", "010", expect=None)
    assert failed.code != 0
    assert "clones.setup failed (false): exit code 1" in failed.out + failed.err
    (pair.owner.root / ".sow/config.yaml").write_text(yaml.safe_dump(SETTINGS))
    pair.owner.sow("trust", "--yes")
    assert pair.owner.sow("task", "check", "010").out.startswith("010 passed")


def test_an_update_makes_the_clone_that_is_missing(pair: Pair) -> None:
    for site in (pair.owner, pair.host):
        site.sow("trust", "--yes")
    work_came_home(pair)
    (pair.owner.root / "more.txt").write_text("more\n")
    commit(pair.owner)
    start_worker(pair.owner)
    done = pair.owner.sow("batch", "run", "010", "--no-check", "--review", "--merge")
    assert "1 done" in done.out, done
    assert git(pair.owner, "show", "main:010.txt") == "by 010\n"
    assert "update" in {verb for verb, _ in pair.ran()}


def test_a_check_runs_on_another_host_and_its_outcome_comes_home(pair: Pair) -> None:
    pair.host.sow("trust", "--yes")
    work_came_home(pair)
    there = start_worker(pair.host)
    assert pair.owner.sow("task", "check", "010").out.startswith("010 passed")
    found = pair.owner.task("010")["check"]
    assert (found["passed"], found.get("dirty", False)) == (True, False)
    assert found["commit"] == git(pair.owner, "rev-parse", pair.branch_of("010")).strip()
    assert ("check", host_of(there)) in pair.ran()
    assert not clone_of(pair, "010").exists(), "nothing was made here for it"


def test_so_it_does_where_the_owner_s_role_queues_only(
    tmp_path: Path, postgres_server: postgres.Server
) -> None:
    with pair_at(tmp_path, postgres_server) as pair:
        pair.give_roles()
        begin(pair)
        pair.host.sow("trust", "--yes")
        work_came_home(pair)
        start_worker(pair.host)
        assert pair.owner.sow("task", "check", "010").out.startswith("010 passed")
        assert pair.owner.task("010")["check"]["passed"]


def test_a_red_check_of_another_host_has_its_last_lines_here(pair: Pair) -> None:
    red = {**SETTINGS, "checks": {"unit": "echo It is red; exit 3", "default": ["unit"]}}
    for site in (pair.owner, pair.host):
        (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(red))
    pair.host.sow("trust", "--yes")
    work_came_home(pair)
    start_worker(pair.host)
    assert "unit: exit code 3" in pair.owner.sow("task", "check", "010", expect=1).out
    (result,) = pair.owner.task("010")["check"]["results"]
    assert (result["passed"], result["lines"]) == (False, ["It is red"])


def test_a_host_with_another_command_line_checks_nothing(pair: Pair) -> None:
    other = {**SETTINGS, "checks": {"unit": "true", "default": ["unit"]}}
    (pair.host.root / ".sow/config.yaml").write_text(yaml.safe_dump(other))
    pair.host.sow("trust", "--yes")
    work_came_home(pair)
    start_worker(pair.host)
    failed = pair.owner.sow("task", "check", "010", expect=None)
    assert failed.code not in (0, 75)
    assert "another command line for the check unit" in failed.out + failed.err
    assert "check" not in pair.owner.task("010")


def test_a_host_without_the_check_says_where_it_is_to_be_brought_up_to_date(pair: Pair) -> None:
    pair.host.sow("trust", "--yes")
    work_came_home(pair)
    without = {key: value for key, value in SETTINGS.items() if key != "checks"}
    path = pair.host.root / ".sow/config.yaml"
    path.write_text(yaml.safe_dump(without))
    start_worker(pair.host)
    failed = pair.owner.sow("task", "check", "010", expect=None)
    where = f"host {os.uname().nodename} has no check unit in {path}: "
    assert where in failed.out + failed.err
    assert "`git pull` there" in failed.out + failed.err


def test_a_host_that_has_not_accepted_a_check_says_where_and_goes_on_once_it_has(
    pair: Pair,
) -> None:
    pair.host.sow("trust", "--yes")
    work_came_home(pair)
    new = {**SETTINGS, "checks": {"unit": "ls", "default": ["unit"]}}
    for site in (pair.owner, pair.host):
        (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(new))
    pair.owner.sow("trust", "--yes")
    start_worker(pair.host)
    pair.owner.sow("task", "check", "010", "--detach")
    wait_until(lambda: pair.owner.job(2)["state"] == "backoff", "the host waits for its user")
    path = pair.host.root / ".sow/config.yaml"
    reason = (
        f"cannot be started now on host {os.uname().nodename}: the command lines in {path} have"
        f" changed since they were accepted; `sow trust` in {pair.host.root} on that host"
    )
    assert reason in pair.owner.sow("job", "explain", "2").out
    assert pair.host.sow("trust", "--yes").out.endswith("Accepted.\n")
    assert pair.owner.sow("agent", "wait", "010").out.startswith("010 passed")


def test_what_a_clone_here_has_besides_its_branch_is_checked_here(pair: Pair) -> None:
    for site in (pair.owner, pair.host):
        site.sow("trust", "--yes")
    work_came_home(pair)
    here = start_worker(pair.owner)
    pair.owner.sow("task", "check", "010")
    (clone_of(pair, "010") / "more.txt").write_text("a person's\n")
    pair.owner.sow("task", "check", "010")
    assert pair.owner.task("010")["check"]["dirty"]
    assert {host for verb, host in pair.ran() if verb == "check"} == {host_of(here)}
    travels = {job for (job,) in pair.ask("select job_id from travel")}
    assert travels == {1, 2}, "the author's job and the first check"
