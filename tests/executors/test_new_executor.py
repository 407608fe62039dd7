"""A further executor is a description, a module and a word: added to a copy of the tree, as shown.

CONTRIBUTING.md says that nothing else has to be written; each part of sow is asked here for
what it makes of these three.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sow

pytestmark = pytest.mark.slow  # it starts processes that import a copy of the tree

TREE = Path(sow.__file__).parent

DESCRIPTION = '''"""A CLI that nobody knew."""

from sow.agent_clis.description import (
    MODEL, AgentCli, LoginFiles, Questions, Setting,
)
from sow.schema.causes import Cause

CLI = AgentCli(
    title="Newcomer executor",
    built_in="newcomer",
    binary="newcomer",
    settings={"model": Setting('"new-1"', "As `newcomer -m` takes it")},
    reserved_flags={"-m": MODEL},
    nesting_markers=("NEWCOMER_CHILD",),
    words=((r"who are you\\?", Cause.AUTH),),
    resumes=False,
    questions=Questions(
        helps=(("--help",),),
        key_variables=("NEWCOMER_KEY",),
        login="Say who you are.",
        quiet={"NEWCOMER_QUIET": "1"},
    ),
)
'''

MODULE = '''"""Drives it."""

from sow.agent_clis.newcomer import CLI
from sow.executors.base import Executor, Launch
from sow.executors.windsurf import WindsurfExecutor


class NewcomerExecutor(WindsurfExecutor):
    cli = CLI

    def spawn(self, request):
        model = ("-m", self.config.model) if self.config.model else ()
        return Launch(argv=("newcomer", "--go", *model), stdin=request.prompt, cwd=request.cwd)

    def resume(self, request):
        return self.spawn(request)


EXECUTOR: type[Executor] = NewcomerExecutor
'''

CONFIGURATION = """
agents:
  executors:
    newcomer: {settings: {model: new-2}}
  bindings: {tester: newcomer}
"""

QUESTIONS = """
import json, os, sys
from pathlib import Path

from sow.config.config_errors import InvalidConfiguration
from sow.config.load import load_configuration
from sow.config.template import template
from sow.doctor.executors import examine_executors
from sow.environment import agent_environment
from sow.executors.base import Ending, Observation
from sow.executors.executor_errors import resumable
from sow.executors.registry import make_executor

folder = Path(sys.argv[1])


def load(text):
    path = folder / "config.yaml"
    path.write_text(text)
    return load_configuration(path=path, repository_path=None, environ={}, roles=["tester"])


def refused(text):
    try:
        load(text)
    except InvalidConfiguration as error:
        return error.message


def judged(kind):
    executor = make_executor(load("agents: {}").executor(kind))
    return executor.classify(Ending(1, None, "who are you?", ""), Observation()).cause


configuration = load(Path(sys.argv[2]).read_text())
found = list(examine_executors(configuration, dict(os.environ), folder, ["newcomer"]))
print(json.dumps({
    "model": configuration.binding("tester").executor.model,
    "template": "# Newcomer executor" in template(folder / "x.yaml", {}),
    "reserved": refused("agents: {executors: {newcomer: {custom_args: [-m]}}}"),
    "unfit": refused("agents: {executors: {newcomer: {settings: {yolo_mode: true}}}}"),
    "marker": sorted(agent_environment({"NEWCOMER_CHILD": "1", "HOME": "/"})),
    "doctor": {finding.check: finding.text for finding in found},
    "causes": [judged("newcomer"), judged("claude-code")],
    "resumable": resumable(),
}))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Return what the parts of sow make of an executor that was added to a copy of it."""
    place = tmp_path_factory.mktemp("scratch")
    shutil.copytree(TREE, place / "sow", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "sow/agent_clis/newcomer.py").write_text(DESCRIPTION)
    (place / "sow/executors/newcomer.py").write_text(MODULE)
    words = place / "sow/schema/executor_type.py"
    last = '    COMMAND = "command"\n'
    assert last in words.read_text()
    words.write_text(words.read_text().replace(last, f'{last}    NEWCOMER = "newcomer"\n'))
    (place / "given.yaml").write_text(CONFIGURATION)
    program = place / "bin/newcomer"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "newcomer 4.2 --go -m $NEWCOMER_QUIET"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-P", "-c", QUESTIONS, str(place), str(place / "given.yaml")],
        env={**os.environ, "PYTHONPATH": str(place), "PATH": path, "NEWCOMER_KEY": "x"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answered: dict[str, object] = json.loads(done.stdout)
    return answered


def test_the_configuration_knows_it(answers: dict[str, object]) -> None:
    assert answers["model"] == "new-2"
    assert "-m cannot be set here: it is what settings.model decides" in str(answers["reserved"])
    assert "does not fit type newcomer, which has model" in str(answers["unfit"])


def test_the_template_shows_it(answers: dict[str, object]) -> None:
    assert answers["template"] is True


def test_the_doctor_asks_it(answers: dict[str, object]) -> None:
    found = answers["doctor"]
    assert isinstance(found, dict)
    assert "newcomer 4.2" in found["program"]
    assert "lists every flag" in found["flags"]
    assert found["login"] == "newcomer: logged in, by NEWCOMER_KEY"


def test_its_agents_do_not_see_that_their_parent_was_one(answers: dict[str, object]) -> None:
    assert answers["marker"] == ["HOME"]


def test_the_judge_reads_its_words_and_nobody_else_s(answers: dict[str, object]) -> None:
    assert answers["causes"] == ["auth", "crashed"]


def test_it_is_no_alternative_for_a_resume(answers: dict[str, object]) -> None:
    assert "newcomer" not in answers["resumable"]
