"""Command lines, environments and damage, made of a seed and a number: the same ones every time.

Owns what a case is and from what it is drawn. Nothing here names a file outside of the arena that
a command could write to or remove: the cases may run as root.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, NamedTuple

SEED = "sow-1"
"""The kept seed. Another one may be added; this one stays, with what it has found."""


class Option(NamedTuple):
    """One option of a command: its flags, and what kind of value it takes (none for a flag)."""

    flags: tuple[str, ...]
    kind: str


class Command(NamedTuple):
    """One command: its words, how many arguments it takes, its options."""

    words: tuple[str, ...]
    arguments: int
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Case:
    """One call of sow."""

    number: int
    argv: tuple[str, ...]
    environ: Mapping[str, str | None]
    """What is changed of the usual environment; None takes a variable away."""
    damage: tuple[tuple[str, str], ...]
    """Places in the arena, and what lies there instead."""
    cwd: str
    stdin: str
    stdout: str
    stderr: str
    encoding: str
    powerless: bool
    """Whether modes hold for it, though it may run as root."""

    def as_object(self) -> dict[str, Any]:
        """Return the case as one object, to be printed where it fails."""
        return asdict(self)


EXCLUDED = {
    ("demo",): "runs agents for seconds in a folder of its own; a journey of its own tests it",
    ("executor", "compare"): "the same; tests/journeys/test_executor_compare.py",
    ("executor", "try"): "the same; tests/journeys/test_executor_try.py",
    ("mcp",): "serves whoever is at its standard input; tests/mcp_server has its clients",
    ("agent", "open"): "takes the terminal over; without one it refuses, which tests show",
    ("watch",): "goes on until a signal ends it; tests/journeys/test_watch_plain does that",
}
"""Commands that are not called, and why."""
WRITES_BELOW_HOME = {
    *(("config", "init"), ("config", "reset"), ("config", "edit")),
    *(("install", "claude"), ("uninstall", "claude")),
    ("init",),
    *(("refs", verb) for verb in ("add", "init", "prune", "remove", "status", "update")),
}
"""Without HOME they would find the real one of whoever runs the tests, by the password file."""
ENDLESS = {"--follow", "-f"}
"""Options that wait for what others do."""
WAITS = {
    *(("agent", "spawn"), ("agent", "resume"), ("agent", "answer"), ("agent", "wait")),
    *(("job", "wait"), ("start",)),
}
WAIT_WORDS = ("0s", "0.1s", "-1s", "1", "abc", "", "1e400s", "nan", "0.1", "٣s", "0.05s")

TASKS = ("010", "020", "030", "040", "050", "999")
WORDS = (
    *("", "0", "1", "2", "3", "4", "00", "-1", "01", "99999999999999999999", "9" * 5000, "٣", "²"),
    *("1e9", "0x10", "NaN", "inf", "-0", "1.5", "true", "null", "~", "18446744073709551616"),
    *("implementer", "tester", "code-reviewer", "nobody", "Implementer", "claude-code", "cursor"),
    *("status", "needs_review", "completed", "in_progress", "pending", "paused", "abandoned"),
    *("session", "session_id", "metadata.k", "metadata.", "metadata", "metadata.a.b", "depends_on"),
    *("name", "iteration", "references", "feedback", "id", "phase", "updated_at", "assigned_agent"),
    *("\udcff\udce9", "é\u202e", "\U0001f600" * 10, "a" * 100_000, "\x1b[31m", "\x01", "\x7f"),
    *("../..", "..", ".", "/proc/nonexistent", "-", "--", "-h", "--help", "--json", "--nope", "="),
    *("a=b", "1s", "0s", "-5s", "1e400s", "99999999999999h", "10MB", "1e99GB", "-1B", "0B"),
    *(
        "\n",
        "\t",
        " ",
        "%s",
        "{}",
        "{0}",
        "{session_id}",
        "[",
        "]",
        "'",
        '"',
        "'\"",
        "\\",
        "#",
        "&a",
    ),
    *("guidance/implementer/base", "guidance/..", "task", "config", "bash", "fish", "success"),
    *("implementation", "New Phase", "new-phase", "w1-dead", "w99-aaaaaa", "*", "?", "[a-z]"),
)
PATHS = (
    *("", ".", "..", "given.md", "missing.md", "folder", "pipe-with-writer", "loop", "unreadable"),
    *(
        "/proc/nonexistent",
        "/proc/self/mem",
        "-",
        "a" * 300,
        "a/" * 3000,
        "\udcff",
        "zero",
        "socket",
    ),
    *("given.md/x", "binary", ".sow", ".sow/project/state.yaml"),
)
SAFE_PATHS = ("", ".", "new", "given.md", "folder", "loop", "a" * 300, "\udcff", "given.md/x")
"""Values of variables and options that name what sow may write or remove."""
VARIABLES: Mapping[str, Sequence[str | None]] = {
    "SOW_TASK_ID": (*TASKS, *WORDS[:24], "\udcff"),
    "SOW_JOB_ID": ("1", "2", "3", "0", "-1", "", "abc", "99999999999999999999", "9" * 5000, "²"),
    "SOW_ATTEMPT_ID": ("1.1.abcdef", "", "x", "\udcff", "1.1"),
    "SOW_AGENT": ("implementer", "", "nobody", "\udcff"),
    "SOW_ROOT": (*SAFE_PATHS, "/proc/nonexistent", "..", "~", "zero"),
    "SOW_CONFIG": (*SAFE_PATHS, "~", "~nobody-here/x"),
    "SOW_PROCESSES": ("portable", "linux", "", "nonsense"),
    "SOW_AGENTS_IMPLEMENTER": ("claude-code", "", "nonsense", "\udcff"),
    "SOW_AGENTS_DEFAULT": ("", "cursor", "nonsense"),
    "SOW_WORKER_CONCURRENCY": ("", "0", "-1", "abc", "9" * 30),
    "SOW_NONSENSE": ("1",),
    "HOME": (None, "", *SAFE_PATHS, "/proc/nonexistent"),
    "XDG_CONFIG_HOME": ("", *SAFE_PATHS),
    "XDG_STATE_HOME": ("", *SAFE_PATHS),
    "PATH": (None, "", "/proc/nonexistent", "\udcff", ".", ":" * 2000),
    "COLUMNS": ("0", "1", "-5", "abc", "9" * 30, ""),
    "LINES": ("0", "abc"),
    "LANG": (None, "C", "xx_YY.nonsense", "", "tr_TR.UTF-8"),
    "TZ": ("nonsense", "", ":", "UTC+99"),
    "TERM": ("dumb", "", "nonsense"),
    "NO_COLOR": ("1",),
    "EDITOR": ("true", "false", "/proc/nonexistent", "true 'unbalanced", "no-such-editor --wait"),
    "_SOW_COMPLETE": ("bash_complete", "zsh_complete", "fish_complete", "bash_source", "x", ""),
    "COMP_WORDS": ("sow job show ", "sow 'x", "", "\udcff", "sow agent spawn implementer 01"),
    "COMP_CWORD": ("3", "", "abc", "-1", "99999999999999999999", "4"),
}
PLACES = (
    *(".sow", ".sow/.version", ".sow/config.yaml", ".sow/.gitignore", ".sow/project"),
    *(".sow/project/state.yaml", ".sow/project/log.md", ".sow/project/phases"),
    ".sow/project/phases/implementation",
    ".sow/project/phases/implementation/tasks",
    *(
        f".sow/project/phases/implementation/tasks/{task}{name}"
        for task in TASKS[:3]
        for name in ("", "/state.yaml", "/description.md", "/log.md", "/feedback")
    ),
    ".sow/project/.import.json",
    *(".sow/run", ".sow/run/queue.db", ".sow/run/queue.db-wal", ".sow/run/queue.db-shm"),
    *(".sow/run/workers", ".sow/run/workers/w1-dead.lock", ".sow/run/workers/w1-dead.log"),
    *(".sow/run/workers/.start", ".sow/run/workers/w1-dead.bell", ".sow/run/waiters"),
    *(".sow/run/waiters/1-aaaa", ".sow/run/jobs", ".sow/run/jobs/1", ".sow/run/jobs/1/1"),
    *(
        f".sow/run/jobs/1/1/{name}"
        for name in ("output.jsonl", "stderr.log", "exit.json", "started.json", "alive.lock")
    ),
    *(".sow/run/jobs/1/1/prompt.md", ".sow/run/jobs/1/1/state.yaml", ".sow/run/jobs/1/1/void"),
    *(".sow/run/jobs/1/1/supervisor.log", ".git", ".git/HEAD", "given.md"),
    *("home", "home/.config", "home/.config/sow", "home/.config/sow/config.yaml", "bin/claude"),
)
KINDS = (
    *("missing", "empty", "folder", "pipe", "socket", "loop", "dangling", "device", "unreadable"),
    *("read-only", "garbage", "truncated", "huge", "not-utf8", "deep", "aliases", "json", "newer"),
    *("duplicate", "nul", "text"),
)
STDINS = ("null", "null", "null", "closed", "text", "binary", "folder", "endless")
OUTPUTS = ("file", "file", "file", "file", "file", "file", "closed", "full", "broken", "read-only")
ENCODINGS = ("utf-8", "utf-8", "utf-8", "ascii", "latin-1", "utf-16")


def make_case(number: int, commands: Sequence[Command], seed: str = SEED) -> Case:
    """Return one case; the same for the same seed, number and commands."""
    rng = Random(f"{seed}:{number}")
    command = rng.choice(commands)
    argv = _argv(rng, command)
    environ = _environ(rng)
    if command.words in WRITES_BELOW_HOME and not environ.get("HOME", "the arena's"):
        del environ["HOME"]
    damage = tuple(
        (rng.choice(PLACES), rng.choice(KINDS)) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))
    )
    return Case(
        number=number,
        argv=argv,
        environ=environ,
        damage=damage,
        cwd=rng.choice((".", ".", ".", ".", ".sow", "folder", "gone", "outside")),
        stdin=rng.choice(STDINS),
        stdout=rng.choice(OUTPUTS),
        stderr=rng.choice(OUTPUTS),
        encoding=rng.choice(ENCODINGS),
        powerless=rng.random() < 0.8,
    )


SOUND: Mapping[tuple[str, ...], Sequence[str]] = {
    ("init",): ("",),
    ("project", "new"): ("Name", "Name --phase one --phase two --json"),
    ("project", "status"): ("", "--json"),
    ("task", "add"): (
        "Name --agent implementer",
        "Name --agent tester --id 060 --depends-on 010,020 --phase later --json",
        "Name --agent tester --description-file given.md",
        "Name --agent tester --description-file -",
    ),
    ("task", "import"): (
        "tasks.yaml --new-phase",
        "tasks.yaml",
        "- --json",
        "tasks.jsonl --new-phase",
        "binary",
    ),
    ("task", "export"): ("", "--json"),
    ("task", "remove"): ("040", "050 --json", "010"),
    ("task", "list"): (
        "",
        "--json",
        "--ready",
        "--waiting --json",
        "--blocked",
        "--status pending",
        "--phase implementation",
    ),
    ("task", "show"): ("010", "020 --json", "040"),
    ("task", "set"): (
        "010 status needs_review",
        "010 status needs_review --cancel-job",
        "040 name Another",
        "040 metadata.k 5 --json",
        "050 depends_on 040",
        "020 iteration 3",
    ),
    ("task", "abandon"): ("040", "010 --cancel-job", "020"),
    ("task", "reopen"): ("040", "020"),
    ("agent", "spawn"): (
        "--detach implementer 040",
        "--wait 0.1s implementer 010 020 040 --json",
        "--dry-run implementer 040 -v",
        "--detach implementer 040 050 --again --ignore-deps --prompt More",
        "--detach implementer 040 --cwd folder",
        "--detach implementer 020 --fresh",
    ),
    ("agent", "resume"): (
        "--detach 020 Go-on",
        "--wait 0.1s 010 Go-on --json",
        "--dry-run 020 --file given.md",
        "--detach 020 -",
    ),
    ("start",): (
        "Goal --dry-run --json",
        "Goal --headless --detach",
        "--headless --wait 0.1s --json",
        "Goal",
    ),
    ("agent", "answer"): (
        "--detach 020 Yes",
        "--wait 0.1s 010 Yes --json",
        "--dry-run 020 --file given.md",
        "--detach 020 -",
    ),
    ("agent", "wait"): ("--wait 0.1s 010 020", "--wait 0.1s 020 030 --any --json"),
    ("job", "wait"): ("--wait 0.1s 1 2", "--wait 0.1s 2 99 --any --json"),
    ("agent", "cancel"): ("030", "020", "040 --json"),
    ("agent", "log"): (
        "Did-it --task 010",
        "Did-it --task 040 --agent tester --result success --file a --file b --body Words --json",
    ),
    ("agent", "task", "state", "set-status"): ("needs_review --id 010", "paused --id 040"),
    ("worker", "list"): ("", "--json"),
    ("worker", "stop"): ("", "w1-dead --json", "--end-agents"),
    ("worker", "logs"): ("", "-n 5"),
    ("worker", "unit"): ("", "--launchd --json"),
    ("notify", "list"): ("", "-n 5 --json"),
    ("notify", "test"): ("", "paused --json"),
    ("worker",): ("--concurrency 1", "--drain --json"),
    ("job", "list"): ("", "--json", "--task 010 --active -n 1"),
    ("job", "show"): ("1", "2 --json", "3"),
    ("job", "explain"): ("1", "2 --json", "3"),
    ("job", "cancel"): ("3", "2 --json"),
    ("job", "resolve"): ("1 --gone", "2 --gone --json"),
    ("job", "prune"): ("", "--keep-for 0s --json", "--keep-size 1MB --dry-run"),
    ("job", "logs"): ("1", "1 --json", "1 --raw", "1 --stderr", "1 --attempt 1", "2"),
    ("prompt",): (
        "",
        "greeting/agent",
        "guidance/implementer/base",
        "--list --json",
        "--where",
        "--check",
    ),
    ("config", "init"): ("", "--force"),
    ("config", "reset"): ("--yes",),
    ("schema",): ("task", "config --json"),
    ("completion",): ("bash", "zsh"),
}
"""Calls that are as they should be: with them, the surroundings are what is odd."""


def _argv(rng: Random, command: Command) -> tuple[str, ...]:
    if rng.random() < 0.6:
        words = rng.choice(SOUND.get(command.words, ("", "--json"))).split()
        if words and rng.random() < 0.15:
            words[rng.randrange(len(words))] = rng.choice(WORDS)
        return (*command.words, *words)
    bounds = ()
    if command.words in WAITS and "--dry-run" not in command.words:
        bounds = ("--wait", rng.choice(WAIT_WORDS[:2])) if rng.random() < 0.5 else ()
        if not bounds and command.words[-1] != "wait":
            bounds = ("--detach",)
        bounds = bounds or ("--wait", "0.1s")
    rest: list[str] = []
    for _ in range(max(0, command.arguments + rng.choice((-1, 0, 0, 0, 0, 0, 1, 3)))):
        rest.append(rng.choice(TASKS if rng.random() < 0.4 else WORDS))
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        rest[rng.randint(0, len(rest)) :] = _option(rng, command)
    return (*command.words, *bounds, *rest)


def _option(rng: Random, command: Command) -> list[str]:
    options = [option for option in command.options if not ENDLESS & set(option.flags)]
    if not options or rng.random() < 0.08:
        return [rng.choice(WORDS)]
    option = rng.choice(options)
    flag = rng.choice(option.flags)
    if option.kind == "flag":
        return [flag] if rng.random() < 0.95 else [f"{flag}=x"]
    values = {
        "wait": WAIT_WORDS,
        "path": PATHS,
        "own path": SAFE_PATHS,
    }.get(option.kind, (*TASKS, *WORDS))
    value = rng.choice(values)
    return rng.choice(([flag, value], [flag, value], [f"{flag}={value}"], [flag]))


def _environ(rng: Random) -> dict[str, str | None]:
    names = rng.sample(sorted(VARIABLES), rng.choice((0, 0, 0, 1, 1, 2, 5)))
    return {name: rng.choice(VARIABLES[name]) for name in names}
