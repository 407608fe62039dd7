"""What each frequent command may import: a start is most of what a short command costs."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from reports.job_cases import ended_job, make_job
from sources import ROOT

from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.late_modules import OF_WORKER
from sow.paths import Workspace
from sow.schema.job import Cause, JobState
from sow.schema.task import TaskStatus

HEAVY = frozenset(
    {
        "asyncio",
        "click",
        "dataclasses",
        "gettext",
        "huey",
        "inspect",
        "ipaddress",
        "locale",
        "logging",
        "msgspec",
        "multiprocessing",
        "platform",
        "platformdirs",
        "psutil",
        "socket",
        "sow.budgets",
        "sow.executors.base",
        "sow.schema.config",
        "sow.schema.job",
        "sow.state.tasks",
        "sqlite3",
        "subprocess",
        "tempfile",
        "textwrap",
        "typing_extensions",
        "worker",
        "yaml",
        "yaml.emitter",
    }
)
"""Modules that take long to import, or draw in such as do."""

STATE = {"msgspec", "yaml", "sow.state.tasks"}
"""What reading a state file takes."""
QUEUE = {"msgspec", "sqlite3", "dataclasses"}
"""What reading the queue's records takes."""

MAY_IMPORT: dict[tuple[str, ...], set[str]] = {
    ("--version",): {"click"},
    ("agent", "--help"): {"click", "inspect", "textwrap"},
    ("agent", "list"): {"msgspec", "sow.schema.config"},
    ("agent", "log", "Did it", "--task", "010"): set(),
    ("job", "list"): QUEUE | {"sow.schema.job"},
    ("next",): STATE | QUEUE | {"sow.executors.base", "sow.schema.config", "sow.schema.job"},
    ("prompt", "guidance/implementer/base"): set(),
    ("task", "list"): STATE,
    ("task", "set", "010", "name", "Another"): STATE,
    ("task", "show", "010"): STATE | QUEUE,
}

PROGRAM = """
import json, sys
from sow import late_modules
late_modules.put_off()
from sow.cli.root import run
code = run(json.loads(sys.argv[1]))
late = late_modules.LateModule
parts = {name.partition(".")[0] for name, m in sys.modules.items() if not isinstance(m, late)}
ours = {name for name in sys.modules if name.startswith("sow.")}
print(json.dumps([code, sorted(parts | ours)]))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for words in (
        ["init"],
        ["project", "new", "P", "--type", "quick"],
        ["task", "add", "T", "--agent", "tester"],
    ):
        argv = [sys.executable, "-P", "-m", "sow", *words]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    with closing(open_queue(Workspace(folder))) as database:
        jobs.insert_job(database, ended_job(JobState.DONE, TaskStatus.PAUSED, Cause.REPORTED))
        jobs.insert_job(database, make_job(state=JobState.QUEUED, task_id="020"))
    return folder


AGENT = {"SOW_JOB_ID": "7", "SOW_TASK_ID": "010", "SOW_AGENT": "tester"}
"""Besides SOW_ROOT: what makes a call an agent's, which is asked for its right."""


@pytest.mark.slow
@pytest.mark.parametrize("by_agent", [False, True], ids=["by a person", "by an agent"])
@pytest.mark.parametrize("words", MAY_IMPORT, ids=" ".join)
def test_a_command_imports_no_more_than_it_needs(
    project: Path, words: tuple[str, ...], by_agent: bool
) -> None:
    mine = {**AGENT, "SOW_ROOT": str(project)} if by_agent else {}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, json.dumps(words)],
        cwd=project,
        env={**os.environ, **mine},
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    assert HEAVY & set(modules) <= MAY_IMPORT[words]


SPAWN = ["agent", "spawn", "030", "--detach"]


@pytest.fixture(scope="module")
def at_spawn(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], list[str]]:
    """Return what a spawn has imported: the modules, and our dataclasses in them."""
    folder = tmp_path_factory.mktemp("spawn")
    words = ["task", "add", "Apart", "--agent", "tester", "--id", "030"]
    subprocess.run([sys.executable, "-P", "-m", "sow", *words], cwd=project, check=True)
    (folder / "claude").write_text("#!/bin/sh\n")
    (folder / "claude").chmod(0o755)
    (folder / "user.yaml").write_text("worker: {autostart: false}\n")
    environ = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "SOW_CONFIG": str(folder / "user.yaml"),
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{PROGRAM}\n{DATACLASSES}", json.dumps(SPAWN)],
        cwd=project,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    (code, modules), found = map(json.loads, done.stdout.splitlines()[-2:])
    assert code == 0, done.stderr
    return modules, found


