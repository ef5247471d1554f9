"""Files of imports: signed links, limits, forms of browsers, and uploads of one import at the same time."""

import json
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from service_core.delivery.imports.models import UPLOAD_LIFETIME, ImportStatus
from service_core.kernel.errors import Conflict
from tests.delivery.import_client import CSV, open_import_shop


@pytest.fixture
async def shop(tmp_path):
    async with open_import_shop(tmp_path) as client:
        yield client


async def test_upload_needs_the_signature_of_its_job(shop):
    one, two = (await shop.create()).json, (await shop.create()).json
    link = one["upload"]["url"]
    for wrong in (link.replace("sig=", "sig=0"), link.replace(one["id"], two["id"]), link.partition("?")[0]):
        status, body, _ = await shop.put(wrong, CSV)
        assert (status, json.loads(body)["code"]) == (403, "invalid_signature")
    shop.now += UPLOAD_LIFETIME
    assert (await shop.put(link, CSV))[0] == 403
    assert shop.stored_files() == []


async def test_upload_link_takes_one_file(shop):
    link = (await shop.create()).json["upload"]["url"]
    assert (await shop.put(link, CSV))[0] == 200
    status, body, _ = await shop.put(link, CSV)
    assert (status, json.loads(body)["code"]) == (409, "wrong_import_status")


async def test_file_beyond_the_limit_is_refused_and_not_kept(shop, monkeypatch):
    monkeypatch.setattr(shop.uploads, "_max_bytes", 100)
    created = (await shop.create()).json
    status, body, headers = await shop.put(created["upload"]["url"], b"", pieces=[b"x" * 60] * 50)
    assert (status, json.loads(body)["code"], headers[b"connection"]) == (413, "payload_too_large", b"close")
    assert shop.stored_files() == []
    assert (await shop.job(created["id"]))["status"] == "waiting_for_file"


async def test_empty_or_broken_upload_is_refused_and_not_kept(shop):
    link = (await shop.create()).json["upload"]["url"]
    assert (await shop.put(link, b""))[0] == 422
    messages = [{"type": "http.request", "body": b"a", "more_body": True}]
    sent = []

    async def receive():
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    parts = urlsplit(link)
    scope = {
        "type": "http",
        "method": "PUT",
        "path": parts.path,
        "query_string": parts.query.encode(),
        "headers": [],
    }
    await shop.app(scope, receive, send)
    assert sent[0]["status"] == 400
    assert shop.stored_files() == []


async def test_form_of_a_browser_is_taken_in_pieces_and_leads_back(shop):
    created = (await shop.create(columns={"customer": "user_id"})).json
    form = b'--B\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n--B\r\nContent-Disposition: form-data; '
    form += b'name="file"; filename="x.csv"\r\nContent-Type: text/csv\r\n\r\n' + CSV + b"\r\n--B--\r\n"
    link = created["upload"]["url"].replace("https://t.example", "https://t.example/app")
    kind = [(b"content-type", b"multipart/form-data; boundary=B")]
    pieces = [form[start : start + 7] for start in range(0, len(form), 7)]
    status, _, headers = await shop.put(link, b"", method="POST", headers=kind, pieces=pieces)
    page = f"/app/w/{shop.workspaces['shop'].public_id}/imports/{created['id']}"
    assert (status, headers[b"location"].decode()) == (303, page)
    await shop.work()
    job = await shop.job(created["id"])
    assert (job["byte_count"], job["preview"]["counts"]) == (len(CSV), {"queued": 2})
    status, _, headers = await shop.put(link, b"", method="POST", headers=kind, pieces=pieces)
    address = headers[b"location"].decode()
    assert (status, address.partition("?")[2]) == (303, "problem=wrong_import_status")


async def test_form_that_arrives_in_one_large_message_is_taken(shop):
    created = (await shop.create()).json
    rows = CSV + b"signup,2026-07-01T12:00:00Z,u3,free,c\n" * 8_000
    form = (
        b'--B\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\n'
        + rows
        + b"\r\n--B--\r\n"
    )
    assert len(form) > 300_000
    status, _, headers = await shop.put(
        created["upload"]["url"].replace("https://t.example", "https://t.example/app"),
        form,
        method="POST",
        headers=[(b"content-type", b"multipart/form-data; boundary=B")],
    )
    assert (status, b"problem" in headers[b"location"]) == (303, False)
    assert (await shop.job(created["id"]))["byte_count"] == len(rows)


async def test_form_with_too_many_fields_leads_back_with_a_problem(shop):
    link = (await shop.create()).json["upload"]["url"].replace("https://t.example", "https://t.example/app")
    form = b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n' * 30 + b"--B--\r\n"
    kind = [(b"content-type", b"multipart/form-data; boundary=B")]
    status, _, headers = await shop.put(link, form, method="POST", headers=kind)
    assert (status, headers[b"location"].endswith(b"?problem=invalid_parameter")) == (303, True)


async def read_file(storage, name):
    _, chunks = await storage.read(name)
    return b"".join([chunk async for chunk in chunks()])


async def test_later_upload_replaces_one_that_still_goes_on(shop):
    created = (await shop.create()).json
    imports, storage = shop.service.ports.workspace.imports, shop.service.ports.export_storage
    waiting = await imports.find_import(UUID(created["id"]))

    async def pieces_around_another_upload():
        yield b"first half"
        assert (await shop.put(created["upload"]["url"], CSV))[0] == 200
        yield b"second half"

    with pytest.raises(Conflict):
        await shop.uploads.store_file(waiting, pieces_around_another_upload())
    job = await imports.find_import(waiting.id)
    assert await read_file(storage, job.stored_name) == CSV
    assert shop.stored_files() == [job.stored_name]


async def test_file_of_an_import_cancelled_during_its_upload_is_not_kept(shop):
    created = (await shop.create()).json
    waiting = await shop.service.ports.workspace.imports.find_import(UUID(created["id"]))

    async def pieces_around_cancel():
        yield b"first half"
        cancelled = await shop.ask("POST", f"/v1/imports/{created['id']}/cancel", key="writer")
        assert cancelled.json["status"] == "cancelled"
        yield b"second half"

    with pytest.raises(Conflict):
        await shop.uploads.store_file(waiting, pieces_around_cancel())
    assert shop.stored_files() == []


async def test_file_of_an_import_cancelled_when_it_was_just_stored_is_deleted(shop, monkeypatch):
    created = (await shop.create()).json
    imports = shop.service.ports.workspace.imports
    waiting = await imports.find_import(UUID(created["id"]))
    replace = imports.replace_import_if_unchanged

    async def cancel_before_check(_, before, after):
        if after.status is ImportStatus.CHECKING:
            current = await imports.find_import(before.id)
            assert await replace(current, current.cancel(shop.now))
        return await replace(before, after)

    monkeypatch.setattr(type(imports), "replace_import_if_unchanged", cancel_before_check)

    async def pieces():
        yield CSV

    with pytest.raises(Conflict):
        await shop.uploads.store_file(waiting, pieces())
    assert shop.stored_files() == []
