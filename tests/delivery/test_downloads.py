"""A download link gives one file for an hour to whoever has it, and nothing else to anybody (S21)."""

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.client_address import ClientAddressResolver
from hosts.http.app import create_unprotected_quart_app
from service_core.access.oauth.models import OneTimeToken, OneTimeTokenKind
from service_core.api.http_messages import ApiRequest
from service_core.delivery.exports.signing import is_download_link_valid, sign_download
from service_core.kernel.operations import Scope
from tests.mcp.mcp_client import connect_client


@pytest.fixture
async def download_path(memory_api_client):
    story = memory_api_client.story()
    story.add_event("x", at="2026-07-03", visitor="A1")
    await memory_api_client.keep(story)
    job = await memory_api_client.export(start_date="2026-07-01T04:30Z", end_date="2026-07-02T03:00Z")
    return job["download"]["url"].removeprefix("https://t.example")


async def test_download_link_returns_an_attachment_named_by_local_dates(memory_api_client, download_path):
    got = await memory_api_client.ask("GET", download_path, key=None)
    assert got.status == 200
    assert got.headers["Content-Disposition"] == 'attachment; filename="events-2026-07-01-2026-07-01.csv"'
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert got.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert got.headers["Content-Length"] == str(len(got.body))
    assert got.headers["Cache-Control"] == "no-store"


async def test_download_link_expires_after_an_hour_and_polling_renews_it(memory_api_client, download_path):
    memory_api_client.later(minutes=59, seconds=59)
    assert (await memory_api_client.ask("GET", download_path, key=None)).status == 200
    memory_api_client.later(seconds=1)
    refused = await memory_api_client.ask("GET", download_path, key=None)
    assert (refused.status, refused.json["code"]) == (403, "invalid_signature")
    (job,) = (await memory_api_client.ask("GET", "/v1/exports")).json["exports"]
    fresh = (await memory_api_client.ask("GET", f"/v1/exports/{job['id']}")).json["download"]["url"]
    assert (await memory_api_client.ask("GET", fresh, key=None)).status == 200


def tamper_link(download_path, part, by):
    path, _, query = download_path.partition("?")
    values = dict(pair.split("=") for pair in query.split("&"))
    values[part] = by(values[part])
    return f"{path}?" + "&".join(f"{name}={value}" for name, value in values.items())


@pytest.mark.parametrize(
    ("part", "by"),
    [
        ("expires", lambda at: str(int(at) + 1)),
        ("expires", lambda at: f"0{at}"),
        ("expires", lambda at: f"+{at}"),
        ("expires", lambda at: f"{at}.0"),
        ("expires", lambda at: "9" * 400),
        ("expires", lambda at: ""),
        ("sig", lambda sig: sig.upper()),
        ("sig", lambda sig: sig[:-1]),
        ("sig", lambda sig: f"{sig}0"),
        ("sig", lambda sig: ("0" if sig[0] != "0" else "1") + sig[1:]),
        ("sig", lambda sig: "%C3%BC"),
        ("sig", lambda sig: ""),
    ],
)
async def test_tampered_download_link_is_refused(memory_api_client, download_path, part, by):
    refused = await memory_api_client.ask("GET", tamper_link(download_path, part, by), key=None)
    assert (refused.status, refused.json["code"]) == (403, "invalid_signature")


async def test_download_link_is_bound_to_its_export(memory_api_client, download_path):
    other = await memory_api_client.export("users")
    foreign = await memory_api_client.order(key="other")
    query = download_path.partition("?")[2]
    answers = [
        await memory_api_client.ask("GET", f"/exports/download/{name}?{query}", key=None)
        for name in (other["id"], foreign.json["id"], uuid4())
    ]
    assert {(answer.status, answer.body) for answer in answers} == {(403, answers[0].body)}


@pytest.mark.parametrize(
    "name", ["..%2f..%2fworkspace.db", "%2e%2e", "x", "workspace.db", "{id}-1.csv", "{id}%00"]
)
async def test_download_path_without_a_job_is_not_found(memory_api_client, download_path, name):
    export_id = download_path.split("/")[3].partition("?")[0]
    query = download_path.partition("?")[2]
    answer = await memory_api_client.ask(
        "GET", f"/exports/download/{name.format(id=export_id)}?{query}", key=None
    )
    assert answer.status == 404


