"""Every setting takes effect: proved by the argv and the environment that an agent received.

lessons.md 2, of the earlier implementation: "`config show` looked right", and
no setting reached the process. What a setting does to each CLI's argv in every
combination is `tests/executors`' to say; that it arrives, on spawn, retry and
resume alike, is said here.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest
from capabilities import skip_or_fail
from journeys.callers import all_jobs, await_runs, await_state, exists, gate, open_gate
from journeys.site import SOW, Result, Site, wait_until
from standins import overlapping, read_runs

from sow.schema.job import JobState

STATUS = {"sow": ["task", "set", "status", "needs_review"]}
REPORT = [STATUS]
CRASH = [{"say": "working"}, {"crash": 3}]
STREAM = ("-p", "--output-format", "stream-json", "--verbose")


def claude(**section: Any) -> dict[str, Any]:
    return {"agents": {"executors": {"claude-code": section}}}


def spawn(site: Site, task: str = "010", *, expect: int = 0, **environ: str) -> Result:
    return site.sow("agent", "spawn", "implementer", task, env=environ, expect=expect)


def test_yolo_model_and_custom_args_on_spawn_retry_and_resume(site: Site) -> None:
    """The earlier Resume() passed neither yolo nor custom args (agent-clis.md)."""
    site.project("010")
    site.script([CRASH, REPORT])
    site.configure(
        claude(settings={"yolo_mode": True, "model": "opus"}, custom_args=["--effort", "high"])
    )
    spawn(site)
    site.sow("agent", "resume", "010", "go on")
    session = site.task("010")["session_id"]
    before = (*STREAM, "--dangerously-skip-permissions", "--model", "opus")
    runs = [(run.verb, without_settings(run.argv)) for run in read_runs(site.root)]
    assert runs == [
        ("spawn", (*before, "--session-id", session, "--effort", "high")),
        ("resume", (*before, "--resume", session, "--effort", "high")),
        ("resume", (*before, "--resume", session, "--effort", "high")),
    ]


def without_settings(argv: Sequence[str]) -> tuple[str, ...]:
    """Return a command line without the rules of what its agent is denied, which it has once."""
    assert argv.count("--settings") == 1
    at = argv.index("--settings")
    return (*argv[:at], *argv[at + 2 :])


def test_they_are_kept_by_a_retry_that_spawns_again(site: Site) -> None:
    """DESIGN §7: a session that never started is spawned again, under the same id."""
    site.project("010")
    site.script([[{"forget_session": True}, {"crash": 3}], REPORT])
    site.configure(claude(settings={"yolo_mode": True, "model": "opus"}))
    spawn(site)
    first, *others = read_runs(site.root)
    assert "--model" in first.argv
    assert {run.argv for run in others} <= {
        first.argv,
        tuple("--resume" if word == "--session-id" else word for word in first.argv),
    }
    assert others[-1].session_id == first.session_id


def test_without_settings_nothing_but_what_an_agent_needs_is_allowed(site: Site) -> None:
    """Seed 000: "All agents use Claude Code executor … `yolo_mode: false` (safe default)"."""
    site.project("010")
    site.script([[{"shell": "make check"}, {"write": ["done.txt", "yes"]}, STATUS]])
    outcome = site.sow("agent", "spawn", "implementer", "010", "--json").json
    (run,) = read_runs(site.root)
    assert "--permission-mode" in run.argv
    assert "--model" not in run.argv
    assert (site.root / "done.txt").read_text() == "yes"
    assert outcome["denied_tools"] == ["Bash(make check)"]
    assert outcome["exit_code"] == 0


def test_allowed_tools_let_an_agent_run_more(site: Site) -> None:
    """DESIGN §7: "plus `settings.allowed_tools`"; on the resume as well."""
    site.project("010")
    site.script([[{"shell": "make --version"}, STATUS]])
    site.configure(claude(settings={"allowed_tools": ["Bash(make:*)"]}))
    for words in (["spawn", "implementer", "010"], ["resume", "010", "go on"]):
        outcome = site.sow("agent", *words, "--json").json
        assert outcome["denied_tools"] == []
    assert all(run.denied == () for run in read_runs(site.root))


def test_denied_tools_and_no_status_name_the_setting_to_add(site: Site) -> None:
    """DESIGN §7: "denied and no status: failed, printing the setting to add"."""
    site.project("010")
    site.script([[{"shell": "make check"}]])
    failed = spawn(site, expect=1)
    setting = "agents.executors.claude-code.settings.allowed_tools"
    assert failed.out.startswith("010 failed (")
    assert "make check" in failed.out
    assert setting in failed.out
    assert site.task("010")["status"] == "failed"
    assert setting in (site.task_folder("010") / "log.md").read_text()


def test_bindings_choose_the_program_of_each_role(site: Site) -> None:
    """Seed 000, "Mixed Executor Configuration": Claude for one role, Cursor for another."""
    site.project("010", "020", "030")
    site.script([REPORT])
    site.configure(
        {
            "agents": {
                "executors": {
                    "claude-opus": {"type": "claude", "settings": {"model": "opus"}},
                    "cursor": {"settings": {"yolo_mode": True}},
                },
                "bindings": {"implementer": "cursor", "architect": "claude-opus"},
            }
        }
    )
    for agent, task in (("implementer", "010"), ("architect", "020"), ("reviewer", "030")):
        site.sow("agent", "spawn", agent, task, "--reassign")
    cursor, opus, default = read_runs(site.root)
    assert [run.env["SOW_EXECUTOR"] for run in (cursor, opus, default)] == [
        "cursor",
        "claude-opus",
        "claude-code",
    ]
    assert (cursor.cli, opus.cli, default.cli) == ("cursor-agent", "claude", "claude")
    assert ("--model" in opus.argv, "--model" in default.argv) == (True, False)


def test_a_variable_wins_over_the_file_for_its_role_alone(site: Site) -> None:
    """Seed 000, "Configuration Priority"; the hyphen of a role is an underscore."""
    site.project("010", "020")
    site.script([REPORT])
    site.configure({"agents": {"bindings": {"security-reviewer": "cursor"}}})
    environ = {"SOW_AGENTS_SECURITY_REVIEWER": "windsurf"}
    site.sow("agent", "spawn", "security-reviewer", "010", "--reassign", env=environ)
    site.sow("agent", "spawn", "reviewer", "020", "--reassign", env=environ)
    assert [run.cli for run in read_runs(site.root)] == ["windsurf", "claude"]


def test_a_variable_of_the_worker_binds_nothing(site: Site) -> None:
    """DESIGN §5: "The caller resolves"; the worker runs what stands in the job."""
    site.project("010")
    site.script([REPORT])
    site.start("worker", env={"SOW_AGENTS_IMPLEMENTER": "windsurf"})
    wait_until(site.workers, "the worker is on record")
    spawn(site)
    (run,) = read_runs(site.root)
    assert run.cli == "claude"


def test_another_file_is_named_by_sow_config(site: Site) -> None:
    """docs/configuration.md: "the file that `SOW_CONFIG` names", for caller and worker alike."""
    site.project("010", "020")
    site.script([REPORT])
    other = site.base / "other.yaml"
    content = claude(settings={"model": "haiku"}, env={"API_KEY": "key"})
    other.write_text(json.dumps({**content, "worker": {"concurrency": 1}}))
    site.sow("agent", "spawn", "implementer", "010", "020", env={"SOW_CONFIG": str(other)})
    runs = read_runs(site.root)
    assert all("haiku" in run.argv and "API_KEY" in run.env_names for run in runs)
    assert overlapping(runs) == []


def record(site: Site, names: list[str], runs: list[list[dict[str, Any]]]) -> None:
    """Write a script whose log shows the values of these variables."""
    (site.root / ".standin").mkdir(exist_ok=True)
    content = {"runs": runs, "record_env": names}
    (site.root / ".standin/default.json").write_text(json.dumps(content))


def values(site: Site, name: str) -> list[str | None]:
    return [run.env.get(name) for run in read_runs(site.root)]


def test_env_on_spawn_retry_and_resume(site: Site) -> None:
    """`env` of the executor, and of that executor only."""
    site.project("010", "020")
    record(site, ["MODE"], [CRASH, REPORT])
    site.configure(claude(env={"MODE": "strict"}))
    spawn(site)
    site.sow("agent", "resume", "010", "go on")
    spawn(site, "020", SOW_AGENTS_IMPLEMENTER="windsurf")
    assert values(site, "MODE") == ["strict", "strict", "strict", None, None]


def test_env_of_a_name_is_the_workers_not_the_callers(site: Site) -> None:
    """DESIGN §7: "values may be ${NAME} of the worker's environment"."""
    site.project("010")
    record(site, ["API_KEY"], [REPORT])
    site.configure(claude(env={"API_KEY": "Bearer ${TOKEN}!"}))
    site.start("worker", env={"TOKEN": "of-the-worker"})
    wait_until(site.workers, "the worker is on record")
    spawn(site, TOKEN="of-the-caller")
    assert values(site, "API_KEY") == ["Bearer of-the-worker!"]


def test_env_is_read_anew_for_each_attempt(site: Site) -> None:
    """DESIGN §5: never stored; "the worker reads those from that file": a changed key is used."""
    site.project("010")
    record(site, ["API_KEY"], [[gate("key"), {"crash": 3}], REPORT])
    site.configure(claude(env={"API_KEY": "old"}))
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    await_runs(site)
    site.configure(claude(env={"API_KEY": "new"}))
    open_gate(site, "key")
    site.sow("agent", "wait", "010")
    assert values(site, "API_KEY") == ["old", "new"]


def test_what_shapes_the_argv_is_in_the_users_file_at_each_start(site: Site) -> None:
    """docs/trust.md: "What is started stands in your configuration alone"; no record decides it."""
    site.project("010")
    site.script([[gate("model"), {"crash": 3}], REPORT])
    site.configure(claude(settings={"model": "opus"}))
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    await_runs(site)
    site.configure(claude(settings={"model": "haiku"}))
    open_gate(site, "model")
    site.sow("agent", "wait", "010")
    site.sow("agent", "resume", "010", "go on")
    models = [run.argv[run.argv.index("--model") + 1] for run in read_runs(site.root)]
    assert models == ["opus", "haiku", "haiku"]


@pytest.mark.parametrize("fault", ["a name that is not set", "a file that is gone"])
def test_env_that_cannot_be_had_is_a_fault_of_the_configuration(site: Site, fault: str) -> None:
    """DESIGN §5: exit 3; the job failed before its agent started, and says file and reason."""
    site.project("010")
    site.configure(claude(env={"API_KEY": "${NOT_SET_ANYWHERE}"}))
    if fault == "a name that is not set":
        failed = spawn(site, expect=3)
        assert "NOT_SET_ANYWHERE" in failed.out
    else:
        worker = {"worker": {"autostart": False}}
        site.configure({**claude(env={"API_KEY": "key"}), **worker})
        site.sow("agent", "spawn", "implementer", "010", "--detach")
        site.configure({})
        site.sow("worker", "--drain")
        failed = site.sow("agent", "wait", "010", expect=3)
        assert "API_KEY" in failed.out
    assert "config.yaml" in failed.out
    assert read_runs(site.root) == []
    assert site.task("010")["status"] == "failed"


def failing(site: Site, retries: int | None) -> int:
    """Spawn an agent that always crashes; return how often it ran."""
    site.project("010")
    site.script([CRASH])
    site.configure(claude(**({} if retries is None else {"retries": retries})))
    failed = spawn(site, expect=1)
    assert failed.out.startswith("010 failed (")
    return len(read_runs(site.root))


@pytest.mark.parametrize(("retries", "runs"), [(0, 1), (1, 2)])
def test_retries(site: Site, retries: int, runs: int) -> None:
    """DESIGN §8: "at most `retries`"."""
    assert failing(site, retries) == runs


def test_timeout(site: Site) -> None:
    """DESIGN §8, timed out: "tree ended; failed"; the file's `timeout: 1s` is what ends it."""
    site.project("010")
    site.script([[{"say": "working"}, {"hang": True}]])
    site.configure(claude(timeout="1s"))
    outcome = site.sow("agent", "spawn", "implementer", "010", "--json", expect=1).json
    (run,) = read_runs(site.root)
    assert (outcome["cause"], outcome["status"]) == ("timed_out", "failed")
    assert "timed out after 1" in outcome["reason"]
    assert not exists(run.pid)


