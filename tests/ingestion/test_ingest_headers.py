"""The headers that ingestion reads, however a client writes their values."""

import pytest

from service_core.ingestion.track import parse_ingest_headers


def test_request_without_headers_has_none_of_them():
    headers = parse_ingest_headers([])
    assert headers == (None, None, {}, None, None)


@pytest.mark.parametrize("value", [b"gzip", b"GZIP", b" gzip ", b"Gzip\t"])
def test_names_of_encodings_are_case_insensitive(value):
    assert parse_ingest_headers([(b"content-encoding", value)]).content_encoding == "gzip"


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ([(b"x-api-key", b" lpk_1 "), (b"authorization", b"Bearer lpk_2")], "lpk_1"),
        ([(b"x-api-key", b" "), (b"authorization", b"Bearer lpk_2")], "lpk_2"),
        ([(b"authorization", b"Basic lpk_2")], None),
    ],
)
def test_x_api_key_precedes_the_bearer_token_unless_it_is_empty(sent, key):
    assert parse_ingest_headers(sent).key == key


@pytest.mark.parametrize(
    ("value", "length"),
    [(b"12", 12), (b"0", 0), (b"-1", None), (b"1e3", None), (b"9" * 15, 10**15 - 1), (b"9" * 16, None)],
)
def test_content_length_is_a_number_of_at_most_15_digits(value, length):
    assert parse_ingest_headers([(b"content-length", value)]).content_length == length


def test_headers_of_languages_and_prefetches_are_stored_and_others_are_not():
    sent = [
        (b"user-agent", "Zoë".encode("latin-1")),
        (b"accept-language", b"de"),
        (b"purpose", b"prefetch"),
        (b"cookie", b"a=b"),
    ]
    headers = parse_ingest_headers(sent)
    assert (headers.user_agent, headers.stored_headers) == (
        "Zoë",
        {"accept-language": "de", "purpose": "prefetch"},
    )
