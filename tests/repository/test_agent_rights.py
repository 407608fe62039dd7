"""Whether an agent may run it, for every command: none joins without being judged."""

import click
import pytest
from command_tree import COMMANDS

from sow.agents.roles import AGENTS
from sow.cli.agent_rights import (
    ORCHESTRATING,
    PLANNING,
    REVIEWING,
    RIGHTS,
    CallingAgent,
    Right,
    refuse_without_right,
)
from sow.cli.lazy import LazyGroup
from sow.cli.root import root
from sow.errors import StateError
from sow.executors.claude import SOW_VERBS
from sow.own_variables import STEP_ROLE

READS = """
agent list, changes, clone list, clone path, completion, config path, config show,
config validate, demo, doctor, job explain, job list, job logs, job show, project status, prompt,
queue status, review show, schema, task diff, task explain, task list, task log, task output,
task show, worker list, worker logs
"""
OWN_TASK = "agent log, agent task state set-status, task abandon, task reopen, task set"
PLANNERS = "task add"
REVIEWERS = "review accept, review correct"
ORCHESTRATORS = """
agent cancel, agent open, agent resume, agent review, agent spawn, agent wait, clone prune,
clone remove, clone update, config edit, config init, config reset, init, job cancel,
job prune, job resolve, merge, project check, project new, queue pause, queue resume,
task check, worker, worker stop
"""
PEOPLE = "trust"


def words_of(text: str) -> set[tuple[str, ...]]:
    return {tuple(command.split()) for command in text.replace("\n", " ").split(",")}


def may_run(role: str, words: tuple[str, ...], **parameters: str) -> bool:
    agent = CallingAgent("010", role)
    try:
        refuse_without_right(agent, words, parameters)
    except StateError:
        return False
    return True


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_is_judged(words: tuple[str, ...]) -> None:
    """Said a second time here, so that nobody widens it in passing."""
    written = {
        Right.READS: words_of(READS),
        Right.OWN_TASK: words_of(OWN_TASK),
        Right.PLANNERS: words_of(PLANNERS),
        Right.REVIEWERS: words_of(REVIEWERS),
        Right.ORCHESTRATORS: words_of(ORCHESTRATORS),
        Right.PEOPLE: words_of(PEOPLE),
    }
    right = RIGHTS[words]
    assert [one for one, commands in written.items() if words in commands] == [right]
    own = (Right.READS, Right.OWN_TASK)
    assert may_run("implementer", words) is (right in own)
    assert may_run("planner", words) is (right in (*own, Right.PLANNERS))
    assert may_run("reviewer", words) is (right in (*own, Right.REVIEWERS))
    assert may_run("orchestrator", words) is (right is not Right.PEOPLE)
    assert may_run(STEP_ROLE, words) is (right is Right.READS)
    assert may_run("implementer", words, task="020") is (right is Right.READS)


def test_every_row_is_a_command() -> None:
    assert set(RIGHTS) == set(COMMANDS)


def test_a_command_without_a_row_is_refused() -> None:
    assert not may_run("implementer", ("task", "burn"))


def test_every_group_asks() -> None:
    """A group of click's own would let its commands pass unasked."""

    def groups(group: click.Group) -> list[click.Group]:
        context = click.Context(group)
        found = [group.get_command(context, name) for name in group.list_commands(context)]
        below = [one for one in found if isinstance(one, click.Group)]
        return [group, *(inner for one in below for inner in groups(one))]

    assert len(groups(root)) > 8
    assert all(isinstance(group, LazyGroup) for group in groups(root))


def test_the_roles_named_are_roles() -> None:
    assert {agent.name for agent in AGENTS} >= ORCHESTRATING | PLANNING | REVIEWING


def test_the_rules_of_claude_name_single_commands_that_agents_may_run() -> None:
    """A rule for a group, such as Bash(sow task:*), would grow with every command that joins it."""
    for rule in SOW_VERBS:
        words = tuple(rule.removeprefix("Bash(sow ").removesuffix(":*)").split())
        assert words in COMMANDS, rule
        assert not isinstance(COMMANDS[words], click.Group), rule
        assert RIGHTS[words] is not Right.ORCHESTRATORS, rule
