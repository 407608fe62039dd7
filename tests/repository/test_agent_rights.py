"""Whether an agent may run it, for every command: none joins without being judged."""

import click
import pytest
from command_tree import COMMANDS

from sow.agents.rights import (
    ORCHESTRATING,
    PLANNING,
    REVIEWING,
    CallingAgent,
    commands_for,
    refuse_without_right,
)
from sow.agents.roles import AGENTS
from sow.cli.lazy import LazyGroup
from sow.cli.tree import root
from sow.commands import CALLABLE, Right
from sow.env_vars import STEP_ROLE
from sow.errors import StateError
from sow.executors.claude import rule_for

READS = """
agent list, batch list, batch show, changes, clone list, clone path, completion, config path, config
show, config validate, cost, demo, doctor, feedback list, hosts list, input list, install status,
job explain, job list, job logs, job show, knowledge list, knowledge search, knowledge show, log,
mcp, news, next, notify list, output list, phase list, project list, project status, prompt, queue
status, refs list, review show, schema, stats, status, task diff, task explain, task export, task
list, task log, task output, task show, validate, watch, worker list, worker logs, worker unit
"""
OWN_TASK = "agent log, agent task state set-status, task abandon, task reopen, task set"
PLANNERS = "task add, task import, task remove"
REVIEWERS = "review accept, review correct"
ORCHESTRATORS = """
advance, agent answer, agent cancel, agent open, agent resume, agent review, agent spawn, agent
wait, approve, batch add, batch cancel, batch pause, batch remove, batch resume, batch run, batch
wait, clone prune, clone remove, clone update, config edit, config init, config reset, executor
compare, executor list, executor try, feedback add, feedback settle, init, input add, input remove,
job cancel, job prune, job resolve, job retry, job wait, merge, notify test, output add, output
move, output remove, phase add, phase finish, phase reopen, pr status, project abandon, project
check, project finish, project new, project publish, project set, queue pause, queue resume, refs
add, refs init, refs prune, refs remove, refs status, refs update, report, start, task check,
worker, worker stop
"""
PEOPLE = """
hosts init, install agents-md, install claude, pr create, trust, uninstall agents-md, uninstall
claude
"""


def words_of(text: str) -> set[tuple[str, ...]]:
    return {tuple(command.split()) for command in text.replace("\n", " ").split(",")}


def may_run(role: str, words: tuple[str, ...], **parameters: str) -> bool:
    agent = CallingAgent("010", role)
    try:
        refuse_without_right(agent, words, parameters)
    except StateError:
        return False
    return True


def test_every_command_is_judged() -> None:
    """Said a second time here, so that nobody widens it in passing."""
    written = {
        Right.READS: words_of(READS),
        Right.OWN_TASK: words_of(OWN_TASK),
        Right.PLANNERS: words_of(PLANNERS),
        Right.REVIEWERS: words_of(REVIEWERS),
        Right.ORCHESTRATORS: words_of(ORCHESTRATORS),
        Right.PEOPLE: words_of(PEOPLE),
    }
    own = (Right.READS, Right.OWN_TASK)
    for words in COMMANDS:
        right = CALLABLE[words].right
        assert [each for each, commands in written.items() if words in commands] == [right], words
        assert may_run("implementer", words) is (right in own), words
        assert may_run("planner", words) is (right in (*own, Right.PLANNERS)), words
        assert may_run("reviewer", words) is (right in (*own, Right.REVIEWERS)), words
        assert may_run("orchestrator", words) is (right is not Right.PEOPLE), words
        assert may_run(STEP_ROLE, words) is (right is Right.READS), words
    assert may_run("implementer", words, task="020") is (right is Right.READS)


WITHOUT_RULE = {words for words, row in CALLABLE.items() if not row.has_rule}


def test_a_command_without_a_row_is_refused() -> None:
    assert not may_run("implementer", ("task", "burn"))


def test_every_group_asks() -> None:
    """A group of click's own would let its commands pass unasked."""

    def groups(group: click.Group) -> list[click.Group]:
        context = click.Context(group)
        found = [group.get_command(context, name) for name in group.list_commands(context)]
        below = [each for each in found if isinstance(each, click.Group)]
        return [group, *(inner for each in below for inner in groups(each))]

    assert len(groups(root)) > 8
    assert all(isinstance(group, LazyGroup) for group in groups(root))


def test_the_roles_named_are_roles() -> None:
    assert {agent.name for agent in AGENTS} >= ORCHESTRATING | PLANNING | REVIEWING


NO_RULE = """
agent open, completion, config edit, config init, config reset, config show, demo, executor compare,
executor try, install status, mcp, news, notify list, notify test, start, watch, worker, worker unit
"""


@pytest.mark.parametrize("role", [agent.name for agent in AGENTS])
def test_a_roles_cli_is_told_to_let_it_run_what_it_has_a_right_to(role: str) -> None:
    """What no rule names is said a second time here."""
    assert words_of(NO_RULE) == WITHOUT_RULE
    wanted = {words for words in COMMANDS if may_run(role, words)} - WITHOUT_RULE
    assert set(commands_for(role)) == wanted


def test_a_reviewer_of_a_task_is_told_of_what_a_review_needs() -> None:
    reads = {words for words, row in CALLABLE.items() if row.right is Right.READS} - WITHOUT_RULE
    wanted = reads | words_of(REVIEWERS) | {("agent", "log")}
    assert set(commands_for("tester", reviews=True)) == wanted


@pytest.mark.parametrize("role", [agent.name for agent in AGENTS])
def test_the_rules_of_claude_name_single_commands(role: str) -> None:
    """A rule for a group, such as Bash(sow task:*), would grow with every command that joins it."""
    for words in commands_for(role):
        assert not isinstance(COMMANDS[words], click.Group)
        assert rule_for(" ".join(words)) == f"Bash(sow {' '.join(words)}:*)"


def test_to_mend_takes_more_than_to_look() -> None:
    words = ("validate",)
    assert may_run("implementer", words, fix="")
    assert not may_run("implementer", words, fix="x")
    assert not may_run(STEP_ROLE, words, fix="x")
    assert may_run("orchestrator", words, fix="x")
    with pytest.raises(StateError):
        refuse_without_right(CallingAgent("010", "orchestrator", reviews=True), words, {"fix": "x"})
