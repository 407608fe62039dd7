"""A clone seen through a git folder of our own: nothing that an agent wrote there acts."""

import os

import pytest
from clones.clone_site import make_hostile, make_site, plain, traces

from sow.git.identity import identity_of
from sow.git.inert_refs import UnsafeClone, read_head, read_ref, write_branch
from sow.git.private_view import index_of, private_view

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def exercise(view, commit, author):
    """Run what sow runs: each kind of command that could start a program of the clone's."""
    view.text("read-tree", commit)
    view.records("ls-files", "-z", "-m", "-o", "--exclude-standard")
    view.text("update-index", "--add", "-z", "--stdin", stdin=b"src/code.py\0new.txt\0b.more\0")
    view.answer("update-index", "-q", "--refresh")
    tree = view.text("write-tree")
    made = view.text("commit-tree", tree, "-p", commit, "-m", "Ours", variables=author)
    view.text("diff", "--no-ext-diff", "--no-textconv", "-p", commit, made)
    view.text("log", "-p", "-1", "--no-ext-diff", "--no-textconv", made)
    view.text("diff", "--no-ext-diff", "--no-textconv", commit)
    view.text("update-ref", "refs/heads/made", made)
    view.text("merge-tree", "--write-tree", commit, made)
    return made


def test_nothing_of_a_hostile_clone_acts(site, tmp_path):
    clone = site.clone
    (clone / "src" / "code.py").write_text("print(2)\n")
    (clone / "new.txt").write_text("new\n")
    (clone / "b.more").write_text("more\n")
    commit = site.tip
    folder = make_hostile(site, tmp_path / "traps")
    with private_view(clone, site.repository) as view:
        made = exercise(view, commit, identity_of(site.main))
        assert view.raw("cat-file", "blob", f"{made}:new.txt") == b"new\n"
    assert traces(folder) == []
    # the same traps do act where git trusts the clone
    plain(clone, "config", "--file", str(clone / ".git/config"), "--unset", "core.worktree")
    plain(clone, "add", "-A", accepted=range(256))
    plain(clone, "diff", commit, accepted=range(256))
    assert {"acted-clean", "acted-monitor"} <= set(traces(folder))


def test_another_working_tree_replaced_objects_and_grafts_are_not_seen(site):
    first = site.tip
    second = site.commit("file", "other\n")
    plain(site.clone, "replace", second, first)
    plain(site.clone, "config", "extensions.worktreeConfig", "true")
    (site.clone / ".git" / "info" / "grafts").write_text(f"{second}\n")
    (site.clone / ".git" / "shallow").write_text(f"{second}\n")
    with private_view(site.clone, site.repository) as view:
        assert view.raw("cat-file", "blob", f"{second}:file") == b"other\n"
        assert view.is_ancestor(first, second)
        assert view.text("rev-parse", "--show-toplevel") == str(site.clone)


def test_a_lying_commit_graph_is_not_read(site):
    first = site.tip
    second = site.commit("file", "other\n")
    plain(site.clone, "commit-graph", "write", "--reachable")
    path = site.clone / ".git" / "objects" / "info" / "commit-graph"
    path.chmod(0o644)
    path.write_bytes(b"CGPH" + os.urandom(200))
    with private_view(site.clone, site.repository) as view:
        assert view.is_ancestor(first, second)


@pytest.mark.parametrize(
    "name",
    [
        ".gitignore",
        "src/.gitattributes",
        "src/new/.gitignore",
        ".gitmodules",
        ".git/objects/pack/pack-1f.idx",
        ".git/objects/1f/2e3d",
    ],
)
def test_git_is_not_kept_waiting_by_a_pipe(site, name):
    path = site.clone / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with (
        pytest.raises(UnsafeClone, match="is neither a file nor a link") as refused,
        private_view(site.clone, site.repository) as view,
    ):
        view.records("ls-files", "-z", "-m", "-o", "--exclude-standard", seconds=2)
    assert refused.value.path == path


def test_a_link_to_a_pipe_is_read_by_nobody_and_other_pipes_are_no_obstacle(site):
    os.mkfifo(site.clone / "pipe")
    (site.clone / "src" / ".gitignore").symlink_to(site.clone / "pipe")
    (site.clone / ".git" / "objects" / "pack" / "nowhere.idx").symlink_to("nothing")
    with private_view(site.clone, site.repository) as view:
        view.text("read-tree", site.tip)
        words = ("ls-files", "-z", "-o", "--exclude-standard")
        assert view.records(*words, seconds=10) == ["src/.gitignore"]
    (site.clone / ".git" / "objects" / "pack" / "pipe.idx").symlink_to(site.clone / "pipe")
    with pytest.raises(UnsafeClone), private_view(site.clone, site.repository):
        pass


