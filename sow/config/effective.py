"""The configuration in effect as a list of settings, in the words of a configuration file.

Owns which settings are worth showing and that no variable's value is shown.
Knows nothing of how they are printed.
"""

from collections.abc import Iterator
from typing import Any

from sow.agent_clis.known import AGENT_CLIS
from sow.config.checks import DEFAULT
from sow.config.checks import SECTION as CHECKS
from sow.config.clones import CLONE_KEYS, SECTION
from sow.config.configuration import Configuration
from sow.config.features import of_user
from sow.config.merge import EXECUTOR_KEYS, LIMIT_KEYS, WORKER_KEYS
from sow.config.notify import SECTION as NOTIFY
from sow.config.origin import Key, Origin, OriginKind, Setting
from sow.config.prices import PRICED
from sow.config.prices import SECTION as PRICES
from sow.config.queue import FIELDS as SERVED
from sow.config.queue import SECTION as QUEUE
from sow.config.queue import URL, shown
from sow.config.units import write_duration, write_duration_or_never, write_size
from sow.schema.config import FallbackResume, InheritAll
from sow.schema.executor import ExecutorConfig

HIDDEN = "***"
"""Stands for the value of a variable."""

NAMES_ONLY = frozenset({"env_names", "env_file_names", "env_command_names"})
"""The fields of an executor that hold the names of variables."""
SIZES = frozenset({"keep_size", "min_free_disk", "min_free_memory", "memory", "disk"})
"""The settings that are amounts of bytes."""


def effective_settings(configuration: Configuration) -> Iterator[Setting]:
    """Yield every setting in effect, in the order of a configuration file."""
    for name in configuration.executors:
        yield from executor_settings(configuration, name)
    for role, executor in configuration.bindings.items():
        names = configuration.bound(role)
        bound = list(names) if len(names) > 1 else executor
        yield _setting(configuration, ("agents", "bindings", role), bound)
    if configuration.fallbacks or configuration.hands_over:
        rule = FallbackResume.HANDOVER if configuration.hands_over else FallbackResume.STAY
        yield _setting(configuration, ("agents", "fallback_resume"), rule.value)
    for field, key in WORKER_KEYS.items():
        yield _setting(configuration, ("worker", key), getattr(configuration.worker, field))
    yield _setting(configuration, ("retry", "on_quota"), configuration.retry_on_quota)
    yield _setting(configuration, ("retry", "worker_deaths"), configuration.retry_worker_deaths)
    yield from of_user(configuration)
    yield _setting(configuration, ("approve",), configuration.approve.value)
    if configuration.queue_url:
        place = (QUEUE, URL)
        yield Setting(place, shown(configuration.queue_url), configuration.origin(*place))
    for field in ("served_owners", "served_executors"):
        if (names := getattr(configuration, field)) is not None:
            place = SERVED[field]
            yield Setting(place, list(names), configuration.origin(*place))
    if configuration.host_labels:
        place = SERVED["host_labels"]
        yield Setting(place, list(configuration.host_labels), configuration.origin(*place))
    remote = SERVED["queue_remote"]
    if configuration.origin(*remote).kind is not OriginKind.DEFAULT:
        yield _setting(configuration, remote, configuration.queue_remote)
    for model, price in configuration.prices.items():
        for kind in PRICED:
            yield _setting(configuration, (PRICES, model, kind), getattr(price, kind))
    for event in configuration.notify:  # the address of a webhook is a secret
        place = (NOTIFY, event.value)
        yield Setting(place, HIDDEN, configuration.origin(*place))


def clone_settings_given(configuration: Configuration) -> Iterator[Setting]:
    """Yield what the repository's file says of tasks' clones; the defaults say nothing here."""
    for field, key in CLONE_KEYS.items():
        if key == ("setup_network",) and configuration.clones.setup_hosts:
            continue  # its key below says what holds
        setting = _setting(configuration, (SECTION, *key), getattr(configuration.clones, field))
        if setting.origin.kind is not OriginKind.DEFAULT:
            yield setting


def check_settings_given(configuration: Configuration) -> Iterator[Setting]:
    """Yield the repository's checks, each as its command line, and which are the default."""
    for name, command in configuration.checks.commands.items():  # it may be called `timeout`
        yield Setting((CHECKS, name), command.run, configuration.origin(CHECKS, name))
    if configuration.checks.default:
        yield _setting(configuration, (CHECKS, DEFAULT), list(configuration.checks.default))


def review_settings(configuration: Configuration) -> Iterator[Setting]:
    """Yield who may complete a task, where a repository can say so."""
    if configuration.repository_path is not None:
        yield _setting(configuration, ("reviews",), configuration.reviews.value)


def executor_settings(configuration: Configuration, name: str) -> Iterator[Setting]:
    """Yield the settings of one executor that say something: a default of nothing says nothing."""
    executor = configuration.executors[name]
    place = ("agents", "executors", name)
    for field, key in EXECUTOR_KEYS.items():
        value = getattr(executor, field)
        if not _says_something(executor, key, value, configuration.origin(*place, *key)):
            continue
        if field in NAMES_ONLY:
            origin = configuration.origin(*place, *key)
            yield from (Setting((*place, *key, each), HIDDEN, origin) for each in value)
        else:
            yield _setting(configuration, (*place, *key), value)
    for field, key in LIMIT_KEYS.items():
        if (most := getattr(executor.limits, field, None)) is not None:
            yield _setting(configuration, (*place, *key), most)


def _says_something(executor: ExecutorConfig, key: Key, value: object, origin: Origin) -> bool:
    if key[0] == "settings" and key[1] not in AGENT_CLIS[executor.type].settings:
        return False
    if key == ("network",) and executor.allowed_hosts:
        return False  # its key below says what holds
    return origin.kind is not OriginKind.DEFAULT or value not in (None, ())


def _setting(configuration: Configuration, key: Key, value: Any) -> Setting:
    if key[-1] in ("stall_timeout", "api_timeout"):
        value = write_duration_or_never(value)
    elif key[-1] in ("timeout", "cpu", "idle_exit", "keep_for", "setup_timeout"):
        value = write_duration(value)
    elif key[-1] == "env_inherit" and value is None:
        value = InheritAll.ALL.value
    elif key[-1] in SIZES:
        value = write_size(value)
    elif isinstance(value, tuple):
        value = list(value)
    return Setting(key, value, configuration.origin(*key))
