"""`home: per-session` with the real Claude Code: a session goes on, and eight at once are apart."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from native_trial import TASK, Trial
from natives import CLAUDE
from opened_trial import opened_trial, reports
from sandbox import end_of

pytestmark = [pytest.mark.real, pytest.mark.one_of("natives by themselves", "claude, homes")]

EIGHT = tuple(f"0{number}0" for number in range(1, 9))
MEMORY = "A line of the user's memory."


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """Return a trial of Claude Code, whose user has settings, a memory and trusted folders."""
    with opened_trial(CLAUDE, tmp_path) as found:
        users = found.home / ".claude"
        users.mkdir()
        (users / "CLAUDE.md").write_text(MEMORY, encoding="utf-8")
        (users / "settings.json").write_text('{"cleanupPeriodDays": 30}', encoding="utf-8")
        known = {"hasCompletedOnboarding": True, "projects": {"/elsewhere": {}}}
        (found.home / ".claude.json").write_text(json.dumps(known), encoding="utf-8")
        yield found


def homes(trial: Trial) -> dict[str, Path]:
    """Return the folders of sessions, by the name of whose they are."""
    found = trial.home.glob(".local/state/sow/homes/*/*/claude-code/claude_config_dir")
    return {folder.parents[1].name: folder for folder in found}


@pytest.mark.parametrize(("first", "later"), [("shared", "per-session"), ("per-session", "shared")])
def test_a_session_goes_on_where_it_was_begun(trial: Trial, first: str, later: str) -> None:
    trial.configure(home=first)
    trial.tell(*reports("paused"))
    spawned = trial.spawn("--prompt", "Remember the maple.")
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    session = trial.task()["session_id"]
    place = trial.home / ".claude" if first == "shared" else homes(trial)[f"task-{TASK}"]
    assert len(list(place.glob(f"projects/*/{session}.jsonl"))) == 1
    trial.configure(home=later)
    trial.tell(*reports("needs_review"))
    resumed = trial.resume("Go on.")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    task = trial.task()
    assert (task["status"], task["session_id"]) == ("needs_review", session)
    asked = json.dumps(trial.asked()[-1]["body"])
    assert asked.count("Remember the maple.") == 1
    assert asked.count(MEMORY) == 1
    assert bool(homes(trial)) == (first == "per-session")
    kept = sorted(place.glob("projects/*/*.jsonl"))
    assert [path.stem for path in kept] == [session]


def test_eight_at_once_have_folders_of_their_own(trial: Trial) -> None:
    before = (trial.home / ".claude.json").read_bytes()
    for task in EIGHT[1:]:
        done = trial.sow("task", "add", "Try it too", "--agent", "implementer", "--id", task)
        assert done.returncode == 0, done.stderr
    trial.configure(home="per-session", max_parallel=len(EIGHT))
    trial.tell(of={f"tasks/{task}/": reports("needs_review") for task in EIGHT})
    ended = [
        end_of(call)
        for call in [trial.start_sow("agent", "spawn", "implementer", task) for task in EIGHT]
    ]
    assert {call.returncode for call in ended} == {0}, [call.stderr for call in ended]
    found = homes(trial)
    assert sorted(found) == [f"task-{task}" for task in EIGHT]
    for folder in found.values():
        assert json.loads((folder / ".claude.json").read_text("utf-8"))["hasCompletedOnboarding"]
        assert len(list(folder.glob("projects/*/*.jsonl"))) == 1
    assert (trial.home / ".claude.json").read_bytes() == before
    used = {path.name for path in (trial.home / ".claude").iterdir()}
    assert used == {"CLAUDE.md", "settings.json"}
    assert not trial.left()
