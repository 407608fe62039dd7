"""Words that cross between here and GitHub, and what the endings of `gh` mean: pure functions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.errors import SowError, StateError
from sow.github.answers import Issue, read_answer, read_pages
from sow.github.github_errors import (
    BadAnswer,
    GithubRefused,
    GithubUnreachable,
    NotLoggedIn,
)
from sow.github.quoting import (
    fitting,
    inert,
    inert_markdown,
    inert_title,
    name_from,
    quoted_issue,
)
from sow.github.requests import issue_name
from sow.github.run import VARIABLES, failure, gh_environment

FAILURES: list[tuple[int, str, type[SowError]]] = [
    (4, "To get started with GitHub CLI, please run:  gh auth login", NotLoggedIn),
    (1, "unable to expand placeholder in path: no git remotes found", StateError),
    (1, "none of the git remotes ... please use `gh auth login`", StateError),
    (1, "error connecting to api.github.com", GithubUnreachable),
    (1, 'Post "https://api.github.com/x": EOF', GithubUnreachable),
    (1, "gh: not a git repository (HTTP 422)", GithubRefused),
    (1, "", GithubRefused),
]


@pytest.mark.parametrize(("code", "complaint", "kind"), FAILURES)
def test_each_ending_means_one_thing(code: int, complaint: str, kind: type[SowError]) -> None:
    assert type(failure("it", code, complaint)) is kind


def test_it_asks_nothing_and_shows_nothing_of_its_requests() -> None:
    found = gh_environment({"GH_DEBUG": "api", "GH_TOKEN": "x", "PAGER": "less", "HOME": "/h"})
    assert found == {**VARIABLES, "GH_TOKEN": "x", "HOME": "/h"}
    assert VARIABLES["GH_PROMPT_DISABLED"] == "1"


def test_a_message_cannot_steer_a_terminal() -> None:
    error = failure("it", 1, "gh: \x1b[31mred\r\n (HTTP 422)\nmore\x07")
    assert isinstance(error, GithubRefused)
    assert error.message.isprintable()
    assert failure("it", 1, "gh: x (HTTP 403)", '{"message": "rate limit"}').passes


def test_a_refusal_is_told_with_what_github_says_of_it() -> None:
    output = (
        '{"message": "Validation Failed", "errors": [{"message": "No commits"}, {"code": "x"}]}'
    )
    error = failure("it", 1, "gh: Validation Failed (HTTP 422)", output)
    assert "Validation Failed (HTTP 422) No commits" in error.message
    assert isinstance(failure("it", 1, "gh: No (HTTP 422)", '["errors"]'), GithubRefused)


@pytest.mark.parametrize(
    ("text", "numbers"), [("[][]", []), ('[{"number": 1}]\n[{"number": 2}]', [1, 2])]
)
def test_pages_come_one_behind_the_other(text: str, numbers: list[int]) -> None:
    whole = text.replace("}", ', "title": "t", "html_url": "u"}')
    assert [issue.number for issue in read_pages(whole.encode(), Issue, "it")] == numbers


@pytest.mark.parametrize(
    "data", [b"[", b"{}", b"[1]", b"\xff", b"[] x", b'[{"number": "1"}]', b"[" * 99_999]
)
def test_pages_that_are_none_are_told(data: bytes) -> None:
    with pytest.raises(BadAnswer):
        read_pages(data, Issue, "it")


def test_an_answer_that_is_nested_without_end_is_told() -> None:
    with pytest.raises(BadAnswer):
        read_answer(b'{"a":' * 99_999, Issue, "it")
    assert isinstance(failure("it", 1, "gh: x (HTTP 422)", "[" * 99_999), GithubRefused)


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("@all", "@<!-- -->all"),
        ("é@all", "é@<!-- -->all"),
        ("a@example.org", "a@example.org"),
        ("fixes o/r#7", "fixes o/r#<!-- -->7"),
        ("Fixes https://github.com/o/r/Issues/7", "Fixes https://github.com/o/r/Issues/<!-- -->7"),
        ("see https://ghe/o/r/pull/7", "see https://ghe/o/r/pull/<!-- -->7"),
        ("a\\|b", "a\\\\\\|b"),
        ("![i](https://x/i.png)", "!\\[i](https://x/i.png)"),
    ],
)
def test_a_name_does_nothing_on_github(text: str, there: str) -> None:
    assert inert(text) == there


def test_a_title_does_nothing_where_a_squash_makes_a_message_of_it() -> None:
    title = inert_title("Fixes #7\nfor @all, https://github.com/o/r/issues/7")
    assert title == "Fixes #\u20607 for @\u2060all, https://github.com/o/r/issues/\u20607"


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("# For @all\n\n#7", "# For @<!-- -->all\n\n#<!-- -->7"),
        ("```py\n@cache\n```\n@all", "```py\n@cache\n```\n@<!-- -->all"),
        ("~~~\n@cache", "~~~\n@cache"),
        ("use `@cache` @all", "use `@cache` @<!-- -->all"),
        ("``a ` @cache`` @all", "``a ` @cache`` @<!-- -->all"),
        # What only looks like code to a careless eye.
        ("\\`@all`", "\\`@<!-- -->all`"),
        ("- ` @all\n- `", "- ` @<!-- -->all\n- `"),
        ("``` a`\n@all\n```", "``` a`\n@<!-- -->all\n```"),
    ],
)
def test_a_description_does_nothing_and_its_code_stays(text: str, there: str) -> None:
    assert inert_markdown(text) == there


def test_an_issue_of_another_host_keeps_it() -> None:
    assert issue_name("https://ghe.example/o/r/issues/7").repository == "ghe.example/o/r"
    assert issue_name("https://github.com/o/r/issues/7").repository == "o/r"


def test_what_is_too_long_is_cut() -> None:
    assert fitting("x" * 100, 50) == "x" * 34 + "\n\n(It goes on.)\n"
    assert len(fitting("x" * 100_000)) == 65_536
    assert fitting("short") == "short"


@given(st.text(), st.text())
def test_whatever_stands_in_an_issue_is_quoted(title: str, body: str) -> None:
    issue = Issue(number=1, title=title, body=body, html_url="https://github.com/o/r/issues/1")
    name, text = name_from(issue), quoted_issue(issue, "o/r")
    assert name.isprintable()
    assert 0 < len(name) <= 200
    behind = text.split("whoever works on this.\n", 1)[1]
    lines = [line for line in behind.split("\n") if line]
    assert all(line.startswith((">", "Left out: ")) for line in lines)
    assert inert(body).isprintable()
