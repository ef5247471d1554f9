"""Files of imports behind each server: taken in pieces, and for as long as they take."""

import asyncio
from types import SimpleNamespace

import pytest

from hosts.http.app import create_api_app
from hosts.servers import TimeLimits
from hosts.servers.connection_limits import ConnectionLimits
from hosts.upload_paths import is_upload
from service_core.delivery.imports.models import ImportStatus
from service_core.kernel.errors import Forbidden
from service_core.kernel.ids import new_id
from tests.hosts.http.conftest import GUARD_SECONDS, SERVERS, run_server

LIMIT_SECONDS = 0.2
SHORT = ConnectionLimits(times=TimeLimits(request=LIMIT_SECONDS))


class CollectedUploads:
    """Stands for the storage of uploads; one signature is right."""

    def __init__(self):
        self.pieces = []

    async def require_valid_upload_link(self, import_id, expires, signature):
        if (expires, signature) != ("9", "right"):
            raise Forbidden("The link is not valid or has ended", "invalid_signature")
        return SimpleNamespace(id=import_id), SimpleNamespace(public_id="shop")

    async def store_file(self, job, chunks):
        self.pieces += [piece async for piece in chunks]
        return SimpleNamespace(id=job.id, status=ImportStatus.CHECKING)


@pytest.mark.parametrize("server", SERVERS)
async def test_slow_upload_is_taken_beyond_the_time_of_other_bodies(echo, server, monkeypatch):
    monkeypatch.setattr("hosts.http.app.BODY_TIMEOUT_SECONDS", LIMIT_SECONDS)
    uploads = CollectedUploads()
    async with (
        run_server(create_api_app(echo, uploads=uploads), server, limits=SHORT) as live,
        asyncio.timeout(GUARD_SECONDS),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
        target = f"/imports/upload/{new_id()}?expires=9&sig=right"
        writer.write(
            f"PUT {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 6\r\n\r\nabc".encode()
        )
        await asyncio.sleep(3 * LIMIT_SECONDS)
        writer.write(b"def")
        answer = await reader.read()
        writer.close()
    assert answer.split()[1] == b"200"
    assert b"".join(uploads.pieces) == b"abcdef"
    assert echo.requests == []


async def test_upload_without_a_valid_link_is_refused_before_its_body_is_read(echo):
    uploads = CollectedUploads()
    async with run_server(create_api_app(echo, uploads=uploads), "hypercorn") as live:
        status, headers, _ = await live.ask("PUT", f"/imports/upload/{new_id()}?expires=9&sig=wrong", b"abc")
    assert (status, headers["connection"], uploads.pieces) == (403, "close", [])


@pytest.mark.parametrize(
    ("method", "path", "takes_files"),
    [
        ("PUT", "/imports/upload/0197d2a4-6b1e-7c3f-9a55-2f1c8e0b7d44", True),
        ("POST", "/app/imports/upload/0197d2a4-6b1e-7c3f-9a55-2f1c8e0b7d44", True),
        ("GET", "/imports/upload/0197d2a4-6b1e-7c3f-9a55-2f1c8e0b7d44", False),
        ("PUT", "/v1/imports", False),
        ("PUT", "/imports/upload/nonsense", False),
        ("PUT", "/imports/upload/0197d2a4-6b1e-7c3f-9a55-2f1c8e0b7d44/x", False),
    ],
)
def test_only_uploads_have_no_time_limit(method, path, takes_files):
    assert is_upload({"method": method, "path": path}) is takes_files


async def test_rest_of_an_upload_that_was_answered_has_the_time_of_other_bodies(echo):
    async with (
        run_server(create_api_app(echo, uploads=CollectedUploads()), "uvicorn", limits=SHORT) as live,
        asyncio.timeout(GUARD_SECONDS),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
        target = f"/app/imports/upload/{new_id()}?expires=9&sig=wrong"
        writer.write(f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\nabc".encode())
        answer = await reader.read()  # ends when the server closes the connection
        writer.close()
    assert answer.split()[1] == b"303"
