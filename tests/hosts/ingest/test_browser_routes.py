"""The ingest host beside `/track`: approved scripts for browsers, and links that name their domain."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from hosts.asgi_runner import bind_listener, listener_address, serve_until_shutdown
from hosts.edge.redirect_dependencies import redirect_dependencies
from hosts.ingest.container_cache import MAX_AGE_SECONDS, ContainerCache
from hosts.ingest.run import create_ingest_host_app
from service_core.analytics.connections.models import Asset, ConnectedAccount
from service_core.workspace.scripts.models import ProposalStatus, ScriptProposal
from tests.hosts.edge.conftest import EdgeClient
from tests.workspace.conftest import NOW, WorkspaceApi
from tests.workspace.rule_requests import connect_platform, create_rule

ORIGIN = "https://shop.example"
EMPTY = {"scripts": [], "pixels": {}, "config": {}}


class BrowserRoutesHost(EdgeClient):
    """The whole ingest host on a socket."""

    async def container(self, body=None, *, origin=None, method="POST"):
        if body is None:
            body = {"workspace_id": self.workspace.public_id}
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content_Length": len(sent)} | ({"Origin": origin} if origin else {})
        answer = await self.follow(
            "/container-scripts", method=method, host="ingest.example", body=sent, **headers
        )
        return answer, json.loads(answer.body) if answer.body else None

    async def propose(self, name, status="approved", **changes):
        """A proposal that was decided about."""
        proposal = {"name": name, "type": "inline", "content": f"// {name}"}
        made = await self.office.ask("POST", "/scripts/proposals", {"proposal": proposal})
        assert made.status == 200, made.json
        async with self.office.service.ports.workspace.transactions.write(self.workspace.id) as unit:
            (found,) = [
                each for each in await unit.resources.list_all(ScriptProposal) if each.status == "pending"
            ]
            decided = {"status": ProposalStatus(status), "verdict": status, "reviewed_at": NOW, **changes}
            await unit.resources.save(found.model_copy(update=decided))
        return found.id


@pytest.fixture
async def host(tmp_path):
    workspace_api = WorkspaceApi(tmp_path)
    ports, settings, stop = workspace_api.service.ports, workspace_api.service.settings, asyncio.Event()
    async with (
        workspace_api.service,
        redirect_dependencies(settings, ports, lambda peer, _: peer) as links,
    ):
        await workspace_api.open()
        listener = bind_listener("127.0.0.1:0")
        host = BrowserRoutesHost(workspace_api, listener_address(listener))
        app = create_ingest_host_app(settings, ports, links)
        serving = asyncio.create_task(serve_until_shutdown(app, listener, "hypercorn", stop))
        host.workspace = next(
            each for each in await ports.workspace.credentials.list_workspaces() if each.name == "shop"
        )
        yield host
        stop.set()
        await serving


async def test_only_approved_scripts_are_served(host):
    kept = await host.propose("Chat")
    await host.propose("Refused", "rejected")
    await host.office.ask(
        "POST", "/scripts/proposals", {"proposal": {"name": "New", "type": "inline", "content": "1"}}
    )
    answer, container = await host.container()
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert container == {
        "scripts": [
            {
                "id": str(kept), "name": "Chat", "type": "inline", "content": "// Chat", "trigger": "page_load",
                "frequency": "always", "enabled": True, "conditions": [],
                "settings": {"async": None, "defer": None, "integrity": None, "crossorigin": None},
            }
        ],
        "pixels": {},
        "config": {
            "auto_identify": False, "respect_gpc": True, "respect_dnt": False, "privacy_mode": "standard",
        },
    }  # fmt: skip


async def test_pixel_is_served_with_the_events_of_its_rules(host):
    await connect_platform(
        host.office, "meta", ConnectedAccount("act_1", "Main", (Asset("1234"), Asset("5678")))
    )
    for fields in (
        {"asset_id": "1234"},
        {
            "asset_id": "1234",
            "trigger_event": "lead",
            "platform_event": "Lead",
            "trigger_event_source": "web",
        },
        {"asset_id": "1234", "trigger_event": "signup", "trigger_event_source": "api"},
        {
            "asset_id": "1234",
            "trigger_event": "vip",
            "conditions": [{"property": "vip", "op": "eq", "value": "1"}],
        },
        {"asset_id": "1234", "trigger_event": "own", "platform_event": "custom", "custom_event_name": "Own"},
        {"asset_id": "1234", "trigger_event": "off", "active": False},
        {"asset_id": "5678", "trigger_event": "other"},
    ):
        await create_rule(host.office, name=fields.get("trigger_event", "purchase"), **fields)
    await host.propose("Pixel", type="pixel", content="meta:1234")
    await host.propose("Picture", type="pixel", content="https://pixel.example/p.gif")
    await host.propose("Label", type="inline", content="meta:5678")
    container = (await host.container())[1]
    mapped = {"purchase": "Purchase", "lead": "Lead"}
    assert container["pixels"] == {"meta": {"enabled": True, "pixel_id": "1234", "event_mappings": mapped}}
    assert [script["name"] for script in container["scripts"]] == ["Picture", "Label"]


async def test_latest_approved_script_of_a_name_is_served(host):
    await host.propose("Chat")
    newer = await host.propose("Chat", reviewed_at=NOW + timedelta(hours=1))
    _, container = await host.container({"workspaceId": host.workspace.public_id})
    assert [script["id"] for script in container["scripts"]] == [str(newer)]


async def test_approved_script_is_served_within_a_second(host):
    now = [10.0]
    containers = ContainerCache(host.office.service.ports.workspace.transactions, (), lambda: now[0])
    assert (await containers.get_at_most_one_second_old(host.workspace.id))["scripts"] == []
    await host.propose("Chat")
    assert (await containers.get_at_most_one_second_old(host.workspace.id))["scripts"] == []
    now[0] += MAX_AGE_SECONDS + 0.1
    assert len((await containers.get_at_most_one_second_old(host.workspace.id))["scripts"]) == 1


@pytest.mark.parametrize(
    "body", [{}, {"workspace_id": "unknown"}, {"workspace_id": 7}, {"workspace_id": None}]
)
async def test_unknown_workspace_has_an_empty_container(host, body):
    answer, container = await host.container(body)
    assert (answer.status, container) == (200, EMPTY)


async def test_inactive_workspace_has_an_empty_container(host):
    await host.propose("Chat")
    await host.office.service.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(
        replace(host.workspace, active=False)
    )
    assert (await host.container())[1] == EMPTY


@pytest.mark.parametrize(("body", "status"), [(b"", 400), (b"{", 400), (b"[]", 400), (b" " * 256_001, 413)])
async def test_body_that_is_no_object_is_refused(host, body, status):
    answer, result = await host.container(body)
    assert (answer.status, list(result)) == (status, ["error"])


async def test_only_allowed_origins_get_the_container(host):
    origins = ("https://SHOP.example/", "https://other.example:8443")
    await host.office.service.ports.workspace.workspace_settings.replace_workspace_keeping_triggers(
        replace(host.workspace, allowed_origins=origins)
    )
    for allowed in (ORIGIN, "https://other.example:8443"):
        answer, _ = await host.container(origin=allowed)
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == allowed
        assert (answer.headers["access-control-allow-credentials"], answer.headers["vary"]) == (
            "true",
            "Origin, Accept-Encoding",
        )
    for refused in (
        "https://evil.example",
        "https://shop.example.evil.example",
        "http://shop.example",
        "null",
        None,
    ):
        answer, result = await host.container(origin=refused)
        assert (answer.status, result) == (403, {"error": "Origin not allowed"})


async def test_preflight_is_answered(host):
    answer, _ = await host.container(b"", origin=ORIGIN, method="OPTIONS")
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (204, ORIGIN)
    assert answer.headers["access-control-allow-headers"] == "Content-Type, X-Batch-Size, X-Container-Version"
    assert (await host.container(method="GET"))[0].status == 405


async def test_links_redirect_when_the_host_header_names_their_domain(host):
    await host.office.link(slug="spring")
    assert (await host.follow("/spring")).status == 302
    assert (await host.follow("/container-scripts")).status == 404
    for path in ("/spring", "/"):
        answer = await host.follow(path, host="ingest.example")
        assert (answer.status, answer.body) == (404, b'{"error":"Not found"}')
        assert answer.headers["access-control-allow-origin"] == "*"
