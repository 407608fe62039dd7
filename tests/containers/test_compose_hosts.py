"""`compose.hosts.yaml`: what it says, and its hosts' very command, run without an engine."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import postgres
import pytest
import yaml
from journeys.callers import good
from journeys.gitsite import commit, git
from journeys.site import SOW, make_site, wait_until
from journeys.two_checkouts import Pair, pair_at

REPOSITORY = Path(__file__).parents[2]
FILE = REPOSITORY / "compose.hosts.yaml"
HOSTS = ("host-a", "host-b")


@pytest.fixture
def services() -> dict[str, Any]:
    loaded = yaml.safe_load(FILE.read_text())
    found: dict[str, Any] = loaded["services"]
    return found


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """Return what a service mounts, by its place in the container."""
    found = [volume.removesuffix(":ro").rpartition(":") for volume in service["volumes"]]
    return {inside: outside for outside, _, inside in found}


def test_the_hosts_share_a_socket_and_nothing_else(services: dict[str, Any]) -> None:
    assert set(services) == {"db", *HOSTS}
    server, first, second = (mounts(services[name]) for name in ("db", *HOSTS))
    shared = "/var/run/postgresql"
    assert server[shared] == first[shared] == second[shared]
    assert set(first.values()) & set(second.values()) == {first[shared]}
    assert set(first) == {
        shared,
        "/home/agent/.config/sow",
        "/home/agent/.local/state",
        services["host-a"]["working_dir"],
    }
    assert services["db"]["command"][-1] == "listen_addresses=", "it listens on no network"
    assert services["db"]["environment"]["POSTGRES_INITDB_ARGS"] == "--auth-local=scram-sha-256"
    assert not any("ports" in service for service in services.values())
    for name in HOSTS:
        assert services[name]["stop_signal"] == "SIGUSR1"
        assert "${SOW_REMOTE}" in services[name]["environment"].values()


def test_defaults_are_not_nested() -> None:
    """Compose 1.29 reads `${A:-${B}/c}` as another path, without a word."""
    text = FILE.read_text()
    assert "${" in text
    assert ":-${" not in text


def test_the_page_names_the_file_and_its_folders(services: dict[str, Any]) -> None:
    page = (REPOSITORY / "docs/howto/container.md").read_text()
    assert "docker compose --file compose.hosts.yaml" in page
    for name in ("SOW_USER", "SOW_DB_PASSWORD", "SOW_REMOTE"):
        assert f"{name}=" in page
        assert f"${{{name}" in FILE.read_text()
    assert "psycopg" in (REPOSITORY / "pyproject.toml").read_text()
    assert '".[postgres]"' in (REPOSITORY / "Dockerfile").read_text()


@pytest.fixture
def pair(tmp_path: Path, postgres_server: postgres.Server) -> Iterator[Pair]:
    with pair_at(tmp_path, postgres_server) as made:
        made.begin("010", "020", script=[good(made.gate("{task}"))])
        commit(made.owner)
        git(made.owner, "push", "-q", "origin", "main")
        yield made


@pytest.mark.slow
def test_the_hosts_command_clones_the_remote_works_and_ends_at_its_signal(
    pair: Pair, services: dict[str, Any], tmp_path: Path
) -> None:
    running = []
    for name in HOSTS:
        place = tmp_path / name
        place.mkdir()
        site = make_site(place)
        pair.configure(site, "sow")
        service = services[name]
        command = [word.replace("$$", "$") for word in service["command"]]
        around = site.environment({"SOW_REMOTE": str(pair.remote)})
        around["PATH"] = f"{SOW.parent}{os.pathsep}{around['PATH']}"
        work = place / "work"
        work.mkdir()
        with (place / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=work, env=around, stdout=log, stderr=log)
        running.append((process, site, service))

    def heard() -> int:
        listed = pair.owner.sow("hosts", "list", "--json").json_lines
        return sum(line["worker_count"] for line in listed)

    try:
        wait_until(lambda: heard() == len(HOSTS), "both hosts are heard", 120)
        pair.open_gate("010")
        assert pair.owner.sow("agent", "spawn", "implementer", "010").out.startswith(
            "010 needs_review"
        )
        for process, site, service in running:
            process.send_signal(signal.Signals[service["stop_signal"]])
            assert process.wait(60) == 0, (site.base / "log").read_text()
        assert heard() == 0
    finally:
        for process, site, _ in running:
            if process.poll() is None:
                process.kill()
                process.wait()
            pair.end_agents(site)
