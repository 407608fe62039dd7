"""What the doctor says of the sandboxes of checks and of the setup of clones."""

from typing import Any

import pytest
import yaml
from doctor.clinic import Clinic

from sow.config import command_sandbox
from sow.sandbox import proxy_probe
from sow.sandbox.probe import SandboxUnavailable
from sow.sandbox.proxy_probe import ProxyUnavailable

pytestmark = pytest.mark.slow

IN_SANDBOX = {"run": "make test", "sandbox": "bwrap"}
SETUP = {"setup": "npm ci", "setup_sandbox": "bwrap"}


def settle_on(clinic: Clinic, **settings: Any) -> None:
    clinic.site.project("010")
    (clinic.site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))


def lack(monkeypatch: pytest.MonkeyPatch, *, bubblewrap: bool = False) -> None:
    """Have this process find no proxy, and on demand no bubblewrap either."""

    def usable(whose: str) -> str:
        if bubblewrap:
            raise SandboxUnavailable(whose, "there is no bwrap", "Install it.")
        return "/usr/bin/bwrap"

    def usable_proxy(whose: str) -> str:
        raise ProxyUnavailable(whose, "there is no tinyproxy", "Install that.")

    monkeypatch.setattr(command_sandbox, "usable", usable)
    monkeypatch.setattr(proxy_probe, "usable_proxy", usable_proxy)


def test_it_says_nothing_where_none_has_any(clinic: Clinic) -> None:
    settle_on(clinic, checks={"unit": "make test"}, clones={"setup": "npm ci"})
    assert "command_sandbox" not in [each["check_name"] for each in clinic.findings()]
    assert "Checks\n" not in clinic.examine().out


def test_those_that_can_be_made_are_named(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    lack(monkeypatch)
    settle_on(clinic, checks={"unit": IN_SANDBOX, "lint": "make lint"}, clones=SETUP)
    found = clinic.finding("command_sandbox")
    assert (found["level"], found["works"]) == ("ok", True)
    assert found["commands"] == ["clones.setup", "unit"]
    assert found["section"] == "Checks"
    assert found["text"] == "clones.setup, unit: can have their sandboxes here"


def test_a_check_without_its_proxy_is_a_warning(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    lack(monkeypatch)
    asks = {**IN_SANDBOX, "network": {"allow": ["api.example.com"]}}
    settle_on(clinic, checks={"unit": IN_SANDBOX, "far": asks}, clones=SETUP)
    found = clinic.finding("command_sandbox")
    assert (found["level"], found["commands"], found["works"]) == ("warning", ["far"], False)
    assert found["text"] == (
        "far: the proxy (network: allow) does not work here: there is no tinyproxy."
        " sow does not run them without it"
    )
    assert found["remedy"] == "Install that."
    assert clinic.examine().code == 0


def test_a_setup_without_its_sandbox_is_an_error(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    lack(monkeypatch, bubblewrap=True)
    settle_on(clinic, checks={"unit": IN_SANDBOX}, clones=SETUP)
    found = clinic.finding("command_sandbox")
    assert (found["level"], found["commands"]) == ("error", ["clones.setup", "unit"])
    assert clinic.examine().code == 1
