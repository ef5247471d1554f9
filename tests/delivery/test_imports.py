"""Import jobs: created, uploaded, checked, started, followed, cancelled; and how workers share them."""

import gzip
import json
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from hosts.http.import_upload import serve_import_uploads
from hosts.worker import export_worker
from hosts.worker.imports import build_import_worker
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.delivery.imports.models import MAX_ATTEMPTS, READY_LIFETIME, UPLOAD_LIFETIME
from service_core.delivery.imports.upload import ImportUploads
from service_core.kernel.operations import Scope
from tests.delivery.conftest import NOW, ExportClient

CSV = b"event,time,customer,Plan,Notes\nsignup,2026-07-01T10:00:00Z,u1,pro,a\nsignup,2026-07-01T11:00:00Z,u2,free,b\n"
LOG = (
    b'198.51.100.7 - - [01/Jul/2026:10:00:00 +0000] "GET /pricing HTTP/1.1" 200 10 "-" "Mozilla/5.0 Firefox/140.0"\n'
    b'198.51.100.7 - - [01/Jul/2026:10:00:01 +0000] "GET /a.png HTTP/1.1" 200 10 "-" "Mozilla/5.0 Firefox/140.0"\n'
    b"nonsense\n"
)


class ImportClient(ExportClient):
    """A client of the import operations, and the worker of its operator."""

    def __init__(self, folder):
        super().__init__(folder, "memory://")
        ports = self.service.ports
        self.importer = build_import_worker(ports)
        self.uploads = ports.build_from_adapters(ImportUploads, settings=self.service.settings)
        self.app = serve_import_uploads(self._no_other_app, self.uploads, "https://t.example/app")

    @staticmethod
    async def _no_other_app(scope, receive, send):
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def grant(self, name, *scopes):
        made = await create_named_key_clamping_rate_limit_to_plan(
            self.service.ports.workspace.credentials, self.workspaces["shop"], NOW, name=name, scopes=scopes
        )
        self.keys[name] = made.secret

    async def create(self, kind="csv", *, key="writer", **more):
        return await self.ask("POST", "/v1/imports", {"format": kind, **more}, key=key)

    async def put(self, url, content, *, method="PUT", headers=(), pieces=None):
        parts, sent = urlsplit(url), []
        pending = [
            {"type": "http.request", "body": piece, "more_body": True} for piece in pieces or [content]
        ] + [{"type": "http.request", "body": b""}]
        scope = {
            "type": "http", "method": method, "path": parts.path, "query_string": parts.query.encode(),
            "headers": list(headers),
        }  # fmt: skip

        async def receive():
            return pending.pop(0) if pending else {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        return sent[0]["status"], sent[1]["body"], dict(sent[0]["headers"])

    async def work(self):
        while await self.importer.run_next():
            pass

    async def ready(self, content=CSV, kind="csv", **more):
        """Creates, uploads and checks; returns the job."""
        created = (await self.create(kind, **more)).json
        assert (await self.put(created["upload"]["url"], content))[0] == 200
        await self.work()
        return await self.job(created["id"])

    async def start(self, id_, *, key="writer", **body):
        return await self.ask("POST", f"/v1/imports/{id_}/start", {"dry_run": False, **body}, key=key)

    async def job(self, id_, *, key="writer"):
        return (await self.ask("GET", f"/v1/imports/{id_}", key=key)).json

    async def imported(self, content=CSV, kind="csv", **more):
        job = await self.ready(content, kind, **more)
        assert (await self.start(job["id"])).status == 202
        await self.work()
        return await self.job(job["id"])

    async def bodies(self):
        return [json.loads(queued.arrival.body) for queued in await self.service.ports.queue.take(1_000)]

    def stored_files(self):
        return sorted(path.name for path in (self.folder / "exports").glob("import-*"))


@pytest.fixture
async def shop(tmp_path):
    client = ImportClient(tmp_path)
    async with client.service:
        await client.found("shop")
        await client.found("other")
        await client.grant("writer", Scope.READ, Scope.WRITE_RULES)
        yield client


async def test_file_is_checked_before_anything_is_imported(shop):
    job = await shop.ready(
        file_name="Sign-ups.csv", columns={"customer": "user_id", "Plan": "properties.plan"}
    )
    assert (job["status"], job["file_name"], job["byte_count"]) == ("ready", "Sign-ups.csv", len(CSV))
    preview = job["preview"]
    fields = {target["column"]: target["field"] for target in preview["columns"]}
    assert fields == {
        "event": "event", "time": "timestamp", "customer": "user_id", "Plan": "properties.plan",
    }  # fmt: skip
    assert (preview["unused"], preview["counts"]) == (["Notes"], {"queued": 2})
    assert preview["events"][0]["user_id"] == "u1"
    assert preview["events"][0]["properties"] == {"plan": "pro"}
    assert await shop.bodies() == []
    assert shop.stored_files() == [f"import-{job['id']}"]


async def test_started_import_counts_each_row_by_what_became_of_it(shop):
    rows = (
        CSV
        + b"signup,2026-07-01T12:00:00Z,,free,c\n,2026-07-01T12:00:00Z,u4,free,d\nsignup,2001-01-01,u5,free,e\n"
    )
    job = await shop.imported(rows, columns={"customer": "user_id"})
    assert (job["status"], job["accepted"], job["duplicates"]) == ("completed", 3, 0)
    assert job["left_out"] == {"no_identity": 1, "no_event_name": 1}
    assert (job["entry_count"], job["received_now"]) == (5, 1)
    assert [body["user_id"] for body in await shop.bodies()] == ["u1", "u2", "u5"]
    assert job["preview"]["events"] == []
    assert shop.stored_files() == []
    again = await shop.imported(rows, columns={"customer": "user_id"})
    assert (again["accepted"], again["duplicates"]) == (0, 3)


async def test_access_log_is_imported_plain_and_packed(shop):
    job = await shop.imported(LOG, "access_log", site="https://shop.example")
    assert (job["accepted"], job["left_out"]) == (1, {"asset": 1, "malformed": 1})
    assert (await shop.bodies())[0]["properties"]["url"] == "https://shop.example/pricing"
    packed = await shop.imported(gzip.compress(LOG), "access_log", site="https://shop.example")
    assert (packed["accepted"], packed["duplicates"]) == (0, 1)


async def test_mapping_is_changed_by_another_check(shop):
    job = await shop.ready()
    assert job["preview"]["counts"] == {"no_identity": 2}
    refused = await shop.start(job["id"], columns={"customer": "user_id"})
    assert (refused.status, refused.json["code"]) == (422, "invalid_field")
    checked = await shop.start(job["id"], dry_run=True, columns={"customer": "user_id"})
    assert (checked.status, checked.json["status"]) == (202, "checking")
    await shop.work()
    assert (await shop.job(job["id"]))["preview"]["counts"] == {"queued": 2}


@pytest.mark.parametrize(
    ("content", "kind", "columns", "words"),
    [
        (b"\x00\x01PAR", "parquet", {}, "cannot be read"),
        (CSV, "csv", {"nobody": "user_id"}, "The file has no column nobody"),
    ],
)
async def test_file_that_cannot_be_read_fails_with_the_reason(shop, content, kind, columns, words):
    job = await shop.ready(content, kind, columns=columns)
    assert (job["status"], words in job["error"]) == ("failed", True)
    assert shop.stored_files() == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"format": "access_log"}, "site"),
        ({"format": "access_log", "site": "javascript:x"}, "site"),
        ({"format": "csv", "columns": {"a": "nonsense"}}, "columns"),
    ],
)
async def test_request_that_no_file_could_satisfy_is_refused(shop, body, field):
    refused = await shop.ask("POST", "/v1/imports", body, key="writer")
    assert (refused.status, refused.json["code"], refused.json["field"]) == (422, "invalid_field", field)


