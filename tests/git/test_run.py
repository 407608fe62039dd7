"""Git as sow runs it: nothing of a repository acts by itself, nothing is asked, all has an end."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sow.faults import passing_fault
from sow.git import repository as repositories
from sow.git.git_errors import (
    LONGEST_QUOTE,
    GitMissing,
    GitRefused,
    GitTookTooLong,
    GitTooOld,
    NoRepository,
    git_fault_passes,
    quote_of,
)
from sow.git.identity import identity_of, is_unknown
from sow.git.repository import refuse_old_git, repository_of
from sow.git.run import git, git_environment, git_into_git
from sow.git.view import view_of


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "a repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "A Person")
    git(folder, "config", "user.email", "person@example.org")
    (folder / "file").write_text("first\n")
    git(folder, "add", "file")
    git(folder, "commit", "-q", "-m", "First")
    return folder


def acting(folder: Path, name: str) -> Path:
    """Make a program that leaves a trace when it is run."""
    program = folder / name
    program.write_text(f"#!/bin/sh\ntouch '{folder}/acted-{name}'\ncat\nexit 0\n")
    program.chmod(0o755)
    return program


def test_a_repository_is_found_from_anywhere_in_its_working_tree(repository):
    (repository / "inner").mkdir()
    found = repository_of(repository / "inner")
    assert (found.top, found.branch, found.is_shallow) == (repository, "main", False)
    assert found.git_dir == found.common_dir == repository / ".git"
    assert found.commit == git(repository, "rev-parse", "HEAD")


def test_a_branch_may_be_called_like_a_tag_and_head_may_be_detached(repository):
    git(repository, "tag", "main")
    assert repository_of(repository).branch == "main"
    git(repository, "checkout", "-q", "--detach")
    assert repository_of(repository).branch is None


def test_a_working_tree_beside_the_first_shares_its_branches(repository, tmp_path):
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    found = repository_of(tmp_path / "other")
    assert (found.top, found.branch) == (tmp_path / "other", "other")
    assert found.common_dir == repository / ".git" != found.git_dir


def test_gits_own_folder_is_refused(repository):
    with pytest.raises(NoRepository, match="git's own folder"):
        repository_of(repository / ".git")


@pytest.mark.parametrize(
    ("name", "address", "author"),
    [
        ("Ä Person", "person@example.org", "Ä Person <person@example.org>"),
        ("Two\nlines", "person@example.org", "Two\nlines <person@example.org>"),
        ("", "person@example.org", "sow <sow@localhost>"),
        ("A Person", None, "sow <sow@localhost>"),
    ],
)
def test_the_author_is_the_user_or_sow_where_git_knows_no_name(
    tmp_path, monkeypatch, name, address, author
):
    monkeypatch.setenv("HOME", str(tmp_path))
    git(tmp_path, "init", "-q", "repository")
    (tmp_path / ".gitconfig").write_text("[user]\n  name = Another\n")
    folder = tmp_path / "repository"
    git(folder, "config", "user.name", name)
    if address is not None:
        git(folder, "config", "user.email", address)
    found = identity_of(folder)
    assert f"{found['GIT_AUTHOR_NAME']} <{found['GIT_AUTHOR_EMAIL']}>" == author


PERSON = {"GIT_AUTHOR_NAME": "Me", "GIT_AUTHOR_EMAIL": "me@example.org"}


@pytest.mark.parametrize(
    ("environ", "author", "committer"),
    [
        (PERSON, "Me <me@example.org>", "Me <me@example.org>"),
        (
            {**PERSON, "GIT_COMMITTER_NAME": "Bot", "GIT_COMMITTER_EMAIL": "bot@example.org"},
            "Me <me@example.org>",
            "Bot <bot@example.org>",
        ),
        (
            {"GIT_AUTHOR_NAME": "Me", "GIT_COMMITTER_NAME": "Me", "EMAIL": "e@example.org"},
            "Me <e@example.org>",
            "Me <e@example.org>",
        ),
        # A running commit has set it for its hook: it says who the author of that commit is.
        ({**PERSON, "GIT_INDEX_FILE": ".git/index"}, "sow <sow@localhost>", "sow <sow@localhost>"),
        ({"GIT_AUTHOR_NAME": "Me"}, "sow <sow@localhost>", "sow <sow@localhost>"),
    ],
)
def test_an_identity_in_the_environment_is_the_users(
    tmp_path: Path, environ: dict[str, str], author: str, committer: str
) -> None:
    git(tmp_path, "init", "-q")
    found = identity_of(tmp_path, environ)
    assert f"{found['GIT_AUTHOR_NAME']} <{found['GIT_AUTHOR_EMAIL']}>" == author
    assert f"{found['GIT_COMMITTER_NAME']} <{found['GIT_COMMITTER_EMAIL']}>" == committer
    assert is_unknown(tmp_path, environ) is ("sow@" in author)


def test_the_environment_beats_the_settings_as_with_git(repository: Path) -> None:
    found = identity_of(repository, PERSON)
    assert (found["GIT_AUTHOR_NAME"], found["GIT_COMMITTER_NAME"]) == ("Me", "A Person")


def test_settings_that_stand_in_the_environment_are_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings"
    settings.write_text("[user]\n  name = Me\n  email = me@example.org\n")
    git(tmp_path, "init", "-q")
    assert is_unknown(tmp_path, {})
    with monkeypatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(settings))
        assert identity_of(tmp_path)["GIT_AUTHOR_NAME"] == "Me"
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    for number, (name, value) in enumerate([("user.name", "I"), ("core.editor", "ed")]):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    assert git(tmp_path, "config", "user.name") == "I"
    assert git(tmp_path, "config", "core.editor") == "false", "what keeps git quiet beats them"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a repository to somebody else")
def test_a_safe_directory_that_stands_in_the_environment_is_heeded(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (repository, *repository.rglob("*")):
        os.lchown(path, 12345, 12345)
    with pytest.raises(GitRefused, match="dubious ownership"):
        repository_of(repository)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(repository))
    assert repository_of(repository).branch == "main"


def test_no_hook_and_no_monitor_of_a_repository_is_run(repository, tmp_path):
    hooks = repository / ".git" / "hooks"
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        acting(hooks, name)
    own = tmp_path / "own"
    own.mkdir()
    acting(own, "pre-commit")
    git(repository, "config", "core.hooksPath", str(own))
    git(repository, "config", "core.fsmonitor", str(acting(tmp_path, "monitor")))
    git(repository, "config", "core.pager", str(acting(tmp_path, "pager")))
    git(repository, "config", "commit.gpgSign", "true")
    git(repository, "config", "gpg.program", str(acting(tmp_path, "gpg")))

    (repository / "file").write_text("second\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Second")
    git(repository, "log", "-1")

    assert list(tmp_path.rglob("acted-*")) == []
    # the same commands act where they are not run by us
    environ = {**os.environ, "HOME": str(tmp_path)}
    git(repository, "config", "commit.gpgSign", "false")
    subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", "Third"],
        cwd=repository,
        env=environ,
        check=True,
    )
    assert [path.name for path in tmp_path.rglob("acted-*")] != []


def test_an_error_names_the_command_and_not_its_settings(repository):
    with pytest.raises(GitRefused, match="git checkout failed"):
        git(repository, "-c", "a.b=c", "-c", "d.e=f", "checkout", "no-such-branch")


def test_the_variables_of_a_caller_lead_git_nowhere_else():
    environ = git_environment({"GIT_DIR": "/elsewhere", "GIT_INDEX_FILE": "x", "HOME": "/h"})
    assert "GIT_DIR" not in environ
    assert "GIT_INDEX_FILE" not in environ
    assert environ["HOME"] == "/h"
    assert environ["GIT_TERMINAL_PROMPT"] == "0"


def test_the_users_settings_are_those_that_an_agents_cli_has_replaced():
    """As Gemini CLI does in the commands that it runs."""
    environ = git_environment(
        {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "SOW_USERS_GIT_CONFIG_GLOBAL": "/home/user/settings",
            "GIT_CONFIG_NOSYSTEM": "1",
            "SOW_USERS_GIT_CONFIG_NOSYSTEM": "",
            "SOW_USERS_GIT_DIR": "/elsewhere",
        }
    )
    assert environ["GIT_CONFIG_GLOBAL"] == "/home/user/settings"
    assert not {"GIT_CONFIG_NOSYSTEM", "GIT_DIR"} & environ.keys()


def test_what_sow_makes_has_its_references_in_files(tmp_path: Path) -> None:
    """Whatever the user has for new repositories: the references of clones are read without git."""
    assert (
        git_environment({"GIT_DEFAULT_REF_FORMAT": "reftable"})["GIT_DEFAULT_REF_FORMAT"] == "files"
    )
    (tmp_path / "settings").write_text("[init]\n\tdefaultRefFormat = reftable\n")
    environ = git_environment({**os.environ, "GIT_CONFIG_GLOBAL": str(tmp_path / "settings")})
    git(tmp_path, "init", "--quiet", "made", environ=environ)
    assert (tmp_path / "made/.git/refs/heads").is_dir()


def test_an_error_of_git_names_the_folder_and_gits_own_words(repository):
    with pytest.raises(GitRefused) as caught:
        git(repository, "checkout", "no-such-branch")
    assert str(repository) in caught.value.message
    assert "no-such-branch" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", ["part", "of/a/team/" + 60 * "long/" + "name"])
def test_a_long_text_of_git_is_quoted_from_its_reason_on(repository: Path, name: str) -> None:
    git(repository, "branch", name)
    lock = repository / f".git/refs/heads/{name}.lock"
    lock.touch()
    with pytest.raises(GitRefused) as caught:
        git(repository, "update-ref", f"refs/heads/{name}", "HEAD", "0" * 40)
    _, _, quote = caught.value.message.partition(": ")
    assert quote.startswith(f"fatal: update_ref failed for ref 'refs/heads/{name}': ")
    assert len(quote) <= LONGEST_QUOTE + len(" …")
    assert caught.value.passes


def test_a_text_of_git_without_a_reason_is_cut_between_two_words() -> None:
    assert quote_of("few words") == "few words"
    quote = quote_of("word " * 200)
    assert (quote[:7], set(quote[2:].split())) == ("… word ", {"word"})


def test_a_missing_folder_and_a_missing_git_are_told_apart(repository, tmp_path, monkeypatch):
    with pytest.raises(GitRefused, match="no folder"):
        git(tmp_path / "nowhere", "status")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(GitMissing):
        git(repository, "status")


@pytest.mark.slow
def test_a_git_that_does_not_end_is_ended_with_all_that_it_started(repository):
    git(repository, "config", "alias.wait", "!sleep 1000 & echo $! > pid; wait")
    with pytest.raises(GitTookTooLong):
        git(repository, "wait", seconds=5.0)
    see_it_end(repository)


def see_it_end(repository: Path) -> None:
    """Wait for the end of the process whose id stands in a file."""
    pid = int((repository / "pid").read_text())
    deadline = time.monotonic() + 60.0
    while _runs(pid):
        assert time.monotonic() < deadline, "it goes on"
        time.sleep(0.01)


def piped(repository: Path, source: Sequence[str], target: Sequence[str], **more: Any) -> bool:
    environ = git_environment(os.environ)
    more = {"stdin": b"HEAD:file\n", "seconds": 60.0, **more}
    return git_into_git((repository, source, environ), (repository, target, environ), **more)


def test_what_one_git_prints_another_one_reads(repository):
    assert piped(repository, ("cat-file", "--batch-check"), ("hash-object", "-w", "--stdin"))
    line = git(repository, "cat-file", "--batch-check", stdin=b"HEAD:file\n")
    written = git(repository, "hash-object", "--stdin", stdin=f"{line}\n".encode())
    assert git(repository, "cat-file", "-p", written) == line


@pytest.mark.parametrize(
    ("source", "target"),
    [(("ls-tree", "none"), ("hash-object", "--stdin")), (("version",), ("ls-tree", "none"))],
)
def test_one_of_two_that_fails_is_told(repository, source, target):
    assert not piped(repository, source, target)


@pytest.mark.slow
def test_two_of_which_one_does_not_end_are_ended(repository):
    git(repository, "config", "alias.wait", "!echo $$ > pid; exec sleep 1000")
    with pytest.raises(GitTookTooLong):
        piped(repository, ("wait",), ("cat-file", "--batch"), seconds=2.0)
    see_it_end(repository)
    with pytest.raises(GitRefused):
        piped(repository / "none", ("version",), ("version",))


def _runs(pid: int) -> bool:
    """Whether a process has not ended; one that was killed may take a moment."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_repository_is_told_with_its_branch_and_commit(repository):
    inside = repository / "deep" / "er"
    inside.mkdir(parents=True)
    found = repository_of(inside)
    assert found.top == repository.resolve()
    assert found.git_dir == found.common_dir == repository.resolve() / ".git"
    assert found.branch == "main"
    assert found.commit == git(repository, "rev-parse", "HEAD")
    assert not found.is_shallow
    git(repository, "checkout", "-q", "--detach")
    assert repository_of(repository).branch is None


