"""Whatever the files and the environment say, nothing is lost and each origin is right."""

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sow.config.defaults import BUILT_IN_EXECUTORS
from sow.config.load import load_configuration
from sow.config.origin import DEFAULT, FILE, REPOSITORY, from_environment
from sow.config.units import parse_duration, parse_duration_or_never, parse_size

ROLES = ("orchestrator", "implementer", "security-reviewer")
DEFAULT_WORKER = {
    "concurrency": 4,
    "checks": 2,
    "autostart": True,
    "idle_exit": 600.0,
    "keep_for": 30 * 86400.0,
    "keep_size": 2 * 10**9,
    "min_free_disk": 500 * 10**6,
    "min_free_memory": 300 * 10**6,
}

words = st.text("abcxyz.", min_size=1, max_size=6)
durations = st.builds("{}{}".format, st.integers(1, 500), st.sampled_from(["ms", "s", "m", "h"]))
nothing = st.none()


def some(**values):
    """A mapping with any of the keys, each with a value or with nothing behind it."""
    return st.fixed_dictionaries(
        {}, optional={key: nothing | value for key, value in values.items()}
    )


COMMON = {
    "custom_args": st.lists(words.map("--x{}".format), max_size=3),
    "env": st.dictionaries(st.sampled_from(["A", "B_1", "KEY"]), words, max_size=3),
    "max_parallel": st.integers(1, 9),
    "timeout": durations,
    "stall_timeout": durations | st.just("never"),
    "retries": st.integers(0, 9),
}
SETTINGS = {
    "claude": some(yolo_mode=st.booleans(), model=words, allowed_tools=st.lists(words)),
    "cursor": some(yolo_mode=st.booleans(), model=words),
    "windsurf": some(yolo_mode=st.booleans(), command=st.lists(words)),
}


def of_type(kind):
    section = some(settings=SETTINGS[kind], **COMMON)
    return section.map(lambda given: {"type": kind, **given})


executors = st.dictionaries(
    st.sampled_from(["claude-code", "cursor", "windsurf", "mine", "gpt-4.1", "a b", "null"]),
    st.sampled_from(sorted(SETTINGS)).flatmap(of_type),
)
sizes = st.sampled_from(["0B", "1.5KB", "20MB", "2GB"])
workers = some(
    concurrency=st.integers(1, 50),
    checks=st.integers(1, 50),
    autostart=st.booleans(),
    idle_exit=durations,
    keep_for=durations,
    keep_size=sizes,
    min_free_disk=sizes | st.just(0),
    min_free_memory=sizes | st.just(0),
)
names = st.sampled_from(["claude-code", "cursor", "mine", "aider"])
files = st.fixed_dictionaries(
    {},
    optional={
        "agents": some(executors=executors, bindings=some(**dict.fromkeys(ROLES, names))),
        "worker": workers,
        "retry": some(on_quota=st.booleans(), worker_deaths=st.integers(1, 9)),
    },
)
variables = st.fixed_dictionaries(
    {},
    optional={
        "SOW_AGENTS_IMPLEMENTER": names,
        "SOW_AGENTS_SECURITY_REVIEWER": names,
    },
)


def load(user, repository, environ):
    with tempfile.TemporaryDirectory() as folder:
        user_path, repository_path = Path(folder, "user.yaml"), Path(folder, "repository.yaml")
        user_path.write_text(json.dumps(user))  # JSON is YAML
        repository_path.write_text(json.dumps({"worker": repository}))
        return load_configuration(
            path=user_path, repository_path=repository_path, environ=environ, roles=ROLES
        )


def section(data, *keys):
    for key in keys:
        data = (data or {}).get(key)
    return data or {}


def expect(configuration, key, value, written, default):
    """Check one value that a file may have given (None: it has not) against its default."""
    assert value == (default if written is None else written), key
    assert configuration.origin(*key) == (DEFAULT if written is None else FILE), key


