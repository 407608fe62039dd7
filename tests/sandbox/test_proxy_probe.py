"""Whether there is a proxy: missing, too old, another program; each in words."""

from pathlib import Path

import pytest

from sow.errors import ExitCode
from sow.sandbox.proxy_probe import ProxyUnavailable, usable_proxy


def places_with(folder: Path, answer: str) -> str:
    folder.mkdir()
    program = folder / "tinyproxy"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("answer", ["tinyproxy 1.11.0", "tinyproxy 1.11.2-rc1", "tinyproxy 2.0"])
def test_one_that_is_new_enough_is_found(tmp_path: Path, answer: str) -> None:
    places = places_with(tmp_path / "bin", f"echo {answer}")
    assert usable_proxy("one", places) == f"{places}/tinyproxy"


@pytest.mark.parametrize("answer", ["echo tinyproxy 1.10.9", "echo something else", "exit 3"])
def test_one_that_is_too_old_or_unknown_is_refused(tmp_path: Path, answer: str) -> None:
    with pytest.raises(ProxyUnavailable, match=r"1\.11\.0 is needed"):
        usable_proxy("executor mine", places_with(tmp_path / "bin", answer))


def test_a_missing_one_names_the_package(tmp_path: Path) -> None:
    with pytest.raises(ProxyUnavailable) as raised:
        usable_proxy("executor mine", str(tmp_path))
    assert raised.value.exit_code is ExitCode.EXECUTOR
    begin = f"executor mine asks for network: allow, but there is no tinyproxy in {tmp_path}"
    assert raised.value.message.startswith(begin)
    assert "apt-get install tinyproxy-bin" in raised.value.hint


def test_that_no_question_was_answered_is_told_and_not_noted(tmp_path: Path) -> None:
    places = places_with(tmp_path / "bin", "kill -9 $$")
    with pytest.raises(ProxyUnavailable, match="a signal ended it 3 times") as raised:
        usable_proxy("executor mine", places)
    assert "`tinyproxy -v`" in raised.value.hint
    (tmp_path / "bin/tinyproxy").write_text("#!/bin/sh\necho tinyproxy 1.11.2\n")
    assert usable_proxy("executor mine", places)