def test_what_is_no_repository_to_clone_is_refused_in_words(repository, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(NoRepository, match="no git repository"):
        repository_of(outside)
    git(outside, "init", "-q")
    with pytest.raises(NoRepository, match="without a commit"):
        repository_of(outside)
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare")
    with pytest.raises(NoRepository, match="bare"):
        repository_of(tmp_path / "bare")
    with pytest.raises(NoRepository, match="git's own folder"):
        repository_of(repository / ".git")


def test_commits_and_their_order(repository):
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Second")
    view = view_of(repository)
    second = view.commit_of("main")
    assert second is not None
    assert view.is_ancestor(first, second)
    assert not view.is_ancestor(second, first)
    assert view.commit_of("nothing") is None
    assert view.commit_of("--all") is None


def test_an_old_git_is_refused_by_its_version(tmp_path, monkeypatch):
    refuse_old_git()
    stand_in = tmp_path / "git"
    stand_in.write_text("#!/bin/sh\necho git version 2.37.9\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(GitTooOld, match=r"2\.37\.9.*2\.38"):
        refuse_old_git()


@pytest.fixture
def big_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a program first on PATH that says which version of git it is, as large as git is."""
    program = tmp_path / "big/git"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    says_version(program, "2.40.1")
    return program


def says_version(program: Path, version: str) -> None:
    """Replace a program by one of a version, which notes each question."""
    new = program.with_name("new")
    script = f'#!/bin/sh\necho asked >>"$0.asked"\necho git version {version}\nexit 0\n'
    new.write_text(script + "#" * (1 << 20))
    new.chmod(0o755)
    new.replace(program)


def test_a_git_that_is_new_enough_is_asked_once(big_git: Path) -> None:
    for _ in range(3):
        repositories._version_of.cache_clear()  # as in a new process
        refuse_old_git()
    assert (big_git.parent / "git.asked").read_text() == "asked\n"


def test_another_program_in_its_place_is_asked_again(big_git: Path) -> None:
    refuse_old_git()
    says_version(big_git, "2.37.9")
    for _ in range(2):
        repositories._version_of.cache_clear()
        with pytest.raises(GitTooOld, match=r"2\.37\.9"):
            refuse_old_git()


def test_without_a_place_for_the_note_it_is_asked_each_time(big_git: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    for _ in range(2):
        repositories._version_of.cache_clear()
        refuse_old_git()
    assert (big_git.parent / "git.asked").read_text() == "asked\n" * 2


@pytest.mark.parametrize("name", ["line\nbreak", "line\x85end", "line\u2028end", " "])
def test_a_repository_is_found_whatever_its_path_holds(tmp_path: Path, name: str) -> None:
    top = tmp_path / name
    top.mkdir()
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "One")):
        git(top, "-c", "user.name=I", "-c", "user.email=i@example.invalid", *words)
    found = repository_of(top)
    assert (found.top, found.git_dir, found.common_dir) == (top, top / ".git", top / ".git")


CHILDREN = ("upload-pack", "pack-objects", "index-pack", "rev-list")


@pytest.mark.parametrize("child", CHILDREN)
def test_a_git_whose_child_was_killed_says_nothing_of_what_it_was_asked(
    repository, tmp_path, child
):
    programs = tmp_path / "programs"
    programs.mkdir()
    real = Path(git(repository, "--exec-path"))
    wrapper = programs / "git"
    kills = f'case " $* " in *" {child} "*) kill -9 $$;; esac'
    wrapper.write_text(f"#!/bin/sh\n{kills}\nexec '{real}/git' \"$@\"\n")
    wrapper.chmod(0o755)
    if child == "upload-pack":
        (programs / "git-upload-pack").write_text("#!/bin/sh\nkill -9 $$\n")
        (programs / "git-upload-pack").chmod(0o755)
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    environ = git_environment(os.environ, GIT_EXEC_PATH=str(programs))
    words = ("-c", "fetch.unpackLimit=1", "fetch", str(repository), "main")
    with pytest.raises(GitRefused) as caught:
        git(other, *words, environ=environ)
    assert passing_fault(caught.value) is not None, caught.value.message


def test_what_git_says_of_a_full_disk_passes_and_of_a_missing_name_does_not(tmp_path, monkeypatch):
    silent = "error: unable to write file src/code.py"
    assert git_fault_passes(1, silent, tmp_path)
    assert git_fault_passes(128, "fatal: write error: No space left on device", tmp_path)
    unknown = "error: pathspec 'x' did not match any file(s) known to git"
    assert not git_fault_passes(1, unknown, tmp_path)
    full = os.statvfs_result((4096, 4096, 1000, 0, 0, 1000, 500, 500, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    assert git_fault_passes(1, unknown, tmp_path), "git does not always say that the disk is full"