async def test_scope_to_write_rules_is_needed_to_import_and_not_to_look(shop):
    job = await shop.ready()
    for method, path in (("POST", ""), ("POST", f"/{job['id']}/start"), ("POST", f"/{job['id']}/cancel")):
        refused = await shop.ask(method, f"/v1/imports{path}", {"format": "csv"}, key="shop")
        assert (refused.status, refused.json["code"]) == (403, "insufficient_scope")
    assert (await shop.job(job["id"], key="shop"))["status"] == "ready"
    waiting = (await shop.create()).json
    assert (await shop.job(waiting["id"], key="shop"))["upload"] is None
    assert (await shop.job(waiting["id"]))["upload"]["url"]


async def test_import_of_another_workspace_does_not_exist(shop):
    job = await shop.ready()
    assert (await shop.ask("GET", f"/v1/imports/{job['id']}", key="other")).status == 404
    assert (await shop.ask("GET", "/v1/imports", key="other")).json == {"imports": []}
    assert [one["id"] for one in (await shop.ask("GET", "/v1/imports")).json["imports"]] == [job["id"]]


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


async def test_sixth_open_import_is_refused(shop):
    for _ in range(5):
        assert (await shop.create()).status == 201
    refused = await shop.create()
    assert (refused.status, refused.json["code"]) == (429, "too_many_imports")


