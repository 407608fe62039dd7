"""Many processes at once, and processes killed in the middle."""

import random
import signal
import time

import pytest
import yaml

from sow.schema.task import TaskState
from sow.state.task_log import read_entries
from sow.state.tasks import add_task, change_task, find_task, list_tasks, read_task
from sow.yamlfile import read_yaml

NOON = 1_769_860_800.0

ADD = """
from sow.state.tasks import add_task
for number in range(5):
    name = f"{sys.argv[1]}-{number}"
    add_task(workspace, name=name, agent="implementer", now=time.time(), phase=sys.argv[2],
             new_phase=True)
"""

COUNT = """
from sow.state.tasks import change_task
def more(task):
    return {"metadata.count": task.metadata.get("count", 0) + 1, f"metadata.by-{sys.argv[1]}": 1}
for _ in range(10):
    change_task(workspace, "010", more, now=time.time())
"""

LOG = """
from sow.state.log_writing import LogEntry
from sow.state.task_log import append_entry
from sow.state.places import find_task
folder = find_task(workspace, "010").folder
for number in range(10):
    entry = LogEntry("2026-01-31T12:00:00Z", f"agent-{sys.argv[1]}", f"step {number}",
                     text=f"text of {sys.argv[1]}. " * 200)
    append_entry(folder, entry)
"""

FOREVER = """
from sow.state.tasks import change_task
number = 0
while True:
    number += 1
    text = str(number) * 20_000
    change_task(workspace, "010", lambda _: {"metadata.a": text, "metadata.b": text}, now=number)
    print(number, flush=True)
"""


def finish(processes) -> None:
    for process in processes:
        process.communicate()
        assert process.returncode == 0


@pytest.mark.slow
def test_tasks_added_at_once_all_stand(workspace, script):
    phases = ["implementation", "design", "review"]
    finish([script(ADD, f"adder{number}", phases[number % 3]) for number in range(6)])
    tasks = list_tasks(workspace)
    assert [task.id for task in tasks] == [f"{number}0".zfill(3) for number in range(1, 31)]
    assert len({task.name for task in tasks}) == 30


@pytest.mark.slow
def test_no_update_is_lost(workspace, script):
    add_task(workspace, name="x", agent="implementer", now=NOON)
    finish([script(COUNT, str(number)) for number in range(6)])
    metadata = read_task(workspace, "010").metadata
    assert metadata.pop("count") == 60
    assert sorted(metadata) == [f"by-{number}" for number in range(6)]


@pytest.mark.slow
def test_twenty_log_writers_lose_no_entry_and_mix_none(workspace, script):
    add_task(workspace, name="x", agent="implementer", now=NOON)
    finish([script(LOG, str(number)) for number in range(20)])
    entries = read_entries(find_task(workspace, "010").log)
    assert sorted((entry.agent, entry.action) for entry in entries) == sorted(
        (f"agent-{writer}", f"step {number}") for writer in range(20) for number in range(10)
    )
    for entry in entries:
        assert entry.text == f"text of {entry.agent.removeprefix('agent-')}. " * 200


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_the_old_state_or_the_new(workspace, script):
    add_task(workspace, name="x", agent="implementer", now=NOON)
    path = find_task(workspace, "010").state
    dice = random.Random(7)
    reached = 0
    for _ in range(10):
        writer = script(FOREVER)
        for _ in range(dice.randint(1, 4)):
            assert writer.stdout.readline()
        deadline = time.monotonic() + dice.uniform(0.0, 0.03)
        while time.monotonic() < deadline:
            read_yaml(path.read_bytes(), TaskState, path=path)
        writer.kill()
        printed = writer.communicate()[0].split()
        task = read_task(workspace, "010")
        assert task.metadata["a"] == task.metadata["b"]
        number = int(task.metadata["a"][: len(task.metadata["a"]) // 20_000])
        assert number >= int(printed[-1] if printed else 1)
        reached = max(reached, number)
    assert reached > 1
    assert yaml.safe_load(path.read_bytes())["task"]["id"] == "010"


KILLED = """
import os, signal
from sow.state.tasks import change_task
def watch(event, arguments):
    if event == sys.argv[1] and str(arguments[0]).endswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
def change(task):
    sys.addaudithook(watch)
    return {"name": "new"}
change_task(workspace, "010", change, now=0)
"""


@pytest.mark.parametrize(
    ("event", "what", "name"),
    [
        ("open", ".tmp", "old"),
        ("os.chmod", "", "old"),
        ("os.rename", ".tmp", "old"),
        ("open", "run", "new"),
    ],
)
def test_a_writer_killed_at_this_very_step(workspace, script, event, what, name):
    add_task(workspace, name="old", agent="implementer", now=NOON)
    workspace.run.mkdir()  # where the new status is noted
    writer = script(KILLED, event, what)
    writer.communicate()
    assert writer.returncode == -signal.SIGKILL
    assert read_task(workspace, "010").name == name
    assert change_task(workspace, "010", lambda _: {"name": "next"}, now=NOON).name == "next"


@pytest.mark.slow
def test_readers_meet_only_whole_states(workspace, script):
    add_task(workspace, name="x", agent="implementer", now=NOON)
    writer = script(FOREVER)
    try:
        assert writer.stdout.readline()
        seen = set()
        deadline = time.monotonic() + 20
        while len(seen) < 20 and time.monotonic() < deadline:
            metadata = read_task(workspace, "010").metadata
            assert metadata["a"] == metadata["b"]
            seen.add(metadata["a"][:20])
        assert len(seen) == 20
    finally:
        writer.kill()
        writer.communicate()
