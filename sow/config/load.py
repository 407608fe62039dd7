"""Loading the configuration: environment over the user's file over the repository's over defaults.

Owns that order and what each file may say. Writes nothing, prints nothing;
what has no effect is collected as warnings.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from sow import env_vars
from sow.agent_clis.known import AGENT_CLIS
from sow.config.batches import batch_origins, in_clones
from sow.config.checks import checks_of, keys_of
from sow.config.clones import clone_settings
from sow.config.config_errors import InvalidConfiguration, NamedFileMissing
from sow.config.configuration import Configuration
from sow.config.defaults import (
    BUILT_IN_EXECUTORS,
    DEFAULT_EXECUTOR,
    DEFAULT_RETRY_ON_QUOTA,
    DEFAULT_RETRY_WORKER_DEATHS,
    default_executor,
)
from sow.config.features import read_features
from sow.config.merge import merge_executor, merge_worker
from sow.config.origin import DEFAULT, FILE, REPOSITORY, Key, Origin, from_environment
from sow.config.prices import price_keys, prices_of
from sow.config.rules import check_executor, check_lists, check_roles, executor_type, nearest
from sow.config.source import Source, given, read_source, read_text, source_of
from sow.paths import display_path
from sow.schema.config import (
    AgentsSection,
    ApproveRule,
    ExecutorSection,
    FallbackResume,
    RepositoryConfigFile,
    RetrySection,
    ReviewRule,
    UserConfigFile,
    WorkerSection,
)
from sow.schema.executor import ExecutorConfig
from sow.unchanged_files import unchanged

if TYPE_CHECKING:
    from sow.config.notify import NotifyCommand
    from sow.schema.notification import NotifyEvent

ONLY_THE_USERS = {
    "agents": "agents run on each user's own subscriptions",
    "retry": "agents run on each user's own subscriptions",
    "prices": "each user pays for their own agents",
    "approve": "only the user decides who may approve for them",
    "notify": "only the user decides which commands run on their machine",
    "queue": "each user says where their own queues are",
}
"""The sections that the repository's file cannot have, and why."""
FALLBACK_RESUME = ("agents", "fallback_resume")


def load_configuration(
    *,
    path: Path,
    repository_path: Path | None,
    environ: Mapping[str, str],
    roles: Sequence[str],
) -> Configuration:
    """Return the configuration in effect for `roles`. Files that do not exist say nothing.

    Raises InvalidConfiguration. That a role is bound to an executor nobody has
    defined is told when that role is needed: `Configuration.binding`.
    """
    user = read_source(path, UserConfigFile)
    repository = read_settings(repository_path, path)
    agents = user.content.agents or AgentsSection()
    executors, executor_origins = _executors(user, agents.executors or {})
    bound, binding_origins = _bindings(user, agents.bindings or {}, roles, environ)
    worker, worker_origins = merge_worker(
        user.content.worker or WorkerSection(), repository.content.worker or WorkerSection()
    )
    clones, clone_origins = clone_settings(repository)
    checks = checks_of(repository)
    check_origins = dict.fromkeys(keys_of(checks), REPOSITORY)
    prices = prices_of(user.content)
    features, feature_origins = read_features(user, repository)
    retry, retry_origins = _retry(user.content.retry or RetrySection())
    notify, notify_origins = _notify(user)
    queue, queue_origins = _queue(user, executors)
    return Configuration(
        path=path,
        exists=user.exists,
        worker=worker,
        retry_on_quota=retry["on_quota"],
        retry_worker_deaths=retry["worker_deaths"],
        executors=executors,
        bindings={role: names[0] for role, names in bound.items()},
        fallbacks={role: names[1:] for role, names in bound.items() if names[1:]},
        hands_over=agents.fallback_resume is FallbackResume.HANDOVER,
        prices=prices,
        features=features,
        origins=executor_origins
        | dict.fromkeys(price_keys(prices), FILE)
        | feature_origins
        | binding_origins
        | worker_origins
        | retry_origins
        | clone_origins
        | check_origins
        | notify_origins
        | _review_origin(repository.content)
        | batch_origins(repository)
        | {("approve",): FILE if user.content.approve else DEFAULT}
        | queue_origins
        | {FALLBACK_RESUME: FILE if agents.fallback_resume else DEFAULT},
        repository_path=repository_path,
        clones=clones,
        batch_clones=in_clones(repository.content.batch),
        checks=checks,
        reviews=repository.content.reviews or ReviewRule.OPTIONAL,
        notify=notify,
        approve=user.content.approve or ApproveRule.PEOPLE,
        **queue,
        warnings=(
            *_idle_settings(executors),
            *_idle_variables(roles, environ),
        ),
    )


def _queue(
    user: Source[UserConfigFile], executors: Mapping[str, ExecutorConfig]
) -> tuple[Mapping[str, Any], dict[Key, Origin]]:
    """Return the fields of the configuration that say where queues are, and their origins."""
    if user.content.queue is None:
        return {}, {}
    from sow.config.queue import FIELDS, settings_of  # few users name a server

    fields = settings_of(user, executors)
    return fields, {FIELDS[name]: FILE for name in fields}


def load_named(
    *,
    path: Path,
    repository_path: Path | None,
    environ: Mapping[str, str],
    roles: Sequence[str],
) -> Configuration:
    """Return the configuration for whoever acts by it: a file that was named must be there.

    Raises NamedFileMissing, InvalidConfiguration.
    """
    configuration = load_configuration(
        path=path, repository_path=repository_path, environ=environ, roles=roles
    )
    if environ.get(env_vars.CONFIG) and not configuration.exists:
        raise NamedFileMissing(path)
    return configuration


