"""What a person reads who asks for what is not there: each hint is true at that moment."""

from journeys.callers import good
from journeys.gitsite import git, make_repository
from journeys.site import Site, wait_until

SPAWN = ("agent", "spawn", "010")


def test_an_empty_list_does_not_tell_to_spawn_where_only_the_filter_found_nothing(
    site: Site,
) -> None:
    site.project("010")
    assert site.sow("job", "list").err == "No jobs. Queue one: sow agent spawn implementer 010\n"
    site.script([good()])
    site.sow(*SPAWN)
    assert site.sow("job", "list", "--active").err.startswith("No job runs or waits.")
    other = site.sow("job", "list", "--task", "990").err
    assert other.startswith("No job of task 990 is on record.")
    assert site.sow("task", "list", "--phase", "other").err.startswith(
        "No task of phase other is there."
    )


def test_a_cancel_of_a_task_that_there_is_not_says_so(site: Site) -> None:
    site.project("010")
    refused = site.sow("agent", "cancel", "990", expect=4)
    assert refused.err.startswith("Error: there is no task 990")


def test_output_of_an_attempt_that_there_was_not_is_refused(site: Site) -> None:
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN)
    for words in (("task", "output", "010"), ("job", "logs", "1")):
        refused = site.sow(*words, "--attempt", "7", expect=2)
        assert refused.err.startswith("Error: job 1 has no attempt 7: it has had 1")
        assert site.sow(*words, "--attempt", "1").out


def test_a_merge_is_not_named_while_there_is_no_branch_to_merge_into(site: Site) -> None:
    site.configure({"approve": "agents"})
    make_repository(site)
    git(site, "checkout", "--quiet", "--detach")
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN, "--clone")
    site.sow("review", "accept", "010", "--summary", "Good.")
    assert site.sow("next").out.startswith('git switch "<branch>"  # no branch is checked out;')
    git(site, "checkout", "--quiet", "main")
    assert site.sow("next").out.startswith("sow merge 010")


def test_a_command_that_meets_several_needs_is_named_once(site: Site) -> None:
    site.project("010", "020")
    (site.root / ".sow/config.yaml").write_text("checks: {unit: 'true', default: [unit]}\n")
    site.script([good()])
    site.script([good()], task="020")
    site.sow("batch", "run", "--check", "--detach")
    wait_until(lambda: len(held(site)) == 2)
    assert site.sow("next").out.count("sow trust") == 1


def held(site: Site) -> list[str]:
    return [job for job in site.sow("job", "list", "--json").json_lines if job["state"] == "held"]
