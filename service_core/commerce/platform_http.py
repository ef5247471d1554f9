"""HTTP requests to platforms: what their clients share, over an HTTP client that each plugin opens."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from importlib import import_module
from typing import Any, Protocol

from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.kernel.clock import Clock


class HttpResponse(Protocol):
    """An answer as HTTP clients have it."""

    @property
    def status_code(self) -> int:
        """Returns the status code."""

    @property
    def content(self) -> bytes:
        """The body, unpacked."""

    @property
    def headers(self) -> Mapping[str, str]:
        """By name, whatever its case."""


@dataclass(frozen=True, slots=True)
class JsonResponse:
    """A response of a platform.

    Attributes:
        payload: the parsed JSON, numbers with a point as `Decimal`; None if it is no JSON.
        retry_after: seconds of the header ``Retry-After``, when there is one.
    """

    platform: str
    status: int
    payload: Any
    headers: Mapping[str, str]
    retry_after: float | None

    @property
    def is_success(self) -> bool:
        """Returns whether the status is 2xx."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    def require_json(self) -> Any:
        """Returns the JSON payload, an object or a list.

        Raises:
            PlatformUnavailable: it is something else.
        """
        if not isinstance(self.payload, dict | list):
            raise PlatformUnavailable(
                f"{self.platform} answers something else than JSON, with status {self.status}.",
                self.retry_after,
                self.status,
            )
        return self.payload


@dataclass(frozen=True, slots=True)
class JsonHttpClient:
    """A client for requests to a platform.

    Attributes:
        platform: label of the platform, for messages.
        send_request: of the HTTP client: takes method, URL, and keyword arguments.
        transport_errors: what the HTTP client raises without a response.
        headers: sent with every request.
    """

    platform: str
    send_request: Callable[..., Awaitable[HttpResponse]]
    transport_errors: type[Exception]
    clock: Clock
    headers: Mapping[str, str] = field(default_factory=dict)

    async def request_json(self, method: str, url: str, **request_options: Any) -> JsonResponse:
        """Sends a request and returns the response, whatever its status.

        Raises:
            PlatformUnavailable: there was none.
        """
        try:
            headers = {**self.headers, **request_options.pop("headers", {})}
            answer = await self.send_request(method, url, headers=headers, **request_options)
        except self.transport_errors as fault:
            raise PlatformUnavailable(f"{self.platform} does not answer ({type(fault).__name__}).") from None
        payload: Any = None
        with suppress(ValueError):
            payload = json.loads(answer.content, parse_float=Decimal)
        wait = parse_retry_after_seconds(answer.headers.get("retry-after"), self.clock())
        return JsonResponse(self.platform, answer.status_code, payload, answer.headers, wait)

    async def post_json(self, url: str, body: Any, **request_options: Any) -> JsonResponse:
        """Sends a POST request with a JSON body; see `request_json`."""
        written = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        return await self.request_json("POST", url, content=written, headers=headers, **request_options)


@asynccontextmanager
async def open_json_client(
    platform: str,
    library_name: str,
    clock: Clock,
    *,
    timeout_seconds: float,
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[JsonHttpClient]:
    """Opens a client for a few requests on one connection.

    Args:
        platform: label of the platform, for messages.
        library_name: module of the HTTP client, with the names of httpx. It is imported here, because it takes 20 MB
            that only a request needs.
        clock: gives the current time.
        timeout_seconds: how long to wait for each step of a request.
        headers: sent with every request.

    Raises:
        PlatformUnavailable: the library is not installed.
    """
    with missing_http_client_as_unavailable(platform):
        library = import_module(library_name)
    async with library.AsyncClient(timeout=timeout_seconds, verify=_ssl_context(library)) as http:
        yield JsonHttpClient(platform, http.request, library.HTTPError, clock, headers or {})


@cache
def _ssl_context(library: Any) -> Any:
    """Returns the trusted certificates, read once because that takes longer than a request."""
    return library.create_ssl_context()


def drop_empty(**fields: Any) -> dict[str, Any]:
    """Returns the fields without None and empty values, which platforms refuse."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def require_credentials(secrets: Mapping[str, str], required_names: Collection[str]) -> None:
    """Checks that credentials are present.

    Raises:
        CredentialsRejected: some are missing.
    """
    missing = [name for name in required_names if not secrets.get(name)]
    if missing:
        raise CredentialsRejected(f"The credential {', '.join(missing)} is missing.")


@contextmanager
def missing_http_client_as_unavailable(platform: str) -> Iterator[None]:
    """Raises `PlatformUnavailable` if the HTTP client that the block imports is not installed.

    Raises:
        PlatformUnavailable: it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError:
        raise PlatformUnavailable(
            f'Calling {platform} needs an HTTP client. Install "touchpoint-analytics[ads]".'
        ) from None


@asynccontextmanager
async def time_limit_as_unavailable(seconds: float, platform: str) -> AsyncIterator[None]:
    """Limits the time of the block.

    Raises:
        PlatformUnavailable: it took longer.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise PlatformUnavailable(f"{platform} does not answer within {seconds:g} seconds.") from None


def parse_retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Returns the seconds of a ``Retry-After`` header, a number or a date; None if it is neither."""
    text = (header or "").strip()
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds())
