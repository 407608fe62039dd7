"""The service that starts a worker: a unit that systemd takes, a list that launchd can read."""

import os
import plistlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sow.cli.worker_unit import (
    launchd_list,
    service_name,
    systemd_unit,
    variables_for_service,
)
from sow.errors import StateError

ARGV = [sys.executable, "-P", "-m", "sow", "worker"]


def lines_of(unit: str, key: str) -> list[str]:
    return [line.partition("=")[2] for line in unit.splitlines() if line.startswith(f"{key}=")]


def test_the_unit_starts_this_sow_in_this_checkout(begun, tmp_path):
    printed = begun("worker", "unit").out
    assert lines_of(printed, "WorkingDirectory") == [str(tmp_path)]
    (command,) = lines_of(printed, "ExecStart")
    assert shlex.split(command) == ARGV
    assert lines_of(printed, "KillMode") == ["process"], "agents outlive their worker"
    assert f'Environment="PATH={os.environ["PATH"]}"' in printed
    record = begun("worker", "unit", "--json").json
    assert (record["system"], record["text"]) == ("systemd", printed)
    assert Path(record["path"]).name == f"{record['name']}.service"
    for command in record["commands"]:
        assert f"# {command}" in printed


def test_launchd_can_read_its_list(begun, tmp_path):
    content = plistlib.loads(begun("worker", "unit", "--launchd").out.encode())
    assert content["ProgramArguments"] == ARGV
    assert content["WorkingDirectory"] == str(tmp_path)
    assert (content["RunAtLoad"], content["AbandonProcessGroup"]) == (True, True)
    assert content["EnvironmentVariables"]["PATH"] == os.environ["PATH"]
    assert begun("worker", "unit", "--launchd", "--json").json["name"] == content["Label"]


@pytest.mark.parametrize("name", ["plain", 'a b%c"d\\e $HOME ü'])
def test_systemd_takes_the_unit_of_any_folder(tmp_path, name):
    """Where systemd is installed, it judges the file itself."""
    folder = tmp_path / name
    folder.mkdir()
    argv = [*ARGV, f"100% ${name}"]
    unit = systemd_unit(folder, argv, {"PATH": f"/bin:{name}"}, ["how"])
    (command,) = lines_of(unit, "ExecStart")
    assert shlex.split(command.replace("$$", "$").replace("%%", "%")) == argv
    verify = shutil.which("systemd-analyze")
    if verify is None:
        return
    path = tmp_path / "sow-verified.service"
    path.write_text(unit)
    # What lies there besides names sockets in it, and their paths may have 107 bytes.
    with tempfile.TemporaryDirectory() as run:
        done = subprocess.run(
            [verify, "--user", "verify", str(path)],
            env={**os.environ, "XDG_RUNTIME_DIR": run},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "a\udcffb"])
def test_a_path_that_no_such_file_can_hold_is_refused(tmp_path, name):
    with pytest.raises(StateError, match=": it has a character that is not allowed there"):
        systemd_unit(tmp_path / name, ARGV, {}, ["how"])
    with pytest.raises(StateError, match=": it has a character that is not allowed there"):
        launchd_list(tmp_path / name, ARGV, {}, tmp_path / "log")


def test_no_two_workspaces_share_a_name():
    names = {service_name(Path(path)) for path in ("/a/x", "/b/x", "/b/X", "/", "/ü")}
    assert len(names) == 5


def test_only_what_a_worker_needs_goes_along():
    environ = {"PATH": "/bin", "SOW_CONFIG": "/c", "SOW_JOB_ID": "3", "KEY": "secret"}
    assert variables_for_service(environ) == {"PATH": "/bin", "SOW_CONFIG": "/c"}
