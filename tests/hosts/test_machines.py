"""The machines of the tests are machines: what is done to one of them is felt there alone."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hosts.machines import (
    SERVER_ADDRESS,
    SYSTEM_PATH,
    Machine,
    Network,
    is_alive,
    sharing_namespace,
    wait_for,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's"),
]
PORT = 7000
ECHO = f"""
import socket
with socket.create_server(("{SERVER_ADDRESS}", {PORT})) as server:
    while True:
        connection, _ = server.accept()
        connection.sendall(b"hello")
"""
ASK = f"""
import socket, sys
with socket.create_connection(("{SERVER_ADDRESS}", {PORT}), timeout=float(sys.argv[1])) as it:
    assert it.recv(5) == b"hello"
    print("heard", flush=True)
    it.settimeout(None)
    if "stay" in sys.argv:
        try:
            it.recv(1)
        except OSError as error:
            print(type(error).__name__, flush=True)
"""
ENV = {"PATH": SYSTEM_PATH}


@pytest.fixture
def served(network: Network) -> None:
    def is_heard() -> bool:
        ask = [sys.executable, "-c", ASK, "60"]
        return network.hub.run(ask, timeout=60).returncode == 0

    network.serve([sys.executable, "-c", ECHO], is_heard)


def hears(machine: Machine, seconds: float = 60.0) -> bool:
    argv = [sys.executable, "-c", ASK, str(seconds)]
    return machine.run(argv, folder=machine.place, env=ENV).returncode == 0


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def start_sleep(machine: Machine, tmp_path: Path) -> int:
    pid = machine.start(["sleep", "600"], folder=machine.place, env=ENV, log=tmp_path / "log")
    assert pid in machine.processes()
    return pid


@pytest.mark.usefixtures("served")
def test_a_cut_link_swallows_everything_until_it_is_mended(
    network: Network, machine: Machine, tmp_path: Path
) -> None:
    other = Machine(network, 1, "other", tmp_path)
    other.boot()
    try:
        machine.cut()
        assert not hears(machine, 0.5)
        assert hears(other)
        machine.mend()
        assert hears(machine)
    finally:
        other.die()


@pytest.mark.usefixtures("served")
def test_a_reset_breaks_a_connection_and_a_slow_link_lets_the_next_one_through(
    machine: Machine, tmp_path: Path
) -> None:
    log = tmp_path / "asks"
    argv = [sys.executable, "-c", ASK, "60", "stay"]
    machine.start(argv, folder=machine.place, env=ENV, log=log)
    wait_for(lambda: "heard" in log.read_text(), "it is connected")
    machine.reset()
    wait_for(lambda: "ConnectionAbortedError" in log.read_text(), "it learns of the reset")
    machine.slow()
    assert hears(machine)
    machine.quicken()


def test_a_frozen_machine_stands_still_and_goes_on(machine: Machine, tmp_path: Path) -> None:
    pid = start_sleep(machine, tmp_path)
    machine.freeze()
    wait_for(lambda: {state_of(each) for each in machine.processes()} == {"T"}, "all have stopped")
    machine.thaw()
    wait_for(lambda: "T" not in {state_of(each) for each in machine.processes()}, "all go on")
    assert is_alive(pid)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_a_machine_that_dies_leaves_nobody_and_boots_as_the_same_one(
    machine: Machine, tmp_path: Path, is_frozen: bool
) -> None:
    ids = "cat /proc/sys/kernel/random/boot_id /etc/machine-id"
    before = machine.run(["sh", "-c", ids], folder=machine.place, env=ENV).stdout.split()
    (machine.disk / "kept").touch()
    pid = start_sleep(machine, tmp_path)
    if is_frozen:
        machine.freeze()
    machine.die()
    assert not is_alive(pid)
    machine.boot()
    after = machine.run(["sh", "-c", f"{ids}; ls"], folder=machine.place, env=ENV).stdout.split()
    assert after[0] != before[0], "it has booted anew"
    assert after[1:] == [before[1], "kept"]


def test_there_is_no_way_out_of_the_network(machine: Machine) -> None:
    shown = machine.run(["ip", "route"], folder=machine.place, env=ENV).stdout
    assert [line.split()[0] for line in shown.splitlines()] == ["10.77.0.0/24"]
    outside = {name for _, name in socket.if_nameindex()}
    assert not outside & {"bridge", "link1"}


def test_nothing_is_left_of_a_test_that_is_killed(tmp_path: Path) -> None:
    """Its machines end with what held them."""
    program = f"""
import sys, time
from pathlib import Path
sys.path[:0] = {sys.path!r}
from hosts.machines import Machine, open_network
with open_network() as network:
    machine = Machine(network, 0, "lonely", Path({str(tmp_path)!r}))
    machine.boot()
    machine.start(["sleep", "600"], folder=machine.place, env={ENV}, log=machine.disk / "log")
    network.serve(["sleep", "600"], lambda: True)
    server = network._served[0].pid
    print(network.hub.holder, server, machine.pid, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as test:
        assert test.stdout is not None
        *others, first = map(int, test.stdout.readline().split())
        inside = [*sharing_namespace(first, "pid"), *others]
        assert len(inside) == 4
        os.kill(test.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while any(map(is_alive, inside)):
        assert time.monotonic() < deadline, f"left: {inside}"
        time.sleep(0.02)
