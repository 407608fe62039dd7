"""Eight runs at once of each real agent CLI, in one home and in one each: nothing is mixed up."""

import json
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from native_trial import Trial
from natives import NATIVES
from opened_trial import reports
from sandbox import Json, end_of

pytestmark = [pytest.mark.real, pytest.mark.one_of("natives by themselves")]

ASKING = ("010", "020", "030", "040")
"""The tasks whose agents pause with a question, and are resumed with its answer."""
DONE, REFUSED, SILENT = ("050", "060"), "070", "080"
"""Those that end in the first run, fail with a wrong key, and end without a report."""
EVERY = (*ASKING, *DONE, REFUSED, SILENT)
SECONDS = 600.0
"""For eight that start together on a machine with two processors."""


@pytest.mark.parametrize("home", ["per-session", "shared"])
@pytest.mark.parametrize("trial", NATIVES.values(), ids=NATIVES, indirect=True)
def test_eight_at_once_are_kept_apart(trial: Trial, home: str) -> None:
    for task in EVERY[1:]:
        added = trial.sow("task", "add", f"Try {task}", "--agent", "implementer", "--id", task)
        assert added.returncode == 0, added.stderr
    if (trial.native.name, home) == ("gemini", "shared"):
        keep_sessions(trial.home)
    # Of several that begin in one home Codex lets some run no command, and OpenCode leaves where
    # its database is locked for too long (measured).
    retries = 2 if home == "shared" and trial.native.name in ("codex", "opencode") else 0
    time = f"{SECONDS:g}s"
    trial.configure(concurrency=len(EVERY), home=home, api_timeout=time, retries=retries)
    first = {**{task: asks(task) for task in ASKING}, **dict.fromkeys(DONE, ends())}
    first |= {REFUSED: [{"status": 401}], SILENT: [{"say": "That is all."}]}
    together(trial, first)
    spawned = all_of(trial, {task: ("spawn", "implementer", task) for task in EVERY})
    fails = {task: int(task in (REFUSED, SILENT)) for task in EVERY}
    assert {task: spawned[task].returncode for task in EVERY} == fails, words_of(spawned)
    causes = {
        task: {each["cause"] for each in trial.attempts_of(task)}
        - ({"crashed"} if retries else set())
        for task in EVERY
    }
    failed = {REFUSED: {"auth"}, SILENT: {"no_status"}}
    assert causes == {**{task: {"reported"} for task in EVERY}, **failed}
    sessions = {task: trial.task(task)["session_id"] for task in (*ASKING, *DONE)}
    assert len(set(sessions.values())) == len(sessions)

    together(trial, {task: [*asks(task), *ends()] for task in ASKING})
    calls = {task: ("resume", task, f"Paint {task} blue.") for task in ASKING}
    resumed = all_of(trial, calls)
    assert all(done.returncode == 0 for done in resumed.values()), words_of(resumed)
    for task in (*ASKING, *DONE):
        state = trial.task(task)
        assert (state["status"], state["session_id"]) == ("needs_review", sessions[task])
    for task in ASKING:
        seen = [text for text in map(json.dumps, trial.asked()) if f"Paint {task} blue." in text]
        assert len(seen) >= 2
        for text in seen:  # it goes on with its own conversation, and with no other
            assert {each for each in ASKING if f"Which colour has {each}?" in text} == {task}
    assert list(torn(trial.home)) == []
    assert trial.left() == {}


def keep_sessions(home: Path) -> None:
    """Have Gemini CLI remove no session: else it removes those that others just go on with."""
    file = home / ".gemini/settings.json"
    settings = json.loads(file.read_text("utf-8"))
    settings["general"] = {"sessionRetention": {"enabled": False}}
    file.write_text(json.dumps(settings), encoding="utf-8")


def asks(task: str) -> list[Json]:
    """Return the answers of a model that asks something of a task."""
    return reports("paused", log=f"Which colour has {task}?")


def ends() -> list[Json]:
    """Return those of a model that does its task."""
    return reports("needs_review", log="Done")


def together(trial: Trial, answers: dict[str, list[Json]]) -> None:
    """Have the model answer each task's agent by itself, and none until all have asked."""
    for own in answers.values():
        for answer in own:
            answer["beside"] = len(answers)
    parts = {f"tasks/{task}/": own for task, own in answers.items()}
    trial.tell(of=parts, failed="bwrap: execvp")


def all_of(trial: Trial, calls: dict[str, tuple[str, ...]]) -> dict[str, CompletedProcess[str]]:
    """Make several calls of `sow agent` at once, and return their ends."""
    started = {task: trial.start_sow("agent", *words) for task, words in calls.items()}
    return {task: end_of(call, seconds=SECONDS) for task, call in started.items()}


def words_of(ends: dict[str, CompletedProcess[str]]) -> str:
    """Return what calls have printed."""
    return "\n".join(f"{task}: {end.stdout}{end.stderr}" for task, end in ends.items())


def torn(home: Path) -> Iterator[str]:
    """Yield the files of a home whose form is broken."""
    for file in sorted(each for each in home.rglob("*") if each.is_file()):
        try:
            _read(file)
        except (ValueError, sqlite3.Error) as error:
            yield f"{file}: {error}"


def _read(file: Path) -> None:
    if file.suffix == ".json":
        lines = file.read_text("utf-8").splitlines()  # Copilot writes comments above its settings
        json.loads("\n".join(line for line in lines if not line.startswith("//")))
    elif file.suffix == ".jsonl":
        for line in file.read_text("utf-8").splitlines():
            json.loads(line)
    elif file.suffix == ".toml":
        tomllib.loads(file.read_text("utf-8"))
    elif file.suffix in (".db", ".sqlite"):
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as store:
            [(state,)] = store.execute("PRAGMA integrity_check")
            if state != "ok":
                raise ValueError(state)
