"""Secrets of real agent CLIs, and what these export to the commands that their agents run."""

import json

import pytest
from native_trial import Trial
from opened_trial import by_native

from sow.environment import agent_environment

pytestmark = [pytest.mark.real]

SECRET = "sk-trial-0815-4711-ö"
SHELLS_OWN = {"PWD", "SHLVL", "OLDPWD", "_"}


@by_native()
def test_a_secret_is_blanked_and_no_worker_takes_over_what_the_cli_exports(trial: Trial) -> None:
    """The model has `env` run: all that the CLI has put in is to be known as its own."""
    secret = trial.home / "secret"
    secret.write_text(f"{SECRET}\n", encoding="utf-8")
    secret.chmod(0o600)
    trial.configure(settings={"yolo_mode": True}, env_files={"TRIAL_SECRET": str(secret)})
    names = trial.sow("agent", "spawn", "implementer", "010", "--dry-run", "--json")
    given = {*json.loads(names.stdout)["env_names"], *SHELLS_OWN}
    command = 'env -0 >"$SOW_ROOT/exported"; echo "it is $TRIAL_SECRET"'
    trial.tell(
        {"run": command},
        {"run": 'sow agent log "the secret is $TRIAL_SECRET"'},
        {"run": "sow task set status needs_review"},
    )
    spawned = trial.spawn()
    assert spawned.returncode == 0, spawned.stdout + spawned.stderr
    assert trial.task()["status"] == "needs_review"
    text = trial.output()
    assert SECRET not in text
    assert "[TRIAL_SECRET]" in text
    data = (trial.repository / "exported").read_bytes().decode().split("\0")
    exported = dict(line.partition("=")[::2] for line in data if line)
    assert exported["TRIAL_SECRET"] == SECRET
    inherited = set(agent_environment(exported))
    assert inherited - given == set(), f"{trial.native.name} exports what nobody else sets"
    assert "TRIAL_SECRET" not in inherited
    (trial.repository / "exported").unlink()
    files = [path for path in (trial.repository / ".sow").rglob("*") if path.is_file()]
    assert [str(path) for path in files if SECRET.encode() in path.read_bytes()] == []
    warnings = " ".join(trial.job()["warnings"])
    assert "the value of TRIAL_SECRET; sow wrote [TRIAL_SECRET] instead" in warnings
    assert "the value of TRIAL_SECRET is in its work: exported" in warnings
