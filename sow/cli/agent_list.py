"""`sow agent list`: the roles, as data. Works anywhere, without a project."""

from sow.agents.roles import AGENTS
from sow.cli import late_click as click
from sow.cli.output import echo_json_lines, echo_table, json_option

HEADER = ("NAME", "DESCRIPTION", "CAPABILITIES")


@click.command("list")
@json_option
def list_agents(as_json: bool) -> None:
    """List the agents: what each does, and what its executor must let it do."""
    rows = [(agent.name, agent.description, agent.capabilities) for agent in AGENTS]
    if as_json:
        keys = ("agent", "description", "capabilities")
        echo_json_lines(dict(zip(keys, row, strict=True)) for row in rows)
    else:
        echo_table(HEADER, rows)
