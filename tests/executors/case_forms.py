"""The forms of the contract's rows: command lines, sessions and endings, each with its evidence."""

from dataclasses import dataclass

from sow.agent_clis.description import Evidence
from sow.executors.session import Session, SessionSource
from sow.schema.executor import ExecutorConfig
from sow.schema.job import Cause, Verb

UUID = "3f0c0b5e-1111-4222-8333-444455556667"
"""The session of every row; the page shows it as ID."""
REAL = Evidence.REAL
STAND_IN = Evidence.STAND_IN
DOCS = Evidence.DOCS


@dataclass(frozen=True)
class Case:
    """One command line: given these settings and this verb, exactly this argv."""

    title: str
    executor: str
    config: ExecutorConfig
    verb: Verb
    argv: tuple[str, ...]
    evidence: Evidence
    session: Session | None = None
    as_root: bool = False
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SessionRow:
    """How an executor comes by its sessions."""

    executor: str
    config: ExecutorConfig
    source: SessionSource
    resumes: bool
    how: str
    evidence: Evidence


@dataclass(frozen=True)
class Fault:
    """One ending: what the CLI does, and what it is taken for."""

    title: str
    config: ExecutorConfig
    steps: tuple[dict[str, object], ...]
    cause: Cause
    reason: str
    """What the reason must contain: the CLI's own words."""
    resets_at: float | None = None
    recording: str | None = None
    """The real CLI's output of the same fault, by its name in tests/recordings."""
    is_real: bool = False
    """Whether the program that is run is no stand-in."""

    @property
    def evidence(self) -> Evidence:
        """How far it has been tried."""
        return REAL if self.recording or self.is_real else STAND_IN
