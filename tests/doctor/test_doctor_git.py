"""What the doctor says of the repository's git."""

import subprocess

import pytest
from doctor.clinic import Clinic
from journeys.gitsite import git, make_repository

pytestmark = pytest.mark.slow


def test_a_name_that_git_does_not_know_is_told_and_the_remedy_helps(clinic: Clinic) -> None:
    make_repository(clinic.site)
    clinic.site.project("010")
    assert [each for each in clinic.findings() if each["check_name"] == "identity"] == []

    git(clinic.site, "config", "--unset", "user.name")
    found = clinic.finding("identity")
    assert found["level"] == "warning"
    assert "sow commits as sow <sow@localhost>" in found["text"]

    given = {"GIT_AUTHOR_NAME": "Me", "GIT_AUTHOR_EMAIL": "me@example.org"}
    assert [each for each in clinic.findings(**given) if each["check_name"] == "identity"] == []
    (name, address) = found["remedy"].splitlines()
    for command in (name, address):
        words = command.strip("`").replace('"Your Name"', "Me").split()
        git(clinic.site, *words[1:2], *words[3:])
    assert [each for each in clinic.findings() if each["check_name"] == "identity"] == []


def test_a_partial_clone_is_told_with_its_remote(clinic: Clinic) -> None:
    site = clinic.site
    make_repository(site)
    clinic.site.project("010")
    assert [each for each in clinic.findings() if each["check_name"] == "partial"] == []
    git(site, "config", "uploadpack.allowFilter", "true")
    site.root.rename(site.base / "origin")
    words = ("clone", "-q", "--filter=blob:none", f"file://{site.base}/origin", str(site.root))
    subprocess.run(["git", *words], check=True)
    (site.base / "origin/.sow").rename(site.root / ".sow")
    found = clinic.finding("partial")
    assert found["level"] == "note"
    assert "from origin" in found["text"]
