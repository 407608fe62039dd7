"""Which sessions may be replaced without a person's word, over all jobs on record."""

from typing import Any

import pytest
from watch_cases import SESSION, WatchSite

from sow.attempts.sessions import is_kept, warning_of_loss
from sow.jobs import jobs
from sow.jobs.migrations import statements
from sow.schema.job import Cause, Verb

CUT_OFF = {"cause": Cause.CRASHED, "tool_uses": 3}


def tried(site: WatchSite, *attempts: dict[str, Any]) -> None:
    """Put a job on record with these attempts on the session; the first one is a spawn."""
    job = site.job()
    for changes in attempts:
        site.attempt(job, **changes)


def kept(site: WatchSite, *, started: bool = True) -> bool:
    return is_kept(site.database, SESSION, started=started)


def test_one_that_was_cut_off_and_never_seen_is_not_kept(site: WatchSite) -> None:
    tried(site, CUT_OFF, {"cause": Cause.SESSION_UNKNOWN, "verb": Verb.RESUME})
    assert not kept(site)


@pytest.mark.parametrize(
    "shows",
    [
        {"cause": Cause.REPORTED},
        {"cause": Cause.NO_STATUS},
        {"cause": Cause.DENIED},
        {"cause": Cause.CLOSED, "verb": Verb.OPEN},
        {"cause": None, "verb": Verb.OPEN},
        {"cause": Cause.CRASHED, "finished_turn": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("started", [True, False])
def test_one_that_held_a_turn_is_kept_whatever_the_state_says(
    site: WatchSite, shows: dict[str, Any], started: bool
) -> None:
    tried(site, CUT_OFF, shows, {"cause": Cause.SESSION_UNKNOWN, "verb": Verb.RESUME})
    assert kept(site, started=started)


def test_one_whose_transcript_was_seen_is_kept_once_it_has_begun(site: WatchSite) -> None:
    tried(site, {**CUT_OFF, "transcript_seen": True})
    assert kept(site)
    assert not kept(site, started=False)


@pytest.mark.parametrize("begins", [Cause.SESSION_IN_USE, Cause.MISSING_BINARY])
def test_one_whose_beginning_is_not_on_record_is_kept(site: WatchSite, begins: Cause) -> None:
    assert kept(site)
    tried(site, {"cause": begins}, {**CUT_OFF, "verb": Verb.RESUME})
    assert kept(site)


def test_other_jobs_of_the_session_are_asked_too(site: WatchSite) -> None:
    earlier = site.job("020")
    site.attempt(earlier, cause=Cause.NO_STATUS)
    tried(site, CUT_OFF)
    assert kept(site)


def test_what_an_older_sow_has_recorded_proves_nothing(site: WatchSite) -> None:
    """It did not look: its attempts count as seen, but for those that this sow will judge."""
    tried(site, CUT_OFF)
    site.attempt(site.job("020"))
    (update,) = [line for line in statements(2) if line.startswith("update")]
    site.database.run(update)
    assert kept(site)
    seen = [each.transcript_seen for each in jobs.attempts_on(site.database, SESSION)]
    assert seen == [True, False]


def test_the_warning_names_the_session() -> None:
    assert SESSION in warning_of_loss(SESSION)
