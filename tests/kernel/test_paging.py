"""Cursors are opaque and bound to the request that produced them."""

import base64
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.kernel.errors import BadRequest
from service_core.kernel.paging import (
    KeysetCursor,
    OffsetCursor,
    cursor_scope_digest,
    decode_keyset_cursor,
    decode_offset_cursor,
    encode_keyset_cursor,
    encode_offset_cursor,
)

AT = datetime(2026, 7, 8, 15, 0, 0, 123000, tzinfo=UTC)
HERE = cursor_scope_digest(b"secret", "workspace", {"metrics": ["visitors"], "limit": 10})


def refused_cursor(token, bound_to=HERE):
    with pytest.raises(BadRequest) as caught:
        decode_offset_cursor(token, bound_to)
    return caught.value.code == "invalid_cursor"


def test_cursor_round_trips():
    assert decode_offset_cursor(encode_offset_cursor(OffsetCursor(40, AT), HERE), HERE) == OffsetCursor(
        40, AT
    )


@given(milliseconds=st.integers(0, 4_102_444_800_000), id_=st.uuids())
def test_row_position_round_trips_to_the_millisecond(milliseconds, id_):
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    assert decode_keyset_cursor(encode_keyset_cursor(KeysetCursor(instant, id_), HERE), HERE) == KeysetCursor(
        instant, id_
    )


def test_cursor_of_another_form_is_refused():
    assert refused_cursor(encode_keyset_cursor(KeysetCursor(AT, UUID(int=1)), HERE))
    with pytest.raises(BadRequest) as caught:
        decode_keyset_cursor(encode_offset_cursor(OffsetCursor(40, AT), HERE), HERE)
    assert caught.value.code == "invalid_cursor"


@pytest.mark.parametrize(
    "other",
    [
        cursor_scope_digest(b"secret", "another", {"metrics": ["visitors"], "limit": 10}),
        cursor_scope_digest(b"secret", "workspace", {"metrics": ["sessions"], "limit": 10}),
        cursor_scope_digest(b"secret", "workspace", {"metrics": ["visitors"], "limit": 20}),
    ],
)
def test_cursor_of_another_request_is_refused(other):
    assert refused_cursor(encode_offset_cursor(OffsetCursor(40, AT), HERE), other)


def test_cursor_does_not_depend_on_the_order_of_properties():
    assert cursor_scope_digest(b"secret", {"a": 1, "b": 2}) == cursor_scope_digest(
        b"secret", {"b": 2, "a": 1}
    )


@pytest.mark.parametrize("token", ["", "x", "é", "eyJvIjoxfQ", "=" * 8, "AAAAAAAAAAAA"])
def test_text_without_a_cursor_is_refused(token):
    assert refused_cursor(token)


@given(position=st.integers(0, 200), character=st.sampled_from("ABab01-_"))
def test_damaged_cursor_is_refused(position, character):
    token = encode_offset_cursor(OffsetCursor(40, AT), HERE)
    position %= len(token)
    damaged = token[:position] + character + token[position + 1 :]
    assert damaged == token or refused_cursor(damaged)


def test_forged_offset_is_refused():
    token = encode_offset_cursor(OffsetCursor(40, AT), HERE)
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    forged = base64.urlsafe_b64encode(raw.replace(b'"o":40', b'"o":41')).rstrip(b"=").decode()
    assert refused_cursor(forged)
