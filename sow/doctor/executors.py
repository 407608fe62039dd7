"""Whether each executor could run an agent here: program, version, flags, login.

Starts programs for `--version` and `--help` only, and only those whose answer
is known to be one: a program of the user's own might do anything.
"""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from sow.agent_clis.description import Fence, Questions, SowPermission
from sow.agent_clis.known import AGENT_CLIS
from sow.agents.rights import ORCHESTRATING
from sow.attempts.homes import home_of
from sow.config.configuration import Configuration
from sow.config.validation import executors_in_use
from sow.doctor.clis import missing_flags, refusal_of_sow, signs_of_login
from sow.environment import agent_environment
from sow.executors.base import Executor
from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.executors.programs import fence_of
from sow.executors.registry import is_installed, make_executor
from sow.findings import Finding, Level
from sow.sandbox.probe import SandboxUnavailable, usable
from sow.sandbox.proxy_probe import usable_proxy
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import NetworkUse

SECONDS = 15.0
PLAIN = {"NO_COLOR": "1"}
"""Keeps the output plain."""
VERSION = re.compile(r"\d+(\.\d+)+(\S*\w)?")
"""Without the full stop of a sentence behind it."""
MOST_ROLES = 3
FENCES = {
    Fence.ASKING: "its agents ask sow before they act",
    Fence.SANDBOX: "its own sandbox limits its agents",
    Fence.RULES: "its rules limit its agents",
    Fence.NONE: "nothing limits its agents",
}
"""What limits an executor's agents, as a clause."""

LACKS = {
    "program": "cannot be run",
    "flags": "lacks flags",
    "login": "no login found",
    "permission": "cannot report",
}
"""What stands in an executor's way, in words behind its name, by the check that has found it."""
UNKNOWN = ("unknown",)
"""The same of a name that no executor has."""


class Answer(msgspec.Struct, frozen=True):
    """What a program said of itself."""

    text: str
    """Its output, standard error last."""
    fault: str = ""
    """Why it is no answer; empty where the program ended well."""


