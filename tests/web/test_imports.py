"""Import in the web application: upload, mapping, progress that reloads by itself, counts by reason."""

import re
from html import unescape
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import UUID

import pytest

from hosts.worker.imports import build_import_worker
from service_core.access.api_keys import create_write_or_agent_key
from service_core.access.models import CredentialKind
from service_core.delivery.imports.models import ImportProgress
from service_core.delivery.imports.upload import ImportUploads
from tests.fixtures.standard_shop import visible_words
from tests.plugins.test_import_sources import POSTHOG

CSV = b"event,time,customer,Plan,Notes\nsignup,2026-03-01T10:00:00Z,u1,pro,a\nsignup,2026-03-01T11:00:00Z,,free,b\n"


class ImportPages:
    """The pages of imports, and the worker of the deployment."""

    def __init__(self, shop, ann):
        self.shop, self.ann, self.list = shop, ann, f"{shop.pages}/imports"
        self.ports = shop.deployment.service.ports
        self.uploads = self.ports.build_from_adapters(
            ImportUploads, settings=shop.deployment.service.settings
        )

    async def create(self, kind="csv", **fields):
        made = await self.ann.send(self.list, self.list, format=kind, **fields)
        assert made.status == 303, made.text
        return made.location

    async def upload(self, path, content=CSV):
        """Sends a file as the form of the page would."""
        action = urlsplit(
            unescape(re.search(r'action="([^"]*/imports/upload/[^"]*)"', (await self.ann.get(path)).body)[1])
        )
        assert action.path == f"/app/imports/upload/{path.rpartition('/')[2]}"
        sent = parse_qs(action.query)
        job, _ = await self.uploads.require_valid_upload_link(
            UUID(action.path.rpartition("/")[2]), sent["expires"][0], sent["sig"][0]
        )

        async def pieces():
            yield content

        await self.uploads.store_file(job, pieces())

    async def work(self):
        worker = build_import_worker(self.ports)
        while await worker.run_next_job():
            pass

    async def job(self, path):
        return await self.ports.workspace.imports.find_import(UUID(path.rpartition("/")[2]))


@pytest.fixture
async def pages(shop):
    credentials, now = shop.deployment.store.credentials, shop.deployment.clock()
    await create_write_or_agent_key(credentials, shop.gallery.workspace, CredentialKind.WRITE, now)
    return ImportPages(shop, await shop.sign_in("admin"))


async def test_file_is_uploaded_checked_mapped_and_imported(pages):
    assert "Import a file" in visible_words(await pages.ann.get(pages.list))
    path = await pages.create(name="Sign-ups")
    assert "Waiting for the file" in visible_words(await pages.ann.get(path))
    await pages.upload(path)
    checking = await pages.ann.get(path)
    assert "Reading the file" in visible_words(checking)
    assert checking.headers["Refresh"] == f"3; url={path}"
    await pages.work()
    ready = await pages.ann.get(path)
    words = visible_words(ready)
    assert "Rows without any user or visitor ID: 2" in words
    assert "None of these would be imported." in words
    assert "Not used: customer, Plan, Notes." in words
    assert "Refresh" not in ready.headers
    token = await pages.ann.token(path)
    mapped = [
        ("csrf", token),
        ("column", "customer"),
        ("field", "user_id"),
        ("column", "Plan"),
        ("field", "properties.Plan"),
    ]
    form = {"content-type": "application/x-www-form-urlencoded"}
    checked = await pages.ann.client.post(f"{path}/check", data=urlencode(mapped), headers=form)
    assert checked.headers["Location"] == path
    await pages.work()
    words = visible_words(await pages.ann.get(path))
    assert "Events: 1, Rows without any user or visitor ID: 1" in words
    assert "Not used: Notes." in words
    assert "u1 Plan: pro" in words
    assert (await pages.ann.send(path, f"{path}/start")).location == path
    await pages.work()
    assert (await pages.job(path)).error is None
    words = visible_words(await pages.ann.get(path))
    assert "Completed Events appear within seconds. See the events" in words
    assert "Events imported 1 Duplicates of earlier events 0 Rows without any user or visitor ID 1" in words
    assert "Sign-ups 12 March 2026 Completed 1 0 1" in visible_words(await pages.ann.get(pages.list))


async def test_progress_is_shown_and_its_updates_can_be_paused(pages):
    path = await pages.create()
    await pages.upload(path)
    await pages.work()
    await pages.ann.send(path, f"{path}/start")
    imports, queued = pages.ports.workspace.imports, await pages.job(path)
    running = queued.claim_or_fail(pages.shop.deployment.clock())
    assert await imports.replace_import_if_unchanged(queued, running)
    halfway = ImportProgress(1, len(CSV) // 2, {"queued": 1})
    assert await imports.replace_import_if_unchanged(running, running.advance(running.started_at, halfway))
    page = await pages.ann.get(path)
    assert re.search(r"Importing (49|50) %", visible_words(page))
    assert page.headers["Refresh"] == f"3; url={path}"
    assert "Refresh" not in (await pages.ann.get(f"{path}?updates=off")).headers


async def test_import_is_cancelled(pages):
    path = await pages.create("access_log", site="https://shop.example")
    assert (await pages.ann.send(path, f"{path}/cancel")).location == path
    assert "Cancelled" in visible_words(await pages.ann.get(path))


async def test_refusals_are_said_in_words(pages):
    refused = await pages.ann.send(pages.list, pages.list, format="access_log", site="")
    assert refused.status == 422
    assert "An access log needs its site. Such as https://shop.example." in visible_words(refused)
    path = await pages.create()
    assert "too large" in visible_words(await pages.ann.get(f"{path}?problem=payload_too_large"))
    assert "<script>" not in (await pages.ann.get(f"{path}?problem=<script>")).body
    refused = await pages.ann.send(path, f"{path}/start")
    assert refused.status == 409
    assert "The import is waiting for file" in visible_words(refused)


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_import_is_for_owners_and_admins(shop, role):
    person = await shop.sign_in(role)
    assert (await person.get(f"{shop.pages}/imports")).status == 403
    assert "/imports" not in (await person.get(f"{shop.pages}/settings/general")).body


async def test_import_of_another_workspace_is_not_found(pages):
    path = await pages.create()
    stranger, other = await pages.shop.open_empty_workspace()
    assert (await stranger.get(f"{other}/imports/{path.rpartition('/')[2]}")).status == 404
    assert (await stranger.get(f"{other}/imports/nonsense")).status == 404


async def test_history_of_another_tool_is_imported_reconciled_and_removed(pages):
    assert "PostHog: Events of a batch export" in visible_words(await pages.ann.get(pages.list))
    path = await pages.create("source:posthog", name="Old events")
    await pages.upload(path, POSTHOG)
    await pages.work()
    await pages.ann.send(path, f"{path}/start")
    await pages.work()
    words = visible_words(await pages.ann.get(path))
    assert "2026-07-01 1 1 None 2026-07-02 2 1 Rows without any user or visitor ID: 1" in words
    asked = await pages.ann.send(path, f"{path}/remove")
    assert "This removes 0 events for good." in visible_words(asked)  # nothing is stored yet
    assert (await pages.job(path)).status == "completed"
    assert (await pages.ann.send(path, f"{path}/remove", confirmed="yes")).location == path
    assert "Removing its events" in visible_words(await pages.ann.get(path))
