"""A supervisor's orders as bytes: what is packed is unpacked, and half of it is nothing."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.supervisor.instructions import Orders, await_orders, pack, unpack

words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_characters="\0=", exclude_categories=["Cs"]), min_size=1)


def fields_of(orders: Orders | None) -> tuple[object, ...] | None:
    if orders is None:
        return None
    return orders.folder, orders.cwd, list(orders.argv), dict(orders.environ)


@given(st.lists(words), st.lists(words), st.lists(words), st.dictionaries(names, words))
def test_lists_that_few_orders_have_are_kept_apart(
    argv: list[str], secrets: list[str], limits: list[str], environ: dict[str, str]
) -> None:
    orders = unpack(pack("/f", "/", argv, environ, secrets, limits))
    assert orders is not None
    assert [list(each) for each in (orders.argv, orders.secrets, orders.limits)] == [
        [os.fsencode(word) for word in each] for each in (argv, secrets, limits)
    ]
    assert len(orders.environ) == len(environ)


@given(words, words, st.lists(words), st.dictionaries(names, words))
def test_what_is_packed_is_unpacked(
    folder: str, cwd: str, argv: list[str], environ: dict[str, str]
) -> None:
    encode = os.fsencode
    assert fields_of(unpack(pack(folder, cwd, argv, environ))) == (
        encode(folder),
        encode(cwd),
        [encode(word) for word in argv],
        {encode(name): encode(value) for name, value in environ.items()},
    )


@given(st.lists(words), st.lists(words), st.lists(words), st.dictionaries(names, words))
def test_secrets_a_proxy_and_a_lease_are_told_apart(
    secrets: list[str], proxy: list[str], lease: list[str], environ: dict[str, str]
) -> None:
    orders = unpack(pack("/f", "/", ["x"], environ, secrets, proxy=proxy, lease=lease))
    assert orders is not None
    assert list(orders.secrets) == [os.fsencode(word) for word in secrets]
    assert list(orders.proxy) == [os.fsencode(word) for word in proxy]
    assert list(orders.lease) == [os.fsencode(word) for word in lease]
    assert len(orders.environ) == len(environ)


def test_words_that_are_no_text_pass_unchanged() -> None:
    """File names and variables are bytes to the system."""
    orders = unpack(pack("/f", "/", [os.fsdecode(b"\xff=\n")], {"X": os.fsdecode(b"a=\xfe\n=")}))
    assert fields_of(orders) == (b"/f", b"/", [b"\xff=\n"], {b"X": b"a=\xfe\n="})


@given(st.integers(0, 10_000))
def test_orders_that_are_cut_off_are_none(length: int) -> None:
    whole = pack("/folder", "/cwd", ["claude", "-p"], {"HOME": "/root", "PATH": "/bin"})
    assert unpack(whole[: length % len(whole)]) is None


def test_a_nul_cannot_be_packed() -> None:
    with pytest.raises(ValueError, match="null"):
        pack("/f", "/", ["a\0b"], {})


def test_orders_larger_than_a_pipe_arrive_whole() -> None:
    read, write = os.pipe()
    data = pack("/f", "/", ["x" * 300_000], {})
    if os.fork() == 0:
        os.close(read)
        while data:
            data = data[os.write(write, data) :]
        os._exit(0)
    os.close(write)
    orders = await_orders(read)
    os.close(read)
    os.wait()
    assert orders is not None
    assert orders.argv == [b"x" * 300_000]
