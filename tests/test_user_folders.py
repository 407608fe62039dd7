"""What needs no import of platformdirs is what platformdirs says."""

import os
import pwd
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from platformdirs.unix import Unix

from sow.executors.claude_folders import is_trusted
from sow.install.places import Scope, target_of
from sow.user_folders import BaseFolder, home_in, user_folder

HOMES = ("/home/ada", "/home/ada/", "/", "relative", "", None)
CHOSEN = (None, "", "/elsewhere", "relative", " ")


@pytest.mark.parametrize("base", BaseFolder)
def test_it_is_platformdirs_answer(base: BaseFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    variable, _, attribute = base.value
    for home, chosen in product(HOMES, CHOSEN):
        for name, value in (("HOME", home), (variable, chosen)):
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)
        answer = os.path.normpath(user_folder(base)).replace("//", "/")
        expected = os.path.normpath(getattr(Unix("sow"), attribute)).replace("//", "/")
        assert answer == expected, (home, chosen)


@pytest.mark.slow
@pytest.mark.parametrize(("home", "imports"), [("/home/ada", False), ("relative", True)])
def test_platformdirs_is_asked_only_in_unusual_cases(home: str, imports: bool) -> None:
    program = (
        "import sys; from sow.user_folders import BaseFolder, user_folder; "
        "user_folder(BaseFolder.CONFIG); print('platformdirs' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={"HOME": home}, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == str(imports)


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}])
def test_who_has_no_home_has_the_one_on_record(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home_in(environ) == Path(pwd.getpwuid(os.getuid()).pw_dir)
    record = pwd.struct_passwd(("ada", "x", 7, 7, "", str(tmp_path), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: record)
    assert target_of(Scope.USER, tmp_path, environ).file == tmp_path / ".claude/settings.json"
    trusted = '{"projects": {"/work": {"hasTrustDialogAccepted": true}}}'
    (tmp_path / ".claude.json").write_text(trusted)
    assert is_trusted(Path("/work"), environ)


def test_whom_the_system_does_not_know_has_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert home_in({}) == Path("/")
    assert home_in({"HOME": "/home/ada"}) == Path("/home/ada")


@pytest.mark.parametrize("base", BaseFolder)
def test_in_a_session_with_a_home_of_its_own_they_are_the_user_s(
    base: BaseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenCode finds the home of a session by the very variables by which sow finds its folders."""
    variable = base.value[0]
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv(variable, "/session")
    assert user_folder(base) == "/session/sow"
    monkeypatch.setenv(f"SOW_USERS_{variable}", "/users")
    assert user_folder(base) == "/users/sow"
    monkeypatch.setenv(f"SOW_USERS_{variable}", "")
    assert user_folder(base) == f"/home/ada/{base.value[1]}/sow"