def test_stall_timeout(site: Site) -> None:
    """DESIGN §8, stalled: "tree ended; resume once"."""
    site.project("010")
    site.script([[{"say": "working"}, {"hang": True}], REPORT])
    site.configure(claude(stall_timeout="2s"))
    outcome = site.sow("agent", "spawn", "implementer", "010", "--json").json
    first, second = read_runs(site.root)
    assert (outcome["status"], outcome["attempt_count"]) == ("needs_review", 2)
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    assert not exists(first.pid)


def test_max_parallel_holds_back_its_own_executors_jobs_only(site: Site) -> None:
    """DESIGN §8: "a full executor never blocks another's jobs"."""
    site.project("010", "020", "030", "040")
    site.script([[gate("go"), *REPORT]])
    site.script([REPORT], task="040")
    site.configure(claude(max_parallel=2))
    site.sow("agent", "spawn", "implementer", "010", "020", "030", "--detach")
    await_runs(site, 2)
    spawn(site, "040", SOW_AGENTS_IMPLEMENTER="windsurf")
    # a worker claims the oldest job that may run, so 030 was passed over for 040
    assert sorted(run.task for run in read_runs(site.root)) == ["010", "020", "040"]
    open_gate(site, "go")
    site.sow("agent", "wait", "010", "020", "030")
    by_claude = [run for run in read_runs(site.root) if run.cli == "claude"]
    pairs = [{first.task, second.task} for first, second in overlapping(by_claude)]
    assert {"010", "020"} in pairs
    assert len(pairs) < 3  # all three were never there at once