def ask(
    argv: Sequence[str],
    environ: Mapping[str, str],
    cwd: Path,
    *,
    quiet: Mapping[str, str] = PLAIN,
    seconds: float = SECONDS,
) -> Answer:
    """Run a program for its words, for `seconds` at most; then it and its children are ended.

    `quiet` are variables that keep it from doing anything else meanwhile.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**agent_environment(environ), **PLAIN, **quiet},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Answer("", f"cannot be run: {error.strerror}")
    with process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return Answer("", f"did not answer within {seconds:g} s")
    text = b"\n".join((output, errors)).decode("utf-8", "replace").strip()
    return Answer(text, _fault(process.returncode, text))


def _fault(code: int, text: str) -> str:
    if code == 0:
        return ""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return f"{how}: {text.splitlines()[0][:200]}" if text else f"{how}, without a message"


Asked = Callable[..., Answer]
"""Runs a program, once for each command line, and returns what it says."""


class Need(msgspec.Struct, frozen=True):
    """An executor, and how much it is needed."""

    executor: Executor
    roles: tuple[str, ...]
    """Those that it is bound to; first those whose first executor it is."""
    plays: str
    """The same in words, with its place where it is not the first; empty for none."""
    fault_level: Level
    """How bad it is if it cannot run."""


def examine_executors(
    configuration: Configuration,
    environ: Mapping[str, str],
    cwd: Path,
    only: Sequence[str] = (),
    workers: Sequence[int] = (),
) -> Iterator[Finding]:
    """Yield what is found of each executor, of those called `only` if there are any.

    `workers` are the pids of those that live here.

    A fault of one that a role is bound to, or that was asked for, is an error.
    Raises ExecutorError for an unknown one that was asked for.
    """
    answers: dict[tuple[str, ...], Answer] = {}
    questions = (cli.questions for cli in AGENT_CLIS.values() if cli.questions is not None)
    quiet = {name: value for each in questions for name, value in each.quiet.items()}

    def asked(*argv: str) -> Answer:
        if argv not in answers:
            answers[argv] = ask(argv, environ, cwd, quiet=quiet)
        return answers[argv]

    lacks: dict[str, tuple[str, ...]] = {}
    for name in only or configuration.executors:
        need = _need(configuration, name, environ, asked_for=bool(only))
        findings = list(_examine(need, environ, cwd, asked))
        findings += _limits(need, workers)
        lacks[name] = tuple(LACKS[each.check] for each in findings if _stands_in_the_way(each))
        yield from findings
    if not only:
        yield from fallback_findings(configuration, lacks)


def _stands_in_the_way(finding: Finding) -> bool:
    return finding.check in LACKS and finding.level in (Level.WARNING, Level.ERROR)


def fallback_findings(
    configuration: Configuration, lacks: Mapping[str, Sequence[str]]
) -> Iterator[Finding]:
    """Yield a finding for each list of several executors: who follows whom, and what each lacks.

    `lacks` is what stands in the way of each, by name.
    """
    lists: dict[tuple[str, ...], list[str]] = {}
    for role in configuration.fallbacks:
        lists.setdefault(configuration.bound(role), []).append(role)
    for names, roles in lists.items():
        known = [{"executor": name, "lacks": list(lacks.get(name, UNKNOWN))} for name in names]
        words = ", then ".join(
            f"{name} ({', '.join(missing)})" if (missing := lacks.get(name, UNKNOWN)) else name
            for name in names
        )
        ready = [name for name in names if not lacks.get(name, UNKNOWN)]
        level = Level.OK if len(ready) == len(names) else Level.NOTE if ready else Level.WARNING
        yield Finding(
            check="fallback",
            level=level,
            text=f"{_listed(roles)}: {words}",
            remedy="" if ready else "None of them is ready. The lines above say why.",
            facts={"roles": roles, "executors": known},
        )


def _need(
    configuration: Configuration, name: str, environ: Mapping[str, str], *, asked_for: bool
) -> Need:
    executor = make_executor(configuration.executor(name))
    places = configuration.places(name)
    roles = tuple(sorted(places, key=lambda role: places[role]))
    if asked_for or any(not _has_other(configuration, role, name, environ) for role in roles):
        level = Level.ERROR
    elif roles:
        level = Level.WARNING
    else:
        in_use = name in executors_in_use(configuration)
        level = Level.WARNING if in_use else Level.NOTE
    return Need(executor, roles, _in_words(places), level)


def _in_words(places: Mapping[str, int]) -> str:
    """Return what an executor plays: `plays tester, and is no. 2 of implementer`."""
    by_place: dict[int, list[str]] = {}
    for role, place in places.items():
        by_place.setdefault(place, []).append(role)
    first = by_place.pop(1, None)
    words = [f"is no. {place} of {_listed(roles)}" for place, roles in sorted(by_place.items())]
    return ", and ".join([f"plays {_listed(first)}", *words] if first else words)


def _has_other(
    configuration: Configuration, role: str, name: str, environ: Mapping[str, str]
) -> bool:
    """Whether another executor of a role could take the place of the one called `name`."""
    others = [each for each in configuration.bound(role) if each != name]
    return any(
        is_installed(configuration.executors[each], environ.get("PATH"))
        for each in others
        if each in configuration.executors
    )


def _examine(need: Need, environ: Mapping[str, str], cwd: Path, asked: Asked) -> Iterator[Finding]:
    executor = need.executor
    try:
        path = executor.validate_availability(environ.get("PATH"))
    except ExecutorBinaryNotFound as error:
        yield _absent(need, error)
        return
    if AGENT_CLIS[executor.config.type].fences and not executor.config.is_sandboxed:
        yield _fence(need)
    if executor.config.is_sandboxed:
        yield _sandbox(need)
        if ORCHESTRATING.intersection(need.roles):
            yield _leads_in_sandbox(executor)
    if executor.config.stall_timeout_seconds == 0 and need.roles:
        yield _never_ended(executor)
    questions = AGENT_CLIS[executor.config.type].questions
    version = asked(path, "--version") if questions is not None else Answer("")
    yield _program(need, path, version)
    if questions is not None and not version.fault:
        yield _flags(need, path, partial(asked, path), questions)
        yield _login(executor, environ, questions)
        rule = questions.sow_permission
        refusal = refusal_of_sow(rule, executor.config, environ, cwd)
        if rule is not None and refusal and need.roles:
            yield _no_permission(executor, refusal, rule)
        has_fence = AGENT_CLIS[executor.config.type].fence is not Fence.NONE
        if not has_fence and not executor.config.is_sandboxed and need.roles:
            yield _no_fence(executor)
        if need.roles:
            yield from _shared_home(executor)


def _limits(need: Need, workers: Sequence[int]) -> Iterator[Finding]:
    config = need.executor.config
    if config.limits is not None:
        # Few executors have any.
        from sow.doctor.limits import limits_finding

        yield limits_finding(config, config.limits, workers)


def _never_ended(executor: Executor) -> Finding:
    return Finding(
        check="stall_timeout",
        level=Level.NOTE,
        text=f"{executor.name}: stall_timeout is never, so sow never ends an agent that hangs,"
        " not even in a batch. It reports the agent after 20 minutes without a sign of life",
    )


def _fence(need: Need) -> Finding:
    """Say what limits the agents of a program that may be any."""
    config = need.executor.config
    kind, why = fence_of(config)
    is_open = kind is Fence.NONE and bool(need.roles)
    return Finding(
        check="fence",
        level=Level.WARNING if is_open else Level.NOTE,
        text=f"{config.name}: {FENCES[kind]}: {why}",
        remedy="Use it only where its agents may do whatever you may, such as in a container."
        if is_open
        else "",
        facts={"executor": config.name, "fence": kind},
    )


def _sandbox(need: Need) -> Finding:
    """Say whether the sandbox of an executor can be made here, and what it does not hold back."""
    config = need.executor.config
    facts: dict[str, object] = {"executor": config.name, "sandbox": config.sandbox}
    try:
        program = usable(f"{config.name}")
        network = _network(config)
    except SandboxUnavailable as error:
        return Finding(
            check="sandbox",
            level=need.fault_level,
            text=f"{config.name}: its {error.what} does not work here: {error.reason}. sow"
            " starts none of its agents",
            remedy=error.hint,
            facts={**facts, "works": False},
        )
    return Finding(
        check="sandbox",
        level=Level.OK,
        text=f"{config.name}: its sandbox works ({program}); its agents have their own folder,"
        f" their session's home, their login and {network}",
        facts={**facts, "works": True},
    )


def _leads_in_sandbox(executor: Executor) -> Finding:
    return Finding(
        check="leader",
        level=Level.NOTE,
        text=f"{executor.name}: it plays orchestrator, but no agent in a sandbox can start others",
        remedy="Bind orchestrator to an executor without a sandbox, if you use that role.",
        facts={"executor": executor.name},
    )


def _network(config: ExecutorConfig) -> str:
    """Return in words what an executor's agents have of the network. Raises ProxyUnavailable."""
    if config.allowed_hosts:
        program = usable_proxy(config.name)
        return f"by {program} these hosts: {', '.join(config.allowed_hosts)}"
    return "a loopback of its own" if config.network is NetworkUse.LOOPBACK else "the network"


