"""The agent CLIs besides Claude Code by executors of their own: what sow promises of these alone.

What it promises of a CLI however it is driven is tried in `test_real_agents`. Of codex, gemini,
opencode, qwen and copilot alike (`by_native`):

| promise | test |
| --- | --- |
| a denied command | `test_what_its_role_may_not_do_…` |
| a prompt of 1 MB | `test_a_prompt_of_a_megabyte_…` |
| one that is too long | `test_a_prompt_that_is_too_long_…` |
| an id that is not known | `test_a_session_that_its_cli_has_lost_…` |
| an id that is in use | `session-in-use` in `tests/recordings` |
| an id that is no UUID (codex) | `session-unknown`, and `findings/codex-resume-of-a-lost-id.sh` |
| two at once in one checkout | `test_two_at_once_…` |
| eight at once, in one home and in one each | `test_real_natives_eight.py` |
| no secret is left in a home, a record or a log; a home goes with its task | `test_no_secret_…` |

What is a trap in one alone is below, or in `test_real_gemini.py` and `test_real_opencode.py`.
`by_native` says which part of all this CI draws.
"""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from native_trial import TASK, Trial
from natives import KEY
from opened_trial import by_native, reports
from sandbox import end_of

pytestmark = [pytest.mark.real]


@by_native("rules")
def test_what_its_role_may_not_do_is_refused_and_it_goes_on(trial: Trial) -> None:
    outside = trial.home / "outside.txt"
    trial.tell({"run": f"touch {outside}"}, {"run": "sow worker stop"}, *reports("needs_review"))
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review"
    assert not outside.exists()


@by_native("limit", "qwen")
def test_a_limit_that_is_told_on_standard_error_alone_is_told_as_one(trial: Trial) -> None:
    trial.tell(then={"status": 429, "headers": {"retry-after": "1"}})
    trial.configure(api_timeout="60s")
    spawned = trial.spawn()
    assert spawned.returncode == 1, spawned.stdout + spawned.stderr
    [attempt] = trial.attempts()
    assert attempt["cause"] == "rate_limited", attempt["reason"]
    assert "429" in attempt["reason"]
    assert trial.left() == {}


@by_native("rules")
def test_two_at_once_in_one_checkout(trial: Trial) -> None:
    added = trial.sow("task", "add", "Try it too", "--agent", "implementer", "--id", "020")
    assert added.returncode == 0, added.stderr
    trial.tell(of={"": reports("needs_review", log="Done")})
    done = trial.sow("agent", "spawn", TASK, "020")
    assert done.returncode == 0, done.stdout + done.stderr
    assert trial.attempts(1)[0]["session_id"] != trial.attempts(2)[0]["session_id"]
    assert trial.left() == {}


