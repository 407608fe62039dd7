"""The real agent CLIs in a sandbox: they work, go on in their session, and see nothing else."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from native_trial import TASK, Trial
from natives import EVERY
from opened_trial import opened_trial
from sandbox import Json

from sow.sandbox.probe import SandboxUnavailable, usable

pytestmark = [pytest.mark.real]
NAMES = ("claude", "codex", "opencode")
CASES = [pytest.param(name, marks=pytest.mark.one_of("natives", name)) for name in NAMES]


@pytest.fixture(params=CASES)
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trial]:
    """Return a trial of a CLI in a sandbox; its user has a key, and tasks have clones."""
    try:
        usable("this test")
    except SandboxUnavailable as missing:
        skip_or_fail(f"agents cannot be run in a sandbox: {missing}")
    with opened_trial(EVERY[request.param], tmp_path) as found:
        (found.home / ".ssh").mkdir()
        (found.home / ".ssh/id_test").write_text("a-key-of-the-users", encoding="utf-8")
        settings = found.repository / ".sow/config.yaml"
        settings.write_text('{"clones": {"use": "always"}}', encoding="utf-8")
        found.configure(sandbox="bwrap")
        yield found


def work(trial: Trial) -> list[Json]:
    """Return the answers of a model that works, and tries to reach out."""
    key, outside = trial.home / ".ssh/id_test", trial.home / "outside.txt"
    return [
        {"run": f"cat {key}; touch {outside}; ls /proc | grep -c '^[0-9]'"},
        {"run": "echo made >made.txt && git add made.txt && git commit -q -m Made"},
        {"run": f"sow task show {TASK}"},
        {"say": "That is all."},
    ]


def test_it_works_in_its_clone_and_sees_nothing_else(trial: Trial) -> None:
    trial.tell(*work(trial))
    spawned = trial.spawn()
    attempts = trial.attempts()
    account = (spawned.stdout, spawned.stderr, attempts, trial.output())
    assert attempts[0]["cause"] in ("reported", "no_status"), "\n".join(map(str, account))
    clone = Path(trial.task()["clone"]["path"])
    log = trial.run("git", "-C", str(clone), "log", "--format=%s").stdout.splitlines()
    assert "Made" in log, account
    assert (clone / "made.txt").read_text("utf-8") == "made\n"
    assert not (trial.home / "outside.txt").exists()
    texts = json.dumps(trial.asked()[-1]["body"])
    assert "a-key-of-the-users" not in texts
    assert "Try it" in texts  # what `sow task show` has printed
    assert trial.left() == {}
