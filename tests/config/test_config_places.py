"""Where the user's configuration lies, on each platform (seed 001)."""

import sys
from pathlib import Path

import pytest
from platformdirs import windows

from sow.paths import display_path, user_config_path


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_linux_and_macos(
    platform: str, monkeypatch: pytest.MonkeyPatch, poisoned_home: Path
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    place = user_config_path({})
    assert place == poisoned_home / ".config/sow/config.yaml"
    assert display_path(place) == "~/.config/sow/config.yaml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "/elsewhere")
    assert user_config_path({}) == Path("/elsewhere/sow/config.yaml")


def test_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The roaming folder, and no author's folder between. Elsewhere nothing but the environment
    tells the folder, which is platformdirs' last resort on Windows."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(windows, "get_win_folder", windows.get_win_folder_from_env_vars)
    monkeypatch.setenv("APPDATA", "/Users/ada/AppData/Roaming")
    assert user_config_path({}) == Path("/Users/ada/AppData/Roaming/sow/config.yaml")


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_sow_config_names_another_file(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert user_config_path({"SOW_CONFIG": "/mine/sow.yaml"}) == Path("/mine/sow.yaml")