async def test_cancelled_import_stops_at_its_next_batch(shop, monkeypatch):
    monkeypatch.setattr("hosts.data_import.enqueue.MAX_CONCURRENT", 1)
    job = await shop.ready(columns={"customer": "user_id"})
    await shop.start(job["id"])
    imports, saved = shop.service.ports.workspace.imports, []
    replace = imports.replace_import_if_unchanged

    async def cancel_after_first_batch(before, after):
        done = await replace(before, after)
        if after.entry_count == 1 and not saved:
            saved.append(after)
            cancelled = await shop.ask("POST", f"/v1/imports/{job['id']}/cancel", key="writer")
            assert cancelled.json["status"] == "cancelled"
        return done

    monkeypatch.setattr(
        type(imports), "replace_import_if_unchanged", lambda _, b, a: cancel_after_first_batch(b, a)
    )
    await shop.work()
    ended = await shop.job(job["id"])
    assert (ended["status"], ended["accepted"]) == ("cancelled", 1)
    assert shop.stored_files() == []
    again = await shop.ask("POST", f"/v1/imports/{job['id']}/cancel", key="writer")
    assert (again.status, again.json["code"]) == (409, "wrong_import_status")


async def test_worker_goes_on_after_the_last_durable_batch_of_one_that_died(shop, monkeypatch):
    monkeypatch.setattr("hosts.data_import.enqueue.MAX_CONCURRENT", 1)
    job = await shop.ready(columns={"customer": "user_id"})
    await shop.start(job["id"])
    imports = shop.service.ports.workspace.imports
    replace = imports.replace_import_if_unchanged

    class WorkerDied(BaseException):
        """Ends a worker as a kill does."""

    async def die_after_first_batch(_, before, after):
        await replace(before, after)
        if after.entry_count == 1:
            raise WorkerDied
        return True

    with monkeypatch.context() as dying:
        dying.setattr(type(imports), "replace_import_if_unchanged", die_after_first_batch)
        with pytest.raises(WorkerDied):
            await shop.importer.run_next()
    assert not await shop.importer.run_next()  # its lease still holds
    shop.now += timedelta(minutes=3)
    await shop.work()
    ended = await shop.job(job["id"])
    assert (ended["status"], ended["accepted"], ended["duplicates"]) == ("completed", 2, 0)
    assert len(await shop.bodies()) == 2


async def test_job_whose_workers_die_fails_at_last(shop):
    job = await shop.ready()
    await shop.start(job["id"])
    imports = shop.service.ports.workspace.imports
    for _ in range(MAX_ATTEMPTS):
        (stands,) = await imports.list_available_imports(shop.now, 1)
        assert await imports.replace_import_if_unchanged(stands, stands.claim_or_fail(shop.now))
        shop.now += timedelta(minutes=3)
    await shop.work()
    assert (await shop.job(job["id"]))["status"] == "failed"
    assert shop.stored_files() == []


async def test_process_of_a_job_runs_an_import_when_no_export_waits(shop):
    """As a worker of its own does, with the settings file alone."""
    created = (await shop.create(columns={"customer": "user_id"})).json
    assert (await shop.put(created["upload"]["url"], CSV))[0] == 200
    config = shop.folder / "touchpoint.toml"
    config.write_text('[storage]\nevents = "memory://"\n')
    await export_worker._run_one_export(config)
    assert (await shop.job(created["id"]))["status"] == "ready"


async def test_import_that_nobody_continues_ends_with_its_file(shop):
    waiting, ready = (await shop.create()).json, await shop.ready()
    shop.now += UPLOAD_LIFETIME
    await shop.importer.end_timed_out_imports()
    assert (await shop.job(waiting["id"]))["status"] == "cancelled"
    assert (await shop.job(ready["id"]))["status"] == "ready"
    shop.now += READY_LIFETIME
    await shop.importer.end_timed_out_imports()
    assert (await shop.job(ready["id"]))["status"] == "cancelled"
    assert shop.stored_files() == []
