"""`sow review`: a verdict on a task's work, by a reviewer, an orchestrator or a person.

Owns how a verdict and its feedback read, in a few words each. Each command imports what it needs
by itself: the group's help and completion need none of it.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here, id_option, named_task, read_given, task_argument, this_caller
from sow.cli.confirming import is_at_terminal
from sow.cli.output import echo_result, json_option, shown_state
from sow.clock import local_time
from sow.errors import SowError, UsageError
from sow.ids import TaskId, parse_task_id
from sow.terminal_text import printable, printable_lines, readable

if TYPE_CHECKING:
    from sow.calls.caller import Caller
    from sow.schema.output.tasks import Judged
    from sow.schema.task import Task


MOST_NAMED = 5
"""How many files a note names."""
whole_option = click.option(
    "--project", "whole", is_flag=True, help="Review the project as a whole."
)


@click.command()
@click.argument("task", required=False, shell_complete=completing.tasks)
@id_option
@click.option("--summary", required=True, help="What you think of the work, in a sentence or two.")
@click.option("--complete", is_flag=True, help="Also complete the task.")
@whole_option
@json_option
def accept(
    task: str | None,
    task_option: str | None,
    summary: str,
    complete: bool,
    whole: bool,
    as_json: bool,
) -> None:
    """Accept the current work of TASK, or with --project of the whole project.

    The task keeps its status, unless --complete completes it.
    """
    from sow.calls.batch_touch import touch_batch

    if whole:
        _refuse_task(task, task_option, is_completed=complete)
        # Few verdicts are on the whole.
        from sow.cli.project_verdict import accept_whole

        accept_whole(_one_text(summary, "--summary"), as_json=as_json)
        return
    from sow.calls.judging import judgement_of
    from sow.state import verdicts
    from sow.state.authors import PERSON

    caller = this_caller()
    task_id = parse_task_id(named_task(task, task_option, os.environ))
    words = _one_text(summary, "--summary")
    judgement = judgement_of(caller, task_id, words, at_terminal=is_at_terminal())
    judged = verdicts.accept(
        caller.workspace, task_id, judgement, complete=complete, now=caller.now()
    )
    if complete:
        # It opens the queue, which a verdict alone does not touch.
        from sow.cli.releasing import release_and_say

        release_and_say()
    touch_batch(caller, judged)
    who = "a person" if judgement.by == PERSON else f"the {judgement.by}"
    line = (
        f"{who.capitalize()} accepted task {task_id}. Its status is {shown_state(judged.status)}."
    )
    echo_result(_view(judged), line, as_json=as_json)
    if judgement.job is None:
        _note_uncommitted(judged)


def _note_uncommitted(task: "Task") -> None:
    """Say what in a task's clone is not committed: who judges may have seen it there."""
    if task.clone is UNSET:
        return
    from sow.clones.clone_facts import text_of
    from sow.clones.newer_commits import uncommitted_work

    with suppress(SowError):  # the verdict is on record
        paths = uncommitted_work(here(), task)
        if paths:
            named = printable(text_of(paths, MOST_NAMED))
            click.echo(f"Note: not committed in its clone, and not accepted: {named}", err=True)


@click.command()
@click.argument("task", required=False, shell_complete=completing.tasks)
@id_option
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    required=True,
    help="What is to be changed, in Markdown; - is standard input.",
)
@click.option("--summary", default="", help="What you think of the work, in a sentence or two.")
@whole_option
@json_option
def correct(
    task: str | None,
    task_option: str | None,
    file: Path,
    summary: str,
    whole: bool,
    as_json: bool,
) -> None:
    """Ask for corrections of TASK; they become its next feedback file.

    `sow agent resume TASK --feedback` hands them to its author. With --project
    they are for the whole project, and become its feedback.
    """
    from sow.calls.batch_touch import touch_batch
    from sow.calls.judging import judgement_of
    from sow.state import verdicts

    findings = read_given(file, "--file")
    if not findings.strip():
        raise UsageError(f"{file} is empty", hint="Say what should be changed, and where.")
    if whole:
        _refuse_task(task, task_option)
        # Few verdicts are on the whole.
        from sow.cli.project_verdict import correct_whole

        correct_whole(findings, readable(summary).strip(), as_json=as_json)
        return
    caller = this_caller()
    task_id = parse_task_id(named_task(task, task_option, os.environ))
    words = readable(summary).strip()
    judgement = judgement_of(caller, task_id, words, at_terminal=is_at_terminal())
    judged, written = verdicts.correct(
        caller.workspace, task_id, judgement, findings, now=caller.now()
    )
    touch_batch(caller, judged)
    line = f"Task {task_id}: corrections requested by {judgement.by}, in feedback/{written.name}"
    echo_result(_view(judged), f"{line}\n  {_handing_back(caller, judged)}", as_json=as_json)


