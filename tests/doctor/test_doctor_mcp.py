"""What `sow doctor` says of the package that only `sow mcp` needs."""

import importlib.metadata
from pathlib import Path

import pytest

from sow.doctor.mcp_package import OF_UV, examine_mcp, fits, how_to_install
from sow.findings import Finding, Level


def found() -> Finding:
    (finding,) = examine_mcp()
    return finding


def test_it_is_installed_here() -> None:
    finding = found()
    assert finding.level is Level.OK
    assert finding.text == f"`sow mcp` can serve MCP clients (mcp {finding.facts['version']})"


def test_without_it_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("sow.doctor.mcp_package.version", missing)
    finding = found()
    assert (finding.level, finding.check) == (Level.NOTE, "mcp")
    assert "pipx inject sow-agents mcp" in finding.remedy


def test_an_environment_of_uv_is_given_no_command_of_pip(tmp_path: Path) -> None:
    assert "pip install mcp" in how_to_install(tmp_path)
    (tmp_path / OF_UV).touch()
    advice = how_to_install(tmp_path)
    assert "`uv tool install --with mcp sow-agents`" in advice
    assert "pip" not in advice


@pytest.mark.parametrize("version", ["1.27.0", "2.0.9", "3.0.0"])
def test_another_version_is_a_warning(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sow.doctor.mcp_package.version", lambda _: version)
    assert found().level is Level.WARNING
    assert not fits(version)


@pytest.mark.parametrize("version", ["2.1", "2.1.0", "2.30.1"])
def test_what_the_extra_asks_for_fits(version: str) -> None:
    assert fits(version)


def test_the_extra_asks_for_the_same() -> None:
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["mcp"] == ["mcp>=2.1,<3"]
