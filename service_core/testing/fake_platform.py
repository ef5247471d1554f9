"""A platform on the loopback for tests of plugins that call one: it answers as a function says, and fails on demand.

Write one function that turns a request into what the platform answers; each `ServerFailure` is produced without it::

    def answer(request):
        return FakeResponse({"accounts": [{"id": "1"}]})


    platform = FakePlatform(answer, busy=too_many_calls({}), refused=lambda request: FakeResponse("no", 403))
    with serve_in_thread(platform):
        plugin = MyPlugin(api=platform.url)
        platform.fail_with(ServerFailure.HALF)
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

from service_core.testing.ad_platform import RETRY_SECONDS, ServerFailure

_T = TypeVar("_T", bound="FakePlatform")
_SLOW_PIECES: Final = 10
_SLOW_SECONDS: Final = 0.005


@dataclass(frozen=True)
class ReceivedRequest:
    """A request; header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Returns the decoded body."""
        return json.loads(self.body)

    def form(self) -> dict[str, str]:
        """Returns the fields of a form."""
        return dict(parse_qsl(self.body.decode()))


@dataclass
class FakeResponse:
    """A response; content that is no text is written as JSON."""

    content: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def encode_head_and_body(self) -> tuple[bytes, bytes]:
        """Returns the response as it is sent."""
        body = (self.content if isinstance(self.content, str) else json.dumps(self.content)).encode()
        head = {"Content-Length": len(body), "Content-Type": "application/json", **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        return f"HTTP/1.1 {self.status} Status\r\n{lines}\r\n".encode(), body


class FakePlatform:
    """A platform that records its requests.

    Args:
        answers: returns the response to a request.
        busy: the response of `ServerFailure.BUSY`.
        refused: returns the response of `ServerFailure.REFUSED`.

    Attributes:
        failure: the present failure.
        asked: the requests so far.
        url: the address while it is served.
    """

    def __init__(
        self,
        answers: Callable[[ReceivedRequest], FakeResponse],
        busy: FakeResponse,
        refused: Callable[[ReceivedRequest], FakeResponse],
    ) -> None:
        self.answers, self.busy, self.refused = answers, busy, refused
        self.failure: ServerFailure | None = None
        self.asked: list[ReceivedRequest] = []
        self.url = ""

    def fail_with(self, failure: ServerFailure | None) -> None:
        """Makes every later answer the given failure; None ends it."""
        self.failure = failure

    def respond(self, request: ReceivedRequest) -> FakeResponse | None:
        """Returns the response to a request; None closes the connection."""
        match self.failure:
            case ServerFailure.BUSY:
                return self.busy
            case ServerFailure.REFUSED:
                return self.refused(request)
            case ServerFailure.GARBAGE:
                return FakeResponse("<html>Sorry</html>")
            case ServerFailure.BROKEN:
                return FakeResponse("oops", 500)
            case ServerFailure.CUT:
                return None
        return self.answers(request)

    async def handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the requests of one connection until it is closed or fails."""
        try:
            while (request := await _read_request(reader)) is not None:
                self.asked.append(request)
                response = self.respond(request)
                if response is None or not await self._write(response, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _write(self, response: FakeResponse, writer: asyncio.StreamWriter) -> bool:
        """Writes a response, slowly or half if told to; returns whether the connection goes on."""
        head, body = response.encode_head_and_body()
        is_half = self.failure is ServerFailure.HALF
        size = max(1, len(body) // _SLOW_PIECES) if self.failure is ServerFailure.SLOW else len(body) or 1
        writer.write(head)
        content = body[: len(body) // 2] if is_half else body
        for start in range(0, len(content), size):
            writer.write(content[start : start + size])
            await writer.drain()
            await asyncio.sleep(_SLOW_SECONDS if self.failure is ServerFailure.SLOW else 0)
        await writer.drain()
        return not is_half


async def _read_request(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    """Returns the next request; None at the end of the connection."""
    if not (line := await reader.readline()):
        return None
    method, target, _ = line.decode().split(" ")
    headers = {}
    while (line := await reader.readline()) not in {b"\r\n", b""}:
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    return ReceivedRequest(method, parts.path, dict(parse_qsl(parts.query)), headers, body)


@asynccontextmanager
async def serve_api(platform: _T) -> AsyncIterator[_T]:
    """Serves a platform on a free port of the loopback, in this event loop."""
    server = await asyncio.start_server(platform.handle_connection, "127.0.0.1", 0)
    platform.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield platform
    finally:
        server.close()


@contextmanager
def serve_in_thread(platform: _T) -> Iterator[_T]:
    """Serves a platform in a thread of its own, so that a plugin that blocks its event loop is found and does not hang."""
    is_served, loops = threading.Event(), []

    async def serve() -> None:
        ended = asyncio.Event()
        async with serve_api(platform):
            loops.append((asyncio.get_running_loop(), ended))
            is_served.set()
            await ended.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    is_served.wait()
    try:
        yield platform
    finally:
        ((loop, ended),) = loops
        loop.call_soon_threadsafe(ended.set)
        thread.join()


def too_many_calls(content: Any, status: int = 429) -> FakeResponse:
    """Returns a response to too many calls, with the time to wait."""
    return FakeResponse(content, status, {"Retry-After": str(RETRY_SECONDS)})


def fail_sending_calls(
    platform: FakePlatform, sends: Callable[[ReceivedRequest], bool] = lambda _: True
) -> Callable[[int], None]:
    """Returns a function that makes a platform answer calls that send with a status, and the others as before."""
    before = platform.answers

    def fail(status: int) -> None:
        platform.answers = lambda request: FakeResponse({}, status) if sends(request) else before(request)

    return fail
