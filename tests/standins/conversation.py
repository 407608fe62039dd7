"""What every CLI's conversation has in common: its output, its ending, its signals."""

import json
import os
import signal
import sys

TOKENS = ("input", "output", "cache_read", "cache_write")


def new_id():
    """A random UUID, without the cost of importing uuid."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def write(data, file=1):
    """Write all of `data`; a reader that has gone is no concern of ours."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(file, view) :]
    except BrokenPipeError:
        os._exit(1)


def complain(text):
    """Write one line to stderr."""
    write(text.encode(errors="surrogateescape") + b"\n", 2)


def read_stdin():
    """Everything on standard input; undecodable bytes survive a round trip."""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


class Conversation:
    """One run. The subclasses know their CLI's words; `performance` decides what is said."""

    cli = ""
    nested_env: dict[str, str] = {}  # noqa: RUF012 - never changed
    """What the CLI sets for the commands that it runs."""
    dies_by_signal = False
    """Whether INT, TERM and HUP end it as signals do, and leave its command alive."""
    kept: tuple[str, ...] = ("user", "assistant", "tool_call")
    """The events that make a session exist: they go into its transcript."""
    kills_command = False
    """Whether every signal that ends it ends the command that it runs; else SIGINT alone does."""

    def __init__(self, *, verb, session_id, prompt, transcript, permissions, events):
        self.verb = verb
        self.session_id = session_id
        self.prompt = prompt
        self.transcript = transcript
        self.permissions = permissions
        self.events = events
        self.denials = []
        self.turns = 0
        self.last_text = ""
        self.version = ""
        self.uses = {}
        """How many tokens each of its messages uses: input, output, cache_read, cache_write."""
        self.used = dict.fromkeys(TOKENS, 0)
        self.keeps = True
        """Whether it writes its transcript; killed in its first seconds, the real one has not."""
        self.unkept = []

    def emit(self, event):
        """Write an event to stdout (where events were asked for) and to the transcript."""
        line = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
        data = line.encode(errors="surrogateescape") + b"\n"
        if self.events:
            write(data)
        if self.transcript and event.get("type") in self.kept:
            self.keep(data)

    def keep(self, data, *, anyway=False):
        """Append to the transcript, which makes the session exist; later, if it keeps nothing."""
        if not self.keeps and not anyway:
            self.unkept.append(data)
            return
        os.makedirs(os.path.dirname(self.transcript), exist_ok=True)
        file = os.open(self.transcript, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, data)
        os.close(file)

    def keep_from_now_on(self):
        """Write down what was not kept so far."""
        self.keeps = True
        if self.unkept:
            self.keep(b"".join(self.unkept))
            self.unkept = []

    def forget(self):
        """Remove the transcript: the CLI has lost its session, or never wrote it."""
        if self.transcript and os.path.exists(self.transcript):
            os.unlink(self.transcript)

    def use(self):
        """Count one more message."""
        for kind in TOKENS:
            self.used[kind] += self.uses.get(kind, 0)

    def is_over_budget(self):
        """Whether a budget of its own is spent."""
        return False

    def on_signal(self, number):
        """Say what the CLI says when SIGTERM or SIGHUP ends it; return its exit code.

        A negative one stands for that signal itself.
        """
        return 128 + number

    def on_interrupt(self):
        """Say what the CLI says when SIGINT ends it; return its exit code."""
        return 1


def install_handlers(conversation, at_end):
    """End as the real CLIs do: INT kills the running command; of Claude's, TERM and HUP do not
    (measured)."""
    from shell import interrupt_running

    def interrupted(_number, _frame):
        interrupt_running()
        code = conversation.on_interrupt()
        at_end(code)
        os._exit(code)

    def ended(number, _frame):
        if conversation.kills_command:
            interrupt_running()
        code = conversation.on_signal(number)
        at_end(code)
        if code < 0:
            os.kill(os.getpid(), -code)
        os._exit(code)

    def died(number, _frame):
        at_end(-number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    if conversation.dies_by_signal:
        interrupted = ended = died
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGHUP, ended)
