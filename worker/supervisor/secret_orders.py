"""What a supervisor does for an agent with secrets: get them, blank them, look for them.

A secret of `env_files` comes with the orders, in the agent's environment. The command lines of
`env_commands` are run here, before the agent and in the user's own environment: so no value of one
passes the worker, and a command that takes long holds nobody up. Their standard error goes nowhere.
Once the agent's tree has ended, a program of ours looks for the values in the work, unless the
supervisor has seen by itself that there is nothing to be found (`quick_look`); it gets them by a
pipe. Where the supervisor has imported that program, it forks it.

Owns the form of these orders (a text each: counts, words, `NAME=…`), and the steps. Only
supervisors of such agents import it, and the worker, which packs the orders.
"""

import os
import time

from sow import env_vars
from sow.blanking import MOST_BYTES, Blanker, fault_of
from sow.evidence import KEY
from worker.supervisor.agent_process import REQUESTS, WATCHED, Agent, EndAsked, wait_for_signal
from worker.supervisor.exit_file import say, try_to_put_in_place
from worker.supervisor.quick_look import QuickLook
from worker.supervisor.relay import Relay
from worker.supervisor.tree_ending import LEFTOVER_GRACES, end_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence

    from worker.supervisor.instructions import Orders
    from worker.supervisor.own_processes import OwnProcesses

    Start = Callable[[str, list[str], Mapping[bytes, bytes], Sequence[int]], int]
    """As in `supervise`: here for a program of ours, with all three of its standard streams."""
else:
    import _signal as signal

SHELL = "/bin/sh"
COMMAND_SECONDS = 60.0
"""How long a command may take that prints a secret."""
SCAN_SECONDS = 120.0
"""How long the look at the work may take."""
LOOK_SECONDS = 0.05
"""How often the pipe of a command is looked at besides; its end is noticed at once."""
OUTPUTS = ("/output.jsonl", "/stderr.log")
FOUND = "found.json"
"""What that look has come to (`worker.steps.scan_record`)."""
CAUSE = "configuration"
"""The cause of a start without a secret (`sow.schema.causes`)."""


class NoSecret(Exception):
    """A secret cannot be had; `words` say which, why, and what to do."""

    def __init__(self, name: bytes, how: str) -> None:
        variable = os.fsdecode(name)
        super().__init__(variable)
        self.words = (
            f"the command of env_commands.{variable} gives no secret: {how}\n"
            "Run the command in your shell to see why. `sow config path` names the file with it."
        )


class SecretOrders:
    """What is to be done for one agent's secrets."""

    def __init__(
        self,
        scan: "Sequence[bytes]",
        look: "Sequence[bytes]",
        commands: "Mapping[bytes, bytes]",
        users: "Mapping[bytes, bytes]",
    ) -> None:
        self.scan = scan
        """The program that looks for the values in the work, and its arguments."""
        self.look = look
        """What the supervisor itself looks at before (`quick_look`); empty for nothing."""
        self.commands = commands
        """The command lines that print secrets, by variable."""
        self.users = users
        """The user's environment, in which they run."""


def pack_secrets(
    scan: "Sequence[str]",
    commands: "Mapping[str, str]",
    users: "Mapping[str, str]",
    look: "Sequence[str]" = (),
) -> list[str]:
    """Return the fields of such orders."""
    lines = [f"{name}={line}" for name, line in commands.items()]
    variables = [f"{name}={value}" for name, value in users.items()]
    lists = [field for part in (scan, look, lines) for field in (str(len(part)), *part)]
    return [*lists, *variables]


def unpack_secrets(fields: "Sequence[bytes]") -> SecretOrders:
    """Return the orders that these fields are."""
    lists: list[Sequence[bytes]] = []
    for _ in range(3):
        end = 1 + int(fields[0])
        lists.append(fields[1:end])
        fields = fields[end:]
    scan, look, lines = lists
    return SecretOrders(scan, look, dict(map(_pair, lines)), dict(map(_pair, fields)))


def _pair(field: bytes) -> tuple[bytes, bytes]:
    name, _, value = field.partition(b"=")
    return name, value


