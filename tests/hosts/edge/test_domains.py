"""Redirects on link domains of workspaces' own, beside the shared one."""

import asyncio

import pytest

from hosts.asgi_runner import bind_listener, listener_address, serve_until_shutdown
from hosts.edge.app import DOMAIN_CHECK_PATH, create_edge_app
from tests.hosts.edge.conftest import IPHONE, EdgeClient, serve_edge
from tests.workspace.link_domains import DomainOwner

OWN, OTHER = "go.shop.example", "go.other.example"


class LinkDomains:
    """Three domains with a link ``spring`` each, and one that somebody only claims."""

    def __init__(self, edge):
        self.edge, self.shop = edge, DomainOwner(edge.office)
        self.other = DomainOwner(edge.office, "other", self.shop.dns)

    async def open(self):
        workspace_api = self.edge.office
        self.made = {
            "go.example.com": await self.link(workspace_api, "shop", slug="spring"),
            OWN: await self.link(workspace_api, "shop", slug="spring", domain_id=await self.shop.own(OWN)),
            OTHER: await self.link(
                workspace_api, "other", slug="spring", domain_id=await self.other.own(OTHER)
            ),
        }
        await self.shop.claim("new.shop.example")
        return self

    async def link(self, workspace_api, key, **fields):
        wanted = {"name": "Reel", "destination_url": "https://example.com/a", **fields}
        made = await workspace_api.ask("POST", "/links", {"link": wanted}, key=key)
        assert made.status == 200, made.json
        return made.json["data"]


@pytest.fixture
async def link_domains(edge):
    return await LinkDomains(edge).open()


async def test_each_domain_redirects_its_own_slugs(edge, link_domains):
    for host, link in link_domains.made.items():
        answer = await edge.follow("/spring", host=host)
        assert answer.location == f"https://example.com/a?lyr={link['tracking_identifier']}"
    assert (await edge.follow("/spring", host=f"{OWN.upper()}.:8443")).status == 302
    await link_domains.link(edge.office, "shop", slug="summer")
    assert (await edge.follow("/summer")).status == 302
    for host, path in (
        (OWN, "/summer"),
        (OWN, "/"),
        (OWN, "/track"),
        ("new.shop.example", "/spring"),
        ("[::1]", "/spring"),
    ):
        assert (await edge.follow(path, host=host)).status == 404, (host, path)


async def test_changed_link_applies_to_the_next_click(edge, link_domains):
    link = link_domains.made[OWN]
    patch = {"link": {"destination_url": "https://example.com/b"}}
    await edge.office.ask("PATCH", f"/links/{link['id']}", patch)
    assert (await edge.follow("/spring", host=OWN)).location.startswith("https://example.com/b?")
    gone = (await edge.office.ask("DELETE", f"/links/{link['id']}")).json["audit_id"]
    assert (await edge.follow("/spring", host=OWN)).status == 404
    assert (await edge.follow("/spring")).status == 302
    assert (await edge.office.ask("POST", f"/audit/{gone}/undo")).status == 200
    assert (await edge.follow("/spring", host=OWN)).status == 302


async def test_moved_domain_keeps_no_links(edge, link_domains):
    await edge.office.ask("DELETE", f"/links/{link_domains.made[OWN]['id']}")
    await link_domains.shop.remove(OWN)
    domain = await link_domains.other.own(OWN)
    assert (await edge.follow("/spring", host=OWN)).status == 404
    link = await link_domains.link(edge.office, "other", slug="spring", domain_id=domain)
    answer = await edge.follow("/spring", host=OWN)
    assert answer.location == f"https://example.com/a?lyr={link['tracking_identifier']}"


async def test_clicks_count_for_the_link_of_the_requested_domain(edge, link_domains):
    for agent in (IPHONE, None):
        await edge.follow("/spring", host=OWN, agent=agent)
    await edge.follow("/spring")
    assert await edge.wait_for_counts(2, 2, link_domains.made[OWN]["id"])
    assert await edge.wait_for_counts(1, 1, link_domains.made["go.example.com"]["id"])