@pytest.mark.parametrize(("user", "repository", "runs_up_to"), [(None, 2, 2), (3, 2, 3)])
def test_concurrency_of_the_user_wins_over_the_repositorys(
    site: Site, user: int | None, repository: int, runs_up_to: int
) -> None:
    """DESIGN §7: "`worker: {concurrency …}` also in .sow/config.yaml; the user's wins"."""
    tasks = ["010", "020", "030", "040"]
    site.project(*tasks)
    site.script([[gate("go"), *REPORT]])
    site.configure({} if user is None else {"worker": {"concurrency": user}})
    settings = {"worker": {"concurrency": repository}}
    (site.root / ".sow/config.yaml").write_text(json.dumps(settings))
    site.sow("agent", "spawn", "implementer", *tasks, "--detach")
    await_runs(site, runs_up_to)
    (worker,) = site.workers()
    assert worker["concurrency"] == runs_up_to
    states = [job.state.value for job in all_jobs(site)]
    assert states == ["running"] * runs_up_to + ["queued"] * (4 - runs_up_to)
    open_gate(site, "go")
    site.sow("agent", "wait", *tasks)


def test_autostart_off(site: Site) -> None:
    """DESIGN §5, exit 6: "no worker and autostart off"; the job is queued all the same."""
    site.project("010")
    site.script([REPORT])
    site.configure({"worker": {"autostart": False}})
    ended = spawn(site, expect=6)
    assert "worker.autostart is off" in ended.err
    assert site.workers() == []
    site.sow("worker", "--drain")
    assert site.task("010")["status"] == "needs_review"


