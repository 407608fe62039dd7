"""A service outside of a sandbox, and a program that asks for it from inside in several ways."""

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ASK = '''\
"""Asks for each word, and prints what came of it: a status, or `no`."""
import base64, http.client, os, socket, sys, urllib.error, urllib.parse, urllib.request


def get(url):
    return urllib.request.urlopen(url, timeout=60).status


def connect(place):
    """Ask by a tunnel, as for https."""
    proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
    host, _, port = place.rpartition(":")
    asked = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=60)
    key = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    asked.set_tunnel(host, int(port), {"Proxy-Authorization": f"Basic {key}"})
    try:
        asked.request("GET", "/")
    except OSError as error:
        return str(error).split()[-1] if "ailed" not in str(error) else str(error).split()[3]
    return asked.getresponse().status


def direct(place):
    host, _, port = place.rpartition(":")
    socket.create_connection((host, int(port)), 60)
    return "reached"


def post(url):
    """Send much and get much back."""
    answer = urllib.request.urlopen(url, data=b"x" * 3_000_000, timeout=60)
    return len(answer.read())


for word in sys.argv[1:]:
    how, _, what = word.partition("=")
    try:
        print(how, {"get": get, "connect": connect, "direct": direct, "post": post}[how](what))
    except urllib.error.HTTPError as error:
        print(how, error.code)
    except OSError:
        print(how, "no")
'''


class Service(BaseHTTPRequestHandler):
    """Answers everything with the text `here`; a POST with as many bytes twice."""

    def do_GET(self) -> None:
        self._answer(b"here")

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self._answer(self.rfile.read(size) * 2)

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def service() -> Iterator[int]:
    """Serve on this machine's loopback, and give the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def put_ask(folder: Path) -> None:
    """Lay the program that asks into a folder, as `ask.py`."""
    (folder / "ask.py").write_text(ASK)


def proxy_status(port: int, password: str | None) -> int:
    """Return what a proxy answers somebody who asks for this machine with a password."""
    import http.client

    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    key = base64.b64encode(f"sow:{password}".encode()).decode()
    headers = {} if password is None else {"Proxy-Authorization": f"Basic {key}"}
    asked.request("GET", "http://127.0.0.1:9/", headers=headers)
    return asked.getresponse().status
