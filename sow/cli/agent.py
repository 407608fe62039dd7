"""`sow agent`: everything that concerns an agent and its session."""

import click

from sow.cli.lazy import LazyCommand, LazyGroup

COMMANDS = {
    "spawn": LazyCommand("sow.cli.agent_spawn:spawn", "Queue an agent for a task and wait."),
    "resume": LazyCommand("sow.cli.agent_resume:resume", "Continue a task's session and wait."),
    "answer": LazyCommand("sow.cli.agent_answer:answer", "Answer a paused task's question."),
    "review": LazyCommand("sow.cli.agent_review:review_task", "Have a task's work reviewed."),
    "open": LazyCommand("sow.cli.agent_open:open_task", "Take a task's session over yourself."),
    "wait": LazyCommand("sow.cli.agent_wait:wait", "Wait for the outcome of tasks."),
    "cancel": LazyCommand("sow.cli.agent_cancel:cancel", "End the job of a task."),
    "list": LazyCommand("sow.cli.agent_list:list_agents", "List the roles an agent can play."),
    "log": LazyCommand("sow.cli.agent_log:log", "Write an entry into a task's log."),
    "task": LazyCommand("sow.cli.task:agent_task", "Report on the agent's own task."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def agent() -> None:
    """Spawn agents, resume them, wait for them, and report as one."""
