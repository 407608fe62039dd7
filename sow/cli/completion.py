"""`sow completion`: the script by which a shell asks sow what the Tab key may offer."""

import click
from click.shell_completion import get_completion_class

from sow.cli.completing import VARIABLE
from sow.cli.output import echo_result, json_option

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print the completion script for SHELL: roles, tasks, jobs, executors, options.

    \b
    bash (4.4 or newer), in ~/.bashrc:
      eval "$(sow completion bash)"
    zsh, in ~/.zshrc, below compinit:
      eval "$(sow completion zsh)"
    fish, once:
      sow completion fish > ~/.config/fish/completions/sow.fish
    """  # noqa: D301 - \b is click's own mark, a true backspace
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click has all three
    script = found(ctx.find_root().command, {}, "sow", VARIABLE).source()
    echo_result({"shell": shell, "script": script}, script, as_json=as_json)
