"""How the real Claude Code comes to the machine, with an npm of the tests' own."""

import json
from pathlib import Path

import pytest
from claude_install import (
    HERE,
    PACKAGE,
    ClaudeUnavailable,
    install,
    pinned_version,
    platform_package,
)


@pytest.fixture
def npm(tmp_path: Path) -> Path:
    """Return a program called npm, on a PATH of its own; the test writes it."""
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin" / "npm"


def write_npm(npm: Path, *commands: str) -> dict[str, str]:
    npm.write_text("#!/bin/sh\necho called >> " + f"{npm}.calls\n" + "\n".join(commands) + "\n")
    npm.chmod(0o755)
    return {"PATH": f"{npm.parent}:/usr/bin:/bin"}


def brings_a_binary() -> str:
    folder = f"node_modules/{platform_package()}"
    return f"mkdir -p {folder} && echo '#!/bin/sh' > {folder}/claude && chmod +x {folder}/claude"


def test_the_binary_alone_is_in_the_folder(npm: Path, tmp_path: Path) -> None:
    folder = install(write_npm(npm, brings_a_binary()), tools=tmp_path / "tools")
    assert [file.name for file in folder.iterdir()] == ["claude"]
    assert (folder / "claude").resolve().parent.parent.name == PACKAGE.split("/")[0]


def test_what_is_installed_is_kept(npm: Path, tmp_path: Path) -> None:
    environ = write_npm(npm, brings_a_binary())
    assert install(environ, tools=tmp_path / "tools") == install(environ, tools=tmp_path / "tools")
    assert Path(f"{npm}.calls").read_text().splitlines() == ["called"]


def test_a_failed_installation_says_why_and_is_tried_again(npm: Path, tmp_path: Path) -> None:
    environ = write_npm(npm, f"{brings_a_binary()}; echo no such host >&2; exit 1")
    with pytest.raises(ClaudeUnavailable, match="no such host"):
        install(environ, tools=tmp_path / "tools")
    assert install(write_npm(npm, brings_a_binary()), tools=tmp_path / "tools").is_dir()


def test_without_npm_there_is_no_claude(tmp_path: Path) -> None:
    with pytest.raises(ClaudeUnavailable, match="npm is not installed"):
        install({"PATH": str(tmp_path)}, tools=tmp_path / "tools")


def test_the_lock_pins_one_version_and_names_no_host() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text("utf-8"))
    packages = {name: facts for name, facts in lock["packages"].items() if name}
    assert {facts["version"] for facts in packages.values()} == {pinned_version()}
    assert all(facts["integrity"].startswith("sha512-") for facts in packages.values())
    assert "://" not in json.dumps(lock)