def widen(trial: Trial) -> None:
    """Tell a CLI that counts tokens that its model reads a million of them."""
    if trial.native.name == "qwen":
        file = trial.home / ".qwen/settings.json"
        settings = json.loads(file.read_text("utf-8"))
        settings["model"] = {"generationConfig": {"contextWindowSize": 1_000_000}}
        file.write_text(json.dumps(settings), encoding="utf-8")
    if trial.native.name == "copilot":
        trial.environ = {**trial.environ, "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "1000000"}


@by_native("long prompts")
def test_a_prompt_of_a_megabyte_reaches_the_model(trial: Trial) -> None:
    widen(trial)
    trial.tell(*reports("paused"))
    assert trial.spawn().returncode == 0
    (trial.repository / "NAME").write_text("what stands in the file", encoding="utf-8")
    words = " ".join(f"word{number} a@NAME" for number in range(60_000))
    assert len(words) > 1_000_000
    (trial.home / "long.txt").write_text(words, encoding="utf-8")
    trial.tell(*reports("needs_review"))
    resumed = trial.resume("--file", str(trial.home / "long.txt"))
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    text = json.dumps(trial.asked()[-1]["body"])
    assert words in text
    assert "what stands in the file" not in text
    assert trial.task()["status"] == "needs_review"


TOO_LONG = {
    "codex": "exceeds the maximum length of 1048576",
    "qwen": "Context is too large",
    "copilot": "exceeds the model's prompt budget",
}
"""What those say that look at the length of a prompt before they send it."""


@by_native("long prompts")
def test_a_prompt_that_is_too_long_is_told_as_that_and_the_next_one_is_taken(trial: Trial) -> None:
    trial.tell(*reports("paused"))
    assert trial.spawn().returncode == 0
    session = trial.task()["session_id"]
    words = "long " * (250_000 if trial.native.name in TOO_LONG else 10)
    (trial.home / "long.txt").write_text(words, encoding="utf-8")
    error = {"message": "prompt is too long: 300000 tokens > 200000 maximum", "code": 400}
    trial.tell(then={"status": 400, "body": {"error": error}})
    trial.configure(retries=2)
    resumed = trial.resume("--file", str(trial.home / "long.txt"))
    assert resumed.returncode == 1, resumed.stdout + resumed.stderr
    [attempt] = trial.attempts(2)
    assert attempt["cause"] == "too_long", attempt["reason"]
    assert TOO_LONG.get(trial.native.name, "prompt is too long") in attempt["reason"]
    # By how far the conversation is: Copilot first has it summarised, by a request like any other.
    trial.tell(of={"": reports("needs_review") * 2})
    resumed = trial.resume("Shorter.")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    task = trial.task()
    assert (task["status"], task["session_id"]) == ("needs_review", session)


STORES = {
    "codex": "sessions",
    "gemini": "tmp",
    "opencode": "opencode.db*",
    "qwen": "projects",
    "copilot": "session-state",
}
"""Where each keeps its sessions, somewhere below its folder."""
LOGINS = {
    "codex": ".codex/auth.json",
    "gemini": ".gemini/oauth_creds.json",
    "opencode": ".local/share/opencode/auth.json",
    "qwen": ".qwen/oauth_creds.json",
    "copilot": ".copilot/config.json",
}


@by_native("sessions")
def test_a_session_that_its_cli_has_lost_is_not_begun_anew_in_silence(trial: Trial) -> None:
    trial.configure(home="per-session")
    trial.tell(*reports("paused"))
    assert trial.spawn().returncode == 0
    session = trial.task()["session_id"]
    homes = trial.home / ".local/state/sow/homes"
    for path in list(homes.rglob(STORES[trial.native.name])):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    trial.tell(*reports("needs_review"))
    resumed = trial.resume("Go on.")
    assert resumed.returncode == 5, resumed.stdout + resumed.stderr
    assert trial.attempts(2)[-1]["cause"] in ("session_unknown", "session_lost")
    task = trial.task()
    assert (task["status"], task["session_id"]) == ("failed", session)


def succeeds(trial: Trial, *words: str) -> None:
    """Run the true sow, which has to do as it is told."""
    done = trial.sow(*words)
    assert done.returncode == 0, done.stdout + done.stderr


@by_native("sessions")
def test_no_secret_is_left_of_a_session_and_its_home_goes_with_its_task(trial: Trial) -> None:
    login = trial.home / LOGINS[trial.native.name]
    login.parent.mkdir(parents=True, exist_ok=True)
    secret = "a-secret-of-the-login-5e1f"
    kept = {"loggedInUsers": []} if trial.native.name == "copilot" else {}
    login.write_text(json.dumps({**kept, "own": {"type": "api", "key": secret}}), encoding="utf-8")
    trial.configure(home="per-session")
    trial.tell(*reports("needs_review"))
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    homes = trial.home / ".local/state/sow/homes"
    assert files_with((homes,), secret, KEY) == []
    [home] = homes.glob(f"*/task-{TASK}")
    succeeds(trial, "worker", "stop")
    succeeds(trial, "worker", "--drain")
    assert home.is_dir(), "its task is not done yet"
    succeeds(trial, "review", "accept", TASK, "--summary", "As asked", "--complete")
    succeeds(trial, "worker", "--drain")
    assert not home.exists(), "it goes with the next rest of a worker"
    succeeds(trial, "job", "prune", "--keep-for", "0s")
    assert secret in login.read_text("utf-8"), "the user's own stays"
    left = (trial.repository, trial.home / ".local/state/sow", trial.home / ".cache/sow")
    assert files_with(left, secret, KEY) == []


def files_with(folders: Iterable[Path], *texts: str) -> list[Path]:
    """Return the files below folders that hold one of these texts; links are not followed."""
    below = (path for folder in folders for path in folder.rglob("*"))
    files = (path for path in below if path.is_file() and not path.is_symlink())
    return [path for path in files if any(each.encode() in path.read_bytes() for each in texts)]


def creates(path: Path) -> dict[str, Any]:
    """Return the answer of a model that has Copilot's own tool make a file."""
    return {"call": "create", "with": {"path": str(path), "file_text": "made"}}


@by_native("own rules", "copilot")
def test_its_rules_hold_for_files_and_for_each_of_several_commands(trial: Trial) -> None:
    made, elsewhere = trial.repository / "made", trial.home / "made"
    hook, touched = trial.repository / ".git/hooks/pre-commit", trial.repository / "touched"
    trial.tell(
        *map(creates, (made, elsewhere, hook)),
        {"run": f'sow agent log "first" && touch {touched.name}'},
        {"run": 'sow agent log "second" && sow task set status needs_review'},
    )
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review"
    assert [path for path in (made, elsewhere, hook, touched) if path.exists()] == [made]
    log = trial.sow("task", "log", TASK).stdout
    assert "second" in log
    assert "first" not in log


@by_native("homes", "copilot")
def test_two_at_once_have_homes_of_their_own_and_one_login(trial: Trial) -> None:
    login = trial.home / ".copilot/config.json"
    login.parent.mkdir()
    login.write_text('{"loggedInUsers": [{"host": "https://github.com", "login": "ada"}]}')
    added = trial.sow("task", "add", "Try it too", "--agent", "implementer", "--id", "020")
    assert added.returncode == 0, added.stderr
    trial.configure(home="per-session")
    both, asks = (TASK, "020"), reports("paused", log="Which?")
    trial.tell(of={f"tasks/{task}/": asks for task in both})
    for done in map(
        end_of, [trial.start_sow("agent", "spawn", "implementer", task) for task in both]
    ):
        assert done.returncode == 0, done.stdout + done.stderr
    trial.tell(of={f"tasks/{task}/": [*asks, *reports("needs_review")] for task in both})
    for done in map(end_of, [trial.start_sow("agent", "resume", task, "Blue.") for task in both]):
        assert done.returncode == 0, done.stdout + done.stderr
    homes = sorted(trial.home.glob(".local/state/sow/homes/*/task-*/copilot/copilot_home"))
    assert [home.parent.parent.name for home in homes] == ["task-010", "task-020"]
    for home in homes:
        assert (home / "config.json").resolve() == login
        assert len(list((home / "session-state").glob("[0-9a-f]*-*"))) == 1
    assert not (login.parent / "session-state").exists()
    assert "ada" in login.read_text("utf-8")
    assert len(list(trial.home.glob(".cache/copilot/pkg/*/*"))) == 1


WORDS = (
    "/clear and more",
    "/mine do it",
    "/summary",
    "@NAME is a name, a@NAME too, and bob@example.com; $$ is two, $& and {{args}} as they are",
    "Look at @session:x:\n\n\t@NAME\n\n  /clear\n!{ls} @{NAME}",
)


@by_native("words", "qwen")
@pytest.mark.parametrize("home", ["per-session", "shared"])
def test_no_word_of_a_prompt_is_carried_out(trial: Trial, home: str) -> None:
    (trial.repository / "NAME").write_text("what stands in the file", encoding="utf-8")
    mine = trial.home / ".qwen/commands/mine.md"
    mine.parent.mkdir()
    mine.write_text("What my own command says.", encoding="utf-8")
    trial.configure(home=home)
    trial.tell(*reports("paused"))
    assert trial.spawn().returncode == 0
    for words in WORDS:
        trial.tell(*reports("paused"))
        resumed = trial.resume("--", words)
        assert resumed.returncode == 0, resumed.stdout + resumed.stderr
        text = json.dumps(trial.asked()[-1]["body"]["messages"])
        seen = words if home == "per-session" else words.replace("@", "\\@")
        assert json.dumps(seen)[1:-1] in text
        assert "what stands in the file" not in text
        assert "What my own command says" not in text


@by_native("homes", "qwen")
def test_two_at_once_have_a_folder_each(trial: Trial) -> None:
    trial.configure(home="per-session")
    done = trial.sow("task", "add", "Try it too", "--agent", "implementer", "--id", "020")
    assert done.returncode == 0, done.stderr
    both = (TASK, "020")
    trial.tell(of={f"tasks/{task}/": reports("needs_review") for task in both})
    calls = [trial.start_sow("agent", "spawn", "implementer", task) for task in both]
    for call in calls:
        ended = end_of(call)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    homes = sorted((trial.home / ".local/state/sow/homes").glob("*/task-*/*/*_home"))
    assert [home.parents[1].name for home in homes] == [f"task-{TASK}", "task-020"]
    assert all(list(home.glob("**/*.jsonl")) for home in homes)  # the sessions
    used = {path.name for path in (trial.home / f".{trial.native.name}").iterdir()}
    assert used == {"settings.json"}


@by_native("own rules", "qwen")
def test_its_rules_hold_for_each_command_of_a_list(trial: Trial) -> None:
    trial.configure(settings={"allowed_tools": ["run_shell_command(touch)"]})
    trial.tell(
        {"run": "sow agent log one && touch allowed"},
        {"run": "sow task show && mkdir refused"},
        {"run": "sow task show; sow worker stop"},
        *reports("needs_review"),
    )
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review"
    assert (trial.repository / "allowed").exists()
    assert not (trial.repository / "refused").exists()
    results = [json.loads(line) for line in trial.output().splitlines()]
    denials = results[-1]["permission_denials"]
    assert [denial["tool_input"]["command"] for denial in denials] == [
        "sow task show && mkdir refused",
        "sow task show; sow worker stop",
    ]


@by_native("own rules", "qwen")
def test_a_command_that_its_role_must_not_use_is_refused_in_yolo_mode(trial: Trial) -> None:
    trial.configure(settings={"yolo_mode": True})
    trial.tell(
        {"run": "sow task show; sow worker stop"},
        *reports("needs_review"),
    )
    assert trial.spawn().returncode == 0
    last = json.loads(trial.output().splitlines()[-1])
    assert [denial["tool_name"] for denial in last["permission_denials"]] == ["run_shell_command"]


@by_native("own rules", "qwen")
def test_its_tools_write_in_its_folder_alone(trial: Trial) -> None:
    inside, outside = trial.repository / "sub/made", trial.home / "made"
    hook = trial.repository / ".git/hooks/pre-commit"
    readme = {"file_path": str(trial.repository / "README.md")}
    trial.tell(
        *(
            {"call": "write_file", "with": {"file_path": str(path), "content": "made"}}
            for path in (inside, outside, hook)
        ),
        {"call": "read_file", "with": readme},
        {"call": "edit", "with": {**readme, "old_string": "A place", "new_string": "The place"}},
        *reports("needs_review", log="done"),
    )
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review"
    assert [path for path in (inside, outside, hook) if path.exists()] == [inside]
    assert (trial.repository / "README.md").read_text("utf-8").startswith("The place")
