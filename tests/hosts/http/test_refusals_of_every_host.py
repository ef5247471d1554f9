"""Every host on every server refuses the same malformed requests, with JSON and a closed connection."""

import asyncio
import json

import pytest

from tests.hosts.http.conftest import SERVERS, run_server
from tests.hosts.http.test_app import MALFORMED
from tests.hosts.http.test_time_limits import HOSTS

REQUESTS = {
    name: MALFORMED[name]
    for name in (
        "bare line feeds",
        "one bare line feed",
        "folded line",
        "list of lengths",
        "the same length twice",
        "version 9.9",
        "websocket",
        "preface of HTTP/2",
        "space in a name",
        "too large",
    )
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("server", SERVERS)
async def test_malformed_requests_are_refused(server, host, tmp_path):
    create_app, path = HOSTS[host]
    requests = {name: data.replace(b" /x ", b" %s " % path) for name, data in REQUESTS.items()}
    async with run_server(create_app(tmp_path), server) as live:
        answers = await asyncio.gather(*map(live.send_bytes, requests.values()))
    for name, answer in zip(requests, answers, strict=True):
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.split()[1] == (b"431" if name == "too large" else b"400"), (name, answer)
        assert b"\r\nconnection: close" in head.lower(), name
        assert json.loads(body).keys() == {"error"}, name
