"""What is written below a repository goes through `sow.files`, which follows no link out of it.

A module that changes the disk by other means stands in a table here, with why it may.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository.sources import nodes_in, text_of

import sow

ROOT = Path(sow.__file__).parents[1]
DOOR = "sow/files/"

METHODS = "chmod hardlink_to mkdir rename rmdir symlink_to touch unlink write_bytes write_text"
"""Calls of these change the disk, whatever they are called on."""
FUNCTIONS = """
os.chmod os.link os.makedirs os.mkdir os.mkfifo os.remove os.removedirs os.rename os.renames
os.replace os.rmdir os.symlink os.truncate os.unlink os.utime shutil.copy shutil.copy2
shutil.copyfile shutil.copytree shutil.move shutil.rmtree sqlite3.connect
"""
READS = re.compile(r"O_RDONLY|O_PATH|FLAGS|READING|PLAIN|OPEN_FOLDER")
"""What stands in a call of `os.open` that only reads."""

ELSEWHERE = {
    "sow/acp/gemini_sessions.py": "the folder of gemini's sessions, of the user's own",
    "sow/attempts/homes.py": "the user's folder of state, and a login in the user's home",
    "sow/attempts/warm_up.py": "the user's folder of state",
    "sow/calls/batch_touch.py": "`touch` writes a row of the queue's file, and no file",
    "sow/cli/report_client.py": "the folder of an agent's own reports, in its sandbox",
    "sow/cli/demo.py": "the demonstration's own folder, which the user names",
    "sow/cli/executor_compare.py": "the folder of the comparison",
    "sow/cli/executor_comparison.py": "its clones",
    "sow/cli/own_repository.py": "a command's own folder, which the user may name",
    "sow/cli/demo_agent.py": "the demonstration's own folder",
    "sow/cli/streams.py": "standard streams",
    "sow/clones/bring_back.py": "git's folder",
    "sow/clones/checkout_id.py": "git's folder",
    "sow/clones/clearing.py": "git's folder of a clone",
    "sow/clones/copying.py": "a clone, by open folders",
    "sow/clones/deleting.py": "the clones' own place, by open folders",
    "sow/clones/keeping.py": "the clones' own place, which refuses links",
    "sow/clones/locks.py": "the clones' own place, which refuses links",
    "sow/clones/made_by_setup.py": "git's folder of a clone",
    "sow/clones/make.py": "the clones' own place",
    "sow/clones/mark.py": "git's folder of a clone",
    "sow/clones/merge_tasks.py": "git's folder",
    "sow/clones/own_locks.py": "git's folder",
    "sow/clones/record.py": "git's folder",
    "sow/clones/removal.py": "the clones' own place",
    "sow/clones/staged.py": "a temporary folder",
    "sow/clones/steps.py": "git's folder",
    "sow/clones/taken_over.py": "git's folder of a clone",
    "sow/clones/throw_away_clone.py": "the clones' own place",
    "sow/clones/work_tree.py": "a temporary folder",
    "sow/config/userfile.py": "the user's configuration",
    "sow/git/inert_refs.py": "git's folder, by open folders",
    "sow/git/own_bare.py": "the cache of references",
    "sow/git/private_view.py": "a temporary folder",
    "sow/git/remote.py": "git's folder",
    "sow/git/repository.py": "the user's cache",
    "sow/git/settings_text.py": "git's folder of a clone",
    "sow/install/record.py": "beside the user's configuration",
    "sow/jobs/user_secret.py": "the user's state folder",
    "sow/mcp_server/stdio.py": "standard streams",
    "sow/processes/cgroup.py": "the system's control groups",
    "sow/refs/cache.py": "the cache of references",
    "sow/refs/exporting.py": "the cache of references",
    "sow/refs/linking.py": "`.sow/refs`, by the open folder",
    "sow/refs/folder.py": "`.sow/refs`, by the open folder",
    "sow/refs/record.py": "the cache of references",
    "sow/refs/repository.py": "the cache of references",
    "sow/state/kept/copies.py": "git's folder",
    "sow/travel/guest.py": "the guests' own place, in the user's state folder",
    "sow/travel/leaving.py": "git's folder",
    "sow/travel/old_guests.py": "the guests' own place, in the user's state folder",
    "sow/trust/accepted.py": "beside the user's configuration",
    "sow/validation/history.py": "a temporary folder",
    "worker/reports/carrying_out.py": "standard streams",
    "worker/supervisor/secret_orders.py": "the null device",
}
"""Modules that write where no repository says what lies there."""
IN_WORKING_TREE = {
    "sow/clones/bringing_along.py": "`_in_the_way` names what is no folder of its own on the way",
    "sow/install/documents.py": "it removes empty folders that sow has put on its own record",
    "sow/install/claude.py": "`refuse_leading_out` comes before each move",
}
"""Modules that write in a working tree, with what keeps them from following a link."""
IN_RUN = {
    "sow/blanking.py",
    "sow/acp/agent_process.py",
    "sow/calls/autostart.py",
    "sow/calls/declare_gone.py",
    "sow/calls/wait.py",
    "sow/jobs/attempt_evidence.py",
    "sow/jobs/doorbell.py",
    "sow/jobs/giving_back.py",
    "sow/jobs/making.py",
    "sow/jobs/private_folders.py",
    "sow/jobs/pruning.py",
    "sow/jobs/queue_files.py",
    "sow/jobs/queue_owner.py",
    "sow/jobs/waiters.py",
    "sow/cli/worker.py",
    "worker/recovery.py",
    "worker/registration.py",
    "worker/reports/attempts.py",
    "worker/reports/kept.py",
    "worker/steps/command_line.py",
    "worker/steps/forked.py",
    "worker/supervisor/exit_file.py",
    "worker/supervisor/gate.py",
    "worker/supervisor/lease_end.py",
    "worker/supervisor/supervise.py",
    "worker/worker_log.py",
}
"""Modules that write in `.sow/run`, where `refuse_foreign_run` has looked as the queue was opened,
and `make_private` makes the folders."""


def named(node: ast.expr) -> str:
    """Return a function's name with its module's, as far as it is written out."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
        case ast.Attribute(attr=name):
            return f".{name}"
    return ""


