"""What the documents say of settings, codes, words and links is so."""

import re
from pathlib import Path

import pytest
import yaml

from sow.agents.roles import AGENTS
from sow.config.load import load_configuration
from sow.errors import ExitCode
from sow.schema.task import TaskStatus

REPOSITORY = Path(__file__).parents[2]
HOWTOS = sorted((REPOSITORY / "docs/howto").glob("*.md"))
TROUBLESHOOTING = REPOSITORY / "docs/troubleshooting.md"
PAGES = [REPOSITORY / "docs/guide.md", TROUBLESHOOTING, REPOSITORY / "CONTRIBUTING.md"]
BASE = REPOSITORY / "sow" / "prompts" / "guidance" / "orchestrator" / "base.md"


def blocks(file, language):
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, file.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def section(file, heading):
    text = file.read_text(encoding="utf-8")
    return re.split(r"^#+ ", text[text.index(f" {heading}\n") + 1 :], flags=re.MULTILINE)[0]


def first_column(text):
    return re.findall(r"^\| `?([a-z0-9_]+)`? \|", text, re.MULTILINE)


CONFIGURATIONS = [
    text for page in HOWTOS for text in blocks(page, "yaml") if text.startswith("agents:")
]


def test_the_pages_show_configurations():
    assert len(CONFIGURATIONS) >= 3


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_every_configuration_in_the_pages_loads_without_a_warning(text, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    roles = [agent.name for agent in AGENTS]
    loaded = load_configuration(path=path, repository_path=None, environ={}, roles=roles)
    assert loaded.warnings == ()
    for role in roles:
        assert loaded.binding(role).executor.name in loaded.executors


def test_the_table_of_exit_codes_is_whole():
    assert first_column(section(REPOSITORY / "docs/howto/programs.md", "Exit codes")) == [
        "exit",
        *(str(int(code)) for code in ExitCode),
    ]


def test_the_orchestrator_is_told_every_exit_code():
    listed = re.findall(r"^\| (?:\*\*)?([0-9]+)", BASE.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == [str(int(code)) for code in ExitCode]


def test_the_table_of_statuses_is_whole():
    listed = first_column(section(REPOSITORY / "docs/howto/spawn.md", "What an agent reports"))
    assert sorted(listed) == sorted(["status", *TaskStatus])


def anchor(heading):
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_links_within_the_tree_lead_somewhere(file):
    for target in re.findall(r"\]\(([^)]+)\)", file.read_text(encoding="utf-8")):
        path, _, fragment = target.partition("#")
        page = (file.parent / path).resolve() if path else file
        assert page.is_file(), target
        headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert not fragment or fragment in {anchor(heading) for heading in headings}, target


WITH_CONTENTS = [page for page in HOWTOS if "\n- [" in page.read_text().split("\n## ")[0]]


@pytest.mark.parametrize("file", [*PAGES[:2], *WITH_CONTENTS], ids=lambda file: file.name)
def test_every_section_is_in_the_contents(file):
    text = file.read_text(encoding="utf-8")
    headings = [anchor(heading) for heading in re.findall(r"^## (.+)$", text, re.MULTILINE)]
    assert re.findall(r"^- \[.+\]\(#(.+)\)$", text, re.MULTILINE) == headings


def test_every_file_named_for_contributors_exists():
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:sow|worker|tests|docs)/[a-z_./-]+)`", text))
    missing = {name for name in named if not _exists(name)}
    assert not missing


def _exists(name):
    return (REPOSITORY / name).exists() or (REPOSITORY / f"{name}.py").exists()


def test_the_layers_in_the_picture_are_those_of_the_contract():
    import tomllib

    contract = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = contract["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["type"] == "layers")
    expected = [name for layer in layers for name in layer.split(" | ")]
    picture = section(REPOSITORY / "CONTRIBUTING.md", "The layers").split("```")[1]
    drawn = re.findall(r"sow\.[a-z_]+", picture)
    assert drawn == expected


def test_compose_runs_a_worker_from_the_dockerfile_in_the_tree():
    service = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    worker = service["worker"]
    assert worker["build"] == "."
    assert worker["init"] is True
    assert worker["command"][:2] == ["sow", "worker"]
    assert any(volume.endswith(":/work") for volume in worker["volumes"])
    dockerfile = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    for image in re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE):
        assert "/" not in image, "no registry host"


def test_the_image_gets_what_the_package_is_built_from():
    import tomllib

    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line[1:] for line in ignored if line.startswith("!")}
    build = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = build["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *(name.split("/")[0] for name in wheel["shared-scripts"])}
    needed |= {name.split("/")[0] for name in wheel["shared-data"]} | {"hatch_build.py"}
    needed |= {"pyproject.toml", build["project"]["readme"], *build["project"]["license-files"]}
    assert needed <= kept
