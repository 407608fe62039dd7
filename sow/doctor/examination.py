"""The whole examination, section by section, in the order in which one thing needs another."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from sow.agents.roles import AGENTS
from sow.config.configuration import Configuration
from sow.config.validation import validate
from sow.doctor.command_lines import examine_command_lines
from sow.doctor.executors import examine_executors
from sow.doctor.filesystem import examine_filesystem
from sow.doctor.inheritance import examine_inheritance
from sow.doctor.mcp_package import examine_mcp
from sow.doctor.queue import examine_queue, live_workers
from sow.doctor.secrets import examine_secrets
from sow.errors import QueueError, SowError, StateError
from sow.files.left_folders import left_folders
from sow.findings import Finding, Level
from sow.git.identity import FALLBACK, is_unknown
from sow.git.promised import is_partial, remote_of
from sow.git.repository import repository_of
from sow.install.installed_findings import examine_installed
from sow.paths import Workspace, display_path, user_config_path
from sow.refs.cache import cache_root, cached
from sow.refs.index import read_index
from sow.refs.linking import Presence, look
from sow.state.kept.store import Checkout
from sow.state.places import first_file


def examine_references(workspace: Workspace) -> Iterator[Finding]:
    """Yield what keeps agents from reading the references; one line where nothing does."""
    if not os.path.lexists(workspace.reference_index):
        return
    try:
        references = read_index(workspace).references
    except SowError as error:
        yield Finding(check="references", level=Level.ERROR, text=error.message, remedy=error.hint)
        return
    found = [
        (reference, look(workspace, reference, cached(reference.source)).presence)
        for reference in references
    ]
    for reference, presence in found:
        if presence is Presence.MISSING:
            text = f"Reference {reference.id} is not on this machine"
            remedy = "`sow refs init` links it."
        elif presence is Presence.STRANGE:
            text = f".sow/refs/{reference.link} was not created by sow"
            remedy = "Look at it and move it away, then run `sow refs init`."
        else:
            continue
        yield Finding(check="references", level=Level.WARNING, text=text, remedy=remedy)
    yield from _cache()
    if found and all(presence in (Presence.LINKED, Presence.COPIED) for _, presence in found):
        words = "1 reference is" if len(found) == 1 else f"{len(found)} references are"
        yield Finding(check="references", level=Level.OK, text=f"{words} linked")


def _cache() -> Iterator[Finding]:
    folder = cache_root()
    if obstacle := _in_the_way(folder):
        text = f"sow cannot fetch into {display_path(folder)}"
        remedy = f"Make {obstacle} a folder that you can write to."
        yield Finding(check="references", level=Level.WARNING, text=text, remedy=remedy)


def _in_the_way(folder: Path) -> str:
    """Return what keeps this user from writing in a folder, there or to be made; else nothing."""
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    is_writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    return "" if is_writable else display_path(there)


def examine_state(workspace: Workspace) -> Iterator[Finding]:
    """Yield what is wrong with the project's folder, and with the place of the copies."""
    yield from _project(workspace)
    yield from _copies(workspace)


def _project(workspace: Workspace) -> Iterator[Finding]:
    if workspace.project_state.exists() or not workspace.project.is_dir():
        return
    file = first_file(workspace.project)
    if file is None:
        text = f"This branch has no project: {workspace.project} has only empty folders"
        remedy = "`git switch` leaves such folders behind. `sow project new NAME` starts a project."
        yield Finding(check="project", level=Level.NOTE, text=text, remedy=remedy)
        return
    text = f"{workspace.project} holds files ({file}), but no state.yaml"
    remedy = "Restore state.yaml with git, or move the folder away."
    yield Finding(check="project", level=Level.ERROR, text=text, remedy=remedy)


def _copies(workspace: Workspace) -> Iterator[Finding]:
    folder = Path(Checkout(workspace.root).branch_folder)
    if obstacle := _in_the_way(folder):
        yield Finding(
            check="copies",
            level=Level.WARNING,
            text=f"sow cannot keep copies of the tasks' states in {display_path(folder)}",
            remedy=f"Make {obstacle} a folder that you can write to. Without copies, an agent's"
            " `git reset --hard` also resets the states of all tasks.",
        )


