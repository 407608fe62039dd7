"""`clones.copy`: which files go along, with which rights, and what never does."""

import os
import stat

import pytest
from clones.clone_site import plain
from clones.making_site import commit, make_home

from sow.clones.copying import copy_files, files_to_copy


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    for path in (".env", "config/a.local", "config/b.txt", "deep/er/c.local", "certs/k/key.pem"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    for path in (".git/config.local", ".sow/run/x.local", "deep/.git/y.local"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("not ours to copy")
    return folder


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        (".env", [".env"]),
        ("./.env", [".env"]),
        ("config/*.local", ["config/a.local"]),
        ("config/?.txt", ["config/b.txt"]),
        ("**/*.local", ["config/a.local", "deep/er/c.local"]),
        ("deep/**", ["deep/er/c.local"]),
        ("certs", ["certs/k/key.pem"]),
        ("c*/[ak]*", ["certs/k/key.pem", "config/a.local"]),
    ],
)
def test_which_files_a_pattern_means(root, pattern, paths):
    assert files_to_copy(root, [pattern]) == (paths, [])


def test_a_pattern_that_fits_nothing_is_told(root):
    assert files_to_copy(root, ["*.nothing"]) == ([], ["clones.copy: no file matches '*.nothing'"])
    paths, notes = files_to_copy(root, ["../x", "/etc/passwd"])
    assert paths == []
    assert len(notes) == 2


def test_links_are_told_and_never_followed(root, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.local").write_text("secret")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "loop").symlink_to(root)
    (root / "config" / "link.local").symlink_to(tmp_path / "secret" / "key.local")
    os.mkfifo(root / "config" / "pipe.local")
    paths, notes = files_to_copy(root, ["**/*.local", "out", "out/key.local", "loop/.env"])
    assert paths == ["config/a.local", "deep/er/c.local"]
    assert sorted(notes) == [
        "clones.copy: config/link.local is a symbolic link, so it was not copied",
        "clones.copy: config/pipe.local is not a regular file, so it was not copied",
        "clones.copy: loop is a symbolic link, so it was not copied",
        "clones.copy: out is a symbolic link, so it was not copied",
    ]


def test_modes_are_kept_and_nothing_else_is_written(root, tmp_path):
    (root / ".env").chmod(0o600)
    (root / "config/b.txt").chmod(0o755)
    (root / "config/a.local").chmod(0o6755)
    top = tmp_path / "clone"
    top.mkdir()
    copied = copy_files(root, top, "part", [".env", "config"])
    assert copied.paths == ("part/.env", "part/config/a.local", "part/config/b.txt")
    assert copied.notes == ()
    modes = {p: stat.S_IMODE((top / "part" / p).stat().st_mode) for p in (".env", "config/b.txt")}
    assert modes == {".env": 0o600, "config/b.txt": 0o755}
    assert stat.S_IMODE((top / "part/config/a.local").stat().st_mode) == 0o755
    assert (top / "part/.env").read_text() == ".env"


def test_a_link_in_the_clone_leads_no_copy_out_of_it(root, tmp_path):
    top = tmp_path / "clone"
    top.mkdir()
    (tmp_path / "outside").mkdir()
    (top / "config").symlink_to(tmp_path / "outside")
    (top / ".env").symlink_to(tmp_path / "outside" / "env")
    copied = copy_files(root, top, "", ["config/a.local", ".env"])
    assert copied.paths == ()
    assert len(copied.notes) == 2
    assert list((tmp_path / "outside").iterdir()) == []


def test_copied_files_are_in_the_clone_and_git_leaves_them_alone(tmp_path):
    home = make_home(tmp_path).with_settings(copy=(".env", "odd *name", "file", "excluded"))
    (home.top / ".env").write_text("KEY=1\n")
    (home.top / ".env").chmod(0o600)
    (home.top / "odd *name").write_text("x")
    (home.top / "excluded").write_text("x")
    (home.top / ".git/info/exclude").write_text("excluded")
    commit(home.top, ".gitignore", "nothing\n")
    made = home.make()
    path = home.place().path
    assert (path / ".env").read_text() == "KEY=1\n"
    assert stat.S_IMODE((path / ".env").stat().st_mode) == 0o600
    assert made.mark.copied == (".env", "excluded", "odd *name")
    assert made.notes == (
        "clones.copy: file was not copied: git tracks it, so the clone already has it",
    )
    assert plain(path, "status", "--porcelain") == ""
    (path / "odd name").write_text("not copied")
    assert plain(path, "status", "--porcelain") == '?? "odd name"'
