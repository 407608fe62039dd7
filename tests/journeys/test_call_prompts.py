"""The words of a call: arguments, standard input, files, and bad bytes (DESIGN, "The call")."""

from pathlib import Path

import pytest
from journeys.callers import all_jobs, await_end, gate, good, killed_caller, open_gate
from journeys.site import Site
from standins import read_runs

SPAWN = ("agent", "spawn", "implementer", "010")
RESUME = ("agent", "resume", "010")
WORDS = "Use RS256.\n\n---\nNot HS256: “süß” ≠ $HOME `id` %s {task}\n"


@pytest.fixture
def reviewed(site: Site) -> Site:
    """A task that has a session to resume."""
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN)
    return site


def resumed_with(site: Site) -> str:
    """Return what the agent got when it was resumed."""
    return read_runs(site.root)[-1].prompt


def log_of(site: Site) -> str:
    return (site.task_folder("010") / "log.md").read_text()


def test_a_prompt_of_standard_input(reviewed: Site) -> None:
    """Prompt `-` reads stdin."""
    reviewed.sow(*RESUME, "-", stdin=WORDS)
    assert WORDS.strip() in resumed_with(reviewed)
    assert all_jobs(reviewed)[-1].prompt == WORDS
    assert "Not HS256: “süß” ≠ $HOME" in log_of(reviewed)


def test_a_prompt_of_a_file(reviewed: Site) -> None:
    """`--file F` a file."""
    (reviewed.root / "answer.md").write_text(WORDS)
    reviewed.sow(*RESUME, "--file", "answer.md")
    assert WORDS.strip() in resumed_with(reviewed)


def test_a_prompt_never_stands_in_the_agents_argv(reviewed: Site) -> None:
    reviewed.sow(*RESUME, "Mind the gap-4711.")
    run = read_runs(reviewed.root)[-1]
    assert "gap-4711" in run.prompt
    assert not any("gap-4711" in word for word in run.argv)


def test_a_prompt_that_looks_like_a_command_of_the_cli_is_none(reviewed: Site) -> None:
    """It never starts with `/`."""
    reviewed.sow(*RESUME, "/clear")
    assert "/clear" in resumed_with(reviewed)
    assert resumed_with(reviewed)[0] != "/"


def test_a_spawns_words_come_after_the_tasks_own(site: Site) -> None:
    """… the task prompt, and any `--prompt`."""
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN, "--prompt", WORDS)
    (run,) = read_runs(site.root)
    assert run.prompt.endswith(f"\n\n{WORDS.strip()}\n")
    assert run.prompt.index("Execute task 010") < run.prompt.index("Use RS256.")


@pytest.mark.one_of
@pytest.mark.parametrize("way", ["stdin", "file"])
def test_a_prompt_of_1_mb(reviewed: Site, way: str) -> None:
    """It reaches agent and log whole; the same call is known by it."""
    words = "".join(f"line {number} of many\n" for number in range(60_000))
    assert len(words) > 1_000_000
    (reviewed.root / "long.md").write_text(words)
    call = (*RESUME, "-") if way == "stdin" else (*RESUME, "--file", "long.md")
    reviewed.sow(*call, stdin=words if way == "stdin" else None)
    assert words.strip() in resumed_with(reviewed)
    assert "line 59999 of many" in log_of(reviewed)
    assert all_jobs(reviewed)[-1].prompt == words


def test_a_long_prompt_is_compared_whole(reviewed: Site) -> None:
    """One letter at its end makes it another call."""
    words = "x" * 200_000
    reviewed.script([good(), good(gate("go")), good()])
    (reviewed.root / "long.md").write_text(words)
    killed_caller(reviewed, *RESUME, "--file", "long.md")
    refused = reviewed.sow(*RESUME, "-", stdin=words + "y", expect=4)
    assert "job 2" in refused.err
    open_gate(reviewed, "go")
    await_end(reviewed, "010")
    assert reviewed.sow(*RESUME, "-", stdin=words).out.startswith("outcome of job 2")


NO_PROMPTS: tuple[tuple[tuple[str, ...], str | None, str], ...] = (
    ((), None, "needs one prompt"),
    (("Go on.", "--file", "answer.md"), None, "needs one prompt"),
    (("",), None, "the prompt is empty"),
    ((" \n\t",), None, "the prompt is empty"),
    (("-",), "", "the prompt is empty"),
    (("-",), "\n\n", "the prompt is empty"),
    (("--file", "empty.md"), None, "the prompt is empty"),
    (("--file", "nowhere.md"), None, "nowhere.md"),
    (("--file", "."), None, "directory"),
    (("--file", "latin.md"), None, "the prompt is not UTF-8"),
)


def test_what_is_no_prompt_is_a_usage_error(reviewed: Site) -> None:
    (reviewed.root / "answer.md").write_text("Go on.")
    (reviewed.root / "empty.md").touch()
    (reviewed.root / "latin.md").write_bytes("süß".encode("latin-1"))
    before = log_of(reviewed)
    for words, stdin, message in NO_PROMPTS:
        refused = reviewed.sow(*RESUME, *words, stdin=stdin, expect=2)
        assert message in refused.err, words
        assert (len(all_jobs(reviewed)), log_of(reviewed)) == (1, before), words
        assert reviewed.task("010")["status"] == "needs_review", words


def test_standard_input_that_is_not_utf_8_is_refused(reviewed: Site) -> None:
    with Path(reviewed.root, "latin.md").open("wb") as file:
        file.write(b"s\xfc\xdf")
    with Path(reviewed.root, "latin.md").open("rb") as stdin:
        caller = reviewed.start(*RESUME, "-", stdin=stdin)
        _, err = caller.communicate(timeout=240)
    assert caller.returncode == 2
    assert "the prompt is not UTF-8" in err


def test_bytes_of_an_argument_that_are_no_utf_8_are_replaced(site: Site) -> None:
    """As in every text that sow takes from a command line: U+FFFD stands for them."""
    site.project("010")
    site.script([good()])
    spawned = site.sow(*SPAWN, "--prompt", "s\udcfc\udcdf", expect=None)
    assert spawned.code == 0, spawned.err
    assert "s��" in read_runs(site.root)[0].prompt
    resumed = site.sow(*RESUME, "again: s\udcfc\udcdf", expect=None)
    assert resumed.code == 0, resumed.err
    assert "again: s��" in resumed_with(site)
    assert "again: s��" in log_of(site)
