"""What needs no import of platformdirs is what platformdirs says."""

import os
import subprocess
import sys

import pytest
from platformdirs.unix import Unix

from sow.user_folders import BaseFolder, user_folder


@pytest.mark.parametrize("base", BaseFolder)
@pytest.mark.parametrize("home", ["/home/ada", "/home/ada/", "/", "relative", "", None])
@pytest.mark.parametrize("chosen", [None, "", "/elsewhere", "relative", " "])
def test_it_is_platformdirs_answer(
    base: BaseFolder, home: str | None, chosen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, _, attribute = base.value
    monkeypatch.delenv("HOME")
    if home is not None:
        monkeypatch.setenv("HOME", home)
    monkeypatch.delenv(variable, raising=False)
    if chosen is not None:
        monkeypatch.setenv(variable, chosen)
    answer = os.path.normpath(user_folder(base)).replace("//", "/")
    assert answer == os.path.normpath(getattr(Unix("sow"), attribute)).replace("//", "/")


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
