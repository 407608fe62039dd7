"""Each role's prompt, and each state's, is followed to the letter in an empty repository."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from journeys.gitsite import make_repository
from journeys.prompt_follower import FILES, followed, lines_of, write_files
from journeys.site import Site, make_site
from standins import Run, read_runs

from sow.agents.roles import AGENTS
from sow.lifecycle.stages import ProjectType
from sow.lifecycle.types import LIFECYCLES
from sow.prompts.library import load_prompt

WORKERS = [agent.name for agent in AGENTS if agent.name != "orchestrator"]
REPORTED = [{"sow": ["agent", "log", "Did it"]}, {"sow": ["task", "set", "status", "needs_review"]}]
ASKS = [
    {"sow": ["agent", "log", "Question: RS256 or HS256?"]},
    {"sow": ["task", "set", "status", "paused"]},
]
ACCEPTS = [{"sow": ["review", "accept", "--project", "--summary", "It fits together."]}]
MAY_APPROVE = {"approve": "agents"}


def empty_repository(site: Site) -> None:
    make_repository(site)
    (site.root / ".gitignore").write_text(".standin/\nfindings.md\ntasks.yaml\n")


# each role that works on a task


def task_of(role: str) -> str:
    """Return the id of the task of a role; 010 is the work that others look at."""
    return f"{(WORKERS.index(role) + 2) * 10:03d}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """Return how an agent of each role fared that did nothing but what its prompts say."""
    site = make_site(tmp_path_factory.mktemp("followed"))
    empty_repository(site)
    site.project("010")
    site.script([REPORTED], task="010")
    site.sow("agent", "spawn", "010")
    for place in FILES:
        write_files(site.root, place)
    for role in WORKERS:
        site.add_tasks(task_of(role), agent=role)
        steps = [{"shell": line} for line in followed(f"templates/{role}")]
        site.script([steps], task=task_of(role))
    try:
        site.sow("agent", "spawn", *(task_of(role) for role in WORKERS), "--wait", "230s")
        yield {run.task: run for run in read_runs(site.root)}
    finally:
        site.close()


@pytest.mark.parametrize("role", WORKERS)
def test_a_role_that_follows_its_prompts_to_the_letter_reports(
    runs: dict[str, Run], role: str
) -> None:
    """Every command is understood, allowed to that role by sow and its CLI, and ends with 0."""
    run = runs[task_of(role)]
    lines = list(followed(f"templates/{role}"))
    assert [tool.command for tool in run.tools] == lines
    failed = [(tool.command, tool.exit, tool.output) for tool in run.tools if tool.exit != 0]
    assert failed == []
    assert f"sow prompt guidance/{role}/base" in lines[0]
    assert "sow task set status needs_review" in lines
    assert sum(line.startswith("sow prompt ") for line in lines) >= 4


# whoever leads


def follow(site: Site, text: str) -> int:
    """Run the command lines of a text; fail at the first that does not end with 0."""
    lines = lines_of(text)
    for line in lines:
        write_files(site.root, line)
        program, *words = shlex.split(line)
        if program == "sow":
            site.sow(*words)
    return len(lines)


def test_the_orchestrators_prompt_leads_a_project_from_nothing_to_its_end(site: Site) -> None:
    """An empty repository, the texts' own commands, and agents that ask, correct and judge."""
    empty_repository(site)
    site.configure(MAY_APPROVE)
    site.script([REPORTED, REPORTED], task="010")
    site.script([ASKS, REPORTED], task="020")
    site.script([ACCEPTS], task="030")
    assert follow(site, load_prompt("guidance/orchestrator/base")) > 20
    assert not (site.root / ".sow/project").exists()
    (ended,) = site.sow("project", "list", "--json").json_lines
    assert ended["ended"] == "finished"
    tasks = sorted(path.name for path in (site.root / ended["folder"]).glob("phases/*/tasks/*"))
    assert tasks == ["010", "020", "030"]


@pytest.mark.parametrize("kind", list(ProjectType))
def test_the_texts_of_each_state_lead_a_project_through_all_of_its_states(
    site: Site, kind: ProjectType
) -> None:
    empty_repository(site)
    site.configure(MAY_APPROVE)
    site.script([REPORTED])
    site.script([ACCEPTS], task="020")
    follow(site, site.sow("prompt").out)
    site.sow("project", "new", "Sign-in", "--type", kind.value)
    for state in LIFECYCLES[kind].states:
        assert site.sow("project", "status", "--json").json["state"] == state
        text = load_prompt(f"states/{kind}/{state}")
        assert text.strip() in site.sow("prompt").out
        follow(site, text)
    assert not (site.root / ".sow/project").exists()


def test_what_is_followed_is_all_that_stands_in_blocks() -> None:
    """Guards the follower: the tests above pass on nothing found."""
    text = (
        'Do `sow next`.\n\n```bash\nsow init\nsow task add "<name>"\n```\n\n```text\nsow x\n```\n'
    )
    assert lines_of(text) == ["sow init", 'sow task add "Add the login route"']
    with pytest.raises(KeyError, match="<what nobody has explained>"):
        lines_of("```bash\nsow x <what nobody has explained>\n```\n")
    assert Path("tasks.yaml").name in FILES
    assert FILES["tasks.yaml"].startswith("- key: ")
