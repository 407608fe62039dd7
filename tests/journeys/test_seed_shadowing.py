"""DESIGN §3: nothing in the working folder or on PYTHONPATH "may shadow our modules".

Every module of sow, of its dependencies and some of the standard library's
stand in for themselves: whoever imports one leaves a mark and fails.
"""

from pathlib import Path

from journeys.site import Site, wait_until
from standins import read_runs

MODULES = (
    *("sow", "worker", "yaml", "huey", "click", "msgspec", "platformdirs", "psutil", "ruamel"),
    *("rich", "json", "uuid", "sqlite3", "subprocess", "logging", "threading", "fcntl"),
)
HOSTILE = """\
import os
os.close(os.open({mark!r}, os.O_CREAT | os.O_WRONLY))
raise ImportError("this module is not sow's")
"""
RUNS = [
    [{"sow": ["agent", "log", "begun"]}, {"crash": 3}],
    [
        {"sow": ["prompt", "guidance/implementer/base"]},
        {"sow": ["task", "set", "status", "paused"]},
    ],
    [{"sow": ["agent", "task", "state", "set-status", "needs_review"]}],
]


def plant(folder: Path, marks: Path) -> None:
    """Put a module and a package of each name into a folder."""
    marks.mkdir(exist_ok=True)
    for name in MODULES:
        text = HOSTILE.format(mark=str(marks / name))
        (folder / f"{name}.py").write_text(text)
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(text)
        (folder / name / "__main__.py").write_text(text)


def marks_in(site: Site) -> list[str]:
    return sorted(path.name for path in (site.base / "marks").iterdir())


def run_the_main_job(site: Site, environ: dict[str, str]) -> None:
    """Spawn with a retry, resume, and the commands around them."""
    site.sow("agent", "spawn", "implementer", "010", env=environ)
    site.sow("agent", "resume", "010", "go on", env=environ)
    site.sow("worker", "list", env=environ)
    site.sow("config", "show", env=environ)
    site.sow("task", "set", "010", "status", "completed", env=environ)


def test_modules_in_the_working_folder_change_nothing(site: Site) -> None:
    """A `worker.py`, a `sow/`, a `yaml.py` in the repository, where the agent works too."""
    site.project("010")
    site.script(RUNS)
    plant(site.root, site.base / "marks")
    run_the_main_job(site, {})
    assert site.task("010")["status"] == "completed"
    assert marks_in(site) == []
    assert all("PYTHONPATH" not in run.env_names for run in read_runs(site.root))


def test_modules_on_pythonpath_change_nothing_and_the_agent_gets_it_back(site: Site) -> None:
    """DESIGN §3: "the agent gets the original environment back": PYTHONPATH as it was set."""
    site.project("010")
    site.script(RUNS)
    (site.base / "lib").mkdir()
    plant(site.base / "lib", site.base / "marks")
    value = f"{site.base / 'lib'}:../lib:."
    run_the_main_job(site, {"PYTHONPATH": value})
    assert site.task("010")["status"] == "completed"
    assert marks_in(site) == []
    runs = read_runs(site.root)
    assert [run.env["PYTHONPATH"] for run in runs] == [value] * 3
    assert not any(name.startswith("SOW_CALLER") for run in runs for name in run.env_names)


def test_the_agent_gets_the_workers_pythonpath_not_the_callers(site: Site) -> None:
    """DESIGN §6: "Its environment is the worker's … plus the caller's PATH (no other variable"."""
    site.project("010")
    site.script([RUNS[-1]])
    site.start("worker", env={"PYTHONPATH": "/worker/lib"})
    wait_until(site.workers, "the worker is on record")
    site.sow("agent", "spawn", "implementer", "010", env={"PYTHONPATH": "/caller/lib"})
    (run,) = read_runs(site.root)
    assert run.env["PYTHONPATH"] == "/worker/lib"


def test_a_session_is_created_in_the_callers_own_environment(site: Site) -> None:
    """`create-chat` is the user's program too: its original environment, and `env`."""
    site.project("010")
    site.script([RUNS[-1]])
    (site.base / "bin/cursor-agent").rename(site.base / "bin/true-cursor")
    cursor = site.base / "bin/cursor-agent"
    cursor.write_text(
        f'#!/bin/sh\n[ "$1" = create-chat ] && env > {site.base}/env\nexec true-cursor "$@"\n'
    )
    cursor.chmod(0o755)
    settings = {"settings": {"yolo_mode": True}, "env": {"CURSOR_API_KEY": "key"}}
    site.configure({"agents": {"executors": {"cursor": settings}}})
    site.sow(
        *("agent", "spawn", "implementer", "010"),
        env={"SOW_AGENTS_IMPLEMENTER": "cursor", "PYTHONPATH": "/my/lib", "CLAUDECODE": "1"},
    )
    variables = (site.base / "env").read_text().splitlines()
    assert "PYTHONPATH=/my/lib" in variables
    assert "CURSOR_API_KEY=key" in variables
    assert not any(line.startswith(("SOW_CALLER", "CLAUDECODE=")) for line in variables)
