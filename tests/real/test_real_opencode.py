"""What holds of OpenCode as a real build, besides what holds of each of these CLIs."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from executors.cli_bench import TAIL, Outcome, judge
from executors.executor_cases import CASES, CHOSEN, COMMANDS, Case
from native_trial import TASK, Trial
from opened_trial import by_native, reports
from sandbox import PATIENCE, end_of, read_lines

from sow.executors.base import Ending, LaunchRequest
from sow.executors.registry import make_executor
from sow.executors.session import Session
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Verb

pytestmark = [pytest.mark.real]

OTHER = "020"
STORE = "opencode/opencode.db"


def permit(trial: Trial, **permissions: Any) -> None:
    """Put permissions of the user's into the CLI's own settings: `agents` of one, or of all."""
    file = trial.home / ".config/opencode/opencode.json"
    settings = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**settings, **permissions}), encoding="utf-8")


def answers_of_tools(trial: Trial) -> list[str]:
    """Return what the tools of the last conversation have answered, oldest first."""
    messages = trial.asked()[-1]["body"]["messages"]
    return [str(each["content"]) for each in messages if each["role"] == "tool"]


@by_native("homes", "opencode")
@pytest.mark.parametrize("home", ["shared", "per-session"])
def test_the_first_two_at_once_in_a_new_home_both_succeed(trial: Trial, home: str) -> None:
    added = trial.sow("task", "add", "Try it too", "--agent", "implementer", "--id", OTHER)
    assert added.returncode == 0, added.stderr
    each = [{"if": f"tasks/{task}/", "answers": reports("needs_review")} for task in (TASK, OTHER)]
    script = {"id": "both", "of": each, "then": {"say": "That is all."}}
    (trial.records / "answers.json").write_text(json.dumps(script), encoding="utf-8")
    trial.configure(home=home)
    assert not list(trial.home.rglob("opencode.db")), "nobody has run it here"
    calls = [trial.start_sow("agent", "spawn", "implementer", task) for task in (TASK, OTHER)]
    for call in calls:
        done = end_of(call)
        assert done.returncode == 0, done.stdout + done.stderr
    first, second = trial.attempts(1), trial.attempts(2)
    assert len(first) == len(second) == 1, "neither was tried twice"
    assert first[0]["session_id"] != second[0]["session_id"]
    stores = list(trial.home.rglob(STORE))
    assert len(stores) == {"shared": 1, "per-session": 2}[home]
    assert (trial.home / ".local/share" / STORE).exists() is (home == "shared")


@by_native("money", "opencode")
def test_what_each_answer_costs_is_known(trial: Trial) -> None:
    trial.tell(*reports("paused", log="One"))
    assert trial.spawn().returncode == 0
    trial.tell(*reports("needs_review"))
    assert trial.resume("Go on.").returncode == 0
    posts = [line for line in read_lines(trial.records / "asked.jsonl") if line["body"]]
    assert len(posts) == len(trial.asked()) == 5, "and none for a title"
    first, second = trial.job(1), trial.job(2)
    assert first["cost_usd"] == pytest.approx(0.003), "three answers"
    assert second["cost_usd"] == pytest.approx(0.002)
    cost = trial.sow("cost")
    assert "$0.0050" in cost.stdout, cost.stdout
    assert "unknown" not in cost.stdout


@by_native("money", "opencode")
def test_a_budget_of_money_ends_it(trial: Trial) -> None:
    trial.tell(*[{"run": "sow task show"}] * 20, *reports("needs_review"))
    spawned = trial.spawn("--budget", "usd=0.002")
    assert spawned.returncode == 1, spawned.stdout + spawned.stderr
    [attempt] = trial.attempts()
    assert attempt["cause"] == "budget_reached", attempt
    assert trial.left() == {}


@by_native("own rules", "opencode")
def test_the_users_own_permissions_neither_add_nor_take_away(trial: Trial) -> None:
    bash = {"*": "ask", "date": "allow", "sow agent log *": "deny"}
    permit(
        trial,
        permission={"*": "ask", "bash": bash, "edit": "ask", "webfetch": "allow"},
        agent={"sow": {"permission": {"bash": {"uname *": "allow"}}}},
    )
    (trial.repository / ".env").write_text("SECRET=1", encoding="utf-8")
    inside = {"filePath": str(trial.repository / "made.txt"), "content": "made"}
    outside = {"filePath": str(trial.home / "made.txt"), "content": "made"}
    trial.tell(
        {"run": 'sow agent log "a; b" && sow task show'},
        {"run": "uname; sow agent log here"},
        {"call": "write", "with": inside},
        {"run": "date"},
        {"call": "write", "with": outside},
        {"call": "read", "with": {"filePath": str(trial.repository / ".env")}},
        *reports("needs_review"),
    )
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    refused = [
        "rule which prevents" in answer or "rejected" in answer
        for answer in answers_of_tools(trial)
    ]
    assert refused == [False, False, False, True, True, True, False]
    assert (trial.repository / "made.txt").read_text("utf-8") == "made"
    assert not (trial.home / "made.txt").exists()
    tools = [tool["function"]["name"] for tool in trial.asked()[-1]["body"]["tools"]]
    assert "webfetch" not in tools


@by_native("clone", "opencode")
def test_what_it_leaves_in_a_clone_stops_neither_merge_nor_removal(trial: Trial) -> None:
    made = {"run": "echo made > made.txt"}
    trial.configure(settings={"yolo_mode": True})
    trial.tell(made, *reports("needs_review"))
    spawned = trial.spawn("--clone")
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    clone = trial.sow("clone", "path", TASK).stdout.strip()
    assert "opencode" in trial.run("ls", f"{clone}/.git").stdout
    for words in (("review", "accept", TASK, "--summary", "As asked"), ("merge", TASK)):
        done = trial.sow(*words)
        assert done.returncode == 0, done.stdout + done.stderr
    assert not Path(clone).exists(), "a merge removes it"
    assert (trial.repository / "made.txt").read_text("utf-8") == "made\n"


@by_native("command lines", "opencode")
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.config.type is ExecutorType.OPENCODE],
    ids=lambda case: f"{case.verb}-{case.config.yolo_mode}",
)
def test_it_takes_the_command_line_of_the_table(trial: Trial, case: Case) -> None:
    permit(trial, model=trial.native.model)
    trial.tell({"run": "sow prompt guidance/implementer/base"}, {"run": "touch made"})
    begun = outcome_of(trial, case, Verb.SPAWN, None)
    session = begun.seen.session_id
    assert session is not None
    outcome = begun
    if case.verb is Verb.RESUME:
        trial.tell({"run": "sow prompt guidance/implementer/base"}, {"run": "touch made"})
        outcome = outcome_of(trial, case, Verb.RESUME, Session(session))
    assert outcome.ending.code == 0, outcome.ending.stderr_tail
    assert outcome.seen.session_id == session
    assert outcome.seen.tool_uses == 2
    assert (trial.repository / "made").exists() is case.config.yolo_mode
    assert outcome.seen.denied_tools == (() if case.config.yolo_mode else ("bash: touch made",))


def outcome_of(trial: Trial, case: Case, verb: Verb, session: Session | None) -> Outcome:
    """Run one launch of the case's executor and let the executor judge it."""
    executor = make_executor(case.config)
    request = LaunchRequest(
        session=session,
        prompt="Carry out task 010.",
        prompt_file=trial.records / "prompt.md",
        task_dir=trial.repository / TASK,  # its name is in the title of the session
        cwd=trial.repository,
        as_root=os.geteuid() == 0,
        commands=COMMANDS,
    )
    made = executor.spawn(request) if verb is Verb.SPAWN else executor.resume(request)
    if verb is case.verb:
        places = {str(trial.repository): "/repo", session.id if session else "": CHOSEN.id}
        assert tuple(places.get(word, word) for word in made.argv) == case.argv
        assert dict(made.env) == dict(case.env)
    done = trial.namespace.run(
        made.argv,
        input=made.stdin,
        cwd=trial.repository,
        env={**trial.environ, **made.env},
        timeout=PATIENCE,
    )
    ending = Ending(done.returncode, None, done.stderr[-TAIL:], done.stdout[-TAIL:])
    return judge(executor, ending, done.stdout.encode())
