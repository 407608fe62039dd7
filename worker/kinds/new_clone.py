"""How a clone is made of a task that has none yet, whoever is to work in it.

Owns that what makes it ready runs only where this user has accepted it, and where its sandbox can
be made.
"""

from sow.config.checks import read_repository
from sow.config.clones import SETUP, CloneSettings, clone_settings, setup_commands
from sow.config.command_sandbox import refuse_without_sandbox
from sow.trust.accepted import refuse_untrusted
from worker.context import WorkerContext


def settings_of_new_clone(context: WorkerContext) -> CloneSettings:
    """Return by which settings a clone is made.

    Raises NotTrusted where a command line of the repository would make it ready that this user has
    not accepted, SandboxUnavailable, InvalidConfiguration.
    """
    source = read_repository(context.workspace.repository_config)
    settings, _ = clone_settings(source)
    if settings.setup is not None:
        refuse_untrusted(context.workspace, source.content, context.environ, keys=(SETUP,))
        refuse_without_sandbox(setup_commands(settings))
    return settings
