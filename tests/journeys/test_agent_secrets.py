"""Agents with secrets: no file, record or output of sow holds a value, whoever dies meanwhile.

Inside of a sandbox too, where what an agent says to sow goes through the socket for reports.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from capabilities import skip_or_fail
from journeys.callers import await_state
from journeys.gitsite import commit, git, make_repository
from journeys.site import Result, Site, wait_until
from journeys.staff import nothing_is_taken, shell_executor

from sow.sandbox.probe import SandboxUnavailable, usable
from sow.schema.job import JobState

BY_FILE = "sk-file-4711-ö"
BY_COMMAND = "sk-command-4712"
VALUES = (BY_FILE, BY_COMMAND)

TALKATIVE = """
cat >/dev/null
sow agent log "the key is $API_KEY" --body "and $TOKEN"
sow agent log "$(sow config show; env | grep -v SOW_SECRETS)" >/dev/null
echo "one: $API_KEY"; echo "two: $TOKEN" >&2
sow task set status needs_review
"""
SLOW = """
cat >/dev/null
echo "begun $API_KEY"
touch "$SOW_ROOT/begun"
while [ ! -e "$SOW_ROOT/go" ]; do sleep 0.02; done
echo "ended $TOKEN"
sow task set status needs_review
"""


def begin(site: Site, script: str, *tasks: str, **keys: Any) -> None:
    """Make a project whose agents run a script and get two secrets."""
    site.project(*(tasks or ("010",)))
    secret = site.base / "api-key"
    secret.write_text(f"{BY_FILE}\n")
    secret.chmod(0o600)
    executor = {
        **shell_executor(site, "agent", script),
        "env_files": {"API_KEY": str(secret)},
        "env_commands": {"TOKEN": f"echo {BY_COMMAND}"},
        **keys,
    }
    site.configure(
        {"agents": {"executors": {"mine": executor}, "bindings": {"implementer": "mine"}}}
    )


@pytest.fixture(params=["none", "bwrap"])
def sandbox(request: pytest.FixtureRequest) -> str:
    """Return the word of an executor's `sandbox`, of one that can be made here."""
    word: str = request.param
    if word == "bwrap":
        try:
            usable("this test")
        except SandboxUnavailable as error:
            skip_or_fail(error.message)
    return word


def holding(*folders: Path) -> list[str]:
    """Return which files below folders hold a value."""
    return [
        str(path)
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and any(value.encode() in path.read_bytes() for value in VALUES)
    ]


def texts(*results: Result) -> str:
    return "".join(result.out + result.err for result in results)


def blanking_of(name: str) -> str:
    """Return what is told of a value that an agent has printed or reported."""
    return f"the agent has printed or reported the value of {name}; [{name}] stands in its place"


@pytest.mark.one_of
def test_no_value_is_kept_or_shown_and_each_is_told_once(site: Site, sandbox: str) -> None:
    begin(site, TALKATIVE, sandbox=sandbox)
    shown = texts(
        site.sow("agent", "spawn", "implementer", "010", "--verbose"),
        site.sow("job", "show", "1", "--json"),
        site.sow("job", "logs", "1"),
        site.sow("job", "logs", "1", "--stderr"),
        site.sow("task", "show", "010", "--json"),
        site.sow("log"),
        site.sow("config", "show"),
        site.sow("report"),
        site.sow("worker", "logs"),
    )
    assert holding(site.root) == []
    assert not any(value in shown for value in VALUES)
    attempt = site.root / ".sow/run/jobs/1/1"
    assert "one: [API_KEY]\n" in (attempt / "output.jsonl").read_text()
    assert "two: [TOKEN]\n" in (attempt / "stderr.log").read_text()
    log = (site.task_folder("010") / "log.md").read_text()
    assert "the key is [API_KEY]" in log
    for name in ("API_KEY", "TOKEN"):
        assert log.count(blanking_of(name)) == 1
        assert site.job(1)["warnings"].count(blanking_of(name)) == 1


QUIET = """
cat >/dev/null
sow agent log "the key is $API_KEY"
sow agent log "More" --body "and $TOKEN"
sow task set status needs_review
"""


def test_what_it_reports_is_told_where_it_has_printed_nothing(site: Site, sandbox: str) -> None:
    """The relay sees none of it: what a command of sow has replaced is noted by that command."""
    begin(site, QUIET, sandbox=sandbox)
    site.sow("agent", "spawn", "implementer", "010")
    log = (site.task_folder("010") / "log.md").read_text()
    assert "the key is [API_KEY]" in log
    for name in ("API_KEY", "TOKEN"):
        assert site.job(1)["warnings"].count(blanking_of(name)) == 1
    assert holding(site.root) == []


