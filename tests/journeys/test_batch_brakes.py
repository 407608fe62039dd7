"""A batch pauses by itself where every task fails alike, and goes on when somebody has helped."""

from journeys.batch_site import COMPLETES, accept_by_check, actions, author, of_batch, repository
from journeys.site import Site

TASKS = ("010", "020", "030", "040", "050")


def test_a_key_that_is_refused_pauses_the_batch_and_a_resume_goes_on(site: Site) -> None:
    site.configure({"worker": {"concurrency": 1}})
    site.project(*TASKS)
    accept_by_check(site)
    for task in TASKS:
        site.script([[{"not_logged_in": True}], COMPLETES], task)
    first = site.sow("batch", "run", expect=1)
    assert (
        "Batch 1 is paused (jobs 1, 2, 3 failed for the same reason: the CLI is not logged in"
        in first.out
    )
    assert "To continue it: sow batch resume 1" in first.out
    begun = [job.id for job in of_batch(site) if job.started_at is not None]
    assert begun == [1, 2, 3], "the brake holds before the next one begins"
    for task in TASKS:
        site.script([COMPLETES], task)
    site.sow("batch", "resume")
    done = site.sow("batch", "run", "--json").json
    assert (done["state"], done["counts"]) == ("over", {"done": 5})


def test_a_check_that_is_red_on_the_base_as_well_pauses_the_batch(site: Site) -> None:
    repository(site, *TASKS[:3], checks="test -e nowhere")
    for task in TASKS[:3]:
        site.script([author(f"echo {task} >file")], task)
    done = site.sow("batch", "run", "--check", "--accept", "check", "--json", expect=1).json
    assert done["state"] == "paused"
    assert "they also fail on the commit from which task" in done["reason"]
    on_base = [job for job in of_batch(site) if job.batch_deed == "check_base"]
    assert len(on_base) == 1
    assert site.task(on_base[0].task_id)["check"]["passed"] is False


def test_checks_that_are_red_by_their_authors_doing_pause_nothing(site: Site) -> None:
    repository(site, *TASKS[:3], checks="! grep -q bad file")
    for task in TASKS[:3]:
        site.script([author("echo bad >file"), author(f"echo {task} >file")], task)
    done = site.sow("batch", "run", "--check", "--accept", "check", "--json").json
    assert done["counts"] == {"done": 3}
    looked = [task for task in TASKS[:3] if "check_base" in actions(site, task)]
    assert len(looked) <= 1, "once for the row"