class Keeper:
    """Keeps the secrets of one attempt: has them, and sees to it that no file gets them."""

    def __init__(
        self,
        folder: str,
        attempt: str,
        orders: "Orders",
        own: "OwnProcesses",
        lock: int,
        start: "Start",
    ) -> None:
        """Get the secrets into the agent's environment. Raises NoSecret, EndAsked, OSError.

        `start` starts the program that looks through the work.
        """
        self._orders = unpack_secrets(orders.secrets)
        self._folder, self._attempt = folder, attempt
        self._own, self._lock, self._start = own, lock, start
        look = self._orders.look
        self._look = QuickLook(look, time.time()) if look else None
        names = orders.environ[env_vars.SECRETS.encode()].split(b",")
        printed = {name: self._printed(name) for name in self._orders.commands}
        environ = {**orders.environ, **printed}
        self.environ = environ
        """The agent's whole environment."""
        self._values = {name: environ[name] for name in names if name in environ}
        self.relay = Relay(folder, attempt, self._values, OUTPUTS)
        self.relay.start()
        own.helper = self.relay.pid

    def begun(self, agent: Agent) -> None:
        """Leave the agent alone with its pipes; it has begun."""
        self.relay.begun()
        agent.helper = self.relay.pid

    def give_up(self) -> None:
        """Let the relay end: there is no agent to write anything."""
        self.relay.begun()

    def watch(self, agent: Agent) -> None:
        """See to it that a relay works."""
        if agent.helper_status is not None:
            self.relay.replace(agent)
            self._own.helper = self.relay.pid

    def finish(self, agent: Agent) -> None:
        """Have all output written, and the work looked through; the agent's tree has ended."""
        self.relay.finish(agent)
        self._own.helper = 0
        if not self._orders.scan or self._is_seen_clean():
            return
        values = b"".join(name + b"=" + value + b"\0" for name, value in self._values.items())
        try:
            _, how = self._run(self._start_search, stdin=values, seconds=SCAN_SECONDS)
        except (OSError, EndAsked) as error:
            how = str(error) or "its end was asked for"
        if how:
            say(f"the work was not looked through for secrets: {how}")

    def _is_seen_clean(self) -> bool:
        """Whether our own look tells that no secret is in the work; then that is on record."""
        if self._look is None or not self._look.is_clean(Blanker(self._values)):
            return False
        return try_to_put_in_place(self._folder, FOUND, {KEY: self._attempt})

    def _printed(self, name: bytes) -> bytes:
        """Return the secret that a command prints. Raises NoSecret, EndAsked."""
        line = self._orders.commands[name]
        try:
            argv = (SHELL.encode(), b"-c", line)
            output, how = self._run(
                lambda given, printed: self._start_command(argv, given, printed),
                seconds=COMMAND_SECONDS,
            )
        except OSError as error:
            raise NoSecret(name, f"it could not be run: {error.strerror}") from error
        value = output.removesuffix(b"\n")
        if not how and not value:
            how = "it printed nothing"
        if how := how or fault_of(value):
            raise NoSecret(name, how)
        return value

    def _run(
        self, begin: "Callable[[int, int], int]", *, stdin: bytes = b"", seconds: float
    ) -> tuple[bytes, str]:
        """Run a program in the user's home; return what it printed, and why that does not count.

        `begin` starts it, with its standard input and output, and returns its pid. What it leaves
        running is ended with the attempt. Raises OSError, EndAsked.
        """
        given, giving = os.pipe()
        taking, printed = os.pipe()
        try:
            self._go_home()
            agent = Agent(begin(given, printed))
        except OSError:
            os.close(giving)
            os.close(taking)
            raise
        finally:
            os.close(given)
            os.close(printed)
        exchange = Exchange(giving, stdin, taking)
        try:
            how = self._follow(agent, exchange, time.monotonic() + seconds, seconds)
        finally:
            exchange.close()
        return exchange.output, how

    def _go_home(self) -> None:
        try:
            os.chdir(self._orders.users.get(b"HOME", b"/"))
        except OSError:
            os.chdir("/")

    def _start_search(self, given: int, printed: int) -> int:
        """Start what looks through the work; it does not hold the attempt's lock."""
        os.set_inheritable(self._lock, False)
        argv = [os.fsdecode(word) for word in self._orders.scan]
        nothing = os.open(os.devnull, os.O_WRONLY)
        try:
            return self._start(self._folder, argv, self._orders.users, (given, printed, nothing))
        finally:
            os.close(nothing)

    def _start_command(self, argv: "Sequence[bytes]", given: int, printed: int) -> int:
        return os.posix_spawn(
            argv[0],
            [*argv],
            self._orders.users,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, given, 0),
                (os.POSIX_SPAWN_DUP2, printed, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_CLOSE, self._lock),
            ],
            setsigmask=(),
            setsigdef=(*REQUESTS, signal.SIGPIPE),
            setpgroup=0,
        )

    def _follow(self, agent: Agent, exchange: "Exchange", deadline: float, seconds: float) -> str:
        """Wait for a program; return why what it printed does not count, if so. Raises EndAsked."""
        while True:
            agent.reap()
            exchange.go_on()
            if exchange.is_too_long:
                end_tree(agent, self._own, LEFTOVER_GRACES)
                return f"it printed more than {MOST_BYTES // 1024} KiB"
            if agent.status is not None:
                break
            if time.monotonic() >= deadline:
                end_tree(agent, self._own, LEFTOVER_GRACES)
                return f"it took longer than {seconds:.0f} s"
            if wait_for_signal(WATCHED, LOOK_SECONDS) in REQUESTS:
                end_tree(agent, self._own, LEFTOVER_GRACES)
                raise EndAsked
        if os.WIFSIGNALED(agent.status):
            return f"it was killed by signal {os.WTERMSIG(agent.status)}"
        code = os.WEXITSTATUS(agent.status)
        return f"it ended with exit code {code}" if code else ""


class Exchange:
    """What is given to a program and taken from it, without waiting for either."""

    def __init__(self, giving: int, data: bytes, taking: int) -> None:
        self._giving, self._data, self._taking = giving, data, taking
        self.output = b""
        self._is_given = False
        for descriptor in (giving, taking):
            os.set_blocking(descriptor, False)

    @property
    def is_too_long(self) -> bool:
        """Whether more was printed than any secret has."""
        return len(self.output) > MOST_BYTES + 1

    def go_on(self) -> None:
        """Give and take what can be given and taken now."""
        try:
            while self._data:
                self._data = self._data[os.write(self._giving, self._data) :]
        except BlockingIOError:
            pass
        except OSError:
            self._data = b""
        if not self._data and not self._is_given:
            self._is_given = True
            os.close(self._giving)
        try:
            while not self.is_too_long and (part := os.read(self._taking, MOST_BYTES)):
                self.output += part
        except BlockingIOError:
            return

    def close(self) -> None:
        """Close both ends."""
        if not self._is_given:
            os.close(self._giving)
        os.close(self._taking)
