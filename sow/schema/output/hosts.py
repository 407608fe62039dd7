"""A queue that is shared, as commands print it with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about


class ServedView(msgspec.Struct, frozen=True, kw_only=True):
    """What a host's role runs."""

    role: Annotated[str, about("the role on the server by which the host's workers log in")]
    owner: Annotated[str | None, about("whose jobs it runs: a role; null for everybody's")]
    executor: Annotated[str | None, about("by which executor; null for each")]


class SharedQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Who may use a queue on a server, and for what."""

    server: Annotated[str, about("the server and its database")]
    queue: Annotated[str, about("the schema that the queue's tables are in")]
    lease_seconds: Annotated[
        float, about("how long after its last beat a worker may keep its jobs, in seconds")
    ]
    callers: Annotated[tuple[str, ...], about("the roles that may queue jobs")]
    hosts: Annotated[tuple[ServedView, ...], about("the roles that may run jobs, and which")]
    concurrency: Annotated[
        int | None, about("how many agents run at once on all hosts together; null for no limit")
    ]
    max_parallel: Annotated[dict[str, int], about("the same, by executor; empty for no limits")]


class SilentHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host whose workers the server has not heard for longer than a lease."""

    host: Annotated[str, about("the machine's name and the checkout's folder")]
    silent_since: Annotated[str, about("when it was heard last: UTC, ISO 8601")]
    job_count: Annotated[int, about("how many jobs it has, which others may take over")]


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """A host of a shared queue: a checkout on one machine, used as one role of the server."""

    id: Annotated[
        str | None,
        about("its id, which ends the names of its workers; null for a role without a worker yet"),
    ]
    name: Annotated[str | None, about("the machine's name and the checkout's folder; null as id")]
    role: Annotated[str, about("the role by which its workers log in")]
    may_run: Annotated[
        tuple[ServedView, ...],
        about("what the queue's owner lets it run; empty for the owner, who may run everything"),
    ]
    executors: Annotated[tuple[str, ...], about("the executors that its user has it serve")]
    owners: Annotated[
        tuple[str, ...] | None,
        about("the roles whose jobs its user has it run; null for everybody's"),
    ]
    labels: Annotated[tuple[str, ...], about("what it offers, for jobs that require it")]
    version: Annotated[str | None, about("of its sow; null without a worker yet")]
    worker_count: Annotated[int, about("how many workers of it are on record")]
    job_count: Annotated[int, about("how many jobs they run")]
    silent_seconds: Annotated[
        float | None,
        about("how long ago the server heard one of them, in seconds; null without a worker yet"),
    ]
    is_silent: Annotated[
        bool, about("whether that is longer than a lease: others may take its jobs over")
    ]
