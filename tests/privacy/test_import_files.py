"""Uploaded import files are part of an erasure and of an access request."""

import gzip
import json
from types import SimpleNamespace

import pytest

from hosts.data_import.file_search import build_personal_import_files
from hosts.roles.tasks import build_person_erasure
from service_core.delivery.imports.models import ImportStatus
from service_core.privacy.access_request import AccessRequests
from service_core.privacy.import_files import ImportChanged
from service_core.privacy.models import PersonSubject, request_erasure
from tests.delivery.import_client import CSV, LOG, open_import_shop

BOB = b"event,time,customer,Notes\nsignup,2026-07-01T10:00:00Z,bob-17,-\n"
ADA = b"event,time,customer,Notes\nsignup,2026-07-01T10:00:00Z,u9,call ada@example.com\n"


@pytest.fixture
async def imports(tmp_path):
    async with open_import_shop(tmp_path) as client:
        yield client


async def request_of(client, person):
    ports, shop = client.service.ports, client.workspaces["shop"]
    erasure = request_erasure(shop.id, person, "command line", ports.clock())
    await ports.workspace.erasures.save_erasure(erasure)
    return build_person_erasure(ports)


async def test_file_with_an_id_of_the_person_is_deleted_and_counted_in_the_certificate(imports):
    about = await imports.ready(ADA, file_name="ada@example.com.csv")
    others = [await imports.ready(BOB), await imports.ready(LOG, "access_log", site="https://shop.example")]
    (erasure,) = await (await request_of(imports, "ada@example.com")).complete_requested_removals()
    assert erasure.certificate["removed"]["import_files"] == {"files": 1, "file_names": 1}
    job = await imports.job(about["id"])
    assert (job["status"], "ada@example" in json.dumps(job)) == ("cancelled", False)
    storage, rows = imports.service.ports.export_storage, imports.service.ports.workspace.imports
    shop = imports.workspaces["shop"]
    kept = {str(row.id): await storage.read(row.stored_name) for row in await rows.list_imports(shop.id, 9)}
    assert [kept[job["id"]] is not None for job in (about, *others)] == [False, True, True]
    assert [(await imports.job(other["id"]))["status"] for other in others] == ["ready", "ready"]


@pytest.mark.parametrize(
    ("kind", "content", "person"),
    [
        ("ndjson", b'{"event":"x","visitor_id":"bob"}\n{"event":"x","a":[{"id":123456}]}\n', "123456"),
        ("ndjson", b'{"event":"x","visitor_id":"bob"}\nno event of ada@example.com\n', "ada@example.com"),
        ("ndjson", b'{"event":"x","visitor_id":"ad"}\n', "ad"),
        ("ndjson", b"no JSON;u-1042;x\n", "u-1042"),
        (
            "access_log",
            gzip.compress(LOG.replace(b"/pricing", b"/a?u=ada%40example.com")),
            "ada%40example.com",
        ),
    ],
    ids=["number", "skipped line", "short id", "cell of a line", "compressed log"],
)
async def test_lines_about_the_person_are_part_of_an_access_request(imports, kind, content, person):
    site = {"site": "https://shop.example"} if kind == "access_log" else {}
    await imports.ready(content, kind, **site)
    ports = imports.service.ports
    requests = ports.build_from_adapters(AccessRequests, import_files=build_personal_import_files(ports))
    found = await requests.collect(imports.workspaces["shop"], person, ports.clock())
    (row,) = found["import_files"]
    assert person in json.dumps(row["entry"])
    assert (await requests.collect(imports.workspaces["shop"], "nobody", ports.clock()))["import_files"] == []


async def test_erasure_waits_for_a_running_import_and_its_events(imports):
    job = await imports.ready(CSV, columns={"customer": "visitor_id", "time": "timestamp"})
    await imports.start(job["id"])
    erasure = await request_of(imports, "u1")
    assert await erasure.complete_requested_removals() == []
    await imports.work()
    assert await erasure.complete_requested_removals() == []
    ports = imports.service.ports
    queued = await ports.queue.take(10)
    await ports.queue.acknowledge([], [SimpleNamespace(queued=each, reason="x") for each in queued])
    (done,) = await erasure.complete_requested_removals()
    assert done.certificate["removed"]["quarantine"] == {"events": 1}


async def test_file_that_a_worker_has_to_read_is_kept_for_the_next_try(imports):
    job = await imports.ready(ADA)
    await imports.start(job["id"])
    files = build_personal_import_files(imports.service.ports)
    with pytest.raises(ImportChanged):
        await files.delete_files_about(imports.workspaces["shop"].id, PersonSubject(frozenset({"nobody"})))
    await imports.work()
    assert (await imports.job(job["id"]))["status"] == ImportStatus.COMPLETED


async def test_file_whose_import_starts_during_the_search_is_kept_for_the_next_try(imports, monkeypatch):
    job = await imports.ready(ADA)
    files = build_personal_import_files(imports.service.ports)
    search = files._find_entries_in_file

    async def search_then_start(*arguments):
        found = await search(*arguments)
        await imports.start(job["id"])
        return found

    monkeypatch.setattr(files, "_find_entries_in_file", search_then_start)
    subject = PersonSubject(frozenset({"ada@example.com"}))
    with pytest.raises(ImportChanged):
        await files.delete_files_about(imports.workspaces["shop"].id, subject)
    assert (await imports.job(job["id"]))["status"] == ImportStatus.QUEUED
