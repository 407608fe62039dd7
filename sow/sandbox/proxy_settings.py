"""What the proxy of a sandbox is told, and what it tells: its settings, its filter, its log.

Owns these texts, and the variables by which programs inside find it. Pure, and light: a supervisor
runs on it. Measured with tinyproxy 1.11.1:

- The filter is asked for the very host that tinyproxy connects to, of `CONNECT`, of a plain request
  and of one that names its host in a header alone; user, port and brackets are taken off before.
- A pattern is a basic regular expression that may match anywhere in a host, so each is anchored.
  Capitals do not count. An address in another form (127.1) or a name with a dot behind it is
  another text, and refused.
- Without a log file it writes to standard output, each line at once. It says that it accepts
  connections once it listens; where its port is taken it ends with 71.
- It can listen on a port that another socket has and does not listen on, if both have SO_REUSEADDR.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PROGRAM = "tinyproxy"
HERE = "127.0.0.1"
PORT = 17_171
"""Where programs inside find the proxy, on the loopback of their sandbox."""
USER = "sow"
SETTINGS, FILTER = "tinyproxy.conf", "filter"
"""Its files, in a folder of its own, in which it is started."""
OPTIONS = ("-d", "-c", SETTINGS)
IDLE_SECONDS = 3600
"""After this time without a byte it closes a connection: a model may think for long."""
MOST_CLIENTS = 256
READY = b"Accepting connections"
REFUSED = b"Proxying refused on filtered domain "
ANY_BELOW = "*."
"""How a host begins that stands for all names below another one."""
LONGEST_NAME = 253
IN_NAMES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:")
UNREADABLE = "?"
"""Stands for a refused host that is no name at all."""
OWN_LOOPBACK = ("localhost", HERE, "::1")
NAMES_OF_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
EXCEPT = "NO_PROXY"
OF_NODE = {"NODE_USE_ENV_PROXY": "1"}
"""Has Node.js heed the others in its own `fetch` (22.21, 24.5 and newer)."""


def settings_text(port: int, password: str) -> str:
    """Return the settings of a proxy that listens on a port of our loopback."""
    return (
        f"Port {port}\n"
        f"Listen {HERE}\n"
        f"BasicAuth {USER} {password}\n"
        f'Filter "{FILTER}"\n'
        "FilterDefaultDeny Yes\n"
        f"Timeout {IDLE_SECONDS}\n"
        f"MaxClients {MOST_CLIENTS}\n"
        "DisableViaHeader Yes\n"
        "LogLevel Info\n"
    )


def filter_text(hosts: "Iterable[str]") -> str:
    """Return the filter that lets these hosts pass, and no other."""
    return "".join(f"{_pattern(host)}\n" for host in hosts)


def _pattern(host: str) -> str:
    is_any = host.startswith(ANY_BELOW)
    name = host.removeprefix("*").replace(".", r"\.")
    return f"^{'..*' if is_any else ''}{name}$"


def variables_inside(hosts: "Sequence[str]", password: str) -> "Mapping[str, str]":
    """Return the variables by which programs inside find the proxy.

    What is on their own loopback they ask themselves, but for a name of it that is allowed: that
    one means the machine's.
    """
    address = f"http://{USER}:{password}@{HERE}:{PORT}"
    allowed = {host.lower() for host in hosts}
    around = ",".join(name for name in OWN_LOOPBACK if name not in allowed)
    values = {**dict.fromkeys(NAMES_OF_PROXY, address), EXCEPT: around}
    return {**values, **{name.lower(): value for name, value in values.items()}, **OF_NODE}


def refused_host(line: bytes) -> str | None:
    """Return the host that a line of its log says was refused; None where it says nothing of it.

    What stands behind the first bracket may be the agent's own words.
    """
    _, _, words = line.partition(b"]: ")
    if not words.startswith(REFUSED):
        return None
    name = words.removeprefix(REFUSED).strip().removeprefix(b'"').removesuffix(b'"')
    is_name = 0 < len(name) <= LONGEST_NAME and IN_NAMES.issuperset(name)
    return name.decode("ascii").lower() if is_name else UNREADABLE
