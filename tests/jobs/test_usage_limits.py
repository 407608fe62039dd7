"""When a usage limit ends, as the records of other jobs tell it."""

import pytest
from queue_cases import NOW, insert

from sow.jobs import jobs
from sow.jobs.database import Database
from sow.jobs.usage_limits import limited_until
from sow.schema.causes import Cause
from sow.schema.job import JobState
from sow.schema.job_terms import AuthorTerms, Fallback, LeftExecutor


@pytest.mark.parametrize(
    "words", ["until noon", "until\0 noon", r"see \u0000", "\\\0\\\\u0000\0\0"]
)
def test_the_words_of_a_cli_hide_no_limit(database: Database, words: str) -> None:
    """PostgreSQL cannot look into JSON that names NUL."""
    left = LeftExecutor(name="codex", cause=Cause.RATE_LIMITED, reason=words, until=NOW + 60)
    terms = AuthorTerms(fallback=Fallback(left=(left,)))
    job = insert(database, terms=terms, state=JobState.QUEUED)
    assert limited_until(database, "codex", now=NOW) == NOW + 60
    assert limited_until(database, "claude-code", now=NOW) is None
    read = jobs.get_job(database, job.id).terms
    assert isinstance(read, AuthorTerms)
    assert isinstance(read.fallback, Fallback)
    assert read.fallback.left[0].reason == words.replace("\0", "\N{SYMBOL FOR NULL}")
