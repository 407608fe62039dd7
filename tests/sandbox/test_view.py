"""The argv of bubblewrap for a view: the order of its mounts, and what is left out."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sow.sandbox.view import FLAGS, Link, View, bwrap_argv, covers, is_seen


def argv_of(view: View) -> list[str]:
    return list(bwrap_argv("/usr/bin/bwrap", view, ["/bin/agent", "--flag"]))


def mounts_of(argv: Sequence[str]) -> list[tuple[str, str]]:
    """Return each mount besides those of the base, as its word and its path."""
    words = {"--tmpfs": 1, "--ro-bind": 2, "--bind": 2, "--bind-try": 2, "--ro-bind-try": 2}
    rest = argv[argv.index("/proc") + 1 :]
    return [(word, rest[index + words[word]]) for index, word in enumerate(rest) if word in words]


def test_the_agent_comes_last_and_behind_all_flags() -> None:
    argv = argv_of(View(cwd="/work"))
    assert argv[-5:] == ["--chdir", "/work", "--", "/bin/agent", "--flag"]
    assert [word for word in argv if word in FLAGS] == list(FLAGS)
    assert argv[:4] == ["/usr/bin/bwrap", "--ro-bind", "/", "/"]


def test_an_inner_folder_is_mounted_after_the_one_around_it() -> None:
    view = View(
        hidden=("/home/me", "/home/me/repo/.sow/run"),
        readable=("/home/me/repo/.sow",),
        writable=("/home/me/repo",),
    )
    assert mounts_of(argv_of(view)) == [
        ("--tmpfs", "/home/me"),
        ("--bind", "/home/me/repo"),
        ("--ro-bind", "/home/me/repo/.sow"),
        ("--tmpfs", "/home/me/repo/.sow/run"),
    ]


def test_hidden_folders_are_read_only_after_all_is_bound() -> None:
    view = View(hidden=("/home",), scratch=("/tmp",), writable=("/home/me/clone",), home="/home/me")
    argv = argv_of(view)
    assert [argv[i + 1] for i, word in enumerate(argv) if word == "--remount-ro"] == ["/home"]
    assert argv.index("--remount-ro") > argv.index("--bind")
    assert argv.index("--remount-ro") > argv.index("--dir")


def test_what_the_folder_around_says_already_is_no_mount_of_its_own() -> None:
    view = View(
        hidden=("/home", "/home/me"),
        readable=("/usr/lib/x", "/home/me/a", "/home/me/a/b"),
        writable=("/work", "/work/inner"),
    )
    assert mounts_of(argv_of(view)) == [
        ("--tmpfs", "/home"),
        ("--bind", "/work"),
        ("--ro-bind", "/home/me/a"),
    ]


def test_what_lies_in_new_folders_is_bound() -> None:
    """`/dev` is made anew, and what the machine has below it is not there."""
    view = View(readable=("/dev/shm/tool",), writable=("/dev/shm/clone",))
    assert mounts_of(argv_of(view)) == [
        ("--bind", "/dev/shm/clone"),
        ("--ro-bind", "/dev/shm/tool"),
    ]


def test_only_links_in_hidden_places_are_made() -> None:
    links = (Link("/home/me/x", "../y"), Link("/usr/bin/sh", "dash"), Link("/home/me/x", "../y"))
    argv = argv_of(View(hidden=("/home",), links=links))
    assert argv.count("--symlink") == 1
    assert argv[argv.index("--symlink") :][1:3] == ["../y", "/home/me/x"]


def test_a_login_that_may_be_gone_by_then_is_no_fault() -> None:
    view = View(hidden=("/home",), writable=("/home/auth",), optional=("/home/auth",))
    assert ("--bind-try", "/home/auth") in mounts_of(argv_of(view))


def test_without_a_network_there_is_a_namespace_for_it() -> None:
    assert "--unshare-net" not in argv_of(View())
    assert "--unshare-net" in argv_of(View(has_network=False))


def test_a_keyfile_cannot_be_opened() -> None:
    argv = argv_of(View(unreadable=("/etc/shadow",)))
    assert argv[argv.index("/etc/shadow") - 2 :][:2] == ["--ro-bind", "/dev/null"]


def test_a_folder_covers_itself_and_what_is_below() -> None:
    assert covers("/a/b", "/a/b")
    assert covers("/a/b", "/a/b/c")
    assert covers("/", "/a")
    assert not covers("/a/b", "/a/bc")


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(
    lambda parts: "/" + "/".join(parts)
)
SETS = st.lists(PATHS, max_size=4, unique=True).map(tuple)


@given(SETS, SETS, SETS, PATHS)
def test_the_mounts_say_of_each_path_what_the_innermost_word_says(
    hidden: tuple[str, ...], readable: tuple[str, ...], writable: tuple[str, ...], path: str
) -> None:
    view = View(hidden=hidden, readable=readable, writable=writable)
    words_of = {**dict.fromkeys(hidden, "--tmpfs"), **dict.fromkeys(readable, "--ro-bind")}
    words_of |= dict.fromkeys(writable, "--bind")
    around = [each for each in words_of if covers(each, path)]
    expected = words_of[max(around, key=len)] if around else "--ro-bind"
    done = "--ro-bind"  # of `/`
    for word, place in mounts_of(argv_of(view)):
        done = word if covers(place, path) else done
    assert done == expected
    assert is_seen(view, path) == (expected != "--tmpfs")