def seconds(text):
    return None if text is None else parse_duration_or_never(text)


def as_tuple(value):
    return None if value is None else tuple(value)


@settings(deadline=None)
@given(user=files)
def test_executors(user):
    configuration = load(user, {}, {})

    given_executors = section(user, "agents", "executors")
    assert set(configuration.executors) == {*BUILT_IN_EXECUTORS, *given_executors}
    for name, executor in configuration.executors.items():
        its = section(given_executors, name)
        settings = section(its, "settings")
        place = ("agents", "executors", name)
        for key, value, written, default in (
            (("settings", "yolo_mode"), executor.yolo_mode, settings.get("yolo_mode"), False),
            (("settings", "model"), executor.model, settings.get("model"), None),
            (
                ("settings", "allowed_tools"),
                executor.allowed_tools,
                as_tuple(settings.get("allowed_tools")),
                (),
            ),
            (("settings", "command"), executor.command, as_tuple(settings.get("command")), ()),
            (("custom_args",), executor.custom_args, as_tuple(its.get("custom_args")), ()),
            (("env",), executor.env_names, as_tuple(its.get("env")), ()),
            (("max_parallel",), executor.max_parallel, its.get("max_parallel"), None),
            (("timeout",), executor.timeout_seconds, seconds(its.get("timeout")), None),
            (
                ("stall_timeout",),
                executor.stall_timeout_seconds,
                seconds(its.get("stall_timeout")),
                None,
            ),
            (("retries",), executor.retries, its.get("retries"), 2),
        ):
            expect(configuration, (*place, *key), value, written, default)
        if its:
            assert (executor.type, configuration.origin(*place, "type")) == (its["type"], FILE)


@settings(deadline=None)
@given(user=files, environ=variables)
def test_bindings(user, environ):
    configuration = load(user, {}, environ)

    assert tuple(configuration.bindings) == ROLES
    for role, variable in (
        ("orchestrator", "SOW_AGENTS_ORCHESTRATOR"),
        ("implementer", "SOW_AGENTS_IMPLEMENTER"),
        ("security-reviewer", "SOW_AGENTS_SECURITY_REVIEWER"),
    ):
        origin = configuration.origin("agents", "bindings", role)
        written = section(user, "agents", "bindings").get(role)
        if variable in environ:
            assert configuration.bindings[role] == environ[variable]
            assert origin == from_environment(variable)
        else:
            assert configuration.bindings[role] == (written or "claude-code")
            assert origin == (FILE if written else DEFAULT)


@settings(deadline=None)
@given(user=files, repository=nothing | workers)
def test_worker_and_retry(user, repository):
    configuration = load(user, repository, {})

    worker = configuration.worker
    for key, value in (
        ("concurrency", worker.concurrency),
        ("checks", worker.checks),
        ("autostart", worker.autostart),
        ("idle_exit", worker.idle_exit_seconds),
        ("keep_for", worker.keep_for_seconds),
        ("keep_size", worker.keep_bytes),
        ("min_free_disk", worker.min_free_disk_bytes),
        ("min_free_memory", worker.min_free_memory_bytes),
    ):
        candidates = (
            (section(user, "worker").get(key), FILE),
            (section(repository).get(key), REPOSITORY),
            (DEFAULT_WORKER[key], DEFAULT),
        )
        written, origin = next(each for each in candidates if each[0] is not None)
        read = parse_duration if key in ("idle_exit", "keep_for") else parse_size
        expected = read(written) if isinstance(written, str) else written
        assert (value, configuration.origin("worker", key)) == (expected, origin)
    expect(
        configuration,
        ("retry", "on_quota"),
        configuration.retry_on_quota,
        section(user, "retry").get("on_quota"),
        True,
    )
    expect(
        configuration,
        ("retry", "worker_deaths"),
        configuration.retry_worker_deaths,
        section(user, "retry").get("worker_deaths"),
        5,
    )
