"""Runs cases, each in a forked child of one warmed-up process, and tells which of them went wrong.

Called as a program: `runner.py FOLDER FIRST LAST [SEED]`. Prints one object a line for each case
that failed, then a last one with the count.
"""

import ctypes
import io
import json
import os
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.arena import copy_arena, damage, make_template, usual_environment
from fuzz.generator import EXCLUDED, SEED, Case, Command, Option, make_case

import sow.cli
from sow.cli.root import run
from sow.cli.tree import root
from sow.errors import ExitCode
from sow.paths import Workspace
from sow.schema.project import ProjectState
from sow.schema.task import TaskState
from sow.state.statefiles import read_state

DEADLINE_SECONDS = 120.0
"""A call that takes longer hangs: the slowest takes some hundredths of that."""
PATIENCE_SECONDS = 1.0
"""How long a worker may work before it is told to leave, and a cancel wait for a worker that
this repository does not have: by itself it would wait for a minute."""
SECOND_SECONDS = 12.0
"""How long it may take after that until it is told again: a worker that drains waits for agents."""
PR_SET_CHILD_SUBREAPER = 36
CODES = frozenset(int(code) for code in ExitCode)
NEVER = ("This is a bug", "Traceback (most recent call last)", "sow itself failed")


def all_commands() -> list[Command]:
    """Return every command there is, by walking through the tree of them."""
    found: list[Command] = []
    _walk(root, click.Context(root), (), found)
    return found


def _walk(
    command: click.Command, context: click.Context, words: tuple[str, ...], found: list[Command]
) -> None:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            _walk(
                child, click.Context(child, parent=context, info_name=name), (*words, name), found
            )
    if words in EXCLUDED:
        return
    options = [_option(each) for each in command.params if isinstance(each, click.Option)]
    options.append(Option(("--help",), "flag"))
    counts = [each.nargs for each in command.params if isinstance(each, click.Argument)]
    found.append(Command(words, sum(2 if count < 0 else count for count in counts), tuple(options)))


def _option(option: click.Option) -> Option:
    flags = tuple(option.opts)
    if option.is_flag:
        return Option(flags, "flag")
    if option.name in ("config", "keep", "cwd"):
        return Option(flags, "own path")
    if option.name == "wait":
        return Option(flags, "wait")
    return Option(flags, "path" if isinstance(option.type, click.Path) else "text")


def main(arguments: list[str]) -> None:
    folder, first, last = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    seed = arguments[3] if len(arguments) > 3 else SEED
    _inherit_orphans()
    commands = all_commands()
    for module in walk_packages(sow.cli.__path__, "sow.cli."):
        import_module(module.name)
    import yaml  # noqa: F401

    import worker.main  # noqa: F401 - warmed up like the rest

    template = make_template(folder)
    failed, codes = 0, dict.fromkeys(sorted(CODES), 0)
    for number in range(first, last):
        case = make_case(number, commands, seed)
        fault, code = run_case(case, template, folder / "arena")
        codes[code] = codes.get(code, 0) + 1
        if fault:
            failed += 1
            print(json.dumps({"fault": fault, **case.as_object()}), flush=True)
    print(json.dumps({"ran": last - first, "failed": failed, "codes": codes}), flush=True)


