"""Calls to ad platforms: whatever comes of one is an answer, or a platform that is down."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from service_core.commerce import platform_http
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable

NOW = datetime(2026, 7, 8, tzinfo=UTC)


@dataclass
class StubHttpResponse:
    status_code: int = 200
    content: bytes = b"{}"
    headers: dict = field(default_factory=dict)


def serve_http_response(response):
    async def request(method, address, **content):
        if isinstance(response, Exception):
            raise response
        return response

    return platform_http.JsonHttpClient("Ads", request, OSError, lambda: NOW)


async def test_response_is_returned_for_every_status():
    answer = await serve_http_response(
        StubHttpResponse(503, b'{"a": 1.10}', {"retry-after": "7"})
    ).request_json("GET", "http://ads")
    assert (answer.status, answer.is_success, answer.retry_after) == (503, False, 7.0)
    assert str(answer.require_json()["a"]) == "1.10"


@pytest.mark.parametrize("content", [b"", b"<html>", b"7", b"\xff"])
async def test_body_without_object_or_list_is_none(content):
    answer = await serve_http_response(StubHttpResponse(content=content)).request_json("GET", "http://ads")
    with pytest.raises(PlatformUnavailable, match="something else than JSON, with status 200"):
        answer.require_json()


async def test_connection_error_names_only_its_type():
    with pytest.raises(PlatformUnavailable, match=r"^Ads does not answer \(OSError\)\.$"):
        await serve_http_response(OSError("http://ads?token=hush")).request_json("GET", "http://ads")


async def test_slow_response_counts_as_unavailable():
    with pytest.raises(PlatformUnavailable, match="does not answer within"):
        async with platform_http.time_limit_as_unavailable(0.01, "Ads"):
            await asyncio.Event().wait()


def test_missing_credentials_are_named():
    platform_http.require_credentials({"a": "1", "b": ""}, ("a",))
    with pytest.raises(CredentialsRejected, match="b, c is missing"):
        platform_http.require_credentials({"a": "1", "b": ""}, ("a", "b", "c"))


def test_null_fields_are_omitted_and_zero_is_kept():
    assert platform_http.drop_empty(a=None, b="", c=[], d={}, e=0, f=False, g=0.0) == {
        "e": 0,
        "f": False,
        "g": 0.0,
    }
