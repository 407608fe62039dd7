"""An agent with `network: allow`, through the true commands: what it reaches, and what is told."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from capabilities import skip_or_fail
from journeys.gitsite import commit, make_repository
from journeys.site import DEADLINE_SECONDS, SOW, Site, wait_until
from network_cases import put_ask, service

from sow.processes import procfs
from sow.sandbox.probe import SandboxUnavailable, usable
from sow.sandbox.proxy_probe import usable_proxy


@pytest.fixture(autouse=True)
def _programs() -> None:
    try:
        usable("this test")
        usable_proxy("this test")
    except SandboxUnavailable as error:
        skip_or_fail(error.message)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a service outside."""
    with service() as number:
        yield number


def begin(site: Site, script: str, *hosts: str, **executor: Any) -> None:
    """Make a repository with two tasks, whose agents run a script."""
    make_repository(site)
    site.project("010", "020")
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"clones": {"use": "always"}}))
    put_ask(site.root)
    commit(site, "a project")
    write(site, script)
    author = {
        "type": "command",
        "settings": {"command": [str(site.base / "author.sh")]},
        "retries": 0,
        "sandbox": "bwrap",
        "network": {"allow": [*hosts]},
        **executor,
    }
    bindings = {"implementer": "author"}
    site.configure({"agents": {"executors": {"author": author}, "bindings": bindings}})


def write(site: Site, script: str) -> None:
    """Put a script in the place of the one before, which may just run."""
    program = site.base / "new.sh"
    program.write_text(f"#!/bin/sh\ncat >/dev/null\n{script}\n")
    program.chmod(0o755)
    program.rename(site.base / "author.sh")


def output(site: Site, job: int = 1) -> list[str]:
    path = site.root / f".sow/run/jobs/{job}/1/output.jsonl"
    return path.read_text().splitlines() if path.exists() else []


ASK = f"{sys.executable} -S ask.py"
TOLD = (
    "the agent asked for evil.example, 127.0.0.1.evil.example, which `network: allow` does not name"
)


def test_refused_hosts_are_told(site: Site, port: int) -> None:
    begin(
        site,
        f"{ASK} get=http://127.0.0.1:{port}/ get=http://evil.example/ connect=evil.example:443"
        f" get=http://127.0.0.1.evil.example/ direct=127.0.0.1:{port}\n"
        "sow task set status needs_review",
        "127.0.0.1",
    )
    done = site.sow("agent", "spawn", "implementer", "010")
    asked = ["get 200", "get 403", "connect 403", "get 403", "direct no"]
    assert output(site)[: len(asked)] == asked, site.worker_logs()
    assert site.job(1)["cause"] == "reported"
    assert f"Warning: 010: {TOLD}" in done.err
    assert TOLD in site.sow("job", "logs", "1").err
    assert TOLD in site.sow("job", "explain", "1").out
    wait_until(lambda: left(site) == [], "nothing is left")


def processes_of(site: Site, job: int = 1) -> list[int]:
    """Return what runs of a job's attempts."""
    ids = {f"SOW_ATTEMPT_ID={each['id']}".encode() for each in site.job(job)["attempts"]}
    variables = {pid: procfs.variables(pid) for pid in procfs.all_pids()}
    return [pid for pid, text in variables.items() if ids & set(text.split(b"\0"))]


def left(site: Site, job: int = 1) -> list[str]:
    """Return the names of these programs."""
    return [Path(f"/proc/{pid}/comm").read_text() for pid in processes_of(site, job)]


def test_each_attempt_has_a_way_of_its_own(site: Site, port: int) -> None:
    """The proxy of one, asked from the sandbox of another, has another password."""
    begin(site, "echo up; while :; do sleep 0.05; done", "127.0.0.1")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until(lambda: output(site) == ["up"], "the agent is up")
    settings = site.root / ".sow/run/jobs/1/1/proxy/tinyproxy.conf"
    other = settings.read_text().split()[1]
    write(site, f"{ASK} get=http://127.0.0.1:{port}/ get=http://127.0.0.1:{other}/")
    site.sow("agent", "spawn", "implementer", "020", expect=None)
    assert output(site, 2) == ["get 200", "get 407"], site.worker_logs()
    site.sow("agent", "cancel", "010", expect=None)
    wait_until(lambda: left(site) == [], "nothing is left")