DATACLASSES = """
print(json.dumps(sorted({
    f"{value.__module__}.{value.__name__}"
    for name in ours
    for value in vars(sys.modules[name]).values()
    if isinstance(value, type) and "__dataclass_fields__" in vars(value)
})))
"""


@pytest.mark.slow
def test_a_spawn_without_a_clone_imports_nothing_of_clones(
    at_spawn: tuple[list[str], list[str]],
) -> None:
    """The mark of a clone is looked for all the same: the call may be made inside of one."""
    modules, _ = at_spawn
    of_clones = ("sow.clones", "sow.git", "sow.trust")
    assert {name for name in modules if name.startswith(of_clones)} == WHAT_IS_CHECKED_OUT


WHAT_IS_CHECKED_OUT = {"sow.git", "sow.git.head"}
"""What reads git's HEAD, and starts no git: the copies of the state lie by branches."""

NOT_FOR_PLACING = (
    ("sow.budgets.settings", "sow.budgets.words"),
    ("sow.attempts", "sow.prompts", "sow.refs", "sow.lifecycle.types", "sow.lifecycle.guards"),
    ("sow.jobs.batches", "sow.jobs.changes", "sow.jobs.end_entries", "sow.jobs.making"),
    ("_hashlib", "dataclasses", "logging", "shutil", "subprocess", "tempfile"),
)


@pytest.mark.slow
def test_a_spawn_imports_nothing_of_attempts_and_prompts(
    at_spawn: tuple[list[str], list[str]],
) -> None:
    """A worker plans and starts; who places a job waits for every import of its own."""
    modules, _ = at_spawn
    names = tuple(name for group in NOT_FOR_PLACING for name in group)
    assert [name for name in modules if name.startswith(names)] == []


@pytest.mark.slow
def test_a_spawn_makes_no_dataclass(at_spawn: tuple[list[str], list[str]]) -> None:
    """Each one's methods are compiled at import: a Struct costs a tenth (docs/decisions.md)."""
    _, found = at_spawn
    assert found == []


OF_FEW_BATCHES = (
    *("sow.clones.task_branches", "sow.git", "sow.prompts", "sow.calls.cancel"),
    *("sow.calls.batch_actions", "sow.calls.kinds", "sow.calls.autostart", "sow.cli.progress"),
)
"""What only a batch with finished tasks, with an action to place, or to be cancelled needs."""


@pytest.mark.slow
def test_the_commands_of_batches_begin_without_git() -> None:
    program = "import sys, sow.cli.batch; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True
    )
    modules = done.stdout.split()
    assert "sow.calls.batch_look" in modules
    rest = {name for name in modules if name.startswith((*OF_FEW_BATCHES, "subprocess"))}
    assert rest == WHAT_IS_CHECKED_OUT


@pytest.mark.slow
def test_a_check_of_a_task_is_placed_without_git() -> None:
    program = "import sys, sow.cli.check, sow.calls.kinds.check, sow.state.verdicts"
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{program}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = ("_hashlib", "dataclasses", "shutil", "sow.git", "subprocess", "tempfile")
    found = {name for name in done.stdout.split() if name.startswith(heavy)}
    assert found == WHAT_IS_CHECKED_OUT


OF_FEW_JOBS = {
    *("sow.attempts.reset_time", "sow.calls.batch_turn", "sow.clones.sweeping"),
    *("sow.refs.cache", "worker.clone_gathering"),
}
"""What only a limit, a batch, a clone or a reference needs."""
NOT_IN_SUPERVISORS = {"collections", "contextlib", "enum", "functools", "json", "re", "socket"}
"""Each brings others along, and all of it would be in the memory of each worker."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it imports psutil")
def test_the_fork_server_of_supervisors_imports_next_to_nothing() -> None:
    program = (
        f"import sys; sys.path.append({os.fspath(ROOT)!r}); import ctypes;"
        " from worker.supervisor import forking; forking.load_tree(None); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    modules = set(done.stdout.split())
    assert "worker.supervisor.supervise" in modules
    assert modules & NOT_IN_SUPERVISORS == set()


@pytest.mark.slow
def test_a_worker_imports_nothing_that_it_puts_off(tmp_path: Path) -> None:
    program = (
        "import sys; from sow import late_modules as late, quick_start; quick_start.begin();"
        " late.put_off(late.OF_WORKER); import worker.main; worker.main.worker_kinds();"
        " print(*(name for name, found in sys.modules.items()"
        " if not isinstance(found, late.LateModule)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = set(done.stdout.split())
    assert {"huey", "worker.launch"} <= modules
    assert modules & {*OF_WORKER, "click", "_hashlib", *OF_FEW_JOBS} == set()
