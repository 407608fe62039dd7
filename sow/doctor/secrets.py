"""What looks like a secret and reaches agents unasked, and whether those that are given are there.

Owns which names look so. Of a value only the form is looked at (an address with a password), and
none leaves this module.
"""

import re
from collections.abc import Iterator, Mapping

from sow.agent_clis.known import AGENT_CLIS
from sow.config.config_errors import InvalidConfiguration
from sow.config.configuration import Configuration
from sow.config.secrets import read_secrets
from sow.environment import agent_environment, is_of_basis
from sow.findings import Finding, Level
from sow.paths import display_path
from sow.schema.executor import ExecutorConfig

SECRET = re.compile(
    r"(^|_)(\w*TOKENS?|\w*SECRETS?|\w*PASSWORDS?|PASSWD|\w*PASSPHRASE|PASS|PWD|PAT|\w*KEY"
    r"|CREDENTIALS?|\w*DSN)(_(ID|BASE64|B64|JSON|VALUE|\d+))?$"
    r"|SECRET|PASSWORD|TOKEN|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY",
    re.IGNORECASE,
)
HARMLESS = re.compile(r"_(FILE|PATH|DIR|SOCK|URL|NAME)$|^(PWD|OLDPWD|SSH_ASKPASS)$", re.IGNORECASE)
"""What names where a secret lies, and none itself."""
WITH_PASSWORD = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable probably holds a key, a token or a password."""
    if WITH_PASSWORD.search(value):
        return True
    return bool(value and SECRET.search(name)) and not HARMLESS.search(name)


def examine_secrets(configuration: Configuration, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield, of each executor that a role is bound to, what it inherits and what it cannot get."""
    for name in configuration.executors:
        if name in configuration.all_bound:
            executor = configuration.executors[name]
            yield from _inherited(configuration, executor, environ)
            yield from _given(configuration, executor)


def _inherited(
    configuration: Configuration, executor: ExecutorConfig, environ: Mapping[str, str]
) -> Iterator[Finding]:
    """Say which secrets agents get because nobody has listed what they need.

    The keys by which its own CLI logs in are none of them.
    """
    if executor.env_inherit is not None:
        return
    questions = AGENT_CLIS[executor.type].questions
    own = set(questions.key_variables) if questions is not None else set()
    inherited = agent_environment(environ)
    given = {*executor.env_names, *executor.secret_names}
    secret = {name for name, value in inherited.items() if looks_secret(name, value)}
    found = sorted(
        name for name in secret - own - given if not is_of_basis(name) and inherited[name]
    )
    if not found:
        return
    kept = ", ".join(sorted(secret & own))
    place = f"agents.executors.{executor.name}"
    yield Finding(
        check="secrets",
        level=Level.NOTE,
        text=f"{executor.name}: its agents inherit variables that look like secrets:"
        f" {', '.join(found)}",
        remedy=f"To end that, write `env_inherit: [{kept}]` below {place} in"
        f" {display_path(configuration.path)}.\nAdd the names of the other variables that its"
        " agents need.",
        facts={"executor": executor.name, "inherited": found},
    )


def _given(configuration: Configuration, executor: ExecutorConfig) -> Iterator[Finding]:
    """Say why a secret cannot be read from its file. No command is run."""
    if not executor.env_file_names:
        return
    try:
        read_secrets(configuration.path, executor.name)
    except InvalidConfiguration as error:
        yield Finding(
            check="secrets",
            level=Level.ERROR,
            text=f"{executor.name}: {error.reason}",
            remedy=error.hint,
            facts={"executor": executor.name, "key": error.key},
        )
