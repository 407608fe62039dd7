"""GitHub's REST API over a Unix socket, to which the real `gh` is pointed (`http_unix_socket`)."""

import json
import socketserver
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from with_github.rest import SITE, answer


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """A server whose data lies in a file."""

    daemon_threads = True
    data: Path


class Handler(BaseHTTPRequestHandler):
    """Answers as `rest.answer` says."""

    server: Server

    def do_GET(self) -> None:
        self._do("GET")

    def do_POST(self) -> None:
        self._do("POST")

    def do_PATCH(self) -> None:
        self._do("PATCH")

    def _do(self, method: str) -> None:
        data = self._body()
        body = json.loads(data) if data else None
        status, found = answer(self.server.data, method, self.path, body)
        text = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        if method == "GET" and isinstance(found, list):
            self._name_next(len(found))
        self.end_headers()
        self.wfile.write(text)

    def _body(self) -> bytes:
        """Return what was sent: `gh api --input -` sends it in chunks."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _name_next(self, count: int) -> None:
        """Name the next page as GitHub does, which `gh api --paginate` follows."""
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if count and count == int(query.get("per_page", 30)):
            query["page"] = str(int(query.get("page", 1)) + 1)
            words = "&".join(f"{key}={value}" for key, value in query.items())
            host = SITE.replace("https://", "https://api.")
            self.send_header("Link", f'<{host}{parts.path}?{words}>; rel="next"')

    def address_string(self) -> str:
        return "gh"

    def log_message(self, *_words: object) -> None:
        pass


def main() -> None:
    socket, data = sys.argv[1:]
    with Server(socket, Handler) as server:
        server.data = Path(data)
        print("ready", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
