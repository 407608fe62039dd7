"""`sow refs add`, `list` and `init`: fetched once, linked, and the index says what."""

import json
import os

import pytest
from refs.ref_site import RefSite, cached_folders
from refs.remotes import Remote

from sow.git.run import git
from sow.refs import adding

pytestmark = pytest.mark.slow


def test_a_repository_is_fetched_and_linked(site: RefSite, remote: Remote) -> None:
    ended = site.good("refs", "add", remote.url)
    assert f"Reference style added: linked at .sow/refs/style ({remote.head[:12]})" in ended.out
    assert (site.link("style") / "docs/style.md").read_text() == "Be brief.\n"
    assert site.link("style").is_symlink()
    assert "id: style" in site.index.read_text()
    assert remote.url in site.index.read_text()
    assert remote.head not in site.index.read_text()


def test_who_comes_second_is_told_that_it_is_there_already(
    site: RefSite, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.good("refs", "add", remote.url)
    index = site.index.read_bytes()
    site.index.unlink()
    bring = adding.bring_reference

    def bring_slowly(*arguments: object, **more: object) -> object:
        brought = bring(*arguments, **more)
        site.index.write_bytes(index)  # somebody has added it meanwhile
        return brought

    monkeypatch.setattr(adding, "bring_reference", bring_slowly)
    assert site.json("refs", "add", remote.url)["is_new"] is False
    assert site.index.read_bytes() == index


def test_the_same_again_is_one_reference(site: RefSite, remote: Remote) -> None:
    site.good("refs", "add", remote.url)
    before = site.index.read_bytes()
    again = site.json("refs", "add", str(remote.path))
    assert again["is_new"] is False
    assert site.index.read_bytes() == before
    assert len(cached_folders()) == 1
    printed = site.good("refs", "add", remote.url, "--description", "Another").err
    assert "its entry was not changed" in printed
    assert site.index.read_bytes() == before
    assert "its entry was not changed" not in site.good("refs", "add", remote.url).err


def test_two_repositories_share_what_was_fetched(site: RefSite, remote: Remote, tmp_path) -> None:
    other = RefSite.begun(tmp_path / "other")
    site.good("refs", "add", remote.url)
    other.good("refs", "add", remote.url, "--id", "house-style")
    assert len(cached_folders()) == 1
    assert site.link("style").readlink() == other.link("house-style").readlink()


def test_a_folder_of_it_is_linked_alone(site: RefSite, remote: Remote) -> None:
    view = site.json("refs", "add", remote.url, "--path", "docs/", "--id", "rules")
    assert [path.name for path in site.link("rules").iterdir()] == ["style.md"]
    assert (view["path"], view["commit"]) == ("docs", remote.head)


def test_the_default_id_of_a_folder_names_it(site: RefSite, remote: Remote) -> None:
    assert site.json("refs", "add", remote.url, "--path", "docs")["reference"] == "style-docs"


def test_a_branch_and_a_tag_are_followed(site: RefSite, remote: Remote) -> None:
    first = remote.head
    remote.git("tag", "-a", "v1", "-m", "The first")
    remote.git("branch", "old")
    remote.write("README.md", "Second.\n")
    second = remote.commit("Second")
    assert site.json("refs", "add", remote.url, "--tag", "v1", "--id", "a")["commit"] == first
    assert site.json("refs", "add", remote.url, "--branch", "old", "--id", "b")["commit"] == first
    assert site.json("refs", "add", remote.url)["commit"] == second


def test_it_may_be_found_by_words(site: RefSite, remote: Remote) -> None:
    words = ("--kind", "code", "--tags", "style,docs", "--description", "How we write.")
    view = site.json("refs", "add", remote.url, *words, "--summary", "Rules.")
    assert view["kind"] == "code"
    assert view["tags"] == ["style", "docs"]
    assert (view["description"], view["summary"]) == ("How we write.", "Rules.")
    (listed,) = site.lines("refs", "list")
    assert listed == {key: value for key, value in view.items() if key != "is_new"}


@pytest.mark.parametrize(
    "words",
    [("--branch", "none"), ("--tag", "none"), ("--path", "none"), ("--path", "README.md")],
    ids=" ".join,
)
def test_what_is_not_there_changes_nothing(site: RefSite, remote: Remote, words) -> None:
    ended = site.sow("refs", "add", remote.url, *words)
    assert ended.code == 4
    assert "none" in ended.err or "README.md" in ended.err
    assert not site.index.exists()
    assert cached_folders() == []


def test_an_id_and_a_link_belong_to_one(site: RefSite, remote: Remote, tmp_path) -> None:
    other = Remote.begun(tmp_path / "remotes" / "other")
    site.good("refs", "add", remote.url)
    for words in (("--id", "style"), ("--link", "style")):
        ended = site.sow("refs", "add", other.url, *words)
        assert (ended.code, "belongs to another" in ended.err) == (4, True)
    assert [each["reference"] for each in site.lines("refs", "list")] == ["style"]


def test_comments_in_the_index_stay(site: RefSite, remote: Remote) -> None:
    site.good("refs", "add", remote.url)
    text = site.index.read_text().replace("- id:", "# Ours.\n- id:", 1)
    site.index.write_text(text)
    site.good("refs", "add", remote.url, "--id", "second")
    assert "# Ours." in site.index.read_text()
    assert len(site.lines("refs", "list")) == 2


def test_git_sees_the_index_alone(site: RefSite, remote: Remote) -> None:
    site.good("refs", "add", remote.url)
    git(site.root, "add", "-A")
    tracked = git(site.root, "ls-files", ".sow/refs")
    assert tracked == ".sow/refs/index.yaml"


def test_a_fresh_clone_gets_its_links_back(site: RefSite, remote: Remote, tmp_path) -> None:
    site.good("refs", "add", remote.url)
    git(site.root, "add", "-A")
    git(site.root, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "References")
    git(tmp_path, "-c", "protocol.file.allow=always", "clone", "-q", str(site.root), "fresh")
    fresh = RefSite(tmp_path / "fresh")
    assert [each["presence"] for each in fresh.lines("refs", "list")] == ["missing"]
    assert "style: linked at .sow/refs/style" in fresh.good("refs", "init").out
    assert (fresh.link("style") / "README.md").read_text() == "Read me.\n"
    assert "style: is linked already" in fresh.good("refs", "init").out


def test_what_the_machine_has_is_linked_offline(site: RefSite, remote: Remote) -> None:
    site.good("refs", "add", remote.url)
    site.link("style").unlink()
    remote.path.rename(remote.path.with_name("gone"))
    assert json.loads(site.good("refs", "init", "--json").out)["result"] == "linked"
    assert "style: is linked already (" in site.good("refs", "init").out
    assert (site.link("style") / "README.md").exists()


def test_a_folder_that_came_since_this_machine_has_asked_is_fetched(
    site: RefSite, remote: Remote
) -> None:
    """A teammate has added the second reference on another machine, for a folder that is new."""
    site.good("refs", "add", remote.url)
    remote.write("docs/new/plan.md", "Later.\n")
    remote.commit("A folder")
    entry = f"- id: plans\n  source: {remote.url}\n  link: plans\n  path: docs/new\n"
    site.index.write_text(site.index.read_text() + entry)
    assert "plans: linked at .sow/refs/plans" in site.good("refs", "init").out
    assert (site.link("plans") / "plan.md").read_text() == "Later.\n"


def test_one_that_cannot_be_fetched_keeps_no_other_from_it(
    site: RefSite, remote: Remote, tmp_path
) -> None:
    other = Remote.begun(tmp_path / "remotes" / "other")
    site.good("refs", "add", other.url)
    site.good("refs", "add", remote.url)
    for folder in cached_folders():
        folder.rename(tmp_path / folder.name)
    other.path.rename(other.path.with_name("gone"))
    ended = site.sow("refs", "init")
    assert ended.code == 1
    assert "other: " in ended.err
    assert "cannot be reached" in ended.err
    assert "style: linked" in ended.out


def test_a_server_that_sends_everything_will_do(site: RefSite, remote: Remote) -> None:
    remote.git("config", "uploadpack.allowFilter", "false")
    site.good("refs", "add", remote.url)
    assert (site.link("style") / "docs/style.md").read_text() == "Be brief.\n"


def test_only_the_contents_that_are_linked_are_fetched(site: RefSite, remote: Remote) -> None:
    site.good("refs", "add", remote.url, "--path", "docs")
    (folder,) = cached_folders()
    environ = {**os.environ, "GIT_DIR": str(folder / "repository.git"), "GIT_NO_LAZY_FETCH": "1"}
    there = git(folder, "cat-file", "--batch-check", "--batch-all-objects", environ=environ)
    assert remote.blob("Be brief.\n") in there
    assert remote.blob("Read me.\n") not in there


def test_init_of_a_workspace_links_what_is_missing(site: RefSite, remote: Remote) -> None:
    site.good("refs", "add", remote.url)
    site.link("style").unlink()
    assert "style: linked at .sow/refs/style" in site.good("init").out
    assert site.json("init")["references"][0]["result"] == "stood"
    for folder in cached_folders():
        folder.rename(remote.path.with_name("elsewhere"))
    remote.path.rename(remote.path.with_name("gone"))
    ended = site.good("init")
    assert "cannot be reached" in ended.out
    assert "(then: sow refs init)" in ended.out