def _handing_back(caller: "Caller", task: "Task") -> str:
    """Return the command that gives a task's author what is to be corrected, as `sow next` does."""
    from sow.executors.registry import can_resume
    from sow.reports.advice import handing_back

    resumes = task.session_started
    with suppress(SowError):  # the verdict is on record
        resumes = resumes and can_resume(caller.load_configuration(), task)
    return handing_back(task.id, resumes)


@click.command()
@task_argument
@json_option
def show(task_id: TaskId, as_json: bool) -> None:
    """Show the last verdict on TASK, the state of its feedback, and the newest feedback."""
    from sow.state.tasks import read_task
    from sow.state.verdicts import last_findings

    found = read_task(here(), task_id)
    findings = printable_lines(last_findings(here(), found))
    lines = [*_story(found), *(f"    {line}" for line in findings)]
    echo_result(_view(found), "\n".join(lines), as_json=as_json)


def _refuse_task(task: str | None, task_option: str | None, *, is_completed: bool = False) -> None:
    if task or task_option or is_completed:
        raise UsageError("--project excludes a task and --complete", hint="Give either.")


def _one_text(text: str, option: str) -> str:
    shown = readable(text).strip()
    if not shown:
        raise UsageError(f"{option} is empty", hint="Say in a sentence what you think of it.")
    return shown


def _story(task: "Task") -> list[str]:
    if task.review is UNSET:
        return [
            f"Nobody has reviewed task {task.id} yet. Its status is {shown_state(task.status)}."
        ]
    review = task.review
    of = f", of commit {review.commit[:12]}" if review.commit is not UNSET else ""
    at = local_time(review.at.timestamp())
    lines = [
        f"Task {task.id}: {review.verdict} by {printable(review.by)}, {at}{of};"
        f" it is {shown_state(task.status)}."
    ]
    lines += [f"  {line}" for line in printable_lines(review.summary)]
    lines += [f"  steers agents or machines: {printable(name)}" for name in review.steers]
    lines += [f"  feedback: {printable(words)}" for words in map(feedback_words, task.feedback)]
    return lines


def _view(task: "Task") -> "Judged":
    from sow.clock import format_time
    from sow.schema.output.tasks import Judged
    from sow.state.verdicts import last_findings

    review = None if task.review is UNSET else task.review
    commit = review.commit if review else UNSET
    return Judged(
        task=task.id,
        status=task.status,
        verdict=review.verdict if review else None,
        by=review.by if review else None,
        at=format_time(review.at.timestamp()) if review else None,
        commit=None if commit is UNSET else commit,
        summary=review.summary if review else "",
        steers=tuple(review.steers) if review else (),
        feedback=tuple(task.feedback),
        newest_feedback=last_findings(here(), task),
    )


def verdict_words(task: "Task") -> str:
    """Return the last verdict, who gave it and on which commit; empty before one."""
    if task.review is UNSET:
        return ""
    of = f", on {task.review.commit[:12]}" if task.review.commit is not UNSET else ""
    return f"{task.review.verdict} by {task.review.by}{of}"


def steering_words(task: "Task") -> str:
    """Return the files of the judged change that steer agents or machines; empty without any."""
    return "" if task.review is UNSET else ", ".join(map(printable, task.review.steers))


def steering_note(task: "Task") -> str:
    """Return the same as a note, for tables."""
    words = steering_words(task)
    return f"steers agents or machines: {words}" if words else ""


def feedback_words(found: object) -> str:
    """Return an entry of `feedback`: the file and where it stands, or the text that it is."""
    if isinstance(found, dict) and "file" in found:
        return f"{found['file']} ({found.get('status', 'open')})"
    return str(found)
