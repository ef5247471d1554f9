"""Listening, stopping and pages beside the gateway."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from quart import Blueprint

from hosts.asgi_runner import (
    bind_listener,
    require_server_installed,
    run_on_uvloop,
    set_event_on_termination_signals,
)
from hosts.client_address import ClientAddressResolver
from hosts.http.app import create_unprotected_quart_app
from service_core.kernel.errors import StartupError


@pytest.mark.parametrize("address", ["8080", "localhost", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000"])
def test_invalid_address_is_refused(address):
    with pytest.raises(StartupError, match="HOST:PORT"):
        bind_listener(address)


def test_address_in_use_is_named():
    with bind_listener("127.0.0.1:0") as first:
        taken = f"127.0.0.1:{first.getsockname()[1]}"
        with pytest.raises(StartupError, match=f"Cannot listen on {taken}"):
            bind_listener(taken)


def test_server_that_is_not_installed_is_named():
    with pytest.raises(StartupError, match=r"pip install touchpoint-analytics\[gunicorn\]"):
        require_server_installed("gunicorn")


@pytest.mark.parametrize(("soft", "hard", "expected"), [(64, 128, 128), (128, 128, 128)])
def test_process_may_open_as_many_files_as_the_system_allows(soft, hard, expected):
    script = (
        "import resource; from hosts.asgi_runner import raise_open_file_limit\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        "raise_open_file_limit(); print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == [str(expected), str(hard)]


@pytest.mark.timeout(200, method="thread")  # the loop hears no alarm
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_sets_the_stop_event(number):
    async def main():
        shutdown = asyncio.Event()
        set_event_on_termination_signals(shutdown)
        os.kill(os.getpid(), number)
        async with asyncio.timeout(30):
            return await shutdown.wait()

    assert run_on_uvloop(main())


async def test_pages_are_served_beside_the_dispatcher(echo):
    pages = Blueprint("own", __name__, url_prefix="/app")

    @pages.get("/")
    async def page():
        return "a page"

    client = create_unprotected_quart_app(echo, ClientAddressResolver(), [pages]).test_client()
    assert await (await client.get("/app/")).get_data() == b"a page"
    for path in ("/app/none", "/app", "/v1/x"):
        assert (await (await client.get(path)).get_json())["path"] == path
    assert [request.path for request in echo.requests] == ["/app/none", "/app", "/v1/x"]


async def test_page_error_returns_an_id_that_is_logged_without_its_message(echo, caplog):
    pages = Blueprint("own", __name__, url_prefix="/app")

    @pages.get("/broken")
    async def broken():
        raise RuntimeError("secret")

    answer = (
        await create_unprotected_quart_app(echo, ClientAddressResolver(), [pages])
        .test_client()
        .get("/app/broken")
    )
    error_id = answer.headers["X-Error-Id"]
    values = {"error": "Internal server error", "code": "internal_error", "error_id": error_id}
    assert (answer.status_code, await answer.get_json()) == (500, values)
    assert caplog.records[-1].error_id == error_id