def examine_git(workspace: Workspace, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what git lacks for tasks that have clones of their own."""
    try:
        repository = repository_of(workspace.root)
    except StateError:  # tasks have no clones here, and who wants one is told why
        return
    if is_partial(repository) and (remote := remote_of(repository)) is not None:
        yield Finding(
            check="partial",
            level=Level.NOTE,
            text="This is a partial clone: git fetches missing objects of a task's clone from"
            f" {remote[0]}. This must work without a password prompt",
        )
    if is_unknown(repository.top, environ):
        name, address = FALLBACK
        yield Finding(
            check="identity",
            level=Level.WARNING,
            text=f"Git has no user.name for you: sow commits as {name} <{address}>",
            remedy='`git config --global user.name "Your Name"`\n'
            "`git config --global user.email you@example.org`",
        )


def examine_left_folders() -> Iterator[Finding]:
    """Yield the folders in which a killed command has left agents."""
    for left in left_folders():
        yield Finding(
            check="left",
            level=Level.WARNING,
            text=f"A killed command left {display_path(left.folder)}, where agents may still run",
            remedy="`sow demo` and `sow executor try` first end what an earlier command left.",
        )


class Section(msgspec.Struct, frozen=True):
    """What belongs together."""

    title: str
    findings: Sequence[Finding]


class Surroundings(msgspec.Struct, frozen=True):
    """Where the examination is made."""

    environ: Mapping[str, str]
    cwd: Path
    workspace: Workspace | None
    now: float

    @property
    def agents_folder(self) -> Path:
        """Where agents would run: version managers choose a program by its folder."""
        return self.workspace.root if self.workspace is not None else self.cwd


def examine(here: Surroundings, only: Sequence[str] = ()) -> Iterator[Section]:
    """Yield the sections; with `only`, the configuration and these executors.

    Raises ExecutorError for one of `only` that does not exist.
    """
    findings, configuration = _configuration(here)
    yield Section("Configuration", findings)
    if configuration is not None:
        pids = _worker_pids(here.workspace, configuration)
        found = examine_executors(configuration, here.environ, here.agents_folder, only, pids)
        yield Section("Executors", list(found))
    if only:
        return
    if configuration is not None and (of_agents := [*examine_secrets(configuration, here.environ)]):
        yield Section("Environment of agents", of_agents)
    if killed := [*examine_left_folders()]:
        yield Section("Killed commands", killed)
    yield Section("MCP", list(examine_mcp()))
    yield Section("Plugin", list(examine_installed(here.agents_folder, here.environ)))
    if here.workspace is None:
        text = "No .sow folder here or above: queue, workers and disk were not checked"
        yield Section("Repository", [Finding(check="repository", level=Level.NOTE, text=text)])
        return
    if configuration is not None:
        if of_commands := [*examine_command_lines(configuration)]:
            yield Section("Checks", of_commands)
        yield Section("Queue", list(examine_queue(here.workspace, configuration, now=here.now)))
        yield from _environment(here, here.workspace, configuration)
    for title, found in (
        ("Git", examine_git(here.workspace, here.environ)),
        ("State", examine_state(here.workspace)),
        ("References", examine_references(here.workspace)),
    ):
        findings = list(found)
        if findings:
            yield Section(title, findings)
    yield Section("Disk", list(examine_filesystem(here.workspace)))


def _worker_pids(workspace: Workspace | None, configuration: Configuration) -> Sequence[int]:
    """Return the pids of the workers that live, where an executor has limits, which they keep."""
    has_limits = any(each.limits is not None for each in configuration.executors.values())
    if workspace is None or not has_limits:
        return ()
    try:
        return [worker.process.pid for worker in live_workers(workspace)]
    except QueueError:  # told in its own section
        return ()


def _configuration(here: Surroundings) -> tuple[list[Finding], Configuration | None]:
    """Return what is wrong with the configuration, in one line where nothing is."""
    path = user_config_path(here.environ)
    findings, configuration = validate(
        path=path,
        repository_path=here.workspace.repository_config if here.workspace else None,
        environ=here.environ,
        roles=[agent.name for agent in AGENTS],
    )
    amiss = [finding for finding in findings if finding.level is not Level.OK]
    well = Finding(check="configuration", level=Level.OK, text=f"{display_path(path)} is valid")
    return amiss or [well], configuration


def _environment(
    here: Surroundings, workspace: Workspace, configuration: Configuration
) -> Iterator[Section]:
    try:
        alive = live_workers(workspace)
    except QueueError:  # told in its own section
        return
    if alive:
        found = examine_inheritance(alive, configuration, here.environ)
        yield Section("Environment of the workers", list(found))
