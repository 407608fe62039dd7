"""Windsurf in the seeds' form. Not run by us: no headless `windsurf` could be had."""

from sow.agent_clis.description import (
    AgentCli,
    Evidence,
    Setting,
    Tried,
)
from sow.schema.causes import Cause

CLI = AgentCli(
    title="Windsurf executor: no sessions, so a task cannot be resumed",
    built_in="windsurf",
    binary="windsurf",
    install="Install {binary}, or name another program in"
    " agents.executors.{name}.settings.command.",
    settings={
        "yolo_mode": Setting(idle="sow knows no such flag of windsurf; put it into custom_args."),
        "command": Setting('["windsurf"]', "The program that is started"),
    },
    words=(
        (r"Not logged in|Invalid API key|Authentication required", Cause.AUTH),
        (r"unknown option|unexpected argument|unrecognized arguments?", Cause.BAD_FLAGS),
        (r"Unable to connect|Connection ?refused|ECONNRE|fetch failed", Cause.API_ERROR),
    ),
    resumes=False,
    tried=Tried(spawn=Evidence.STAND_IN),
)
