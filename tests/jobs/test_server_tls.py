"""A shared queue over a network: its server must prove who it is."""

import datetime
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import certificates
import postgres
import pytest
from certificates import DAY, certificate

from sow.errors import QueueError
from sow.jobs.database import open_queue
from sow.jobs.queue_server import QueueServer
from sow.jobs.server_faults import ServerFault
from sow.jobs.server_rights import Joining, share
from sow.paths import Workspace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="it has one loopback address alone"),
]
HOST = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.7"
"""An address of this machine that counts as another one's, and that nobody else uses."""
PORT = 5432


class TlsServer:
    """A server with TLS at an address of its own."""

    def __init__(self, server: postgres.Server) -> None:
        self._server = server
        self._data = server.folder / "data"
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 127.0.0.0/8 trust\n")

    def show(self, shown: bytes, key: bytes) -> None:
        """Have the server show another certificate to whoever connects from now on."""
        certificates.show(self._server, shown, key)
        deadline = time.monotonic() + 60
        while not self._shows(shown):
            assert time.monotonic() < deadline, "it still shows another one"
            time.sleep(0.02)

    def _shows(self, wanted: bytes) -> bool:
        import ssl

        with socket.create_connection((HOST, PORT), timeout=60) as connection:
            connection.sendall(bytes([0, 0, 0, 8, 4, 210, 22, 47]))  # asks for TLS
            if connection.recv(1) != b"S":
                return False
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with context.wrap_socket(connection) as secure:
                shown = secure.getpeercert(binary_form=True) or b""
        return ssl.DER_cert_to_PEM_cert(shown).split() == wanted.decode().split()


@pytest.fixture(scope="module")
def tls() -> Iterator[TlsServer]:
    with postgres.running(*postgres.UNSAFE, f"listen_addresses={HOST}") as server:
        yield TlsServer(server)


Ask = Callable[[str], None]


@pytest.fixture
def ask(workspace: Workspace, poisoned_home: Path) -> Ask:
    """Open the queue, over the network, with these parameters in its address."""

    def ask(parameters: str) -> None:
        configuration = poisoned_home / ".config/sow/config.yaml"
        configuration.parent.mkdir(parents=True, exist_ok=True)
        url = f"postgresql://sow@{HOST}:{PORT}/postgres?{parameters}"
        configuration.write_text(f"queue:\n  url: {url}\n")
        open_queue(workspace).close()

    return ask


def test_only_a_server_that_proves_who_it_is_has_a_shared_queue(
    tls: TlsServer, ask: Ask, workspace: Workspace
) -> None:
    now = datetime.datetime.now(datetime.UTC)
    authority = workspace.root / "authority.pem"
    verified = f"sslmode=verify-full&sslrootcert={authority}"
    shown, key = certificate(HOST, now - DAY / 2)
    authority.write_bytes(shown)
    tls.show(shown, key)
    for parameters in ("sslmode=disable", "sslmode=require", verified):
        ask(parameters)
    with closing(open_queue(workspace)) as database:
        assert isinstance(database, QueueServer)
        share(database, Joining(), lease_seconds=120)
    ask(verified)
    for parameters in ("sslmode=disable", "sslmode=require", verified.replace("full", "ca")):
        with pytest.raises(QueueError, match="does not verify the server") as caught:
            ask(parameters)
        assert "sslmode=verify-full" in caught.value.hint
    for address, begins, words in (
        (HOST, now - 3 * DAY, "certificate verify failed"),
        ("127.0.0.1", now - DAY / 2, "does not match host name"),
    ):
        shown, key = certificate(address, begins)
        authority.write_bytes(shown)
        tls.show(shown, key)
        refuse(ask, verified, words)
    tls.show(*certificate(HOST, now - DAY / 2))
    refuse(ask, verified, "certificate verify failed")
    authority.unlink()
    refuse(ask, verified, "root certificate file")


def test_a_process_outlives_a_certificate_that_has_expired(
    tls: TlsServer, ask: Ask, workspace: Workspace
) -> None:
    """Its connection holds. A new one is refused in words, until the server shows a new one."""
    now = datetime.datetime.now(datetime.UTC)
    authority = workspace.root / "authority.pem"
    expired, of_expired = certificate(HOST, now - 3 * DAY)
    valid, of_valid = certificate(HOST, now - DAY / 2)
    authority.write_bytes(expired + valid)
    tls.show(valid, of_valid)
    ask(f"sslmode=verify-full&sslrootcert={authority}")
    with closing(open_queue(workspace)) as opened, closing(open_queue(workspace)) as other:
        assert isinstance(opened, QueueServer)
        tls.show(expired, of_expired)
        assert opened.value("select 1") == 1
        pid = opened.connection.info.backend_pid
        other.value("select pg_terminate_backend(?, 5000)", (pid,))
        with pytest.raises(ServerFault, match="certificate verify failed") as caught:
            opened.value("select 1")
        assert "certificate has expired" in caught.value.hint
        tls.show(valid, of_valid)
        assert opened.value("select 1") == 1


def refuse(ask: Ask, parameters: str, words: str) -> None:
    with pytest.raises(ServerFault, match=words) as caught:
        ask(parameters)
    assert "has expired, names another host, or was signed" in caught.value.hint
    assert not caught.value.passes, "nobody waits for another certificate"
