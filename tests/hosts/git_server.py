"""The remote of a fleet: bare repositories over HTTPS, by git's own program behind a server.

    python git_server.py ADDRESS PORT FOLDER CERTIFICATE KEY

Whoever reaches it may fetch and push.
"""

import os
import ssl
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Hands each request to `git http-backend` (CGI)."""

    folder = ""
    timeout = 60.0

    def do_GET(self) -> None:
        self._run(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            self._run(b"".join(self._chunks()))
        else:
            self._run(self.rfile.read(int(self.headers["Content-Length"])))

    def _chunks(self) -> "list[bytes]":
        found = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            found.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _run(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        environ = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.folder,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": self.folder,
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": "anybody",
            "REMOTE_ADDR": self.client_address[0],
        }
        words = ("git", "http-backend")
        done = subprocess.run(words, input=body, env=environ, capture_output=True, check=False)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main(address: str, port: str, folder: str, certificate: str, key: str) -> None:
    Handler.folder = folder
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer((address, int(port)), Handler)
    # In the thread of a connection: one that has fallen silent keeps nobody else waiting.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
