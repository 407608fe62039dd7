"""`sow schema`: the JSON Schema of each file and output. Works anywhere, without a project."""

import json

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.output import echo_json_lines, echo_table, json_option
from sow.schema.catalogue import descriptions, json_schema


@click.command()
@click.argument("words", metavar="[NAME]...", nargs=-1, shell_complete=completing.schemas)
@json_option
def schema(words: tuple[str, ...], as_json: bool) -> None:
    """Print the JSON Schema called NAME; without NAME, list them.

    For a file give one word (sow schema task). For the --json output of a command
    give its words (sow schema task show), for errors the word error.
    """
    if words:
        click.echo(json.dumps(json_schema(" ".join(words)), indent=None if as_json else 2))
    elif as_json:
        echo_json_lines({"name": name, "describes": of} for name, of in descriptions().items())
    else:
        echo_table(("NAME", "DESCRIBES"), list(descriptions().items()))
