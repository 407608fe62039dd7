"""`sow executor list`: the executors of the configuration, and what each can do here.

Owns how that is printed. It starts no program: `sow doctor` asks them.
"""

import os
from collections.abc import Iterator, Mapping

from sow.agent_clis.description import AgentCli, Evidence
from sow.agent_clis.known import AGENT_CLIS
from sow.attempts.homes import home_of
from sow.cli import late_click as click
from sow.cli.config import configuration_here
from sow.cli.output import echo_list, json_option
from sow.config.configuration import Configuration
from sow.executors.base import Executor
from sow.executors.programs import fence_of, find_program
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import HomeUse
from sow.schema.output.executors import ExecutorView, TrialsView

HEADER = (
    *("NAME", "TYPE", "PROGRAM", "RESUME", "OPEN", "HOME", "REPORTS USE"),
    *("RIGHTS", "FENCE", "ROLES", "TRIED"),
)
SPARE = ("ROLES", "HOME", "REPORTS USE", "TYPE", "OPEN")
"""The columns that a narrow terminal goes without, the first of them first."""
MOST_ROLES = 2
"""So many are named; of more, how many they are."""


@click.command("list")
@json_option
def list_executors(as_json: bool) -> None:
    """List the executors of your configuration, and what each can do.

    RIGHTS is what sow allows an agent: `role` (the sow commands of its role), `own` (what
    the CLI's own settings allow) or `all` (yolo_mode). FENCE is what limits the agent: a
    sandbox of the system, rules of the CLI, asking (the CLI asks sow before it acts), or
    none. ROLES are the roles that it plays; after `implementer (no. 2)` it takes over
    when the first executor of that role cannot go on. TRIED is how sow was tried with
    the CLI: with the real one (and its versions), with a stand-in only, or not at all
    (docs only). No program is started: `sow doctor` and `sow executor try` do that.
    """
    configuration = configuration_here(os.environ)
    path = os.environ.get("PATH", os.defpath)
    views = [executor_view(configuration, name, path) for name in configuration.executors]
    echo_list(views, HEADER, _row, none="no executors", spare=SPARE, as_json=as_json)


def executor_view(configuration: Configuration, name: str, path: str) -> ExecutorView:
    """Return what an executor can do; its program is looked for on `path`."""
    executor = make_executor(configuration.executor(name))
    config = executor.config
    cli = AGENT_CLIS[config.type]
    places = configuration.places(name)
    return ExecutorView(
        executor=name,
        type=config.type,
        roles=tuple(places),
        places=dict(places),
        binary=executor.binary,
        path=find_program(executor.binary, path),
        can_resume=executor.supports_resumption,
        can_open=executor.has_terminal_mode,
        home=HomeUse.SHARED if home_of(config) is None else HomeUse.PER_SESSION,
        usage_reported=cli.metering,
        rights=_rights(config, cli),
        fence=fence_of(config)[0],
        tried=_trials(executor, cli),
    )


def _rights(config: ExecutorConfig, cli: AgentCli) -> str:
    if config.yolo_mode:
        return "all"
    return "role" if cli.narrow_rights else "own"


def _trials(executor: Executor, cli: AgentCli) -> TrialsView:
    return TrialsView(
        versions=cli.tried.versions,
        spawn=cli.tried.spawn,
        resume=cli.tried.resume if executor.supports_resumption else None,
        open=cli.tried.open if executor.has_terminal_mode else None,
    )


def _row(view: ExecutorView) -> tuple[str, ...]:
    return (
        view.executor,
        view.type,
        view.binary if view.path else f"{view.binary}: not found",
        _yes_or_no(view.can_resume),
        _yes_or_no(view.can_open),
        view.home,
        view.usage_reported,
        view.rights,
        view.fence,
        _roles(view.places),
        "; ".join(_tried(view.tried)),
    )


def _roles(places: Mapping[str, int]) -> str:
    """Return the roles that it plays, and its place in those that it is not the first of."""
    first = [role for role, place in places.items() if place == 1]
    words = [", ".join(first) if len(first) <= MOST_ROLES else f"{len(first)} roles"]
    words += [f"{role} (no. {place})" for role, place in places.items() if place > 1]
    return ", ".join(filter(None, words)) or "-"


def _yes_or_no(can: bool) -> str:
    return "yes" if can else "no"


def _tried(tried: TrialsView) -> Iterator[str]:
    """Yield what was tried, the best first: `spawn, resume: real CLI run (0.171.0)`."""
    done = {"spawn": tried.spawn, "resume": tried.resume, "open": tried.open}
    for evidence in Evidence:
        verbs = ", ".join(verb for verb, how in done.items() if how == evidence)
        versions = f" ({', '.join(tried.versions)})" if tried.versions else ""
        if verbs:
            yield f"{verbs}: {evidence}{versions if evidence is Evidence.REAL else ''}"
