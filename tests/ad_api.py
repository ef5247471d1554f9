"""A server on the loopback that speaks the wire format of an ad platform, as a test tells it."""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from service_core.testing.ad_platform import RETRY_SECONDS, Trouble


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body)

    def form(self):
        return dict(parse_qsl(self.body.decode()))


@dataclass
class Answer:
    """What is sent back; content that is no text is written as JSON."""

    content: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def written(self):
        body = (self.content if isinstance(self.content, str) else json.dumps(self.content)).encode()
        head = {"Content-Length": len(body), "Content-Type": "application/json", **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        return f"HTTP/1.1 {self.status} Told\r\n{lines}\r\n".encode() + body


class Api:
    """A platform: it answers as told, and remembers what it was asked."""

    def __init__(self, answers: Callable[[Asked], Answer], busy: Answer, refused: Callable[[Asked], Answer]):
        self.answers, self.busy, self.refused = answers, busy, refused
        self.trouble: Trouble | None = None
        self.asked: list[Asked] = []
        self.url = ""

    def play(self, trouble):
        self.trouble = trouble

    def answer(self, asked):
        match self.trouble:
            case None:
                return self.answers(asked)
            case Trouble.BUSY:
                return self.busy
            case Trouble.REFUSED:
                return self.refused(asked)
            case Trouble.GARBAGE:
                return Answer("<html>Sorry</html>")
            case Trouble.BROKEN:
                return Answer("oops", 500)
        return None

    async def talk(self, reader, writer):
        try:
            while line := await reader.readline():
                method, target, _ = line.decode().split(" ")
                headers = {}
                while (line := await reader.readline()) not in {b"\r\n", b""}:
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                parts = urlsplit(target)
                asked = Asked(method, parts.path, dict(parse_qsl(parts.query)), headers, body)
                self.asked.append(asked)
                answer = self.answer(asked)
                if answer is None:
                    break
                writer.write(answer.written())
                await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def serving(api):
    """Listen on a free port of the loopback."""
    server = await asyncio.start_server(api.talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    api.url = f"http://127.0.0.1:{port}"
    try:
        yield api
    finally:
        server.close()


def retry(content, status=429):
    """Too many calls, with the time to wait."""
    return Answer(content, status, {"Retry-After": str(RETRY_SECONDS)})


def failing(api, sends=lambda _: True):
    """Makes a platform answer calls that send with a status, and the others as before."""
    before = api.answers

    def fail(status):
        api.answers = lambda asked: Answer({}, status) if sends(asked) else before(asked)

    return fail
