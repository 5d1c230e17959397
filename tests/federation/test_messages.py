from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.federation.messages import (
    MAX_HEADER_BYTES,
    MAX_MESSAGE_BYTES,
    MESSAGE_MAGIC,
    Message,
    digest,
)

WHOLE = Message(
    "ask",
    {"round": 1, "amount": 0.1, "names": ["é", "b"], "bits": None},
    {
        "i": np.array([-1, 2**62]),
        "u": np.array([2**64 - 1], dtype=np.uint64),
        "f": np.array([0.5, -1e300]),
    },
)


def test_bytes_and_back():
    again = Message.from_bytes(WHOLE.to_bytes())
    assert (again.kind, again.content) == (WHOLE.kind, WHOLE.content)
    assert {name: array.tolist() for name, array in again.arrays.items()} == {
        name: array.tolist() for name, array in WHOLE.arrays.items()
    }
    assert again.to_bytes() == WHOLE.to_bytes()


@given(st.binary(max_size=200))
def test_garbage_is_refused(data):
    with pytest.raises(InputError):
        Message.from_bytes(MESSAGE_MAGIC + data)
    with pytest.raises(InputError):
        Message.from_bytes(data)


@given(st.integers(0, len(WHOLE.to_bytes()) - 1))
def test_a_cut_message_is_refused(end):
    with pytest.raises(InputError):
        Message.from_bytes(WHOLE.to_bytes()[:end])


def test_a_header_is_as_long_as_it_says_and_no_longer_than_is_read():
    whole = WHOLE.to_bytes()
    begin = len(MESSAGE_MAGIC) + 4
    length = int.from_bytes(whole[len(MESSAGE_MAGIC) : begin], "little")
    header = b'{"arrays":[],"content":{"a":"' + b"x" * MAX_HEADER_BYTES + b'"},"kind":"x"}'
    longest = header.replace(b"x" * (len(header) - MAX_HEADER_BYTES), b"", 1)
    assert len(longest) == MAX_HEADER_BYTES
    Message.from_bytes(MESSAGE_MAGIC + len(longest).to_bytes(4, "little") + longest)
    for data in (
        MESSAGE_MAGIC + len(header).to_bytes(4, "little") + header,
        whole[: begin + length - 1],
        MESSAGE_MAGIC + (len(whole) - begin + 1).to_bytes(4, "little") + whole[begin:],
        whole[:-1],
    ):
        with pytest.raises(InputError, match="cut short"):
            Message.from_bytes(data)
    for data in (whole[: begin - 1], b"x" + whole[1:], b""):
        with pytest.raises(InputError, match="no message of this version"):
            Message.from_bytes(data)


def test_a_longer_message_is_refused():
    with pytest.raises(InputError, match="longer"):
        Message.from_bytes(WHOLE.to_bytes() + b"\0")


@pytest.mark.parametrize(
    "header",
    [
        b'{"arrays":[],"content":{},"kind":"x","more":1}',
        b'{"arrays":[],"content":{"a":1,"a":2},"kind":"x"}',
        b'{"content":{},"arrays":[],"kind":"x"}',
        b'{"arrays":[],"content":{"a":NaN},"kind":"x"}',
        b'{"arrays":[["n","i8",1e9]],"content":{},"kind":"x"}',
        b'{"arrays":[["n","i8",-1]],"content":{},"kind":"x"}',
        b'{"arrays":[["n","O",1]],"content":{},"kind":"x"}',
        b'{"arrays":[["n","i8",0],["n","i8",0]],"content":{},"kind":"x"}',
        b"[" * 100_000,
    ],
)
def test_only_the_canonical_form_is_read(header):
    with pytest.raises(InputError):
        Message.from_bytes(MESSAGE_MAGIC + len(header).to_bytes(4, "little") + header)


def test_a_size_that_is_claimed_is_not_allocated():
    header = b'{"arrays":[["n","i8",1152921504606846976]],"content":{},"kind":"x"}'
    with pytest.raises(InputError, match="cut short"):
        Message.from_bytes(MESSAGE_MAGIC + len(header).to_bytes(4, "little") + header)
    assert MAX_MESSAGE_BYTES < 2**60


def test_numbers_must_be_finite():
    with pytest.raises(InputError, match="finite"):
        Message.from_bytes(Message("x", {}, {"f": np.array([np.inf])}).to_bytes())


def test_arrays_are_plain_lines_of_numbers_in_one_order_of_bytes():
    for array in (
        np.zeros((2, 2)),
        np.float64(1.0),
        np.zeros(2, np.float32),
        np.zeros(2, np.int32),
        np.array(["a"]),
        np.array([None]),
    ):
        with pytest.raises(ValueError, match="one-dimensional"):
            Message("x", {}, {"a": array}).to_bytes()
    for form in ("f8", "i8", "u8"):
        here, there = (np.array([1, 2], order + form) for order in "<>")
        assert Message("x", {}, {"a": here}).to_bytes() == Message("x", {}, {"a": there}).to_bytes()


def test_an_entry_must_be_of_its_kind():
    message = Message("x", {"n": True})
    with pytest.raises(InputError):
        message.get("n", int)
    with pytest.raises(InputError):
        message.array("n", "i8")
    assert message.get("n", bool) is True


def test_a_digest_tells_lists_apart():
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
    assert digest("a") == digest(b"a")
