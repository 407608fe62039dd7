"""Addresses, ids, links, branches and paths: what may stand in the index."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refs.ref_site import RefSite, cached_folders

from sow.refs.inner_links import leading_out
from sow.refs.sources import key_of, name_of, normalised
from sow.schema.references import name_fault, path_fault, source_fault

GOOD = [
    "https://example.org/a/b.git",
    "https://example.org:8443/a",
    "https://[2001:db8::1]/a",
    "ssh://git@example.org/a/b",
    "ssh://example.org:2222/~/b",
    "git@example.org:a/b.git",
    "example.org:b",
    "file:///srv/git/a",
    "file://localhost/srv/a",
    "/srv/git/a b",
]
BAD = [
    "",
    " https://example.org/a",
    "-uevil",
    "--upload-pack=touch x",
    "ext::sh -c touch% x",
    "fd::17/x",
    "https::https://example.org/a",
    "http://example.org/a",
    "git://example.org/a",
    "ftp://example.org/a",
    "javascript://example.org/a",
    "https://user@example.org/a",
    "https://user:hunter2@example.org/a",
    "https://token:x-oauth-basic@example.org/a",
    "https://example.org/a?token=hunter2",
    "https://example.org/a#b",
    "https://example.org",
    "https:///a",
    "https://-oProxyCommand=x/a",
    "ssh://-oProxyCommand=x/a",
    "ssh://git:hunter2@example.org/a",
    "ssh://-l@example.org/a",
    "ssh://example.org/-x",
    "-oProxyCommand=x:a",
    "git@-oProxyCommand=x:a",
    "git@example.org:-x",
    "git@example.org:/-x",
    "file://server/share",
    "https://example.org/a\nb",
    "https://example.org/a b",
    "https://example.org/\x00",
    "C:\\a",
    "x" * 3000,
]


@pytest.mark.parametrize("text", GOOD)
def test_an_address_is_taken(text: str) -> None:
    assert source_fault(text) == ""
    assert key_of(text).startswith(f"{name_of(text)}-")


@pytest.mark.parametrize("text", BAD)
def test_a_bad_address_is_refused_in_words(site: RefSite, text: str) -> None:
    assert source_fault(text) or text == "C:\\a"
    ended = site.sow("refs", "add", "--id", "x", "--", text)
    assert ended.code in (2, 4)
    assert "hunter2" not in ended.err
    assert "bug" not in ended.err
    assert not site.index.exists()
    assert cached_folders() == []


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("https://Example.org/a/", "https://example.org:443//a"),
        ("ssh://git@example.org:22/a", "SSH://git@example.org/a"),
        ("/srv/a/", "file:///srv/./a"),
        ("file://localhost/srv/a", "/srv/a"),
        ("git@EXAMPLE.org:a/", "git@example.org:a"),
    ],
)
def test_two_ways_to_write_it_are_one_repository(first: str, other: str) -> None:
    assert normalised(first) == normalised(other)
    assert key_of(first) == key_of(other)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("https://example.org/a", "https://example.org/A"),
        ("https://example.org/a", "https://example.org/a.git"),
        ("https://example.org/a", "ssh://example.org/a"),
        ("https://example.org/a", "https://example.org:8443/a"),
        ("git@example.org:a", "ssh://git@example.org/a"),
        ("git@example.org:a", "other@example.org:a"),
    ],
)
def test_what_a_server_may_tell_apart_is_two(first: str, other: str) -> None:
    assert key_of(first) != key_of(other)


@pytest.mark.parametrize(
    "name",
    [
        *("", "-x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "[a", "a\\b", "a@{1}", "@"),
        *("/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "a\x7f", "a\n"),
    ],
)
def test_names_that_git_does_not_allow(name: str) -> None:
    assert name_fault(name)


@pytest.mark.parametrize("name", ["main", "release/1.0", "v1.0-rc1", "feature/ä", "a@b"])
def test_names_that_git_allows(name: str) -> None:
    assert not name_fault(name)


@pytest.mark.parametrize(
    "path", ["/a", "..", "../a", "a/../b", "a//b", "./a", "-a", "~a", "a\\b", ".git", "a/.GIT", ""]
)
def test_paths_that_lead_elsewhere(path: str) -> None:
    assert path_fault(path)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--id", "Upper"),
        ("--id", "a/b"),
        ("--id", "-x"),
        ("--id", ""),
        ("--link", "../x"),
        ("--link", "a/b"),
        ("--link", ".hidden"),
        ("--link", "index.yaml"),
        ("--link", "index.old"),
        ("--link", "x\n"),
        ("--branch", "-x"),
        ("--branch", "a..b"),
        ("--tag", "a b"),
        ("--path", "../x"),
        ("--path", "/etc"),
        ("--path", ".git"),
        ("--tags", "a\x07b"),
    ],
)
def test_a_bad_option_is_refused_before_anything_is_fetched(
    site: RefSite, option: str, value: str
) -> None:
    ended = site.sow("refs", "add", "https://127.0.0.1:1/a", f"{option}={value}")
    assert (ended.code, cached_folders()) == (2, [])
    assert "bug" not in ended.err
    assert "regex" not in ended.err
    assert not site.index.exists()


@pytest.mark.parametrize(
    "entry",
    [
        "{id: a, link: ../x, source: 'https://example.org/a'}",
        "{id: a, link: index.x, source: 'https://example.org/a'}",
        "{id: ../a, link: a, source: 'https://example.org/a'}",
        "{id: a, link: a, source: 'ext::sh -c x'}",
        "{id: a, link: a, source: '--upload-pack=x'}",
        "{id: a, link: a, source: 'https://me:hunter2@example.org/a'}",
        "{id: a, link: a, source: 'https://example.org/a', path: ../x}",
        "{id: a, link: a, source: 'https://example.org/a', branch: '-x'}",
        "{id: a, link: a, source: 'https://example.org/a', branch: x, tag: y}",
        "{id: a, link: a, source: 'https://example.org/a', kind: other}",
        "{id: a, link: a, source: 'https://example.org/a', run: x}",
        "{id: a, link: a, source: relative/path}",
    ],
)
def test_an_index_that_somebody_else_wrote_is_held_to_the_same(site: RefSite, entry: str) -> None:
    site.index.write_text(f"references:\n- {entry}\n")
    for words in (("list",), ("init",), ("status",), ("update",), ("remove", "a")):
        ended = site.sow("refs", *words)
        assert ended.code == 4
        assert "index.yaml" in ended.err
    assert cached_folders() == []


def test_an_unreachable_address_changes_nothing(site: RefSite) -> None:
    ended = site.sow("refs", "add", "https://127.0.0.1:1/a.git")
    assert ended.code == 4
    assert "https://127.0.0.1:1/a.git cannot be reached" in ended.err
    assert not site.index.exists()
    assert cached_folders() == []


PART = st.sampled_from(["a", "b", "c", "..", "."])
PATH = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join)
TEXT = st.lists(PART, min_size=1, max_size=5).map("/".join)


@given(st.dictionaries(PATH, TEXT, max_size=5))
def test_links_are_judged_as_the_system_follows_them(tmp_path_factory, links) -> None:
    """Each link that is let pass stays inside, by the word of the system itself."""
    links = {path: text for path, text in links.items() if not _is_below(path, links)}
    top = tmp_path_factory.mktemp("links") / "x" / "y" / "top"
    top.mkdir(parents=True)
    out = leading_out(links)
    for path, text in links.items():
        if path not in out:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).symlink_to(text)
    for path in links:
        if path not in out:
            real = (top / path).resolve()
            assert real == top or top in real.parents


def test_a_link_through_names_without_end_is_left_out() -> None:
    """Some links that name one another, and thousands of folders, would be followed for hours."""
    links = {f"l{number}": f"l{number + 1}/{'a/' * 200}" for number in range(4)}
    assert leading_out({**links, "near": "a/" * 200, "far": "a/" * 300}) == dict.fromkeys(
        ["l0", "l1", "l2", "far"], "leads through too many names"
    )


def _is_below(path: str, links: dict[str, str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:count]) in links for count in range(1, len(parts)))