async def test_signature_by_another_workspaces_secret_is_refused(memory_api_client, download_path):
    export_id, expires = (
        download_path.split("/")[3].partition("?")[0],
        download_path.split("expires=")[1].partition("&")[0],
    )
    key = hmac.digest(memory_api_client.workspaces["other"].secret, b"export download", hashlib.sha256)
    forged = hmac.digest(key, f"{export_id}.{expires}".encode(), hashlib.sha256).hex()
    assert (
        await memory_api_client.ask("GET", tamper_link(download_path, "sig", lambda _: forged), key=None)
    ).status == 403


async def test_deleted_file_is_not_found(memory_api_client, download_path):
    for path in (memory_api_client.folder / "exports").iterdir():
        path.unlink()
    assert (await memory_api_client.ask("GET", download_path, key=None)).status == 404


async def test_head_returns_the_length_without_opening_the_file(memory_api_client, download_path):
    path, _, query = download_path.partition("?")
    size = (memory_api_client.folder / "exports" / memory_api_client.files[0]).stat().st_size
    answer = await memory_api_client.service.dispatch(ApiRequest("HEAD", path, query))
    assert (answer.status, answer.headers["Content-Length"]) == (200, str(size))
    assert (answer.body, answer.open_stream) == (b"", None)


async def test_http_host_streams_the_file(memory_api_client, download_path):
    expected = (await memory_api_client.ask("GET", download_path, key=None)).body
    client = create_unprotected_quart_app(
        memory_api_client.service.dispatch, ClientAddressResolver()
    ).test_client()
    got = await client.get(download_path)
    assert (got.status_code, await got.get_data()) == (HTTPStatus.OK, expected)
    assert got.headers.getlist("Content-Length") == [str(len(expected))]
    assert (await client.post(download_path)).status_code == HTTPStatus.METHOD_NOT_ALLOWED


@given(secret=st.binary(min_size=1, max_size=64), at=st.integers(1, 10**11), sent=st.text(max_size=70))
def test_signature_must_match_exactly(secret, at, sent):
    export_id, now = uuid4(), datetime(1970, 1, 1, tzinfo=UTC)
    right = sign_download(secret, export_id, at)
    assert is_download_link_valid(secret, export_id, str(at), right, now)
    assert not is_download_link_valid(secret, export_id, str(at), sent, now)
    assert not is_download_link_valid(secret + b"x", export_id, str(at), right, now)
    assert not is_download_link_valid(secret, uuid4(), str(at), right, now)


@pytest.fixture
async def program_download(memory_api_client):
    """An export that a program made: the path of its link, its id, and the grant of the program."""
    api = memory_api_client
    program = await connect_client(api.service, api.workspaces["shop"], api.now)
    body = {"type": "events", "start_date": "2026-07-01", "end_date": "2026-07-02"}
    export = await program.call("create_export", **body)
    while await api.exporter.run_next_job():
        pass
    got = await program.call("get_export", exportId=export["id"])
    path = got["download"]["url"].removeprefix("https://t.example")
    assert (await api.ask("GET", path, key=None)).status == 200
    [grant] = await api.service.ports.workspace.oauth_grants.list_active_grants(program.workspace.id)
    return path, export["id"], grant


async def test_link_of_a_program_ends_with_its_grant(memory_api_client, program_download):
    api, (path, export_id, grant) = memory_api_client, program_download
    for changed in (path.replace("&grant=", "&other="), tamper_link(path, "grant", lambda _: str(uuid4()))):
        assert (await api.ask("GET", changed, key=None)).status == 403
    of_a_key = (await api.ask("GET", f"/v1/exports/{export_id}")).json["download"]["url"]
    await api.service.ports.workspace.one_time_tokens.end_grant(grant.id, api.now)
    refused = await api.ask("GET", path, key=None)
    assert (refused.status, refused.json["code"]) == (403, "invalid_signature")
    assert (await api.ask("GET", of_a_key, key=None)).status == 200


async def test_link_of_a_program_ends_when_its_grant_is_narrowed_to_totals(
    memory_api_client, program_download
):
    api, (path, _, grant) = memory_api_client, program_download
    later = replace(grant, id=uuid4(), scopes=frozenset({Scope.READ_AGGREGATES}))
    await api.service.ports.workspace.one_time_tokens.add_grant_and_narrow_earlier_grants(
        OneTimeToken(OneTimeTokenKind.CODE, later, api.now + timedelta(hours=1)), "digest"
    )
    assert (await api.ask("GET", path, key=None)).status == 403
