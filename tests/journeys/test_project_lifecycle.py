"""A project's life with a true worker: the review of the whole, checks, and an end that waits."""

from journeys.gitsite import commit, make_repository
from journeys.site import Site, wait_until

from sow.state.task_log import read_entries


def reach_review(site: Site) -> None:
    """Bring a standard project of one task to where the whole is judged."""
    make_repository(site)
    (site.root / ".gitignore").write_text(".standin/\n")
    for words in (
        ("init",),
        ("project", "new", "Sign-in"),
        ("task", "add", "One", "--agent", "implementer"),
        ("approve", "plan"),
        ("advance",),
        ("agent", "spawn", "010"),
        ("task", "set", "010", "status", "completed"),
        ("advance",),
    ):
        assert site.sow(*words).code == 0, words


def test_the_whole_is_reviewed_by_an_agent_and_checked(site: Site) -> None:
    site.configure({"approve": "agents"})
    reach_review(site)
    settings = "reviews: required\nchecks: {unit: echo hello, default: [unit]}\n"
    (site.root / ".sow/config.yaml").write_text(settings)
    assert site.sow("trust", "--yes").code == 0
    accepts = {"sow": ["review", "accept", "--project", "--summary", "It fits together."]}
    site.script([[accepts]], task="020")
    reviewed = site.sow("agent", "review", "--project", "--json").json
    assert (reviewed["task"], reviewed["status"], reviewed["agent"]) == (
        *("020", "completed"),
        "reviewer",
    )
    project = site.sow("project", "status", "--json").json
    assert (project["review"]["verdict"], project["review"]["by"]) == ("accepted", "reviewer")
    assert site.sow("advance").code == 0
    assert site.sow("next").out.startswith("sow project check")
    assert site.sow("project", "check").code == 0
    project = site.sow("project", "status", "--json").json
    assert (project["check"]["passed"], project["check"]["names"]) == (True, ["unit"])
    assert site.sow("advance", "--json").json["state"] == "completed"
    assert site.sow("project", "finish").code == 0
    assert not (site.root / ".sow/project").exists()


def test_a_review_of_the_whole_without_a_verdict_is_told_and_exits_with_1(site: Site) -> None:
    site.configure({"approve": "agents"})
    reach_review(site)
    accepts = {"sow": ["review", "accept", "--project", "--summary", "Good."]}
    looks = {"sow": ["agent", "log", "Looked at it"]}
    site.script([[looks], [looks], [accepts]], task="020")
    ended = site.sow("agent", "review", "--project", expect=1)
    assert "the reviewer ended without a verdict" in ended.out
    assert "sow review accept --project" in ended.err
    second = site.sow("agent", "review", "--project")
    assert second.out.startswith("020 completed")
    assert second.out.endswith("  The project is accepted, says reviewer: Good.\n")


def test_no_review_of_the_whole_is_begun_for_a_preview_or_by_a_wrong_budget(
    site: Site,
) -> None:
    site.configure({"approve": "agents"})
    reach_review(site)
    refused = site.sow("agent", "review", "--project", "--dry-run", expect=2)
    assert "--project makes a task first" in refused.err
    site.sow("agent", "review", "--project", "--budget", "much", expect=2)
    assert [task["task"] for task in site.sow("task", "list", "--json").json_lines] == ["010"]
    accepts = {"sow": ["review", "accept", "--project", "--summary", "Good."]}
    site.script([[accepts]], task="020")
    site.sow("agent", "review", "--project", "--budget", "time=2h")


def test_by_default_an_agents_verdict_waits_for_a_persons(site: Site) -> None:
    site.configure({"approve": "agents"})
    reach_review(site)
    site.configure({"approve": "people"})
    accepts = {"sow": ["review", "accept", "--project", "--summary", "Good."]}
    site.script([[accepts]], task="020")
    assert site.sow("agent", "review", "--project").code == 0
    refused = site.sow("advance", "finalize", expect=4)
    assert "an agent has accepted the project, but a person must accept it too" in refused.err


