"""What an agent says to `sow`, and its secrets."""

from pathlib import Path

import pytest

from sow.cli.own_secrets import text_without_secrets, without_secrets

KEY = "sk-0815-4711"


def around(folder: Path) -> dict[str, str]:
    return {
        "SOW_SECRETS": "KEY",
        "KEY": KEY,
        "SOW_ROOT": str(folder),
        "SOW_ATTEMPT_ID": "7.2.abcdef",
    }


def test_a_line_has_the_name_in_the_place_of_the_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ".sow/run/jobs/7/2"
    folder.mkdir(parents=True)
    line = ["agent", "log", f"it is {KEY}", f"--body={KEY}{KEY}", "\udcff"]
    assert without_secrets(line, around(tmp_path)) == [
        *("agent", "log", "it is [KEY]", "--body=[KEY][KEY]", "\udcff")
    ]
    assert (
        capsys.readouterr().err
        == "Note: this contains the value of KEY; sow writes [KEY] instead\n"
    )
    assert (folder / "blanked").read_text() == "7.2.abcdef KEY\n"


def test_a_text_likewise_and_nobody_is_told_of_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text_without_secrets(b"no secret", around(tmp_path)) == b"no secret"
    assert capsys.readouterr().err == ""
    assert text_without_secrets(f"<{KEY}>".encode(), around(tmp_path)) == b"<[KEY]>"


def test_inside_of_a_sandbox_it_is_noted_beside_the_socket(tmp_path: Path) -> None:
    outside, beside = tmp_path / ".sow/run/jobs/7/2", tmp_path / "reports"
    outside.mkdir(parents=True)
    beside.mkdir()
    environ = {**around(tmp_path), "SOW_REPORT_SOCKET": str(beside / "socket")}
    assert without_secrets([KEY], environ) == ["[KEY]"]
    assert (beside / "blanked").read_text() == "7.2.abcdef KEY\n"
    assert list(outside.iterdir()) == []


def test_odd_variables_of_an_agent_lead_nowhere(tmp_path: Path) -> None:
    for attempt in ("", "x.y.z", "../..", "7"):
        environ = {**around(tmp_path), "SOW_ATTEMPT_ID": attempt}
        assert without_secrets([KEY], environ) == ["[KEY]"]
    assert list(tmp_path.iterdir()) == []
