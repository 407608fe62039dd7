"""`sow config init` and `sow config reset`: nothing of the user's is ever lost."""

import json
import os
import stat
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ASKED = "~/.config/sow/config.yaml exists already. Overwrite it? [y/N]: "


def test_init_makes_the_file_and_its_folder_for_the_user_alone(anywhere):
    made = anywhere.sow("config", "init")
    assert (made.code, made.err) == (0, "")
    assert made.out == "Made ~/.config/sow/config.yaml\nNext: sow config edit\n"
    assert stat.S_IMODE(anywhere.config.stat().st_mode) == 0o600
    assert stat.S_IMODE(anywhere.config.parent.stat().st_mode) == 0o700
    assert list(anywhere.config.parent.iterdir()) == [anywhere.config]
    assert anywhere.sow("config", "validate").code == 0


@pytest.mark.parametrize(("answers", "overwritten"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_init_asks_before_it_overwrites(anywhere, answers, overwritten):
    anywhere.write("# mine\n")
    asked = anywhere.sow("config", "init", answers=answers)
    assert asked.err.startswith(ASKED)
    assert asked.code == (0 if overwritten else 1)
    assert (anywhere.config.read_text() != "# mine\n") is overwritten
    backup = anywhere.config.with_name("config.yaml.backup")
    assert backup.exists() is overwritten


@pytest.mark.parametrize(("verb", "option"), [("init", "--force"), ("reset", "--yes")])
def test_without_a_terminal_nothing_is_asked_and_nothing_is_done(anywhere, verb, option):
    anywhere.write("# mine\n")
    refused = anywhere.sow("config", verb)
    assert refused.code == 2
    assert refused.err.startswith("Error: nobody can answer this here: ")
    assert option in refused.err
    assert anywhere.config.read_text() == "# mine\n"
    assert list(anywhere.config.parent.iterdir()) == [anywhere.config]


def test_force_overwrites_and_keeps_a_backup(anywhere):
    anywhere.write("not: [valid")
    done = anywhere.sow("config", "init", "--force", "--json")
    backup = f"{anywhere.config}.backup"
    assert json.loads(done.out) == {
        "path": str(anywhere.config),
        "overwritten": True,
        "backup": backup,
    }
    assert Path(backup).read_text() == "not: [valid"
    assert anywhere.sow("config", "validate").code == 0


def test_init_writes_through_a_link(anywhere):
    """A file that a dotfiles repository holds stays there."""
    target = anywhere.base / "dotfiles.yaml"
    anywhere.config.parent.mkdir(parents=True)
    anywhere.config.symlink_to(target)
    assert anywhere.sow("config", "init").code == 2  # a link is something that is there
    assert anywhere.sow("config", "init", "--force").code == 0
    assert anywhere.config.is_symlink()
    assert target.read_text().startswith("# Sow Agent Configuration")


def test_reset_removes_the_file_and_never_overwrites_a_backup(anywhere):
    folder = anywhere.config.parent
    for number, name in enumerate(("backup", "backup.1", "backup.2")):
        anywhere.write(f"# version {number}\n")
        anywhere.config.chmod(0o640)
        done = anywhere.sow("config", "reset", answers="y\n")
        assert done.out == (
            "Removed ~/.config/sow/config.yaml: the defaults are in effect.\n"
            f"The old file is in ~/.config/sow/config.yaml.{name}\n"
        )
        assert not anywhere.config.exists()
        assert stat.S_IMODE((folder / f"config.yaml.{name}").stat().st_mode) == 0o640
    texts = [path.read_text() for path in sorted(folder.iterdir())]
    assert texts == ["# version 0\n", "# version 1\n", "# version 2\n"]


def test_reset_asks_first(anywhere):
    anywhere.write("# mine\n")
    asked = anywhere.sow("config", "reset", answers="\n")
    assert asked.err.startswith("Remove ~/.config/sow/config.yaml and go back to the defaults? [")
    assert (asked.code, anywhere.config.read_text()) == (1, "# mine\n")


def test_reset_without_a_file_says_so(anywhere):
    done = anywhere.sow("config", "reset")
    assert done.code == 0
    assert done.out == "There is no ~/.config/sow/config.yaml: the defaults are in effect.\n"
    record = json.loads(anywhere.sow("config", "reset", "--json").out)
    assert record == {"path": str(anywhere.config), "removed": False, "backup": None}


def test_reset_of_a_link_leaves_what_it_leads_to(anywhere):
    target = anywhere.base / "dotfiles.yaml"
    target.write_text("# mine\n")
    anywhere.config.parent.mkdir(parents=True)
    anywhere.config.symlink_to(target)
    anywhere.sow("config", "reset", "--yes")
    assert not os.path.lexists(anywhere.config)
    assert target.read_text() == "# mine\n"


@pytest.mark.parametrize("verb", [["init", "--force"], ["reset", "--yes"]])
def test_what_cannot_be_written_is_a_plain_error(anywhere, verb):
    """A folder in the file's place: for root, too, a thing that no write can replace."""
    anywhere.config.mkdir(parents=True)
    refused = anywhere.sow("config", *verb)
    assert refused.code == 3
    assert refused.err.startswith("Error: ~/.config/sow/config.yaml cannot be changed: ")


def test_a_parent_that_is_a_file_is_a_plain_error(anywhere):
    (anywhere.base / "home/.config").write_text("")
    refused = anywhere.sow("config", "init")
    assert refused.code == 3
    assert "cannot be changed" in refused.err


def test_the_help_names_the_platforms_own_path(anywhere):
    assert (
        "\n  Your config file: ~/.config/sow/config.yaml\n" in anywhere.sow("config", "--help").out
    )
    long = anywhere.base / ("a-folder-with-a-long-name/" * 5)
    shown = anywhere.sow("config", "--help", XDG_CONFIG_HOME=str(long)).out
    assert f"Your config file: {long}/sow/config.yaml\n" in shown
