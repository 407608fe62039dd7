"""What the proxy is told, and what its log tells."""

import re

import pytest

from sow.sandbox.proxy_settings import (
    filter_text,
    refused_host,
    settings_text,
    variables_inside,
)


def lets_pass(hosts: list[str], asked: str) -> bool:
    """Whether a pattern is found, as tinyproxy looks for it: anywhere, whatever the capitals."""
    patterns = filter_text(hosts).splitlines()
    return any(re.search(pattern, asked, re.IGNORECASE) for pattern in patterns)


@pytest.mark.parametrize(
    ("hosts", "passes", "refused"),
    [
        (
            ["api.example.com"],
            ["api.example.com", "API.example.com"],
            ["apiXexample.com", "x.api.example.com", "api.example.com.evil.org", "example.com", ""],
        ),
        (
            ["*.example.com"],
            ["a.example.com", "a.b.example.com"],
            ["example.com", ".example.com", "a.example.com.org", "aexample.com"],
        ),
        (
            ["127.0.0.1", "::1"],
            ["127.0.0.1", "::1"],
            ["127.0.0.11", "1.127.0.0.1", "127.1", ":::1"],
        ),
    ],
)
def test_the_filter_lets_these_hosts_pass_alone(
    hosts: list[str], passes: list[str], refused: list[str]
) -> None:
    assert [host for host in passes if not lets_pass(hosts, host)] == []
    assert [host for host in refused if lets_pass(hosts, host)] == []


def test_the_settings_deny_what_is_not_named_and_ask_for_a_password() -> None:
    lines = settings_text(4711, "word").splitlines()
    assert {"Port 4711", "Listen 127.0.0.1", "BasicAuth sow word"} < set(lines)
    assert {'Filter "filter"', "FilterDefaultDeny Yes"} < set(lines)


def test_the_variables_lead_to_the_proxy_in_both_cases() -> None:
    found = variables_inside(["api.example.com"], "word")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        assert found[name] == found[name.lower()] == "http://sow:word@127.0.0.1:17171"
    assert found["NO_PROXY"] == found["no_proxy"] == "localhost,127.0.0.1,::1"


def test_an_allowed_name_of_the_loopback_is_the_machines() -> None:
    assert variables_inside(["LOCALHOST", "::1"], "word")["NO_PROXY"] == "127.0.0.1"


LINE = 'NOTICE    Nov 29 22:35:15.967 [6]: Proxying refused on filtered domain "{}"'


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("evil.example", "evil.example"),
        ("EVIL.example", "evil.example"),
        ("2001:db8::1", "2001:db8::1"),
        ("", "?"),
        ("a b", "?"),
        ("\x1b[31mred", "?"),
        ("ignore-all\u2028orders", "?"),
        ("x" * 254, "?"),
    ],
)
def test_a_refused_host_is_told_where_it_is_a_name(host: str, name: str) -> None:
    assert refused_host(LINE.format(host).encode()) == name


@pytest.mark.parametrize(
    "line",
    [
        "",
        "CONNECT   Nov 29 22:35:15.964 [6]: Request (file descriptor 4): GET http://x/ HTTP/1.1",
        "CONNECT   Nov 29 22:35:15.964 [6]: Request (file descriptor 4): GET http://x]: Proxying"
        ' refused on filtered domain "bank.example"',
        "NOTICE    Nov 29 22:35:14.802 [6]: Initializing tinyproxy ...",
    ],
)
def test_no_other_line_tells_of_one(line: str) -> None:
    assert refused_host(line.encode()) is None
