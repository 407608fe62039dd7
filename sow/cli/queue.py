"""`sow queue`: the queue as a whole."""

from typing import Any

from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.cli.arguments import this_caller
from sow.cli.job_record import echo_facts
from sow.cli.output import echo_json, echo_result, json_option, shown_state
from sow.cli.queue_until_end import queue_until_end
from sow.clock import Times, format_time, utc_now
from sow.jobs import control, workers
from sow.jobs.database import Database, open_queue

SHOWN_BYTES = 60


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show what waits and runs, the limits, and messages that were set aside."""
    caller = this_caller()
    database = queue_until_end(caller.workspace)
    record = _record(caller, database)
    if as_json:
        echo_json(record)
        return
    times = Times(utc_now())
    alive, paused = record["worker_count"], record["paused_since"]
    by_executor = {name: count for name, count in record["running_by_executor"].items() if name}
    slots = f"{sum(by_executor.values())} of {record['concurrency']}"
    executors = ", ".join(f"{name} {count}" for name, count in by_executor.items())
    echo_facts(
        [
            (
                "queue",
                f"{shown_state('paused')} since {times.of_record(paused)}" if paused else "open",
            ),
            *[("starts no jobs", words) for words in record["short_of"]],
            ("workers", str(alive) if alive else "none (a call starts one)"),
            ("slots taken", f"{slots} ({executors})" if executors else slots),
            (
                "checks",
                f"{record['running_by_executor'].get('', 0)} of {record['step_concurrency']}",
            ),
            (
                "jobs",
                ", ".join(f"{count} {state}" for state, count in record["jobs_by_state"].items())
                or "none",
            ),
            ("set aside", len(record["set_aside"])),
        ]
    )
    for message in record["set_aside"]:
        at = times.of_record(message["at"])
        click.echo(f"  {at}  {message['reason']}: {message['message']}")


@click.command()
@json_option
def pause(as_json: bool) -> None:
    """Let workers start no more jobs. Running agents continue; calls wait."""
    caller = this_caller()
    database = open_queue(caller.workspace)
    was_paused = control.paused_since(database) is not None
    control.pause(database, now=utc_now())
    view = {"paused_since": control.paused_since(database), "was_paused": was_paused}
    echo_result(view, "The queue is paused; `sow queue resume` continues it.", as_json=as_json)


@click.command()
@json_option
def resume(as_json: bool) -> None:
    """Let workers start jobs again."""
    caller = this_caller()
    database = open_queue(caller.workspace)
    was_paused = control.unpause(database)
    workers.wake(caller.workspace)
    words = "The queue continues." if was_paused else "The queue was not paused."
    echo_result({"paused_since": None, "was_paused": was_paused}, words, as_json=as_json)


def _record(caller: Caller, database: Database | None) -> dict[str, Any]:
    config = caller.load_configuration()
    empty: dict[str, Any] = {
        "paused_since": None,
        "running_by_executor": {},
        "jobs_by_state": {},
        "waiting": 0,
        "set_aside": [],
    }
    facts = empty if database is None else _facts(database)
    alive = [] if database is None else workers.living(database, caller.workspace)
    return {
        **facts,
        "worker_count": len(alive),
        "concurrency": config.worker.concurrency,
        "step_concurrency": config.worker.checks,
        "short_of": sorted({worker.short_of for worker in alive} - {""}),
    }


def _facts(database: Database) -> dict[str, Any]:
    return {
        "paused_since": control.paused_since(database),
        "running_by_executor": control.running_by_executor(database),
        "jobs_by_state": control.counts_by_state(database),
        "waiting": control.waiting_messages(database),
        "set_aside": [
            {
                "at": format_time(message.set_aside_at),
                "reason": message.reason,
                "message": message.data[:SHOWN_BYTES].decode("utf-8", "replace"),
            }
            for message in control.set_aside(database)
        ],
    }
