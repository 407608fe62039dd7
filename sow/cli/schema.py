"""`sow schema`: the JSON Schema of each file. Works anywhere, without a project."""

import json

import click

from sow.cli import completing
from sow.cli.output import echo_json_lines, echo_table, json_option


@click.command()
@click.argument("name", required=False, shell_complete=completing.schemas)
@json_option
def schema(name: str | None, as_json: bool) -> None:
    """Print the JSON Schema of the file called NAME; without NAME, list them."""
    from sow.schema.catalogue import SCHEMAS, json_schema

    if name is not None:
        click.echo(json.dumps(json_schema(name), indent=None if as_json else 2))
    elif as_json:
        echo_json_lines({"name": key, "file": file} for key, (_, file) in SCHEMAS.items())
    else:
        echo_table(("NAME", "FILE"), [(key, file) for key, (_, file) in SCHEMAS.items()])
