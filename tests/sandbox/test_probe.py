"""Whether bubblewrap works: missing, too old, forbidden, broken; each in words, and tried once."""

from pathlib import Path

import pytest

from sow.errors import ExitCode
from sow.sandbox.probe import SandboxUnavailable, usable

WORKS = "echo tried >>{log}; exit 0"
FORBIDDEN = (
    'echo "bwrap: No permissions to create new namespace, likely because the kernel does not'
    ' allow non-privileged user namespaces." >&2; exit 1'
)


def bwrap(folder: Path, version: str, otherwise: str = WORKS) -> str:
    """Lay a bubblewrap into a folder, and return that as the places to look in."""
    folder.mkdir(exist_ok=True)
    program = folder / "bwrap"
    rest = otherwise.format(log=folder / "log")
    program.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then {version}; exit; fi\n{rest}\n')
    program.chmod(0o755)
    return str(folder)


def refusal(places: str) -> SandboxUnavailable:
    with pytest.raises(SandboxUnavailable) as raised:
        usable("executor mine", places)
    assert raised.value.exit_code is ExitCode.EXECUTOR
    assert raised.value.message.startswith("executor mine asks for sandbox: bwrap, but ")
    assert raised.value.hint
    return raised.value


def test_one_that_works_is_tried_once(tmp_path: Path) -> None:
    places = bwrap(tmp_path / "bin", "echo bubblewrap 0.8.0")
    assert usable("one", places) == usable("another", places) == f"{places}/bwrap"
    assert (tmp_path / "bin/log").read_text() == "tried\n"


ENDED = 'echo tried >>{{log}}; test "$(wc -l <{{log}})" -gt {often} || {{{{ {how}; }}}}'


@pytest.mark.parametrize("how", ["kill -9 $$", "exit 137"])
def test_one_that_a_signal_ends_is_tried_again(tmp_path: Path, how: str) -> None:
    places = bwrap(tmp_path / "bin", "echo bubblewrap 0.8.0", ENDED.format(often=2, how=how))
    assert usable("one", places) == f"{places}/bwrap"
    assert (tmp_path / "bin/log").read_text() == 3 * "tried\n"


@pytest.mark.parametrize("version", ["echo bubblewrap 0.8.0", "kill -9 $$"])
def test_that_no_trial_came_to_its_end_is_told_and_not_noted(tmp_path: Path, version: str) -> None:
    places = bwrap(tmp_path / "bin", version, "kill -9 $$")
    error = refusal(places)
    assert error.reason == "bwrap cannot be tried: a signal ended it 3 times"
    assert "`bwrap --version`" in error.hint
    bwrap(tmp_path / "bin", "echo bubblewrap 0.8.0")
    assert usable("one", places) == f"{places}/bwrap"


def test_a_missing_one_names_the_package(tmp_path: Path) -> None:
    error = refusal(str(tmp_path))
    assert f"there is no bwrap in {tmp_path}" in error.reason
    assert "apt-get install bubblewrap" in error.hint


@pytest.mark.parametrize("version", ["echo bubblewrap 0.3.1", "echo something else", "exit 3"])
def test_one_that_is_too_old_or_unknown_is_refused(tmp_path: Path, version: str) -> None:
    assert "0.4.0 is needed" in refusal(bwrap(tmp_path / "bin", version)).reason


@pytest.mark.parametrize("version", ["0.4.0", "0.10", "1.0.0"])
def test_versions_are_compared_as_numbers(tmp_path: Path, version: str) -> None:
    assert usable("one", bwrap(tmp_path / "bin", f"echo bubblewrap {version}"))


def test_forbidden_namespaces_are_told_with_the_settings(tmp_path: Path) -> None:
    error = refusal(bwrap(tmp_path / "bin", "echo bubblewrap 0.8.0", FORBIDDEN))
    assert "No permissions to create new namespace" in error.reason
    assert "max_user_namespaces" in error.hint
    again = refusal(f"{tmp_path}/bin")
    assert again.reason == error.reason
