"""What goes through the socket for reports: fields of bytes, each with its length before it.

Owns the form, the limits, and what is told by which field: of a report which one it is, its
standard input and its words; of an answer the exit code and what was printed. Who reads such
bytes has them from an agent, so each is held to be hostile. Imports nothing of sow: `sow agent log`
passes through here.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = b"sow1"
NUMBER = 4
"""How many bytes a length has."""
HEAD = len(MARK) + NUMBER
MOST_BYTES = (16 << 20) + (1 << 20)
"""The largest report: its standard input, and its words."""
MOST_WORD_BYTES = 1 << 20
MOST_WORDS = 4096
ID_DIGITS = 32
SOCKET = "socket"
KEPT_SUFFIX = ".report"
"""How the names end of the reports that are kept beside the socket while nobody listens."""
_HEXADECIMAL = frozenset(b"0123456789abcdef")


class BadMessage(ValueError):
    """Nothing that sow has sent."""


class Report:
    """A command line that an agent has sent."""

    __slots__ = ("id", "stdin", "words")

    def __init__(self, id: bytes, words: "Sequence[bytes]", stdin: bytes | None) -> None:
        self.id = id
        """32 hexadecimal digits; the same where the same report comes a second time."""
        self.words = words
        self.stdin = stdin
        """What the command may read on its standard input; None for nothing."""


def pack(fields: "Sequence[bytes]") -> bytes:
    """Return a message."""
    body = b"".join(len(field).to_bytes(NUMBER, "big") + field for field in fields)
    return MARK + len(body).to_bytes(NUMBER, "big") + body


def length_of(data: "bytes | bytearray") -> int | None:
    """Return how long a message is that begins so; None where that is not there yet.

    Raises BadMessage.
    """
    if bytes(data[: len(MARK)]) != MARK[: len(data)]:
        raise BadMessage("no message of sow")
    if len(data) < HEAD:
        return None
    size = int.from_bytes(data[len(MARK) : HEAD], "big")
    if size > MOST_BYTES:
        raise BadMessage(f"more than {MOST_BYTES >> 20} MiB")
    return HEAD + size


def unpack(data: "bytes | bytearray") -> list[bytes]:
    """Return the fields of a whole message. Raises BadMessage."""
    if length_of(data) != len(data):
        raise BadMessage("cut off, or more than one message")
    fields: list[bytes] = []
    view, at = memoryview(data), HEAD
    while at < len(data):
        end = at + NUMBER + int.from_bytes(view[at : at + NUMBER], "big")
        if end > len(data) or len(fields) > MOST_WORDS:
            raise BadMessage("a field that is longer than its message, or too many of them")
        fields.append(bytes(view[at + NUMBER : end]))
        at = end
    return fields


def pack_report(report: Report) -> bytes:
    """Return a report as it is sent."""
    stdin = b"" if report.stdin is None else b"1" + report.stdin
    return pack([report.id, stdin, *report.words])


def unpack_report(data: "bytes | bytearray") -> Report:
    """Return the report that a whole message is. Raises BadMessage."""
    fields = unpack(data)
    if len(fields) < 3:
        raise BadMessage("a report without words")
    name, stdin, *words = fields
    if len(name) != ID_DIGITS or not _HEXADECIMAL.issuperset(name):
        raise BadMessage("a report without an id")
    if any(b"\0" in word for word in words) or sum(map(len, words)) > MOST_WORD_BYTES:
        raise BadMessage("words that no command line can have")
    return Report(name, words, stdin[1:] if stdin else None)


def pack_answer(code: int, out: bytes, err: bytes) -> bytes:
    """Return an answer as it is sent: the exit code, and what was printed."""
    most = MOST_BYTES // 2 - 64
    return pack([b"%d" % code, out[:most], err[:most]])


def unpack_answer(data: "bytes | bytearray") -> tuple[int, bytes, bytes]:
    """Return the answer that a whole message is. Raises BadMessage."""
    fields = unpack(data)
    if len(fields) != 3 or not fields[0].isdigit():
        raise BadMessage("no answer")
    return int(fields[0]), fields[1], fields[2]
