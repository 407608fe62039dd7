"""`sow prompt`: print the guidance that agents load. Works anywhere, without a project."""

import click

from sow.cli import completing
from sow.cli.output import echo_json, echo_json_lines, json_option
from sow.errors import UsageError
from sow.prompts.library import list_prompts, load_prompt


@click.command()
@click.argument("path", required=False, shell_complete=completing.prompts)
@click.option("--list", "as_list", is_flag=True, help="List the names of all prompts.")
@json_option
def prompt(path: str | None, as_list: bool, as_json: bool) -> None:
    """Print the prompt called PATH, such as guidance/implementer/base."""
    if as_list and path is None:
        _print_names(as_json)
    elif path is not None and not as_list:
        _print_text(path, as_json)
    else:
        raise UsageError(
            "give the name of one prompt, or --list",
            hint="Run `sow prompt --list` to see them all.",
        )


def _print_names(as_json: bool) -> None:
    if as_json:
        echo_json_lines({"name": name} for name in list_prompts())
    else:
        click.echo("\n".join(list_prompts()))


def _print_text(path: str, as_json: bool) -> None:
    text = load_prompt(path)
    if as_json:
        echo_json({"name": path, "text": text})
    else:
        click.echo(text.encode(), nl=False)  # whatever encoding the agent's shell has
