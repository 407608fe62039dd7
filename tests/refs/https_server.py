"""Git over https on loopback: git's own `http-backend` behind a server with a throw-away CA.

Owns certificates and HTTP. It serves every repository below a folder, and asks for a name and a
password below `/private/`; below `/moved/` it sends everybody to the same place without TLS.
"""

import base64
import datetime
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"
PRIVATE, MOVED = "/private/", "/moved/"
NAME, PASSWORD = "reader", "hunter2"
HANDED_ON = {
    "content-type": "CONTENT_TYPE",
    "content-encoding": "HTTP_CONTENT_ENCODING",
    "git-protocol": "GIT_PROTOCOL",
}
"""The headers that git's program is told, and the variables that it reads them from."""


@dataclass(frozen=True)
class HttpsServer:
    """A server that runs."""

    port: int
    plain_port: int
    """Where the same is served without TLS."""
    authority: Path
    """The certificate of who has signed the server's."""
    asked: list[str] = field(default_factory=list)
    """The paths that were asked for, each with the name that was given."""

    def url(self, path: str) -> str:
        """Return the address of a path."""
        return f"https://{HOST}:{self.port}{path}"


@contextmanager
def serving(root: Path, folder: Path) -> Iterator[HttpsServer]:
    """Serve the repositories below `root`; certificates are made in `folder`."""
    authority, chain = certificates(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    with ExitStack() as stack:
        server, plain = (stack.enter_context(_listening()) for _ in range(2))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        opened = HttpsServer(server.server_port, plain.server_port, authority)
        _Handler.root, _Handler.opened = root, opened
        for each in (server, plain):
            thread = threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            stack.callback(thread.join)
            stack.callback(each.shutdown)
        yield opened


def _listening() -> ThreadingHTTPServer:
    server = ThreadingHTTPServer((HOST, 0), _Handler)
    server.daemon_threads = True
    return server


class _Handler(BaseHTTPRequestHandler):
    root: Path
    opened: HttpsServer

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["content-length"])))

    def _answer(self, body: bytes) -> None:
        name = _name_in(self.headers.get("authorization", ""))
        path, _, query = self.path.partition("?")
        self.opened.asked.append(f"{path} {name}".strip())
        if path.startswith(MOVED):
            elsewhere = (
                f"http://{HOST}:{self.opened.plain_port}{self.path.removeprefix(MOVED[:-1])}"
            )
            self._send(302, [("location", elsewhere)], b"")
        elif path.startswith(PRIVATE) and name != NAME:
            self._send(401, [("www-authenticate", 'Basic realm="Repositories"')], b"")
        else:
            self._send(*self._of_git(f"/{path.removeprefix(PRIVATE).lstrip('/')}", query, body))

    def _of_git(self, path: str, query: str, body: bytes) -> tuple[int, list[Any], bytes]:
        """Return what git's own program answers: a status, headers, and what follows them."""
        environ = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            # The repository may be another user's than the one who runs the tests.
            **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory"},
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_LENGTH": str(len(body)),
            **{
                HANDED_ON[name.lower()]: value
                for name, value in self.headers.items()
                if name.lower() in HANDED_ON
            },
        }
        done = subprocess.run(
            ("git", "http-backend"), input=body, env=environ, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().splitlines()]
        status = [value for name, value in headers if name == "Status"]
        return int(status[0].split()[0]) if status else 200, headers, content

    def _send(self, status: int, headers: list[Any], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _name_in(authorization: str) -> str:
    """Return who gives the right password; nothing for anybody else."""
    words = authorization.removeprefix("Basic ")
    name, _, password = base64.b64decode(words).decode().partition(":")
    return name if password == PASSWORD else ""


def certificates(folder: Path) -> tuple[Path, Path]:
    """Make a CA and a server's certificate signed by it; return the CA's, and the server's."""
    folder.mkdir()
    issuer_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A throw-away CA")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    host = x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))])
    is_ca = x509.BasicConstraints(ca=True, path_length=None)
    signed_itself = _certificate(issuer, issuer, issuer_key, issuer_key, is_ca)
    signed = _certificate(subject, issuer, key, issuer_key, host)
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    authority, chain = folder / "ca.pem", folder / "server.pem"
    authority.write_bytes(signed_itself.public_bytes(pem))
    chain.write_bytes(secret + signed.public_bytes(pem))
    return authority, chain


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(extension, critical=True)
        .sign(issuer_key, hashes.SHA256())
    )
