"""The short way from text to values gives what PyYAML gives, error for error."""

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sow.yamlfile.library import SafeLoader, yaml
from sow.yamlfile.loader import Loader

steady = settings(
    max_examples=min(200, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
"""A loaded machine is no failure."""


def outcome(text: str, loader: Any) -> str:
    """Return what a text says, with its types, or what is wrong with it."""
    try:
        return repr(yaml.load(text, Loader=loader))
    except (yaml.YAMLError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


EXAMPLES = [
    "",
    "plain",
    "010",
    "a: {b: [1, 2.5, yes, ~, 2026-01-02, 2026-01-02T03:04:05Z, 0x1f, 1:30, .inf]}",
    "a: '1'\nb: \"yes\"\nc: |\n  long\n  text\nd: >-\n  folded\n  text\n",
    f"a: {'y' * 70}\nb: {'1' * 70}\n",
    "1: a\nyes: b\n~: c\n2026-01-02: d\n",
    "? [a, b]\n: c\n",
    "? {a: b}\n: c\n",
    "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n",
    "a: {<<: {b: 1}, c: 2}\n",
    "=: a\n",
    "a: =\n",
    "a: !!str 1\nb: !!int '1'\nc: !!binary aGk=\n",
    "a: !!set {b, c}\nd: !!omap [e: 1]\nf: !!pairs [g: 1]\n",
    "a: !!str [b]\n",
    "a: !!map b\n",
    "a: !!seq {b: c}\n",
    "a: !!null {b: c}\n",
    "!!str a: b\n",
    "a: !mine b\n",
    "a: !!float x\n",
    "a: 2026-13-41\n",
    "a: 1_000\nb: 0o7\nc: 09\nd: 1e3\ne: +1\n",
    "a: 2026-13-41\nb: !mine c\n",
    "a: {b: 2026-13-41}\nc: !mine d\n",
    "a: [\n",
    "[7, 10, 0, 00, 07, 9_9, 12345678901234567890123, ٣, 1٣]",
    "[2026-01-31T12:00:00Z, 2026-02-31T12:00:00Z, 2026-01-31T24:00:00Z, 2026-01-31T12:00:60Z]",
    "[2026-01-31t12:00:00Z, 2026-01-31T12:00:00z, 2026-01-31T1:00:00.Z, 2026-01-3T12:00:00.Z]",
    "[2026-01-31T12:00:0٣Z, ٣026-01-31T12:00:00Z]",
    "2026-01-31T24:00:00Z",
    "2026-01-31T12:00:00Z: 2026-01-31T12:00:00Z",
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_a_text_says_what_pyyaml_reads_in_it(text: str) -> None:
    assert outcome(text, Loader) == outcome(text, yaml.CSafeLoader)


SCALARS = (
    "a b 1 0x1 1.5 yes ~ << = 2026-01-02 2026-13-41 2026-01-02T03:04:05Z '1' \"b\""
    " !!str|1 !!int|x !mine|a &x|a *x"
)
PLAIN = st.text("0123456789abcdefABCDEFntyoNTYO-+.:_~ TZx=<", max_size=12) | st.sampled_from(
    [
        word
        for name in ("yes", "no", "true", "false", "on", "off", "null", "y", "n", "inf", "nan")
        for word in (name, name.upper(), name.capitalize(), f".{name}", f"{name}s")
    ]
)
"""Scalars without quotes, as the resolver is asked for them."""


@steady
@given(PLAIN)
@example("79e1c8f7-108b-4373-836d-fc59324ddda2")
@example("12345678-108b-4373-836d-fc59324ddda2")
@example("1-2")
@example("1.5e-3")
@example("2026-1-2 3:04:05 -2")
def test_a_plain_scalar_has_the_tag_that_pyyaml_finds(value: str) -> None:
    as_it_is = yaml.resolver.Resolver().resolve(yaml.ScalarNode, value, (True, False))
    assert Loader("").resolve(yaml.ScalarNode, value, (True, False)) == as_it_is


WORDS = st.sampled_from(["", *(word.replace("|", " ") for word in SCALARS.split())])
TREES = st.recursive(
    WORDS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(WORDS, inner), max_size=3).map(
            lambda pairs: f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"
        )
    ),
    max_leaves=8,
)


@pytest.mark.slow
@steady
@given(TREES)
def test_whatever_is_put_together_is_read_alike(text: str) -> None:
    found = outcome(text, Loader)
    assert found == outcome(text, yaml.CSafeLoader) or "stands twice" in found


def test_the_usual_file_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(SafeLoader, "construct_document", refuse)
    text = "task:\n  id: '010'\n  at: 2026-01-02T03:04:05Z\n  list: [1, a]\n  more: {}\n"
    assert list(yaml.load(text, Loader=Loader)) == ["task"]
    with pytest.raises(AssertionError):
        yaml.load("a: &x 1\nb: {1: *x}\n", Loader=Loader)


@pytest.mark.parametrize("text", ["a: 1\nb: 2\na: 3\n", "a: {1: x, 1: y}\n", "- {a: 1, 'a': 2}\n"])
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    with pytest.raises(yaml.constructor.ConstructorError, match="stands twice"):
        yaml.load(text, Loader=Loader)