def read_executors(path: Path) -> Mapping[str, ExecutorConfig]:
    """Return the executors that a user's file defines, and the built-in ones, by their names.

    Raises InvalidConfiguration.
    """
    return _executors_in(path, unchanged(lambda: read_text(path), str(path)))


@lru_cache(maxsize=4)
def _executors_in(path: Path, text: bytes | None) -> Mapping[str, ExecutorConfig]:
    """Return the same of a file's text: a worker asks for each attempt, and it seldom changes."""
    user = source_of(path, text, UserConfigFile)
    return _executors(user, (user.content.agents or AgentsSection()).executors or {})[0]


def read_settings(repository_path: Path | None, user_path: Path) -> Source[RepositoryConfigFile]:
    """Read the repository's settings; what only the user may choose is refused with the reason."""
    if repository_path is None:
        return Source(path=user_path, exists=False, text=b"", content=RepositoryConfigFile())
    try:
        return read_source(repository_path, RepositoryConfigFile)
    except InvalidConfiguration as error:
        if error.key not in ONLY_THE_USERS:
            raise
        raise InvalidConfiguration(
            path=error.path,
            line=error.line,
            key=error.key,
            reason=f"a repository cannot set this: {ONLY_THE_USERS[error.key]}",
            remedy=f"Move it to {display_path(user_path)}",
        ) from None


def _executors(
    source: Source[UserConfigFile], sections: Mapping[str, ExecutorSection | None]
) -> tuple[dict[str, ExecutorConfig], dict[Key, Origin]]:
    """Return the built-in executors and the file's own, a file's values over the built-in's."""
    executors: dict[str, ExecutorConfig] = {}
    origins: dict[Key, Origin] = {}
    for name in (*BUILT_IN_EXECUTORS, *sections):
        section = sections.get(name)
        if section is None and name in BUILT_IN_EXECUTORS:  # its description is not asked for
            executors[name] = BUILT_IN_EXECUTORS[name]
            continue
        section = section or ExecutorSection()
        kind = executor_type(source, name, section)
        check_executor(source, name, section, kind)
        executors[name], its_origins = merge_executor(section, default_executor(name, kind))
        origins.update(its_origins)
    return executors, origins


def _bindings(
    source: Source[UserConfigFile],
    bound: Mapping[str, str | list[str] | None],
    roles: Sequence[str],
    environ: Mapping[str, str],
) -> tuple[dict[str, tuple[str, ...]], dict[Key, Origin]]:
    """Return the executors of each role in their order; a variable names one alone."""
    check_roles(source, list(bound), roles)
    check_lists(source, bound)
    bindings: dict[str, tuple[str, ...]] = {}
    origins: dict[Key, Origin] = {}
    for role in roles:
        variable = variable_for(role)
        override, written = environ.get(variable), bound.get(role)
        place = ("agents", "bindings", role)
        if override:
            bindings[role], origins[place] = (override,), from_environment(variable)
        elif written:
            names = (written,) if isinstance(written, str) else tuple(written)
            bindings[role], origins[place] = names, FILE
        else:
            bindings[role], origins[place] = (DEFAULT_EXECUTOR,), DEFAULT
    return bindings, origins


def variable_for(role: str) -> str:
    """Return the environment variable that binds `role`: `SOW_AGENTS_SECURITY_REVIEWER`."""
    return env_vars.AGENTS_PREFIX + role.upper().replace("-", "_")


def _retry(section: RetrySection) -> tuple[dict[str, Any], dict[Key, Origin]]:
    found = given({name: getattr(section, name) for name in RetrySection.__struct_fields__})
    settings = {
        "on_quota": DEFAULT_RETRY_ON_QUOTA,
        "worker_deaths": DEFAULT_RETRY_WORKER_DEATHS,
        **found,
    }
    return settings, {("retry", name): FILE if name in found else DEFAULT for name in settings}


def _notify(
    source: Source[UserConfigFile],
) -> "tuple[Mapping[NotifyEvent, NotifyCommand], dict[Key, Origin]]":
    if not source.content.notify:
        return {}, {}
    # Few users have a command for any event.
    from sow.config.notify import notify_commands, origins_of

    commands = notify_commands(source)
    return commands, origins_of(commands)


def _review_origin(content: RepositoryConfigFile) -> dict[Key, Origin]:
    given = content.reviews is not UNSET and content.reviews is not None
    return {("reviews",): REPOSITORY if given else DEFAULT}


def _idle_settings(executors: Mapping[str, ExecutorConfig]) -> Iterator[str]:
    for name, executor in executors.items():
        if executor is BUILT_IN_EXECUTORS.get(name):
            continue
        for key, setting in AGENT_CLIS[executor.type].settings.items():
            if setting.idle and getattr(executor, key):
                yield f"agents.executors.{name}.settings.{key} has no effect: {setting.idle}"


def _idle_variables(roles: Sequence[str], environ: Mapping[str, str]) -> Iterator[str]:
    known = [variable_for(role) for role in roles]
    for variable in sorted(environ):
        if variable.startswith(env_vars.AGENTS_PREFIX) and variable not in known:
            yield f"{variable} names no agent; {nearest(variable, known)}"
