"""What the stand-ins did, read back: one `Run` for each start in `.standin/runs.jsonl`."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = ".standin"


@dataclass(frozen=True)
class ToolRun:
    """One shell command that the agent asked for. `exit` is None when it was denied."""

    command: str
    exit: int | None
    output: str


@dataclass(frozen=True)
class Run:
    """One process of a stand-in. What ends with `ended_` is None while it runs or was killed."""

    task: str
    number: int
    cli: str
    verb: str
    session_id: str | None
    pid: int
    argv: tuple[str, ...]
    cwd: str
    prompt: str
    prompt_sha256: str
    prompt_task: str | None
    env: Mapping[str, str]
    env_names: tuple[str, ...]
    started: float
    started_at: float
    ended: float | None
    ended_at: float | None
    exit: int | None
    denied: tuple[str, ...]
    tools: tuple[ToolRun, ...]


def write_script(root: Path, runs: Sequence[Sequence[Any]], *, task: str = "default") -> Path:
    """Write the script of `task` (or of every task without one) below `root`."""
    path = root / FOLDER / f"{task}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(list(runs)), encoding="utf-8")
    return path


def read_runs(root: Path) -> list[Run]:
    """Return every run below `root`, in the order of their starts."""
    records = _read_records(root)
    ends = {_key(record): record for record in records if record["event"] == "end"}
    return [_run(start, ends.get(_key(start))) for start in records if start["event"] == "start"]


def read_refusals(root: Path) -> list[dict[str, Any]]:
    """Return the starts that the CLI itself refused (bad flags, session in use, …)."""
    return [record for record in _read_records(root) if record["event"] == "refused"]


def overlapping(runs: Iterable[Run]) -> list[tuple[Run, Run]]:
    """Return the pairs of runs that lived at the same moment.

    A run without an end is taken to live until the start of time's end: kill
    tests should first ask whether its pid is gone.
    """
    return [
        (first, second)
        for first, second in itertools.combinations(runs, 2)
        if first.started < _end(second) and second.started < _end(first)
    ]


def _key(record: Mapping[str, Any]) -> tuple[int, str, int]:
    return record["pid"], record["task"], record["run"]


def _end(run: Run) -> float:
    return float("inf") if run.ended is None else run.ended


def _read_records(root: Path) -> list[dict[str, Any]]:
    path = root / FOLDER / "runs.jsonl"
    if not path.exists():
        return []
    whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")  # a line may be half there
    return [json.loads(line) for line in whole.splitlines()]


def _run(start: dict[str, Any], end: dict[str, Any] | None) -> Run:
    ending = end or {}
    return Run(
        task=start["task"],
        number=start["run"],
        cli=start["cli"],
        verb=start["verb"],
        session_id=start["session_id"],
        pid=start["pid"],
        argv=tuple(start["argv"]),
        cwd=start["cwd"],
        prompt=start["prompt"],
        prompt_sha256=start["prompt_sha256"],
        prompt_task=start["prompt_task"],
        env=start["env"],
        env_names=tuple(start["env_names"]),
        started=start["monotonic"],
        started_at=start["wall"],
        ended=ending.get("monotonic"),
        ended_at=ending.get("wall"),
        exit=ending.get("exit"),
        denied=tuple(ending.get("denied", ())),
        tools=tuple(ToolRun(**tool) for tool in ending.get("tools", ())),
    )
