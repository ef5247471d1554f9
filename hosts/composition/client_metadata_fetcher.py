"""Reads client metadata documents over https, from public addresses only."""

import re
from datetime import timedelta
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from typing import Final

from hosts.composition.public_https import HostUnreachable, PublicHttpsClient
from service_core.access.oauth.ports import ClientMetadataUnavailable, FetchedDocument

FETCH_SECONDS: Final = 5.0
MAX_DOCUMENT_BYTES: Final = 16_384
_MAX_HEADER_BYTES: Final = 16_384
_MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age=([0-9]{1,9})(?:$|[\s,])", re.IGNORECASE)
_UNCACHEABLE: Final = re.compile(r"no-store|no-cache", re.IGNORECASE)


class HttpsClientMetadataFetcher:
    """Implements the port `ClientMetadataFetcher`."""

    def __init__(self, https: PublicHttpsClient | None = None) -> None:
        self._https = https or PublicHttpsClient(FETCH_SECONDS)

    async def fetch_document(self, url: str) -> FetchedDocument:
        """Returns the document at an https address."""
        answer = bytearray()
        try:
            async with self._https.send_request("GET", url, {"Accept": "application/json"}) as reader:
                while len(answer) <= _MAX_HEADER_BYTES + MAX_DOCUMENT_BYTES:
                    part = await reader.read(_MAX_HEADER_BYTES)
                    if not part:
                        break
                    answer += part
        except HostUnreachable as error:
            raise ClientMetadataUnavailable(str(error)) from None
        return _parse_document(bytes(answer))


class _ReceivedAnswer:
    """An answer in memory, as `HTTPResponse` reads it from a socket."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, mode: str) -> BytesIO:  # noqa: ARG002 - the interface of a socket
        return BytesIO(self._answer)


def _parse_document(answer: bytes) -> FetchedDocument:
    """Returns the document of an HTTP answer.

    Raises:
        ClientMetadataUnavailable: it is no JSON document, or too large.
    """
    response = HTTPResponse(_ReceivedAnswer(answer))  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except (HTTPException, ValueError):
        raise ClientMetadataUnavailable("its answer is not whole, or too large") from None
    if response.status != HTTPStatus.OK:
        raise ClientMetadataUnavailable("its address does not answer 200")
    content_type = response.headers.get_content_type()
    if content_type != "application/json" and not content_type.endswith("+json"):
        raise ClientMetadataUnavailable("its content type is not JSON")
    if len(body) > MAX_DOCUMENT_BYTES:
        raise ClientMetadataUnavailable(f"it is larger than {MAX_DOCUMENT_BYTES} bytes")
    return FetchedDocument(body, _max_age(response.headers))


def _max_age(headers: Message) -> timedelta:
    cache_control = headers.get("cache-control", "")
    found = None if _UNCACHEABLE.search(cache_control) else _MAX_AGE.search(cache_control)
    return timedelta(seconds=int(found[1])) if found else timedelta()