EVADING = """
cat >/dev/null
while [ -n "$SOW_REPORT_SOCKET" ] && [ ! -S "$SOW_REPORT_SOCKET" ]; do sleep 0.05; done
env -u SOW_SECRETS sow agent log "the key is $API_KEY"
sow task set status needs_review
"""


def test_what_evades_the_replacing_is_found_in_the_log(site: Site, sandbox: str) -> None:
    begin(site, EVADING, sandbox=sandbox)
    site.sow("agent", "spawn", "implementer", "010")
    warnings = " ".join(site.job(1)["warnings"])
    assert "the value of API_KEY is in its work: " in warnings
    assert "/010/log.md" in warnings


ALONE = """
cat >/dev/null
echo begun
while [ ! -e go ]; do sleep 0.05; done
sow agent log "the key is $API_KEY" 2>/dev/null
sow task set status needs_review 2>/dev/null
echo ended
"""


@pytest.mark.one_of
def test_what_is_reported_inside_while_no_worker_lives_is_told_too(
    site: Site, sandbox: str
) -> None:
    begin(site, ALONE, sandbox=sandbox)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    output = site.root / ".sow/run/jobs/1/1/output.jsonl"
    wait_until(lambda: output.exists() and "begun" in output.read_text(), "the agent runs")
    for worker in site.workers():
        site.kill(worker["pid"])
    (site.root / "go").touch()
    wait_until(lambda: "ended" in output.read_text(), "the agent has reported")
    assert holding(site.root) == []
    site.sow("agent", "wait", "010", expect=None)
    await_state(site, "010", JobState.DONE)
    assert site.task("010")["status"] == "needs_review"
    assert "the key is [API_KEY]" in (site.task_folder("010") / "log.md").read_text()
    assert blanking_of("API_KEY") in site.job(1)["warnings"]
    assert holding(site.root) == []


def test_a_text_on_standard_input_is_blanked_too(site: Site) -> None:
    site.project("010")
    env = {"SOW_SECRETS": "API_KEY", "API_KEY": BY_FILE}
    done = site.sow("feedback", "add", "--file", "-", stdin=f"The key is {BY_FILE}.", env=env)
    assert "sow writes [API_KEY] instead" in done.err
    assert holding(site.root) == []
    assert "The key is [API_KEY]." in site.sow("feedback", "list", "--json").out


def test_what_runs_has_no_value_in_its_command_line(site: Site) -> None:
    site.forks = False
    begin(site, SLOW)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until((site.root / "begun").exists, "the agent runs")
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(value.encode() in line for value in VALUES for line in lines)
    (site.root / "go").touch()
    site.sow("agent", "wait", "010")
    assert holding(site.root) == []


def test_a_dry_run_runs_no_command_and_names_the_variables(site: Site) -> None:
    begin(site, SLOW, env_commands={"TOKEN": f"touch {site.base}/ran; echo {BY_COMMAND}"})
    preview = site.sow("agent", "spawn", "implementer", "010", "--dry-run", "--json").json
    assert {"API_KEY", "TOKEN", "SOW_SECRETS"} <= set(preview["env_names"])
    assert not (site.base / "ran").exists()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"env_commands": {"TOKEN": "exit 3"}},
            "the command of env_commands.TOKEN gives no secret: it ended with exit code 3",
        ),
        (
            {"env_files": {"API_KEY": "/does/not/exist"}},
            "agents.executors.mine.env_files.API_KEY: /does/not/exist: there is no such file",
        ),
    ],
)
def test_a_secret_that_cannot_be_had_ends_the_start(
    site: Site, keys: dict[str, Any], words: str
) -> None:
    begin(site, "touch $SOW_ROOT/began", **keys)
    ended = site.sow("agent", "spawn", "implementer", "010", expect=3)
    assert words in ended.err + ended.out
    assert not (site.root / "began").exists()
    assert site.job(1)["cause"] == "configuration"
    assert site.job(1)["warnings"] == [], "there is no work that was not searched"
    nothing_is_taken(site)


def relay_of(site: Site) -> dict[str, int]:
    started = site.root / ".sow/run/jobs/1/1/started.json"
    wait_until(started.exists, "the agent is started")
    found: dict[str, int] = json.loads(started.read_text())
    return found


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


