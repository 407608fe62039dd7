"""The tests that need control groups with controllers, in a virtual machine that has them.

Containers, and CI, have none: their controllers are of version 1, or not theirs. An ordinary user
gets them from systemd alone. `make test-groups` runs this, and so does `make proof`, whose page
says where there can be no such machine.
"""

from pathlib import Path
from typing import NoReturn

import pytest
from capabilities import skip_or_fail
from machine.virtual_machine import Machine, MachineUnavailable, machine_here
from proving import FOLDER, hand_in

from proof.report import read_results

pytestmark = pytest.mark.groups

SYSTEMD = (
    *("/lib/systemd/systemd", "/usr/bin/systemd-run", "/usr/bin/dbus-daemon"),
    "/lib/systemd/system/user@.service",
)
LIMITS = 10
"""How many tests of limits there are at least."""


def leave_out(reason: str) -> NoReturn:
    """Have the proof's page name what is missing; `make test-groups` fails."""
    if FOLDER:
        pytest.skip(f"left out: {reason}")
    skip_or_fail(reason)


@pytest.fixture(scope="module")
def machine() -> Machine:
    try:
        return machine_here()
    except MachineUnavailable as missing:
        leave_out(str(missing))


def passed_as(name: str, share: Path) -> int:
    """Return how many tests were run under a name, after seeing that all of them passed."""
    output = (share / name / "output").read_text("utf-8", "replace")
    tests = read_results(share / name).tests
    assert (share / name / "code").read_text() == "0\n", output[-8000:]
    assert {test.outcome for test in tests} == {"passed"}, output[-8000:]
    hand_in(f"limits that the kernel keeps ({name})", 1, {"tests": len(tests)})
    return len(tests)


def test_limits_hold_for_root_and_for_a_user_who_was_given_a_group(
    machine: Machine, tmp_path: Path
) -> None:
    share = machine.run("given_groups", tmp_path)
    assert passed_as("root", share) == passed_as("user", share) >= LIMITS


def test_limits_hold_for_workers_that_systemd_starts(machine: Machine, tmp_path: Path) -> None:
    if missing := [path for path in SYSTEMD if not Path(path).exists()]:
        leave_out(f"no systemd with users' services here: {', '.join(missing)}")
    share = machine.run("under_systemd", tmp_path)
    assert passed_as("session", share)
