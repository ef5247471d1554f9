"""`GET /t.js` as it is served; what it does is seen in `tests/web/test_page_script*.py`."""

import gzip
from importlib.resources import files

import pytest

from hosts.ingest.tracker_script import PARTS, tracker_script
from tests.hosts.ingest.test_browser_routes import host as host

SMALL = 6 * 1024
"""Bytes over the wire: it stands in the head of every page."""


async def ask(host, method="GET", **headers):
    return await host.follow("/t.js", method=method, host="ingest.example", **headers)


async def test_the_script_is_kept_for_an_hour_and_asked_for_again_by_its_tag(host):
    answer = await ask(host)
    assert (answer.status, answer.body.decode()) == (200, tracker_script())
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["access-control-allow-origin"] == "*"
    tag = answer.headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        again = await ask(host, If_None_Match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert (await ask(host, If_None_Match='"other"')).status == 200


async def test_the_script_is_small_and_smaller_for_those_who_unpack_it(host):
    answer = await ask(host, Accept_Encoding="br, gzip")
    assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(answer.body).decode() == tracker_script()
    assert len(answer.body) < SMALL
    assert "content-encoding" not in (await ask(host)).headers


async def test_a_head_says_what_a_get_would_send(host):
    answer = await ask(host, "HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) == len(tracker_script())
    assert (await ask(host, "POST")).status == 405


def test_the_script_is_of_all_its_parts_and_evaluates_no_text():
    script = tracker_script()
    assert sorted(PARTS) == sorted(
        file.name.partition(".")[0] for file in files("hosts.ingest.script").iterdir()
    )
    assert "eval(" not in script
    assert "Function(" not in script
    assert "innerHTML" not in script
    assert not [line for line in script.splitlines() if line.startswith("//")]


@pytest.mark.parametrize("name", ["track", "page", "identify", "alias", "group", "optOut"])
def test_the_functions_of_the_contract_are_there(name):
    assert name in tracker_script().partition("const functions = {")[2].partition("}")[0]
