"""Whether the executors' programs are installed.

Looks on PATH only; starts nothing.
"""

from collections.abc import Iterator, Mapping

from sow.config.configuration import Configuration
from sow.config.validation import executors_in_use
from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.executors.registry import make_executor
from sow.findings import Finding, Level


def missing_programs(configuration: Configuration, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a warning for each executor in use whose program is not on PATH."""
    for name in executors_in_use(configuration):
        executor = make_executor(configuration.executors[name])
        try:
            executor.validate_availability(environ.get("PATH"))
        except ExecutorBinaryNotFound as error:
            install = error.hint.rpartition("\n\n")[2]
            yield Finding(
                check="program",
                level=Level.WARNING,
                text=f"{executor.binary} binary not found on PATH",
                remedy=f"The '{name}' executor requires {executor.binary} CLI to be installed."
                f"\n{install}",
                facts={"executor": name, "binary": executor.binary},
            )