def _no_fence(executor: Executor) -> Finding:
    can_be = AGENT_CLIS[executor.config.type].home is not None
    return Finding(
        check="fence",
        level=Level.NOTE,
        text=f"{executor.name}: the rules of {executor.binary} do not stop an agent: with a"
        " command that they allow, it can run others and write files anywhere",
        remedy=f"On Linux, agents.executors.{executor.name}.sandbox: bwrap is a limit."
        if can_be
        else "",
        facts={"executor": executor.name, "fence": Fence.NONE},
    )


def _shared_home(executor: Executor) -> Iterator[Finding]:
    """Say what happens to runs at the same time of a CLI whose sessions share one home."""
    home = AGENT_CLIS[executor.config.type].home
    if home is not None and home.shared_danger and home_of(executor.config) is None:
        yield Finding(
            check="home",
            level=Level.NOTE,
            text=f"{executor.name}: its sessions share your own configuration folder."
            f" {home.shared_danger}",
            facts={"executor": executor.name},
        )


def _absent(need: Need, error: ExecutorBinaryNotFound) -> Finding:
    name, install = need.executor.name, error.hint.rpartition("\n\n")[2]
    bound = f"it {need.plays}" if need.plays else "no role is bound to it"
    return Finding(
        check="program",
        level=need.fault_level,
        text=f"{name}: {error.binary} is not on PATH; {bound}",
        remedy=install if need.fault_level is not Level.NOTE else "",
        facts={"executor": name, "binary": error.binary, "path": None, "roles": list(need.roles)},
    )