def writes_in(source: str) -> Iterator[int]:
    """Yield the line of each call that changes the disk by other means than the door's."""
    for node in nodes_in(source):
        if not isinstance(node, ast.Call):
            continue
        name = named(node.func)
        if name in FUNCTIONS.split():
            if ":memory:" not in ast.unparse(node):
                yield node.lineno
        elif name == "os.open":
            if not READS.search(ast.unparse(node)):
                yield node.lineno
        elif name in {"open", "os.fdopen"} or name.endswith(".open"):
            if opens_to_write(node):
                yield node.lineno
        elif is_method(node) and name.rpartition(".")[2] in METHODS.split():
            yield node.lineno


def is_method(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute)


def opens_to_write(node: ast.Call) -> bool:
    modes = [
        each.value
        for each in (*node.args, *(keyword.value for keyword in node.keywords))
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    return any(set(mode) & set("wax+") and set(mode) <= set("wabtrx+") for mode in modes)


def writers() -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for package in ("sow", "worker")
        for path in (ROOT / package).rglob("*.py")
        if any(writes_in(text_of(path)))
    }


@pytest.mark.slow
def test_nobody_writes_below_a_repository_past_the_door() -> None:
    behind = {name for name in writers() if not name.startswith(DOOR)}
    known = {*ELSEWHERE, *IN_WORKING_TREE, *IN_RUN}
    assert behind - known == set(), "use sow.files, or say here why no link is followed"
    assert known - behind == set(), "these write by the door alone by now"


@pytest.mark.parametrize(
    "source",
    [
        "path.mkdir(parents=True)",
        "(folder / name).write_text('x')",
        "os.rename(a, b)",
        "path.open('w')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "shutil.rmtree(folder)",
        "open(name, mode='ab')",
    ],
)
def test_such_a_call_is_seen(source: str) -> None:
    assert list(writes_in(source)) == [1]


@pytest.mark.parametrize(
    "source", ["text.replace('a', 'b')", "path.open('rb')", "os.open(path, os.O_RDONLY)"]
)
def test_what_only_reads_is_not(source: str) -> None:
    assert list(writes_in(source)) == []
