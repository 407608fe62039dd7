"""Gemini CLI as a real build: what is a trap in it alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from native_trial import TASK, Trial
from natives import NATIVES
from opened_trial import ALONE, opened_trial, reports
from sandbox import PATIENCE, Json, end_of
from test_real_natives_eight import keep_sessions

from sow.environment import worker_environment
from sow.git.run import git_environment

pytestmark = [pytest.mark.real]
OF_WORDS, OF_RULES, OF_HOMES = (
    pytest.mark.one_of(ALONE, f"gemini, {part}") for part in ("words", "own rules", "homes")
)
"""Of which part a test is: CI draws one of them all."""

WORDS = "/own and @NAME, a@NAME too: @NAM !{touch ran} @{NAME} {{args}}\n\n  two\tlines $& \\@x"
"""What it would expand, run, or take for something else."""


@pytest.fixture
def repository_name() -> str:
    """Return the name of the trial's repository."""
    return "repository"


@pytest.fixture
def trial(tmp_path: Path, repository_name: str) -> Iterator[Trial]:
    with opened_trial(NATIVES["gemini"], tmp_path, name=repository_name) as found:
        (found.repository / "NAME").write_text("what stands in the file", encoding="utf-8")
        own = found.home / ".gemini/commands/own.toml"
        own.parent.mkdir()
        own.write_text('prompt = "what the command says"\n', encoding="utf-8")
        yield found


def said_last(trial: Trial) -> str:
    """Return what the last message of the user's in the last request says, all parts of it."""
    contents = trial.asked()[-1]["body"]["contents"]
    texts = [
        "\n".join(part["text"] for part in each["parts"] if "text" in part)
        for each in contents
        if each["role"] == "user"
    ]
    return [text for text in texts if text][-1]


def answers(trial: Trial) -> dict[str, Json]:
    """Return how each tool's call of the first attempt was answered, by its command or file."""
    lines = [json.loads(line) for line in trial.output().splitlines()]
    asked = {line["tool_id"]: line["parameters"] for line in lines if line["type"] == "tool_use"}
    return {
        asked[line["tool_id"]].get("command") or asked[line["tool_id"]]["file_path"]: line
        for line in lines
        if line["type"] == "tool_result"
    }


@OF_WORDS
def test_words_reach_the_model_as_they_are_in_a_home_of_its_own(trial: Trial) -> None:
    trial.tell(*reports("paused"))
    assert trial.spawn().returncode == 0
    trial.tell(*reports("paused"))
    assert trial.resume("--", WORDS).returncode == 0
    assert WORDS in said_last(trial)
    assert not (trial.repository / "ran").exists()
    for part in ("what stands in the file", "what the command says"):
        assert part not in json.dumps(trial.asked())
    long = "@NAME and words. " * 65_000  # 1.1 MB
    file = trial.home / "long"
    file.write_text(long, encoding="utf-8")
    trial.tell(*reports("paused"))
    assert trial.resume("--file", str(file)).returncode == 0
    assert long.strip() in said_last(trial)


@OF_WORDS
def test_in_a_shared_home_an_at_sign_gets_a_backslash(trial: Trial) -> None:
    trial.configure(home="shared")
    trial.tell(*reports("paused"))
    assert trial.spawn().returncode == 0
    trial.tell(*reports("paused"))
    assert trial.resume("--", "/own @NAME, a@NAME: @NAM 5 @ 3").returncode == 0
    assert "/own \\@NAME, a\\@NAME: \\@NAM 5 @ 3" in said_last(trial)
    for part in ("what stands in the file", "what the command says"):
        assert part not in json.dumps(trial.asked())
    assert (trial.home / ".gemini/tmp").is_dir()