SETUP = (
    'test -z "$HTTP_PROXY$SOW_DOOR" && ! ls -l /proc/self/fd | grep -q socket: && echo yes >made'
)


def test_the_setup_of_its_clone_knows_nothing_of_it(site: Site, port: int) -> None:
    begin(site, f"cat made; {ASK} get=http://127.0.0.1:{port}/", "127.0.0.1")
    clones = {"clones": {"use": "always", "setup": SETUP}}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(clones))
    site.sow("trust", "--yes")
    site.sow("agent", "spawn", "implementer", "010", expect=None)
    assert output(site) == ["yes", "get 200"], site.worker_logs()


@pytest.mark.one_of("proxies that go on")
def test_it_outlives_its_worker(site: Site, port: int) -> None:
    script = f"echo up; while [ ! -e go ]; do sleep 0.05; done; {ASK} get=http://127.0.0.1:{port}/"
    begin(site, script, "127.0.0.1")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until(lambda: output(site) == ["up"], "the agent is up")
    (worker,) = site.workers()
    site.kill(worker["pid"])
    wait_until(lambda: not procfs.variables(worker["pid"]), "the worker is dead")
    (Path(site.task("010")["clone"]["path"]) / "go").touch()
    wait_until(lambda: output(site) == ["up", "get 200"], "it goes on")
    site.sow("agent", "wait", "010", expect=None)
    assert len(site.job(1)["attempts"]) == 1
    wait_until(lambda: left(site) == [], "nothing is left")


LOST = "the proxy of `network: allow` ended before the agent, which reached no host from then on"


@pytest.mark.one_of("proxies that go on")
def test_one_that_dies_fails_its_agent_and_the_next_attempt_has_another(
    site: Site, port: int
) -> None:
    asks = f"{ASK} get=http://127.0.0.1:{port}/ | tee said"
    script = (
        f"[ -e said ] || {{ echo up; while [ ! -e go ]; do sleep 0.05; done; {asks}; exit 1; }}\n"
        f"{asks}; sow task set status needs_review"
    )
    begin(site, script, "127.0.0.1", retries=1)
    call = site.start("agent", "spawn", "implementer", "010")
    wait_until(lambda: output(site) == ["up"], "the agent is up")
    for pid in processes_of(site):
        if "tinyproxy" in Path(f"/proc/{pid}/comm").read_text():
            os.kill(pid, signal.SIGKILL)
    refused = site.root / ".sow/run/jobs/1/1/refused"
    wait_until(refused.exists, "its end is noted")
    (Path(site.task("010")["clone"]["path"]) / "go").touch()
    _, errors = call.communicate(timeout=DEADLINE_SECONDS)
    job = site.job(1)
    assert output(site) == ["up", "get no"], site.worker_logs()
    assert [attempt["cause"] for attempt in job["attempts"]] == ["crashed", "reported"]
    again = (site.root / ".sow/run/jobs/1/2/output.jsonl").read_text()
    assert again.splitlines()[0] == "get 200"
    assert f"Warning: 010: {LOST}; each attempt gets a new proxy" in errors


LINE = f"{ASK} get=http://127.0.0.1:PORT/ get=http://evil.example/ direct=127.0.0.1:PORT"
IN_SANDBOX: dict[str, Any] = {"sandbox": "bwrap", "network": {"allow": ["127.0.0.1"]}}
REFUSED = "sow: it asked for evil.example, which `network: allow` does not name"