def _inherit_orphans() -> None:
    """Become the parent of whatever a case leaves behind, so that it can be ended."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run_case(case: Case, template: Path, arena: Path) -> tuple[str, int]:
    """Run one case in a fresh arena; return what went wrong, or nothing, and its exit code."""
    copy_arena(template, arena)
    for place, kind in case.damage:
        damage(arena / place, kind)
    valid = {path: path.read_bytes() for path in _valid_states(arena)}
    pid = os.fork()
    if pid == 0:
        _be_the_command(case, arena)
    try:
        status = _await_end(pid, _interruption(case))
    finally:
        _end_children()
    return _fault(status, arena, valid), os.waitstatus_to_exitcode(status or 0)


def _be_the_command(case: Case, arena: Path) -> None:
    """Run the command line as the interpreter would, and end this process."""
    code = 99
    try:
        os.setsid()
        _take_environment(case, arena)
        _enter(arena, case.cwd)
        _open_streams(case, arena)
        if case.powerless:
            _lay_powers_down()
        code = run(case.argv)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
    except BaseException:
        import traceback

        (arena.parent / "escaped").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def _take_environment(case: Case, arena: Path) -> None:
    os.environ.clear()
    changed = {**usual_environment(arena), **case.environ}
    os.environ.update({name: value for name, value in changed.items() if value is not None})


def _enter(arena: Path, cwd: str) -> None:
    if cwd == "outside":
        os.chdir(arena.parent)
        return
    with suppress(OSError):
        os.chdir(arena)
        if cwd == "gone":
            Path("gone").mkdir()
        os.chdir(cwd)
        if cwd == "gone":
            Path("../gone").rmdir()


def _open_streams(case: Case, arena: Path) -> None:
    errors_file = arena.parent / "said"
    errors_file.write_bytes(b"")
    stdin = {
        "null": lambda: os.open(os.devnull, os.O_RDONLY),
        "text": lambda: os.open(arena.parent / "template/given.md", os.O_RDONLY),
        "binary": lambda: os.open(arena.parent / "template/binary", os.O_RDONLY),
        "folder": lambda: os.open("/", os.O_RDONLY),
        "endless": lambda: os.open("/dev/zero", os.O_RDONLY),
        "closed": lambda: None,
    }[case.stdin]()
    outputs = [_output(kind, errors_file) for kind in (case.stdout, case.stderr)]
    for number, fd in enumerate([stdin, *outputs]):
        os.close(number)
        if fd is not None:
            os.dup2(fd, number)
    opened = [
        _stream(0, "r", case.encoding),
        _stream(1, "w", case.encoding),
        _stream(2, "w", case.encoding),
    ]
    sys.stdin, sys.stdout, sys.stderr = opened
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = opened


def _output(kind: str, errors_file: Path) -> int | None:
    match kind:
        case "closed":
            return None
        case "full":
            return os.open("/dev/full", os.O_WRONLY)
        case "broken":
            read, write = os.pipe()
            os.close(read)
            return write
        case "read-only":
            return os.open(os.devnull, os.O_RDONLY)
        case _:
            return os.open(errors_file, os.O_WRONLY | os.O_APPEND)


def _stream(fd: int, mode: str, encoding: str) -> Any:
    """Return what the interpreter makes of a descriptor; None for a closed one."""
    try:
        os.fstat(fd)
        raw = open(fd, f"{mode}b", closefd=False)  # noqa: SIM115
    except OSError:
        return None
    return io.TextIOWrapper(
        raw, encoding=encoding, errors="backslashreplace" if fd == 2 else "strict"
    )


def _lay_powers_down() -> None:
    """Have modes hold for us, though we are root: give up CAP_DAC_OVERRIDE and _READ_SEARCH."""
    if os.geteuid() != 0 or not hasattr(ctypes.CDLL(None), "capset"):
        return
    libc = ctypes.CDLL(None)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, sets)
    for index in (0, 1, 2):
        sets[index] &= ~0b110
    libc.capset(header, sets)


def _interruption(case: Case) -> signal.Signals | None:
    """Return what ends a command that works or waits as long as it should."""
    if case.argv[:1] == ("worker",):
        return signal.SIGTERM
    cancels = "cancel" in case.argv[:2] or "--cancel-job" in case.argv
    return signal.SIGINT if cancels else None


def _await_end(pid: int, interruption: signal.Signals | None) -> int | None:
    """Return the child's wait status; None where it had to be killed."""
    begun = time.monotonic()
    pidfd = os.pidfd_open(pid)
    import select

    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    try:
        if interruption is not None and not poller.poll(PATIENCE_SECONDS * 1000):
            _await_handler(pid, interruption, poller)
            os.kill(pid, interruption)
            if not poller.poll(SECOND_SECONDS * 1000):
                os.kill(pid, interruption)
        if not poller.poll(max(0.0, DEADLINE_SECONDS - (time.monotonic() - begun)) * 1000):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
    finally:
        os.close(pidfd)
    return os.waitpid(pid, 0)[1]


def _await_handler(pid: int, interruption: signal.Signals, poller: Any) -> None:
    """Return once a process has its handler of a signal, or has ended."""
    deadline = time.monotonic() + DEADLINE_SECONDS / 2
    while not _catches(pid, interruption) and time.monotonic() < deadline:
        if poller.poll(50):
            return


def _catches(pid: int, signum: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signum - 1) & 1)


def _end_children() -> None:
    """Kill and reap what is left below us."""
    while True:
        try:
            reaped, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if reaped == 0:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            for child in children:
                os.kill(int(child), signal.SIGKILL)
            time.sleep(0.001)


def _fault(status: int | None, arena: Path, valid: dict[Path, bytes]) -> str:
    escaped = arena.parent / "escaped"
    if escaped.exists():
        text = escaped.read_text()
        escaped.unlink()
        return f"escaped: {text}"
    if status is None:
        return "hangs"
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) not in CODES:
        return f"ended with wait status {status}"
    bug = next(arena.glob("tmp/sow-error-*"), None)
    if bug is not None:
        return f"bug: {bug.read_text()}"
    printed = (arena.parent / "said").read_bytes().decode("utf-8", "replace")
    if any(words in printed for words in NEVER):
        return f"said: {printed[-3000:]}"
    for path, before in valid.items():
        if path.exists() and path.read_bytes() != before and path not in _valid_states(arena):
            return f"made invalid: {path}"
    return ""


def _valid_states(arena: Path) -> list[Path]:
    workspace = Workspace(arena)
    found = []
    states = [(workspace.project_state, ProjectState)]
    states += [(path, TaskState) for path in workspace.phases.glob("*/tasks/*/state.yaml")]
    for path, type_ in states:
        with suppress(Exception):
            read_state(path, type_)
            found.append(path)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