def _program(need: Need, path: str, version: Answer) -> Finding:
    executor = need.executor
    found = VERSION.search(version.text)
    number = found[0] if found else None
    facts = {
        "executor": executor.name,
        "binary": executor.binary,
        "path": path,
        "version": number,
        "roles": list(need.roles),
    }
    if version.fault:
        return Finding(
            check="program",
            level=need.fault_level,
            text=f"{executor.name}: `{path} --version` {version.fault}",
            remedy="Run it yourself to see why, or reinstall it.",
            facts=facts,
        )
    plays = f", {need.plays}" if need.plays else ""
    text = f"{executor.name}: {executor.binary}{f' {number}' if number else ''} ({path}){plays}"
    return Finding(check="program", level=Level.OK, text=text, facts=facts)


def _flags(need: Need, path: str, asked: Asked, questions: Questions) -> Finding:
    executor = need.executor
    answers = [asked(*words) for words in questions.helps]
    text = "\n".join(answer.text for answer in answers if not answer.fault)
    if not text:
        return Finding(
            check="flags",
            level=Level.WARNING,
            text=f"{executor.name}: `{path} {' '.join(questions.helps[0])}` {answers[0].fault}",
            remedy="sow cannot check whether it accepts the flags that sow uses.",
            facts={"executor": executor.name, "missing": None},
        )
    missing = missing_flags(executor, questions, text)
    facts = {"executor": executor.name, "missing": missing}
    if not missing:
        text = f"{executor.name}: its help lists every flag that sow uses"
        return Finding(check="flags", level=Level.OK, text=text, facts=facts)
    text = f"{executor.name}: its help does not list {', '.join(missing)}, which sow uses"
    remedy = f"Update {executor.binary}, or sow: docs/compatibility.md lists the tested versions."
    return Finding(check="flags", level=Level.WARNING, text=text, remedy=remedy, facts=facts)


def _login(executor: Executor, environ: Mapping[str, str], questions: Questions) -> Finding:
    """Tell what speaks for a login; names and paths only, no value is read."""
    given = set(executor.config.env_names) | {name for name, value in environ.items() if value}
    variables = [name for name in questions.key_variables if name in given]
    sign = ", ".join(variables) or signs_of_login(questions.login_files, environ)
    facts = {"executor": executor.name, "logged_in": bool(sign) if sign is not None else None}
    if sign:
        text = f"{executor.name}: logged in, by {sign}"
        return Finding(check="login", level=Level.OK, text=text, facts=facts)
    if sign is None:
        text = (
            f"{executor.name}: sow cannot check whether it is logged in without a request to"
            " its service"
        )
        return Finding(
            check="login", level=Level.NOTE, text=text, remedy=questions.login, facts=facts
        )
    keys = ", ".join(questions.key_variables[:3])
    text = f"{executor.name}: no login was found"
    remedy = f"{questions.login}\nOr set one of {keys} where the worker is started."
    return Finding(check="login", level=Level.WARNING, text=text, remedy=remedy, facts=facts)


def _no_permission(executor: Executor, refusal: str, rule: SowPermission) -> Finding:
    return Finding(
        check="permission",
        level=Level.WARNING,
        text=f"{executor.name}: its agents cannot report: {refusal}",
        remedy=executor.remedy.replace("Add it to", f"Add {rule.rule} to"),
        facts={"executor": executor.name},
    )


def _listed(roles: Sequence[str]) -> str:
    if len(roles) <= MOST_ROLES:
        return ", ".join(roles)
    return f"{', '.join(roles[: MOST_ROLES - 1])} and {len(roles) - MOST_ROLES + 1} more roles"


def missing_programs(configuration: Configuration, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a warning for each executor in use whose program is not on PATH."""
    for name in executors_in_use(configuration):
        executor = make_executor(configuration.executors[name])
        try:
            executor.validate_availability(environ.get("PATH"))
        except ExecutorBinaryNotFound as error:
            install = error.hint.rpartition("\n\n")[2]
            yield Finding(
                check="program",
                level=Level.WARNING,
                text=f"{executor.binary} binary not found on PATH",
                remedy=f"The '{name}' executor requires {executor.binary} CLI to be installed."
                f"\n{install}",
                facts={"executor": name, "binary": executor.binary},
            )