@pytest.mark.one_of("proxies that go on")
def test_a_check_and_the_setup_of_its_clone_have_one_of_their_own(site: Site, port: int) -> None:
    begin(site, "sow task set status needs_review", network="loopback")
    line = LINE.replace("PORT", str(port))
    setup = {f"setup_{key}": value for key, value in IN_SANDBOX.items()}
    settings = {
        "clones": {"use": "always", "setup": line, **setup},
        "checks": {"unit": {"run": f"{line}; exit 3", **IN_SANDBOX}},
    }
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    shown = site.sow("trust", "--yes").out
    assert shown.count("network: {allow: [127.0.0.1]}") == 2
    site.sow("agent", "spawn", "implementer", "010")
    checked = site.sow("task", "check", "010", "unit", expect=None)
    assert REFUSED in checked.out + checked.err
    lines = sorted([REFUSED, "direct no", "get 200", "get 403"])
    for log in ("1/1/setup.log", "2/1/check-unit.log"):
        text = (site.root / f".sow/run/jobs/{log}").read_text()
        assert sorted(text.splitlines()) == lines, site.worker_logs()
    wait_until(lambda: left(site) == left(site, 2) == [], "nothing is left")


def test_doctor_says_which_hosts_it_may_ask(site: Site) -> None:
    begin(site, "true", "api.example.com", "*.example.org")
    examined = site.sow("doctor", "author", expect=None).out
    assert "and by /usr/bin/tinyproxy these hosts: api.example.com, *.example.org" in examined


def sow_with(site: Site, proxy: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of sow where another file is in tinyproxy's place."""
    script = f'mount --bind {proxy} {usable_proxy("this test")} && exec "$@"'
    around = ("unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script, "sh")
    return subprocess.run(
        [*around, str(SOW), *words],
        cwd=site.root,
        env=site.environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_without_a_proxy_nothing_is_started(site: Site) -> None:
    begin(site, f"touch {site.base}/ran", "127.0.0.1")
    nothing = Path("/dev/null")
    done = sow_with(site, nothing, "agent", "spawn", "implementer", "010")
    assert done.returncode == 5, done
    assert "executor author asks for network: allow, but there is no tinyproxy" in done.stdout
    assert "apt-get install tinyproxy-bin" in done.stdout
    assert site.job(1)["cause"] == "sandbox_failed"
    assert not (site.base / "ran").exists()
    examined = sow_with(site, nothing, "doctor", "author")
    assert examined.returncode == 1
    assert (
        "author: its proxy (network: allow) does not work here: there is no tinyproxy"
        in examined.stdout
    )
    settings = {"checks": {"unit": {"run": f"touch {site.base}/ran", **IN_SANDBOX}}}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    site.sow("trust", "--yes")
    checked = sow_with(site, nothing, "task", "check", "010", "unit")
    words = "unit asks for network: allow, but there is no tinyproxy"
    assert words in checked.stdout + checked.stderr
    assert site.job(2)["cause"] == "sandbox_failed"
    assert not (site.base / "ran").exists()


BROKEN = (
    '#!/bin/sh\n[ "$1" = -v ] && echo tinyproxy 1.11.1 && exit\necho broken here >&2; exit 70\n'
)


def test_a_proxy_that_ends_at_once_is_told_of(site: Site) -> None:
    begin(site, f"touch {site.base}/ran", "127.0.0.1")
    broken = site.base / "broken"
    broken.write_text(BROKEN)
    broken.chmod(0o755)
    done = sow_with(site, broken, "agent", "spawn", "implementer", "010")
    assert done.returncode == 5, done
    words = "the proxy of network: allow cannot be started: broken here"
    assert words in done.stdout + done.stderr
    assert (site.job(1)["cause"], site.task("010")["status"]) == ("sandbox_failed", "failed")
    settings = {"checks": {"unit": {"run": f"touch {site.base}/ran", **IN_SANDBOX}}}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    site.sow("trust", "--yes")
    checked = sow_with(site, broken, "task", "check", "010", "unit")
    assert checked.returncode == 5, checked
    words = "unit asks for network: allow, but its proxy cannot be started: broken here"
    assert words in checked.stdout + checked.stderr
    assert (site.job(2)["cause"], len(site.job(2)["attempts"])) == ("sandbox_failed", 1)
    assert not (site.base / "ran").exists()


def test_the_settings_say_what_is_allowed(site: Site) -> None:
    begin(site, "true", "api.example.com")
    shown = site.sow("config", "show", "--json").json["settings"]["agents"]["executors"]
    assert shown["author"]["network"] == {"allow": ["api.example.com"]}
