"""Redirects of links that were made while the deployment had no link domain."""

import asyncio

from hosts.ingest.ingest_process import IngestProcess
from tests.hosts.edge.conftest import EdgeClient, serve_edge
from tests.workspace.conftest import WorkspaceApi


async def test_link_without_a_domain_redirects_and_counts_clicks(tmp_path):
    async with serve_edge(tmp_path, links={"domain": ""}) as edge:
        link = (await edge.office.link(slug="spring"))["data"]
        answer = await edge.follow("/l/spring?gclid=Cj0", host="127.0.0.1:8081")
        lyr = link["tracking_identifier"]
        assert answer.location == f"https://example.com/a?gclid=Cj0&lyr={lyr}"
        assert answer.headers["cache-control"] == "no-store"
        assert await edge.wait_for_counts(1, 1)
        assert (await edge.follow("/l/spring", method="HEAD")).status == 302
        assert (await edge.follow("/l/spring", method="POST")).status == 405
        for path in ("/l/other", "/l/", "/l/spring/x", "/spring", "/l/a%20b"):
            assert (await edge.follow(path)).status == 404
        assert await edge.clicks() == (1, 1)


async def test_path_of_a_link_redirects_after_a_domain_is_named_and_its_url_has_the_domain(tmp_path):
    async with serve_edge(tmp_path, links={"domain": ""}) as edge:
        link = (await edge.office.link(slug="spring"))["data"]
        keys, workspaces = edge.office.keys, edge.office.workspaces
        assert (await edge.follow("/l/spring")).status == 302
        assert await edge.wait_for_counts(1, 1)
    reopened = serve_edge(tmp_path)
    async with reopened as edge:
        edge.office.keys, edge.office.workspaces = keys, workspaces
        (found,) = await edge.office.links()
        assert (found["id"], found["url"]) == (link["id"], "https://go.example.com/spring")
        destination = f"https://example.com/a?lyr={link['tracking_identifier']}"
        assert (await edge.follow("/spring")).location == destination
        assert (await edge.follow("/l/spring", host="127.0.0.1:8081")).location == destination
        assert await edge.wait_for_counts(3, found["unique_clicks"], link["id"])
        body = {"link": {"name": "x", "destination_url": "https://example.com/b", "slug": "spring"}}
        assert (await edge.office.ask("POST", "/links", body)).refusal == (409, "slug_taken", "link.slug")
        summer = (await edge.office.link(slug="summer", domain_id=link["domain_id"]))["data"]
        assert summer["url"] == "https://go.example.com/summer"
        assert summer["domain_id"] != link["domain_id"]
        await edge.office.ask("DELETE", f"/links/{link['id']}")
        assert {(await edge.follow(path)).status for path in ("/spring", "/l/spring")} == {404}


async def test_undo_is_refused_and_changes_nothing_when_the_domain_redirects_from_the_slug(tmp_path):
    async with serve_edge(tmp_path, links={"domain": ""}) as edge:
        link = (await edge.office.link(slug="spring"))["data"]
        gone = (await edge.office.ask("DELETE", f"/links/{link['id']}")).json
        keys, workspaces = edge.office.keys, edge.office.workspaces
    async with serve_edge(tmp_path) as edge:
        edge.office.keys, edge.office.workspaces = keys, workspaces
        taken = (await edge.office.link(slug="spring"))["data"]
        for body in ({"dry_run": True}, None):
            refused = await edge.office.ask("POST", f"/audit/{gone['audit_id']}/undo", body)
            assert refused.refusal == (409, "slug_taken", "link.slug")
        assert [found["id"] for found in await edge.office.links()] == [taken["id"]]
        assert (await edge.follow("/spring")).location.endswith(f"lyr={taken['tracking_identifier']}")
        await edge.office.ask("DELETE", f"/links/{taken['id']}")
        assert (await edge.office.ask("POST", f"/audit/{gone['audit_id']}/undo")).status == 200
        assert (await edge.follow("/spring")).location.endswith(f"lyr={link['tracking_identifier']}")


async def test_slug_of_a_host_that_is_no_link_domain_is_not_found(tmp_path):
    async with serve_edge(tmp_path) as edge:
        await edge.office.link(slug="spring")
        assert (await edge.follow("/l/spring")).status == 404
        assert (await edge.follow("/spring", host="_path")).status == 404


async def test_ingest_process_of_an_embedded_deployment_serves_path_links(tmp_path):
    config = tmp_path / "touchpoint.toml"
    config.write_text('[storage]\nevents = "memory://"\n')
    workspace_api = WorkspaceApi(tmp_path, links={"domain": ""})
    async with workspace_api.service:
        await workspace_api.open()
        await workspace_api.link(slug="spring")
        child = await IngestProcess.start_and_wait_until_listening(config, listen="127.0.0.1:0")
        edge = EdgeClient(workspace_api, child.address)
        answers = await asyncio.gather(*(edge.follow("/l/spring", host=child.address) for _ in range(5)))
        assert {answer.status for answer in answers} == {302}
        assert (await edge.follow("/other", host=child.address)).status == 404
        assert await child.terminate_or_kill_after_timeout() == 0
        (link,) = await workspace_api.links()
        assert link["clicks"] == 5
