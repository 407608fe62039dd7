"""Finding secrets in what is written, and putting their names in their places.

Owns which values can be looked for, and the forms in which a value is found: as it is, and as JSON
writes it in a text, once and in a text within that. Anything else (base64, a value in two events
of a stream) is not found. Light: the relay of a supervisor and the shortest command run on it.
"""

import os
from _json import encode_basestring, encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LEAST_BYTES = 6
"""A shorter value would be found by chance."""
RECORD = "/blanked"
"""The file in an attempt's folder that names the variables whose values were found."""
LOST = b"-"
"""Stands in that file for output that was lost with a relay."""
MOST_BYTES = 65_536
"""Twice what any key takes; each value is looked for in all of the output."""


def fault_of(value: bytes) -> str:
    """Return why a value cannot be a secret of ours; nothing if it can."""
    if len(value) < LEAST_BYTES:
        return f"it is shorter than {LEAST_BYTES} bytes: sow could not tell it from other text"
    if len(value) > MOST_BYTES:
        return f"it is longer than {MOST_BYTES // 1024} KiB"
    if b"\0" in value:
        return "it has a NUL character, which no variable can hold"
    if value[:1] in b"\r\n":
        return "it begins with a line break"
    return ""


def forms_of(value: bytes) -> "Iterator[bytes]":
    """Yield a value as it is, and as JSON writes it in a text, once and twice."""
    yield value
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return
    for encode in (encode_basestring, encode_basestring_ascii):
        once = encode(text)[1:-1]
        yield once.encode()
        yield encode(once)[1:-1].encode()


class Blanker:
    """Puts `[NAME]` in the place of each value in a stream, however that is cut into pieces."""

    def __init__(
        self, values: "Mapping[bytes, bytes]", on_first: "Callable[[bytes], None] | None" = None
    ) -> None:
        """Look for `values`, by their names. `on_first` is told each name at its first find."""
        self._names = {
            form: name for name, value in values.items() if value for form in forms_of(value)
        }
        self._forms = sorted(self._names, key=len, reverse=True)
        self.longest = len(self._forms[0]) if self._forms else 0
        """The length of the longest form that is looked for, in bytes."""
        self.longest_over_lines = max((len(f) for f in self._forms if b"\n" in f), default=1)
        """The same of those that have a line break in them; 1 where none has."""
        self._first_bytes = sorted({form[:1] for form in self._forms})
        self._on_first = on_first
        self._held = b""
        self.found: set[bytes] = set()
        """The names of the values that were found so far."""

    @property
    def keeps_back(self) -> bool:
        """Whether something was fed that is not passed on yet."""
        return bool(self._held)

    def feed(self, data: bytes) -> bytes:
        """Return what can be passed on by now: what may go on as a value is kept back."""
        data = self._held + data
        start = self._tail_of(data, 0)
        if start == len(data) and not any(form in data for form in self._forms):
            self._held = b""
            return data
        return self._pass_on(data)

    def rest(self) -> bytes:
        """Return what was kept back: nothing follows it.

        So much of a value as makes a value of its own was cut off, as by a kill, and is replaced.
        """
        data, self._held = self._held, b""
        form = next((form for form in self._forms if form.startswith(data)), b"")
        if len(data) < LEAST_BYTES or not form:
            return self._replaced(data, len(data))[0]
        self._note(self._names[form])
        return b"[" + self._names[form] + b"]"

    def whole(self, data: bytes) -> bytes:
        """Return a text of its own with all values in it replaced."""
        return self._replaced(data, len(data))[0]

    def names_in(self, data: bytes) -> set[bytes]:
        """Return the names of the values that a piece of text holds."""
        return {name for form, name in self._names.items() if form in data}

    def _pass_on(self, data: bytes) -> bytes:
        """Return `data` replaced up to where a value may have begun, and keep the rest."""
        parts, at = [], 0
        while True:
            tail = self._tail_of(data, at)
            part, at = self._replaced(data, tail, at)
            parts.append(part)
            if at == tail:  # else a value reached into what looked like a beginning
                self._held = data[tail:]
                return b"".join(parts)

    def _replaced(self, data: bytes, end: int, at: int = 0) -> tuple[bytes, int]:
        """Replace what begins from `at` on and before `end`; return that, and how far it reaches.

        Of two values that overlap the first counts, and of two that begin at one place the longer.
        """
        parts = []
        places = {form: data.find(form, at) for form in self._forms}
        while True:
            for form, place in places.items():
                if -1 < place < at:
                    places[form] = data.find(form, at)
            found = [(place, -len(form), form) for form, place in places.items() if place >= at]
            if not found or min(found)[0] >= end:
                break
            place, _, form = min(found)
            parts += [data[at:place], b"[" + self._names[form] + b"]"]
            self._note(self._names[form])
            at = place + len(form)
        if at < end:
            parts.append(data[at:end])
            at = end
        return b"".join(parts), at

    def _tail_of(self, data: bytes, start: int) -> int:
        """Return where, from `start` on, a value may have begun that is not whole; else the end."""
        first = max(start, len(data) - self.longest + 1)
        places = [len(data)]
        for byte in self._first_bytes:
            place = data.find(byte, first)
            while place >= 0 and not self._begins(data[place:]):
                place = data.find(byte, place + 1)
            if place >= 0:
                places.append(place)
        return min(places)

    def _begins(self, tail: bytes) -> bool:
        return any(len(tail) < len(form) and form.startswith(tail) for form in self._forms)

    def _note(self, name: bytes) -> None:
        if name not in self.found:
            self.found.add(name)
            if self._on_first is not None:
                self._on_first(name)


def values_in(environ: "Mapping[str, str]", names: str) -> dict[bytes, bytes]:
    """Return the values in an environment of variables whose names have commas between them."""
    found = {name: environ.get(name, "") for name in names.split(",") if name}
    return {
        name.encode("utf-8", "surrogateescape"): value.encode("utf-8", "surrogateescape")
        for name, value in found.items()
        if len(value) >= LEAST_BYTES
    }


def note_blanked(folder: str, attempt: str, name: bytes) -> None:
    """Put on record that the value of a variable was found in what an attempt has written.

    Where that cannot be written, nothing is said: the value is blanked all the same.
    """
    try:
        descriptor = open_output(folder + RECORD)
    except OSError:
        return
    write_all(descriptor, attempt.encode() + b" " + name + b"\n")
    os.close(descriptor)


def open_output(path: str) -> int:
    """Open a file of an attempt for what is appended. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    return os.open(path, flags, 0o600)


def write_all(descriptor: int, data: bytes) -> bool:
    """Write all, as far as there is room; tell if there was: nobody is held up by a full disk."""
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except OSError:
            return False
    return True