@pytest.mark.parametrize("name", [".git", ".git/objects", ".git/refs", ".git/objects/pack"])
def test_a_folder_that_is_a_link_is_refused(site, tmp_path, name):
    (site.clone / name).rename(tmp_path / "moved")
    (site.clone / name).symlink_to(tmp_path / "moved")
    with pytest.raises(UnsafeClone), private_view(site.clone, site.repository):
        pass


def test_a_clone_that_is_a_link_or_names_its_git_folder_is_refused(site, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(site.clone)
    with pytest.raises(UnsafeClone), private_view(link, site.repository):
        pass
    (site.clone / ".git").rename(tmp_path / "moved")
    (site.clone / ".git").write_text(f"gitdir: {tmp_path}/moved\n")
    with (
        pytest.raises(UnsafeClone, match="not a real folder"),
        private_view(site.clone, site.repository),
    ):
        pass


def test_objects_of_other_repositories_are_not_borrowed(site, tmp_path):
    plain(tmp_path, "init", "-q", "other")
    alternates = site.clone / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{tmp_path}/other/.git/objects\n")
    with pytest.raises(UnsafeClone, match="borrows"), private_view(site.clone, site.repository):
        pass
    alternates.write_text(f"{site.main}/.git/objects\n")
    with private_view(site.clone, site.repository) as view:
        assert view.commit_of(site.facts.base)
    alternates.unlink()
    os.mkfifo(alternates)
    with pytest.raises(UnsafeClone, match="regular"), private_view(site.clone, site.repository):
        pass


def test_what_an_agent_pruned_is_still_known_from_the_main_repository(site):
    later = site.commit("file", "later\n", where=site.main)
    with private_view(site.clone, site.repository, reads_main=True) as view:
        assert view.commit_of(later) == later


def test_the_clones_own_index_is_not_read(site):
    claims = b"DIRC" + (2).to_bytes(4, "big") + (0xFFFFFFFF).to_bytes(4, "big")
    (site.clone / ".git" / "index").write_bytes(claims + b"\0" * 100)
    with private_view(site.clone, site.repository) as view:
        view.text("read-tree", site.facts.base)
        assert "file" in view.records("ls-files", "-z")
        assert index_of(view).exists()
    assert (site.clone / ".git" / "index").read_bytes().startswith(claims)


def test_the_views_folder_ends_with_it(site):
    with private_view(site.clone, site.repository) as view:
        folder = index_of(view).parent
        assert folder.is_dir()
    assert not folder.exists()


def test_refs_are_read_as_git_reads_them(site):
    git_dir = site.clone / ".git"
    name = f"refs/heads/{site.facts.branch}"
    assert read_head(git_dir).branch == site.facts.branch
    assert read_head(git_dir).commit == read_ref(git_dir, name) == site.tip
    plain(site.clone, "pack-refs", "--all")
    assert not (git_dir / name).exists()
    assert read_ref(git_dir, name) == site.tip
    plain(site.clone, "checkout", "-q", "--detach")
    assert read_head(git_dir).branch is None
    assert read_head(git_dir).commit == site.tip
    plain(site.clone, "symbolic-ref", "refs/heads/other", name)
    assert read_ref(git_dir, "refs/heads/other") == site.tip
    plain(site.clone, "symbolic-ref", "refs/heads/round", "refs/heads/round")
    assert read_ref(git_dir, "refs/heads/round") is None
    (git_dir / "refs/heads/out").write_text("ref: refs/../../../etc/passwd\n")
    assert read_ref(git_dir, "refs/heads/out") is None
    (git_dir / "refs/heads/nonsense").write_text("0123\n")
    assert read_ref(git_dir, "refs/heads/nonsense") is None


def test_a_ref_is_written_in_the_clone_and_nowhere_else(site, tmp_path):
    commit = site.commit("file", "other\n")
    git_dir = site.clone / ".git"
    write_branch(git_dir, "sow/new/020", commit)
    assert plain(site.clone, "rev-parse", "sow/new/020") == commit
    (tmp_path / "elsewhere").mkdir()
    (git_dir / "refs/heads/linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeClone):
        write_branch(git_dir, "linked/030", commit)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    with pytest.raises(UnsafeClone, match="no branch named"):
        write_branch(git_dir, "../../HEAD", commit)
    target = tmp_path / "target"
    (git_dir / "refs/heads/link").symlink_to(target)
    write_branch(git_dir, "link", commit)
    assert not target.exists()
    os.mkfifo(git_dir / "refs/heads/pipe")
    with pytest.raises(UnsafeClone):
        read_ref(git_dir, "refs/heads/pipe")
    (git_dir / "refs/heads/large").write_bytes(b"0" * 5000)
    with pytest.raises(UnsafeClone, match="larger"):
        read_ref(git_dir, "refs/heads/large")


def test_branches_in_a_form_that_is_not_known_are_refused(site):
    (site.clone / ".git" / "reftable").mkdir()
    with pytest.raises(UnsafeClone, match="another form"):
        read_ref(site.clone / ".git", "refs/heads/main")
