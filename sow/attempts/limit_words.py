"""What is said of a limit that an attempt has reached. Pure."""

from sow.config.units import round_size, write_duration, write_size
from sow.schema.executor import Limits


def words_of_limit(limits: Limits, name: str, seen: float) -> str:
    """Return what an attempt did that has reached the limit `name`, and what was seen of it.

    `seen` is 0 where nobody has seen a figure: the kernel lets nothing go beyond.
    """
    done = _DONE[name].format(_limit_in_words(limits, name))
    return f"{done}: {_seen_in_words(name, seen)}" if seen > 0 else done


_DONE = {
    "memory": "used more than {} of memory",
    "cpu": "used more than {} of CPU time",
    "processes": "started more than {} processes and threads",
    "disk": "put more than {} on the disk",
}


def _limit_in_words(limits: Limits, name: str) -> str:
    match name:
        case "memory" if limits.memory_bytes is not None:
            return write_size(limits.memory_bytes)
        case "disk" if limits.disk_bytes is not None:
            return write_size(limits.disk_bytes)
        case "cpu" if limits.cpu_seconds is not None:
            return write_duration(limits.cpu_seconds)
        case "processes" if limits.processes is not None:
            return str(limits.processes)
        case _:  # the configuration has changed since
            return "its limit"


def _seen_in_words(name: str, seen: float) -> str:
    match name:
        case "cpu":
            return f"{seen:.1f} s"
        case "processes":
            return f"{seen:.0f}"
        case _:
            return round_size(round(seen))
