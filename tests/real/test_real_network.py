"""Real agent CLIs with `network: allow`: they ask their model by the proxy, and nobody else."""

import json
import sys
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from natives import EVERY
from network_cases import put_ask
from opened_trial import opened_trial

from sow.sandbox.probe import SandboxUnavailable, usable
from sow.sandbox.proxy_probe import usable_proxy

pytestmark = [pytest.mark.real]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.one_of("natives by a proxy", name)) for name in EVERY],
)
def test_it_asks_its_model_by_the_proxy_and_nobody_else(name: str, tmp_path: Path) -> None:
    try:
        usable("this test")
        usable_proxy("this test")
    except SandboxUnavailable as missing:
        skip_or_fail(f"agents cannot be run by a proxy: {missing}")
    with opened_trial(EVERY[name], tmp_path) as trial:
        put_ask(trial.repository)
        settings = trial.repository / ".sow/config.yaml"
        settings.write_text('{"clones": {"use": "always"}}', encoding="utf-8")
        for words in (("add", "ask.py"), ("commit", "--quiet", "--message", "Ask")):
            assert trial.run("git", *words).returncode == 0
        trial.configure(sandbox="bwrap", network={"allow": ["127.0.0.1"]})
        number = (trial.records / "port").read_text("utf-8")
        asked = f"get=http://evil.example/ direct=127.0.0.1:{number} get=http://127.0.0.1:{number}/"
        trial.tell({"run": f"{sys.executable} -S ask.py {asked}"}, {"say": "That is all."})
        spawned = trial.spawn()
        job = trial.job()
        account = (spawned.stdout, spawned.stderr, job, trial.output())
        assert job["attempts"][0]["cause"] in ("reported", "no_status"), account
        texts = json.dumps(trial.asked()[-1]["body"])
        assert "get 403" in texts, account
        assert "direct no" in texts, account
        assert any("evil.example" in words for words in job["warnings"]), account
        text = (trial.repository / ".sow/run/jobs/1/1/proxy/tinyproxy.conf").read_text("utf-8")
        password = text.split("BasicAuth sow ")[1].split()[0]
        assert password not in trial.output()
        assert trial.left() == {}
