"""`GET /t.js` as it is served; what it does is seen in `tests/web/test_page_script*.py`."""

import gzip
from importlib.resources import files

import pytest

from hosts.ingest.tracker_script import PARTS, build_tracker_script_without_comments
from tests.hosts.ingest.test_browser_routes import host as host

SMALL = 6 * 1024
"""Bytes over the wire: it stands in the head of every page."""


async def request_script(host, method="GET", **headers):
    return await host.follow("/t.js", method=method, host="ingest.example", **headers)


async def test_script_is_cached_for_an_hour_and_revalidated_by_etag(host):
    answer = await request_script(host)
    assert (answer.status, answer.body.decode()) == (200, build_tracker_script_without_comments())
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["access-control-allow-origin"] == "*"
    tag = answer.headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        again = await request_script(host, If_None_Match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert (await request_script(host, If_None_Match='"other"')).status == 200


async def test_script_size_is_bounded_plain_and_compressed(host):
    answer = await request_script(host, Accept_Encoding="br, gzip")
    assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(answer.body).decode() == build_tracker_script_without_comments()
    assert len(answer.body) < SMALL
    assert "content-encoding" not in (await request_script(host)).headers


async def test_head_equals_get_without_body(host):
    answer = await request_script(host, "HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) == len(build_tracker_script_without_comments())
    assert (await request_script(host, "POST")).status == 405


def test_script_contains_all_parts_and_no_eval():
    script = build_tracker_script_without_comments()
    assert sorted(PARTS) == sorted(
        file.name.partition(".")[0] for file in files("hosts.ingest.script").iterdir()
    )
    assert "eval(" not in script
    assert "Function(" not in script
    assert "innerHTML" not in script
    assert not [line for line in script.splitlines() if line.startswith("//")]


@pytest.mark.parametrize("name", ["track", "page", "identify", "alias", "group", "optOut"])
def test_script_has_the_specified_functions(name):
    assert (
        name in build_tracker_script_without_comments().partition("const functions = {")[2].partition("}")[0]
    )
