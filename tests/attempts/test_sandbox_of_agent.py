"""What the sandbox of an agent shows besides its folder."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from sow.attempts.sandbox import sandbox_of_agent
from sow.executors.base import Launch
from sow.paths import Workspace
from sow.sandbox.machine import Wanted
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
