"""`sow agent list`: the roles, as data. Works anywhere, without a project."""

import os
from collections.abc import Mapping

from sow.agents.roles import AGENTS
from sow.cli import late_click as click
from sow.cli.output import echo_json_lines, echo_table, json_option
from sow.errors import ConfigurationError
from sow.paths import user_config_path

HEADER = ("NAME", "DESCRIPTION", "CAPABILITIES")


@click.command("list")
@json_option
def list_agents(as_json: bool) -> None:
    """List the agents: what each does, and what its executor must let it do."""
    rows = [(agent.name, agent.description, agent.capabilities) for agent in AGENTS]
    bound = _bound()
    if as_json:
        keys = ("agent", "description", "capabilities")
        named = (dict(zip(keys, row, strict=True)) for row in rows)
        echo_json_lines({**row, "executors": bound.get(row["agent"])} for row in named)
    elif any(len(names) > 1 for names in bound.values()):
        listed = [(name, ", ".join(bound[name]), *rest) for name, *rest in rows]
        echo_table((HEADER[0], "EXECUTORS", *HEADER[1:]), listed)
    else:
        echo_table(HEADER, rows)


def _bound() -> Mapping[str, tuple[str, ...]]:
    """Return the executors of each role in their order; nothing where the file cannot be read."""
    from sow.config.load import load_configuration  # the only use of a configuration

    names = [agent.name for agent in AGENTS]
    path = user_config_path(os.environ)
    try:
        configuration = load_configuration(
            path=path, repository_path=None, environ=os.environ, roles=names
        )
    except ConfigurationError:
        return {}
    return {role: configuration.bound(role) for role in configuration.bindings}
