"""What the sandbox of an agent shows besides its folder."""

import subprocess
import sys
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from msgspec.structs import replace

from sow.attempts.sandbox import in_sandbox, sandbox_of_agent
from sow.executors.base import Launch
from sow.paths import Workspace
from sow.sandbox.machine import Wanted
from sow.sandbox.probe import SandboxUnavailable, usable
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, NetworkUse, SandboxUse

CODEX = ExecutorConfig(name="codex", type=ExecutorType.CODEX, sandbox=SandboxUse.BWRAP)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace in the home of a user who has a key, a login and references."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name in (".ssh", ".codex", ".cache/sow/refs/one", "repo/.sow/project", "clone"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".codex/auth.json").write_text("{}")
    return Workspace(tmp_path / "repo")


def wanted(
    workspace: Workspace, *readable: Path, executor: ExecutorConfig = CODEX, home: str = ""
) -> Wanted:
    users = workspace.root.parent
    clone = users / "clone"
    launch = Launch(argv=("codex",), stdin="", cwd=clone, home=Path(home) if home else None)
    environ = {"HOME": str(users)}
    found = sandbox_of_agent(workspace, executor, launch, environ, clone=clone, readable=readable)
    assert found is not None
    return found


def test_without_a_sandbox_there_is_nothing_to_see(workspace: Workspace) -> None:
    plain = ExecutorConfig(name="codex", type=ExecutorType.CODEX)
    launch = Launch(argv=("codex",), stdin="", cwd=workspace.root)
    assert sandbox_of_agent(workspace, plain, launch, {}, clone=None, readable=()) is None


def test_the_home_of_its_session_and_its_login_are_writable(workspace: Workspace) -> None:
    found = wanted(workspace, home="/state/homes/x")
    assert "/state/homes/x" in found.writable
    assert found.optional == (str(workspace.root.parent / ".codex/auth.json"),)


def test_its_references_are_readable_and_no_other_folder_that_a_state_names(
    workspace: Workspace,
) -> None:
    users = workspace.root.parent
    (workspace.sow / "link").symlink_to(users / ".ssh")
    reference = users / ".cache/sow/refs/one"
    bad = (workspace.sow / "../../.ssh", workspace.sow / "link", users / ".ssh", users)
    readable = wanted(workspace, reference, *bad).readable
    assert str(reference) in readable
    assert not set(map(str, bad)) & set(readable)


def test_its_network_is_as_configured(workspace: Workspace) -> None:
    lonely = ExecutorConfig(
        name="x",
        type=ExecutorType.COMMAND,
        sandbox=SandboxUse.BWRAP,
        network=NetworkUse.LOOPBACK,
    )
    assert wanted(workspace).has_network
    assert not wanted(workspace, executor=lonely).has_network
    choosy = replace(lonely, allowed_hosts=("api.example.com",))
    found = wanted(workspace, executor=choosy)
    assert (found.has_network, found.hosts) == (False, ("api.example.com",))


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
def test_sow_is_found_inside_though_the_users_own_is_a_link_in_the_home(tmp_path: Path) -> None:
    """pipx and uv put such a link into `~/.local/bin`; the home is not there."""
    try:
        usable("this test")
    except SandboxUnavailable as missing:
        skip_or_fail(str(missing))
    home, clone = tmp_path / "home", tmp_path / "clone"
    for folder in (home / ".local/bin", clone):
        folder.mkdir(parents=True)
    sow = Path(sys.executable).with_name("sow")
    (home / ".local/bin/sow").symlink_to(sow)
    environ = {"HOME": str(home), "PATH": f"{home}/.local/bin:/usr/bin:/bin"}
    seen = Wanted(folder=str(clone), cwd=str(clone), has_network=True)
    argv = ("/bin/sh", "-c", "command -v sow && sow --version")
    words, inside = in_sandbox("mine", seen, argv, environ)
    done = subprocess.run(words, env=inside, cwd=clone, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[:1] == [str(sow)], done.stderr
    assert done.returncode == 0
