"""Secrets of real agent CLIs, and what these export to the commands that their agents run."""

import json

import pytest
from native_trial import Trial
from natives import NATIVES
from opened_trial import ALONE

from sow.environment import agent_environment

pytestmark = [pytest.mark.real]

SECRET = "sk-trial-0815-4711-ö"
SHELLS_OWN = {"PWD", "SHLVL", "OLDPWD", "_"}


CASES = [
    pytest.param(native, sandbox, id=f"{name}-{sandbox}", marks=pytest.mark.one_of(group, choice))
    for name, native in NATIVES.items()
    for sandbox, group, choice in (
        ("none", ALONE, f"{name}, secrets"),
        ("bwrap", "natives in a sandbox", f"{name}, root"),
    )
]


@pytest.mark.parametrize(("trial", "sandbox"), CASES, indirect=["trial"])
def test_a_secret_is_blanked_and_no_worker_takes_over_what_the_cli_exports(
    trial: Trial, sandbox: str
) -> None:
    """The model has `env` run: all that the CLI has put in is to be known as its own."""
    secret = trial.home / "secret"
    secret.write_text(f"{SECRET}\n", encoding="utf-8")
    secret.chmod(0o600)
    files = {"TRIAL_SECRET": str(secret)}
    trial.configure(settings={"yolo_mode": True}, env_files=files, sandbox=sandbox)
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
    kept = [path for path in (trial.repository / ".sow").rglob("*") if path.is_file()]
    assert [str(path) for path in kept if SECRET.encode() in path.read_bytes()] == []
    warnings = " ".join(trial.job()["warnings"])
    assert "the value of TRIAL_SECRET; [TRIAL_SECRET] stands in its place" in warnings
    assert "the value of TRIAL_SECRET is in its work: exported" in warnings