def test_a_reviewer_that_changes_the_work_gives_no_verdict(site: Site) -> None:
    site.configure({"approve": "agents"})
    reach_review(site)
    changes = [
        {"write": ["changed.txt", "x"]},
        {"sow": ["review", "accept", "--project", "--summary", "Good."]},
        {"sow": ["task", "set", "status", "failed"]},
    ]
    site.script([changes], task="020")
    site.sow("agent", "review", "--project", expect=1)
    assert site.sow("project", "status", "--json").json["review"] is None
    first, second, _ = site.sow("next", "--json").json_lines
    assert first["command"].startswith("sow agent review --project")
    assert "a review has ended without a verdict: `sow task log 020`" in first["why"]
    assert second["command"].startswith("sow review accept --project")

    site.script([[{"write": ["changed.txt", "y"]}, *changes[1:]]], task="030")
    site.sow("agent", "review", "--project", expect=1)
    commands = [line["command"] for line in site.sow("next", "--json").json_lines]
    starts = ("sow review accept --project", "sow review correct --project")
    assert all(map(str.startswith, commands, starts)), commands
    assert len(commands) == len(starts)
    site.sow("review", "accept", "--project", "--summary", "Seen by myself.")
    assert site.sow("next", "--json").json_lines[0]["command"] == "sow advance"


def test_an_orchestrator_that_ends_its_own_project_is_let_finish_first(site: Site) -> None:
    site.project("010")
    site.configure({"agents": {"executors": {"claude-code": {"settings": {"yolo_mode": True}}}}})
    site.script(
        [[{"sow": ["project", "abandon"]}, {"sow": ["task", "set", "status", "completed"]}]],
        task="010",
    )
    site.sow("task", "set", "010", "assigned_agent", "orchestrator")
    assert site.sow("agent", "spawn", "010").code == 0
    wait_until(lambda: not (site.root / ".sow/project").exists(), "the project is ended")
    (archived,) = site.sow("project", "list", "--json").json_lines
    assert archived["ended"] == "abandoned"
    log = read_entries(site.root / archived["folder"] / "log.md")
    assert any(entry.action == "Project abandoned" for entry in log)


def test_after_corrections_a_second_review_counts_and_the_first_does_not(site: Site) -> None:
    """`.sow` is tracked here: a verdict outlives being committed."""
    site.configure({"approve": "agents"})
    reach_review(site)
    findings = site.base / "findings.md"
    findings.write_text("The second half is missing.\n")
    corrects = {"sow": ["review", "correct", "--project", "--file", str(findings)]}
    site.script([[corrects]], task="020")
    assert site.sow("agent", "review", "--project", "--json").json["task"] == "020"
    assert site.sow("project", "status", "--json").json["review"]["verdict"] == "corrections"
    commit(site, "corrections are asked for")
    assert "sow advance correct" in site.sow("advance", "finalize", expect=4).err
    assert site.sow("advance", "--json").json["iteration"] == 2
    project = site.sow("project", "status", "--json").json
    assert (project["state"], project["review"], project["plan"]) == ("planning", None, None)
    (note,) = site.sow("feedback", "list", "--json").json_lines
    assert (note["text"], note["status"]) == ("The second half is missing.", "open")
    refused = site.sow("advance", expect=4).err
    assert "there is a task that has not ended" in refused
    assert "the plan is not approved in its current form" in refused
    for words in (
        ("task", "add", "Two", "--agent", "implementer"),
        ("approve", "plan"),
        ("advance",),
        ("agent", "spawn", "030"),
        ("task", "set", "030", "status", "completed"),
        ("advance",),
    ):
        site.sow(*words)
    assert "nobody has reviewed the project yet" in site.sow("advance", "finalize", expect=4).err
    accepts = {"sow": ["review", "accept", "--project", "--summary", "Both halves are there."]}
    site.script([[accepts]], task="040")
    second = site.sow("agent", "review", "--project", "--json").json
    assert (second["task"], second["status"]) == ("040", "completed")
    commit(site, "the project is accepted")
    assert site.sow("advance", "--json").json["state"] == "finalizing"
    assert site.sow("next").out.startswith("sow feedback settle 001")
    site.sow("feedback", "settle", "001")
    commit(site, "settled")
    assert site.sow("advance", "--json").json["state"] == "completed"
    site.sow("project", "finish")