@OF_RULES
def test_it_reports_in_lists_and_writes_in_its_folder_alone(trial: Trial) -> None:
    outside = trial.home / "outside.txt"
    is_allowed = {
        'sow agent log "a > b; c" && sow task show': True,
        "sow task show 2>&1": True,
        f"sow task show > {outside}": False,
        'sow agent log "$(touch outside)"': False,
        "sow task show; sow worker stop": False,
        "sow worker stop": False,
        "new.txt": True,
        str(trial.repository / "sub/new.txt"): True,
        str(outside): False,
        "package.json": False,
        ".git/hooks/pre-commit": False,
        ".gemini/settings.json": False,
        str(trial.repository / "sub/.gemini/settings.json"): False,
    }
    calls = (
        {"run": word}
        if word.startswith("sow")
        else {"call": "write_file", "with": {"file_path": word, "content": "new\n"}}
        for word in is_allowed
    )
    trial.tell(*calls, *reports("needs_review"))
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    answered = answers(trial)
    found = {word: answered[word]["status"] == "success" for word in is_allowed}
    assert found == is_allowed
    assert not outside.exists()
    tools = json.dumps(trial.asked()[-1]["body"]["tools"])
    assert "write_file" in tools
    assert "enter_plan_mode" not in tools  # it would come back from there in another mode
    assert (trial.repository / "sub/new.txt").read_text("utf-8") == "new\n"
    assert "policy" not in (trial.repository / ".sow/run/jobs/1/1/stderr.log").read_text(
        "utf-8"
    ).replace("denied by policy", "")


@OF_RULES
@pytest.mark.parametrize("repository_name", ["repository", "one, two"])
def test_in_a_clone_it_reads_its_task_and_may_not_write_it(trial: Trial) -> None:
    """A comma in an argument would be the end of a path, and leave it no right to report."""
    task = trial.repository / f".sow/project/phases/build/tasks/{TASK}/description.md"
    other = trial.repository / "README.md"
    trial.tell(
        {"call": "read_file", "with": {"file_path": str(task)}},
        {"call": "read_file", "with": {"file_path": str(other)}},
        {"call": "write_file", "with": {"file_path": "made.txt", "content": "made\n"}},
        {"call": "write_file", "with": {"file_path": f"{task}.new", "content": "made\n"}},
        *reports("needs_review", log="Made it"),
    )
    spawned = trial.spawn("--clone")
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    succeeded = [name for name, line in answers(trial).items() if line["status"] == "success"]
    assert succeeded[:2] == [str(task), "made.txt"]
    assert (str(other) in succeeded, f"{task}.new" in succeeded) == (False, False)
    refs = trial.run("git", "for-each-ref", "--format=%(refname)").stdout.split()
    trees = [trial.run("git", "ls-tree", "--name-only", ref).stdout.split() for ref in refs]
    assert any("made.txt" in tree for tree in trees)  # its work has come back


@OF_RULES
def test_what_a_role_may_not_do_is_refused_whatever_the_user_allows(trial: Trial) -> None:
    own = trial.home / ".gemini/policies/own.toml"
    own.parent.mkdir()
    rule = 'toolName = "run_shell_command"\ndecision = "allow"\npriority = 999\n'
    own.write_text(f'[[rule]]\ncommandPrefix = ["sow", "touch"]\n{rule}', encoding="utf-8")
    commands = ("touch made", "sow worker stop", "sow  worker  stop", "bash -c 'sow worker stop'")
    trial.tell(*({"run": each} for each in commands), *reports("needs_review"))
    assert trial.spawn().returncode == 0
    answered = answers(trial)
    allowed = [each for each in commands if answered[each]["status"] == "success"]
    assert allowed == ["touch made"]


@OF_HOMES
def test_a_shared_home_is_gone_on_with_after_a_failed_request(trial: Trial) -> None:
    """The id is taken from its first moment on, and can be resumed only later."""
    trial.configure(home="shared", retries=2)
    trial.tell({"status": 400}, *reports("paused"))
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr


@OF_RULES
@pytest.mark.parametrize("repository_name", ["one, two"])
def test_a_comma_in_a_path_takes_no_right_from_it(trial: Trial) -> None:
    own = trial.home / ".gemini/policies/own.toml"
    own.parent.mkdir()
    rule = 'toolName = "run_shell_command"\ndecision = "allow"\npriority = 999\n'
    own.write_text(f'[[rule]]\ncommandPrefix = ["touch"]\n{rule}', encoding="utf-8")
    commands = ("touch made", "mkdir refused", "sow worker stop")
    trial.tell(*({"run": each} for each in commands), *reports("needs_review"))
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    answered = answers(trial)
    assert [each for each in commands if answered[each]["status"] == "success"] == ["touch made"]


@OF_HOMES
@pytest.mark.parametrize("keeps", [True, False])
def test_a_session_that_another_run_finds_half_written_is_kept_if_asked_for(
    trial: Trial, keeps: bool
) -> None:
    """So it is for a moment when a run goes on with it, and for good after a kill there."""
    assert trial.sow("task", "add", "Too", "--agent", "implementer", "--id", "020").returncode == 0
    if keeps:
        keep_sessions(trial.home)
    trial.configure(home="shared")
    trial.tell(*reports("paused"))
    assert trial.spawn().returncode == 0
    session = trial.task()["session_id"]
    [file] = trial.home.glob(f".gemini/tmp/*/chats/session-*-{session[:8]}.jsonl")
    half = file.with_name(f"session-2026-01-01T00-00-{session[:8]}.jsonl")
    half.write_text(file.read_text("utf-8").partition("\n")[0] + "\n", encoding="utf-8")
    trial.tell(*reports("needs_review"))
    assert trial.sow("agent", "spawn", "implementer", "020").returncode == 0
    assert file.exists() is keeps, "and sow doctor says so of a shared home"
    trial.tell(*reports("needs_review"))
    resumed = trial.resume("Go on.")
    assert resumed.returncode == (0 if keeps else 5), resumed.stdout + resumed.stderr
    assert trial.task()["session_id"] == session


@OF_HOMES
def test_two_at_once_with_homes_of_their_own(trial: Trial) -> None:
    assert trial.sow("task", "add", "Too", "--agent", "implementer", "--id", "020").returncode == 0
    trial.tell(then={"run": "sow task set status needs_review"})
    calls = [trial.start_sow("agent", "spawn", "implementer", task) for task in (TASK, "020")]
    for call in calls:
        done = end_of(call)
        assert done.returncode == 0, done.stdout + done.stderr
    homes = trial.home / ".local/state/sow/homes"
    assert len(list(homes.glob("*/task-*/gemini/gemini_cli_home/.gemini/commands/sow-*"))) == 2
    assert not (trial.home / ".gemini/tmp").exists()


@OF_WORDS
def test_the_users_settings_of_git_hold_for_sow_below_an_agent(trial: Trial) -> None:
    (trial.home / ".gitconfig").write_text("[own]\n\tsetting = kept\n", encoding="utf-8")
    trial.configure(settings={"yolo_mode": True})
    trial.tell({"run": "env -0 > around; git config own.setting > seen"}, *reports("needs_review"))
    assert trial.spawn().returncode == 0
    assert (trial.repository / "seen").read_text("utf-8") == ""  # the CLI hides it
    block = (trial.repository / "around").read_text("utf-8")
    around = dict(each.partition("=")[::2] for each in block.split("\0") if each)
    for environ in (worker_environment(around), git_environment(around)):
        shown = trial.namespace.run(
            ("git", "config", "own.setting"), cwd=trial.repository, env=environ, timeout=PATIENCE
        )
        assert shown.stdout == "kept\n"


@OF_HOMES
def test_the_doctor_leaves_nothing_in_its_folder(trial: Trial) -> None:
    before = sorted((trial.home / ".gemini").rglob("*"))
    report = trial.sow("doctor").stdout
    assert "gemini: gemini 0.61.0" in report
    assert "its help lists every flag that sow uses" in report
    assert sorted((trial.home / ".gemini").rglob("*")) == before
