"""Real agents over ACP: what sow promises of these alone. Two have no executor of their own.

What it promises of a CLI however it is driven is tried in `test_real_agents`.
"""

import json
import secrets
import sys
from pathlib import Path

import pytest
from acp_agents import AGENTS
from native_trial import TASK, Trial
from opened_trial import by_acp, reports
from sandbox import end_of, wait_until

from sow.acp.presets import PRESETS

pytestmark = [pytest.mark.real]
ASKING = tuple(name for name in AGENTS if PRESETS[name].fence == "asking")
EIGHT = tuple(f"{number:03}" for number in range(10, 90, 10))


@by_acp("work", ASKING)
def test_what_its_role_may_not_do_is_refused_and_it_goes_on(trial: Trial) -> None:
    outside = trial.home / "outside.txt"
    inside = trial.repository / "inside.txt"
    trial.tell(
        {"run": f"touch {outside}"},
        {"run": "sow worker stop"},
        {"run": f"sow task show {TASK} > {inside}"},
        {"run": f"sow task show {TASK}; touch {inside}"},
        *reports("needs_review"),
    )
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review"
    assert not outside.exists()
    assert not inside.exists()
    denials = [line for line in trial.output().splitlines() if '"type": "denial"' in line]
    assert len(denials) == 4


@by_acp("work", ("codex",))
def test_its_own_sandbox_keeps_its_commands_in_its_folder(trial: Trial) -> None:
    outside = Path("/var/tmp") / f"sow-{secrets.token_hex(8)}"  # TMPDIR is writable
    address = f"http://127.0.0.1:{(trial.records / 'port').read_text('utf-8')}/"
    connects = f"import urllib.request; urllib.request.urlopen('{address}')"
    trial.tell(
        {"run": f"touch {outside}"},
        {"run": f'{sys.executable} -c "{connects}" && touch connected'},
        {"run": "touch made"},
        *reports("needs_review", log="Did"),
    )
    try:
        spawned = trial.spawn("--clone")
        assert spawned.returncode == 0, spawned.stdout + spawned.stderr
        assert not outside.exists()
    finally:
        outside.unlink(missing_ok=True)
    clone = Path(trial.sow("clone", "path", TASK).stdout.strip())
    names = {path.name for path in clone.iterdir()}
    assert ("made" in names, "connected" in names) == (True, False)
    assert "Did" in trial.sow("task", "log", TASK).stdout


@by_acp("eight at once")
def test_eight_at_once_in_one_checkout(trial: Trial) -> None:
    for task in EIGHT[1:]:
        added = trial.sow("task", "add", "Try it too", "--agent", "implementer", "--id", task)
        assert added.returncode == 0, added.stderr
    config = trial.home / ".config/sow/config.yaml"
    settings = json.loads(config.read_text("utf-8"))
    config.write_text(json.dumps({**settings, "worker": {"concurrency": 8}}), encoding="utf-8")
    trial.tell(of={f"tasks/{task}/": reports("needs_review", log=f"I am {task}") for task in EIGHT})
    call = trial.start_sow("agent", "spawn", *EIGHT)
    done = end_of(call, seconds=600)
    assert done.returncode == 0, done.stdout + done.stderr
    sessions = {trial.attempts(number)[-1]["session_id"] for number in range(1, 9)}
    assert len(sessions) == len(EIGHT)
    for task in EIGHT:
        log = trial.sow("task", "log", task).stdout
        assert [each for each in EIGHT if f"I am {each}" in log] == [task]
    wait_until(lambda: not trial.left(), "an empty place")
