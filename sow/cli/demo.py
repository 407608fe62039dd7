"""`sow demo`: the main job once, end to end, with the true commands.

Owns the story and its throw-away repository. The agent is a small program of
ours behind a `command` executor, so that no agent CLI need be installed; all
else is what any user has.
"""

import json
import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from sow import env_vars
from sow.cli import late_click as click
from sow.cli.output import json_option
from sow.cli.own_repository import end_what_was_left, own_folder
from sow.environment import own_environment
from sow.git.git_errors import GitMissing
from sow.git.run import git

CONFIGURATION = """\
agents:
  executors:
    demo:
      type: command
      settings:
        command: {command}
        resume: {resume}
  bindings:
    implementer: demo
    reviewer: demo
"""

STORY = """\
# A repository, a project, three tasks.
init
project new greetings --type quick
task add 'Write a greeting' --agent implementer
task add 'Translate it' --agent implementer
task add 'Review the greeting' --agent reviewer
# Two agents side by side. The second one has a question.
agent spawn implementer 010 020
# Its question is answered: the same session goes on.
agent answer 020 'Translate it into Esperanto.'
# A reviewer looks at the first one's work and finds something.
agent spawn reviewer 030
# The first agent is resumed with the correction: a second iteration.
agent resume 010 'Greet by name, as the review asks.'
# The work is accepted.
task set 010 status completed
task set 020 status completed
task set 030 status completed
# What was run, and where the tasks stand.
job list
task list
"""
"""What is said, and the commands that are run."""
NEXT = """
Next, in your own repository: sow init && sow next"""


@click.command()
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Use this new or empty folder, and keep it.",
)
@json_option
def demo(keep: Path | None, as_json: bool) -> None:
    """Run a whole example in a folder of its own.

    Two agents work in parallel. One is paused and resumed; one is reviewed and
    resumed with corrections. All tasks are completed. Nothing else of yours is
    changed, and no agent CLI is needed. With --json the steps are printed on
    stderr, and the tasks on stdout, one object per line.
    """
    end_what_was_left()
    with own_folder(keep, "demo") as own:
        repository = own.new_repository(own.path, _environment(own.path))
        with suppress(GitMissing):  # it goes without; a repository of the user's may lie above it
            git(own.path, "init", "--quiet")
        for line in STORY.splitlines():
            if line.startswith("#"):
                click.secho(f"\n{line}", bold=True, err=as_json)
                continue
            click.echo(f"{click.style('$', dim=True)} sow {line}", err=as_json)
            repository.run(shlex.split(line), stdout=sys.stderr if as_json else None)
            own.note_project(repository)
        if as_json:
            repository.run(("task", "list", "--json"))
    if keep is not None:
        click.echo(f"\nEverything is left in {own.path}", err=as_json)
    click.echo(NEXT, err=as_json)


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment whose only configuration is the demo's own."""
    agent = [sys.executable, "-P", "-m", "sow.cli.demo_agent", "{session_id}"]
    config = folder / "demo-config.yaml"
    config.write_text(
        CONFIGURATION.format(
            command=json.dumps([*agent, "spawn"]), resume=json.dumps([*agent, "resume"])
        )
    )
    kept = {
        name: value
        for name, value in own_environment(os.environ).items()
        if name == env_vars.CALLER_PYTHONPATH or not name.startswith(env_vars.PREFIX)
    }
    return {**kept, env_vars.CONFIG: str(config), env_vars.WAIT: "5m"}
