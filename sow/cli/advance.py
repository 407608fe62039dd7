"""`sow advance`: take the project to its next state, if all that must be true first is true."""

import os
from collections.abc import Sequence

from sow.calls.caller import find_caller
from sow.cli import completing_names
from sow.cli import late_click as click
from sow.cli.arguments import working_folder
from sow.cli.confirming import author_here, is_at_terminal
from sow.cli.output import echo_json_lines, echo_result, json_option
from sow.errors import StateError, UsageError
from sow.lifecycle.guards import PLAN_APPROVED
from sow.lifecycle.lifecycle_facts import Facts
from sow.lifecycle.stages import COMPLETED, END
from sow.lifecycle.types import (
    Event,
    Refusal,
    awaited_event,
    each_once,
    find_event,
    missing_words,
    next_events,
    obvious_event,
    refusals,
)
from sow.schema.output.projects import Advanced, LifecycleEvent, RemedyView, UnmetGuard
from sow.situation.looking import look
from sow.state.lifecycle import enter_state
from sow.state.state_errors import NoProject


@click.command()
@click.argument("event", required=False, shell_complete=completing_names.events)
@click.option("--list", "lists", is_flag=True, help="Show the events, and what each still needs.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
@json_option
def advance(event: str | None, lists: bool, dry_run: bool, as_json: bool) -> None:
    """Move the project to its next state by EVENT, or by the event that is due.

    Each event has conditions. A refusal names each unmet condition, and the
    command that meets it. Checks, reviews and merges are jobs that you start;
    this command only changes the state.

    Exit: 0 changed, 2 no such event, 4 refused.
    """
    caller = find_caller(os.environ, working_folder())
    now = look(caller, is_at_terminal=is_at_terminal())
    if now.errors:
        raise now.errors[0]
    if now.project is None or now.facts is None:
        raise NoProject(caller.workspace.project)
    if lists:
        _list(now.facts, as_json=as_json)
        return
    chosen = _chosen(now.facts, event)
    unmet = refusals(chosen, now.facts)
    if unmet:
        way = f"from {chosen.source} to {chosen.target} ({chosen.name})"
        raise StateError(f"the project cannot go {way} yet", hint=missing_words(unmet))
    project = now.project
    if not dry_run:
        by, at = author_here(), caller.now()
        project = enter_state(caller.workspace, project, now.tasks, chosen, by=by, now=at)
        if PLAN_APPROVED in chosen.guards:
            # A project's plan begins once in an iteration.
            from sow.calls.batch_touch import touch_all_batches

            touch_all_batches(caller)
    view = Advanced(
        event=chosen.name,
        before=chosen.source,
        state=chosen.target,
        iteration=project.round,
        dry_run=dry_run,
    )
    does = "would go" if dry_run else "goes"
    words = f"{project.name} {does} from {chosen.source} to {chosen.target}"
    echo_result(view, words, as_json=as_json)


def _chosen(facts: Facts, name: str | None) -> Event:
    """Return the event that is meant. Raises StateError, UsageError."""
    if facts.state == COMPLETED:
        raise StateError("the project is completed", hint=END)
    if name is None:
        found = obvious_event(facts) or awaited_event(facts)
    else:
        found = find_event(facts, name)
    if found is None:
        events = ", ".join(event.name for event in next_events(facts)) or "none"
        raise UsageError(
            f"there is no event {name or ''} in the state {facts.state}",
            hint=f"There is: {events}. `sow advance --list` shows what each of them needs.",
        )
    return found


def _list(facts: Facts, *, as_json: bool) -> None:
    events = [(event, refusals(event, facts)) for event in next_events(facts)]
    if as_json:
        echo_json_lines(_view(event, unmet) for event, unmet in events)
        return
    if not events:
        click.echo(END)
    for event, missing in events:
        view = _view(event, each_once(missing))
        click.echo(f"{view.event}: {view.source} to {view.target}")
        if view.allowed:
            click.echo("  may happen now")
        for unmet in view.unmet:
            for remedy in unmet.remedies:
                click.echo(f"  missing: {unmet.sentence}: {remedy.why}")
                click.echo(f"    {remedy.command}")


def _view(event: Event, missing: Sequence[Refusal]) -> LifecycleEvent:
    unmet = tuple(
        UnmetGuard(
            guard=refusal.guard.name,
            sentence=refusal.guard.sentence,
            remedies=tuple(
                RemedyView(command=remedy.command, why=remedy.why) for remedy in refusal.remedies
            ),
        )
        for refusal in missing
    )
    return LifecycleEvent(
        event=event.name,
        source=event.source,
        target=event.target,
        allowed=not unmet,
        goes_back=event.goes_back,
        unmet=unmet,
    )