@pytest.mark.one_of
@pytest.mark.parametrize("dead", ["worker", "supervisor", "relay", "all of them"])
def test_nothing_comes_out_whoever_is_killed(site: Site, dead: str) -> None:
    site.forks = False
    begin(site, SLOW)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until((site.root / "begun").exists, "the agent runs")
    started = relay_of(site)
    pids = {
        "worker": [each["pid"] for each in site.workers()],
        "supervisor": [parent_of(started["agent_pid"])],
        "relay": [started["relay_pid"]],
    }
    everybody = [pid for each in pids.values() for pid in each]
    for pid in everybody if dead == "all of them" else pids[dead]:
        os.kill(pid, signal.SIGKILL)
    (site.root / "go").touch()
    site.sow("agent", "wait", "010", expect=None)
    await_state(site, "010", JobState.DONE)
    assert site.task("010")["status"] == "needs_review"
    assert holding(site.root) == []
    if dead in ("worker", "supervisor"):
        text = (site.root / ".sow/run/jobs/1/1/output.jsonl").read_text()
        assert text.startswith("begun [API_KEY]\nended [TOKEN]\n")


WORK = """
cat >/dev/null
echo "key = $API_KEY" >settings.ini
git add -A && git commit -q -m "Use $TOKEN"
git rm -q settings.ini && git commit -q -m "No more"
echo "key = $TOKEN" >left.ini
echo clean >clean.txt
sow task set status needs_review
"""


@pytest.mark.one_of
@pytest.mark.parametrize(
    ("use", "sandbox"),
    [("never", "none"), ("always", "none"), ("always", "bwrap")],
    indirect=["sandbox"],
)
def test_the_work_is_searched_and_the_files_are_named(site: Site, use: str, sandbox: str) -> None:
    make_repository(site)
    begin(site, WORK, sandbox=sandbox)
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"clones": {"use": use}}))
    git(site, "config", "user.name", "A")
    git(site, "config", "user.email", "a@example.org")
    commit(site, "a project")
    env = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "A")
    env |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@example.org")
    site.sow("agent", "spawn", "implementer", "010", env=env)
    warnings = " ".join(site.job(1)["warnings"])
    assert "the value of API_KEY is in its work: settings.ini" in warnings
    assert "the value of TOKEN is in its work: " in warnings
    assert "left.ini" in warnings
    assert "the message of " in warnings
    assert "clean.txt" not in warnings
    assert "settings.ini" in (site.task_folder("010") / "log.md").read_text()


def test_the_setup_of_a_clone_gets_no_secret(site: Site) -> None:
    make_repository(site)
    begin(site, "cat >/dev/null; echo $API_KEY; sow task set status needs_review")
    settings = {"use": "always", "setup": 'test -z "$API_KEY$TOKEN" && env'}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"clones": settings}))
    commit(site, "a project")
    site.sow("trust", "--yes")
    site.sow("agent", "spawn", "implementer", "010")
    assert holding(site.root) == []
    text = (site.root / ".sow/run/jobs/1/1/output.jsonl").read_text()
    assert "[API_KEY]\n" in text


NESTED = """
cat >/dev/null
env >"$SOW_ROOT/env-$SOW_TASK_ID"
if [ "$SOW_TASK_ID" = 010 ]; then sow agent spawn implementer 020 >/dev/null; fi
sow task set status needs_review
"""


def test_what_is_inherited_is_listed_and_secrets_are_not_handed_on(site: Site) -> None:
    begin(site, NESTED, "010", "020", env_inherit=["MINE"])
    plain = shell_executor(site, "other", NESTED)
    content = yaml.safe_load(site.config_file.read_text())
    content["agents"]["executors"]["other"] = plain
    content["agents"]["bindings"] = {"orchestrator": "mine", "implementer": "other"}
    site.configure(content)
    site.add_tasks("030", agent="orchestrator")
    text = NESTED.replace("= 010", "= 030")
    content["agents"]["executors"]["mine"]["settings"] = shell_executor(site, "agent", text)[
        "settings"
    ]
    site.configure(content)
    site.sow("agent", "spawn", "orchestrator", "030", env={"MINE": "1", "CLOUD_TOKEN": "x"})
    names = {
        task: {
            line.partition("=")[0] for line in (site.root / f"env-{task}").read_text().splitlines()
        }
        for task in ("030", "020")
    }
    assert {"MINE", "API_KEY", "TOKEN", "PATH", "HOME", "SOW_TASK_ID"} <= names["030"]
    assert "CLOUD_TOKEN" not in names["030"]
    assert "CLOUD_TOKEN" in names["020"]  # of another executor, which inherits all
    assert not {"API_KEY", "TOKEN", "SOW_SECRETS"} & names["020"]