def test_on_quota(site: Site) -> None:
    """DESIGN §8: "parked until the reset time …; `retry.on_quota: false` turns it off"."""
    site.project("010", "020")
    site.script([[{"rate_limit": 0, "in": 3600}, {"error_result": 429}]])
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    await_state(site, "010", JobState.PARKED)
    site.sow("agent", "cancel", "010")
    site.sow("worker", "stop")
    site.configure({"retry": {"on_quota": False}})
    failed = spawn(site, "020", expect=1)
    assert "429" in failed.out
    assert [run.task for run in read_runs(site.root)] == ["010", "020"]


@pytest.mark.parametrize("setting", [{"keep_size": "0B"}, {"keep_for": "1ms"}])
def test_what_is_kept_of_old_jobs(site: Site, setting: dict[str, str]) -> None:
    """docs/configuration.md: "how long the records … are kept", "how much disk space"."""
    site.project("010")
    site.script([REPORT])
    spawn(site)
    site.sow("task", "set", "010", "status", "completed")
    assert site.sow("job", "prune").out == "Nothing to prune.\n"
    site.configure({"worker": setting})
    assert site.sow("job", "prune", "--json").json["jobs"] == [1]


@pytest.mark.parametrize("yolo", [True, False])
def test_is_sandbox_only_for_root_with_yolo(site: Site, yolo: bool) -> None:
    """DESIGN §7: "claude as root also needs `IS_SANDBOX=1`: set it only when root"."""
    site.project("010")
    site.script([REPORT])
    site.configure(claude(settings={"yolo_mode": yolo}))
    spawn(site)
    site.sow("agent", "resume", "010", "go on")
    expected = ["1", "1"] if yolo and os.geteuid() == 0 else [None, None]
    assert values(site, "IS_SANDBOX") == expected


AS_SOMEBODY = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
"""Runs a command in a user namespace, where whoever starts it is the user 1000."""


def test_is_sandbox_is_not_set_for_anybody_but_root(site: Site) -> None:
    """The same with yolo for another user, who may skip permissions without it."""
    if subprocess.run([*AS_SOMEBODY, "true"], capture_output=True, check=False).returncode != 0:
        skip_or_fail("needs user namespaces, to be somebody else than root")
    site.project("010")
    site.script([REPORT])
    site.configure(claude(settings={"yolo_mode": True}))
    done = subprocess.run(
        [*AS_SOMEBODY, str(SOW), "agent", "spawn", "implementer", "010"],
        cwd=site.root,
        env=site.environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, (done, site.worker_logs())
    assert values(site, "IS_SANDBOX") == [None]
    assert "--dangerously-skip-permissions" in read_runs(site.root)[0].argv
