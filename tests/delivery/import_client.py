"""A client of imports, and the worker of its deployment."""

import json
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from hosts.http.import_upload import serve_import_uploads
from hosts.worker.imports import build_import_worker
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
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
        while await self.importer.run_next_job():
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


@asynccontextmanager
async def open_import_shop(folder):
    """Gives a client whose key `writer` may import."""
    client = ImportClient(folder)
    async with client.service:
        await client.found("shop")
        await client.found("other")
        await client.grant("writer", Scope.READ, Scope.WRITE_RULES)
        yield client
