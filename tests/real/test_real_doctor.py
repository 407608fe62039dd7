"""What the doctor says of the real Claude Code, and that asking makes no request."""

import json

import pytest
from sandbox import Sandbox

pytestmark = pytest.mark.real


@pytest.mark.parametrize("yolo_mode", [False, True])
def test_every_flag_that_sow_uses_is_in_its_help(sandbox: Sandbox, yolo_mode: bool) -> None:
    settings = {"yolo_mode": yolo_mode, "model": "sonnet"}
    file = sandbox.home / ".config/sow/config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"agents": {"executors": {"claude-code": {"settings": settings}}}}))
    done = sandbox.sow("doctor", "claude-code", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {
        each["check_name"]: each["facts"] | each for each in json.loads(done.stdout)["findings"]
    }
    version = sandbox.run("claude", "--version").stdout.split()[0]
    assert found["program"]["version"] == version
    assert (found["flags"]["level"], found["flags"]["missing"]) == ("ok", [])
    assert found["login"]["text"] == "claude-code: logged in, by ANTHROPIC_API_KEY"
    assert sandbox.requests() + sandbox.failures() == []


def test_without_a_key_nothing_tells_of_a_login(sandbox: Sandbox) -> None:
    done = sandbox.run("sow", "doctor", "claude-code", environ={"ANTHROPIC_API_KEY": ""})
    assert done.returncode == 0
    assert "claude-code: no login was found" in done.stdout
