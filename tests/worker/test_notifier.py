"""The thread that tells events: what goes wrong in it keeps neither worker nor news for ever."""

import msgspec
import pytest
from attempt_cases import wait_until
from watch_cases import WatchSite

from sow.config.notify import NotifyCommand
from sow.jobs import jobs, notifications
from sow.schema.job import JobState
from sow.schema.notification import NotifyEvent
from worker.context import WorkerContext
from worker.notifier import Notifier


def with_command(site: WatchSite, command: str) -> WorkerContext:
    """Return the surroundings of a worker whose user wants to hear of failures."""
    configuration = msgspec.structs.replace(
        site.context.configuration, notify={NotifyEvent.FAILED: NotifyCommand(run=command)}
    )
    return WorkerContext(
        site.workspace, site.database, site.context.worker_id, configuration, site.context.environ
    )


def fail(site: WatchSite, task: str) -> None:
    job = site.job(task)
    jobs.change_job(site.database, job.id, state=JobState.FAILED, ended_at=site.context.now())


def test_a_bug_while_it_looks_lets_the_worker_leave_and_the_news_be_told_later(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    heard = site.workspace.root / "heard"
    notifier = Notifier(with_command(site, f"cat >{heard}"), lambda: None)
    notifier.start()
    fails = [NameError("no such name")]

    def claim_next(*given: object, **more: object) -> object:
        if fails:
            raise fails.pop()
        return claim(*given, **more)  # type: ignore[arg-type]

    claim = notifications.claim_next
    monkeypatch.setattr(notifications, "claim_next", claim_next)
    fail(site, "010")
    notifier.look()
    wait_until(
        lambda: "sow itself failed while it sent notifications" in caplog.text, "the bug is told"
    )
    wait_until(lambda: notifier.is_idle, "the worker may leave")
    notifier.look()
    wait_until(lambda: heard.exists() and heard.stat().st_size > 0, "the news is told")
    wait_until(lambda: notifier.is_idle, "all is told")
    notifier.stop(5.0)
