"""`sow task export`: the tasks as a file that `sow task import` takes."""

import click

from sow.cli.arguments import here
from sow.cli.output import echo_json_lines, json_option
from sow.schema.task_entry import FIELDS
from sow.state.bulk.exporting import entries_of
from sow.state.tasks import all_places, read_task_at
from sow.yamlfile.rendering import render_entries


@click.command()
@json_option
def export(as_json: bool) -> None:
    """Print the tasks of the project as YAML, or with --json as an object a line.

    `sow task import` reads both. An unchanged file changes nothing.
    """
    entries = entries_of([(place, read_task_at(place)) for place in all_places(here())])
    if as_json:
        echo_json_lines(entries)
        return
    present = [{name: getattr(entry, name) for name in FIELDS} for entry in entries]
    plain = [{name: value for name, value in each.items() if value is not None} for each in present]
    if plain:
        click.echo(render_entries(plain), nl=False)
    else:
        click.echo("No tasks. Add one: sow task add NAME --agent implementer", err=True)