async def test_redirect_needs_one_lookup_on_every_domain(edge, link_domains, monkeypatch):
    store, request = edge.office.service.ports.workspace, []
    find = store.unique_keys.find_live_by_unique_key

    async def counted(model, key):
        request.append(model.resource_type)
        return await find(model, key)

    monkeypatch.setattr(store.unique_keys, "find_live_by_unique_key", counted)
    for host in link_domains.made:
        assert (await edge.follow("/spring", host=host)).status == 302
    assert request == ["tracking_link"] * 3


async def test_certificate_check_accepts_verified_domains_only(edge, link_domains):
    for host in (*link_domains.made, OWN.upper()):
        assert (await edge.follow(f"{DOMAIN_CHECK_PATH}?domain={host}", host="10.0.0.7:8082")).status == 200
    for host in ("new.shop.example", "evil.example", "", "a%00b", "%ff", "x" * 300):
        assert (await edge.follow(f"{DOMAIN_CHECK_PATH}?domain={host}", host="10.0.0.7:8082")).status == 404
    assert (await edge.follow(DOMAIN_CHECK_PATH, host=OWN)).status == 404


async def test_app_association_files_are_served_on_the_deployment_domain(tmp_path):
    apps = {"domain": "go.example.com", "ios_apps": ["ABCDE12345.com.example.app"]}
    async with serve_edge(tmp_path, links=apps) as edge:
        await LinkDomains(edge).open()
        path = "/.well-known/apple-app-site-association"
        assert (await edge.follow(path)).status == 200
        assert (await edge.follow(path, host=OWN)).status == 404


async def test_link_domain_does_not_change_other_routes(tmp_path):
    async def others(scope, _, send):
        await send({"type": "http.response.start", "status": 418, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async with serve_edge(tmp_path) as edge:
        await LinkDomains(edge).open()
        listener, stop = bind_listener("127.0.0.1:0"), asyncio.Event()
        mounted = EdgeClient(edge.office, listener_address(listener))
        serving = asyncio.create_task(
            serve_until_shutdown(create_edge_app(edge.dependencies, others), listener, "hypercorn", stop)
        )
        answers = {
            (host, path, method): (await mounted.follow(path, host=host, method=method)).status
            for host in (OWN, "new.shop.example", "ingest.example")
            for path, method in (("/spring", "GET"), ("/other", "GET"), ("/", "HEAD"), ("/track", "GET"), ("/x", "POST"))
        }  # fmt: skip
        asking = await mounted.follow(f"{DOMAIN_CHECK_PATH}?domain={OWN}", host="ingest.example")
        stop.set()
        await serving
    assert list(answers.values()) == [302, 404, 404, 418, 418, *[418] * 10]
    assert asking.status == 200


async def test_machines_with_a_shared_cache_redirect_every_domain(tmp_path, redis_url):
    links = {
        "domain": "go.example.com",
        "redirect_cache": f"{redis_url}/0?timeout_seconds=5&prefix={tmp_path.name}",
    }
    async with serve_edge(tmp_path, links=links) as edge:
        assert (await edge.follow("/spring", host=OWN)).status == 404
        domains = await LinkDomains(edge).open()
        assert (await edge.follow("/spring", host=OWN)).status == 302
        patch = {"link": {"destination_url": "https://example.com/b"}}
        await edge.office.ask("PATCH", f"/links/{domains.made[OWN]['id']}", patch)
        assert (await edge.follow("/spring", host=OWN)).location.startswith("https://example.com/b?")
        assert (await edge.follow("/spring")).location.startswith("https://example.com/a?")
        await edge.office.ask("DELETE", f"/links/{domains.made[OWN]['id']}")
        assert (await edge.follow("/spring", host=OWN)).status == 404
