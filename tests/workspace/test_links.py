"""Trackable links through the door, on SQLite."""

import re

import pytest

from service_core.testing.event_builder import EventBuilder

DESTINATION = "https://example.com/a"
UTM = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


async def test_slug_makes_a_redirect_on_the_link_domain(workspace_api):
    made = await workspace_api.link(slug="spring", utm_source="instagram")
    link = made["data"]
    assert (link["kind"], link["url"], link["slug"]) == (
        "redirect",
        "https://go.example.com/spring",
        "spring",
    )
    assert re.fullmatch("[a-z0-9]{8}", link["tracking_identifier"])
    assert made["diff"]["effects"] == [
        {
            "type": "edge_redirect",
            "summary": "go.example.com/spring now leads to https://example.com/a",
            "operation": "put",
            "key": "go.example.com/spring",
            "path": "/spring",
        }
    ]
    assert (link["clicks"], link["unique_clicks"]) == (0, 0)
    assert await workspace_api.links() == [link]


async def test_domain_without_a_slug_gets_a_generated_one(workspace_api):
    domain = (await workspace_api.link(slug="a"))["data"]["domain_id"]
    link = (await workspace_api.link(domain_id=domain))["data"]
    assert re.fullmatch("[A-Za-z0-9]{7}", link["slug"])


async def test_link_without_slug_and_domain_is_the_tagged_destination(workspace_api):
    made = await workspace_api.link(
        destination_url="https://example.com/a?utm_source=own&lyr=x&q=1%202#top",
        utm_source="insta", utm_campaign="spring sale",
    )  # fmt: skip
    link = made["data"]
    lyr = link["tracking_identifier"]
    assert (link["kind"], link["slug"], link["domain_id"]) == ("direct", None, None)
    assert link["url"] == (
        f"https://example.com/a?utm_source=own&q=1%202&lyr={lyr}&utm_campaign=spring+sale#top"
    )
    assert made["diff"]["effects"] == []


async def test_dry_run_omits_generated_values(workspace_api):
    link = {"name": "Reel", "destination_url": DESTINATION, "slug": ""}
    planned = (await workspace_api.ask("POST", "/links", {"link": link, "dry_run": True})).json
    unknown = {name for name, value in planned["data"].items() if value is None}
    assert {"id", "created_at", "updated_at", "tracking_identifier", "url"} <= unknown
    assert "audit_id" not in planned
    domain = (await workspace_api.link(slug="a"))["data"]["domain_id"]
    link = {"name": "Reel", "destination_url": DESTINATION, "domain_id": domain}
    planned = (await workspace_api.ask("POST", "/links", {"link": link, "dry_run": True})).json
    assert (planned["data"]["slug"], planned["data"]["kind"]) == (None, "redirect")
    (effect,) = planned["diff"]["effects"]
    assert (effect["operation"], effect["key"], effect["path"]) == ("put", None, None)
    assert len(await workspace_api.links()) == 1


async def test_patch_response_matches_the_specification(workspace_api):
    link = (await workspace_api.link(slug="spring"))["data"]
    patch = {"link": {"destination_url": "https://example.com/b"}}
    changed = (await workspace_api.ask("PATCH", f"/links/{link['id']}", patch)).json
    shown, audit_id = changed.pop("data"), changed.pop("audit_id")
    assert changed == {
        "dry_run": False,
        "applied": True,
        "reversibility": "reversible_with_effects",
        "diff": {
            "action": "update",
            "resource": {"type": "tracking_link", "id": link["id"], "label": "Spring reel"},
            "prior_state": {"destination_url": "https://example.com/a"},
            "new_state": {"destination_url": "https://example.com/b"},
            "changes": [
                {"field": "destination_url", "from": "https://example.com/a", "to": "https://example.com/b"}
            ],
            "effects": [
                {
                    "type": "edge_redirect",
                    "summary": "go.example.com/spring now leads to https://example.com/b",
                    "operation": "put",
                    "key": "go.example.com/spring",
                    "path": "/spring",
                }
            ],
        },
    }
    assert shown == link | {"destination_url": "https://example.com/b", "updated_at": shown["updated_at"]}
    (entry, _) = (await workspace_api.ask("GET", "/audit")).json["entries"]
    assert (entry["id"], entry["changes"]) == (audit_id, changed["diff"]["changes"])
    assert entry["actor"]["name"] == "Campaign bot"


async def test_patch_changes_sent_fields_and_null_clears(workspace_api):
    link = (await workspace_api.link(utm_source="a", utm_medium="b", utm_term="c"))["data"]
    patch = {"link": {"utm_source": None, "utm_medium": ""}}
    changed = (await workspace_api.ask("PATCH", f"/links/{link['id']}", patch)).json["data"]
    assert [changed[name] for name in UTM] == [None, None, None, "c", None]
    assert changed["tracking_identifier"] == link["tracking_identifier"]


async def test_two_changes_in_one_instant_have_different_versions(workspace_api):
    made = (await workspace_api.link())["data"]
    sent = [{"link": {"name": name}} for name in ("One", "Two")]
    changed = [(await workspace_api.send("PATCH", f"/links/{made['id']}", body)).json for body in sent]
    dates = [made["updated_at"], *(one["data"]["updated_at"] for one in changed)]
    assert dates == sorted(set(dates))


async def test_delete_stops_the_redirect_and_its_undo_restores_id_tag_and_slug(workspace_api):
    made = (await workspace_api.link(slug="spring"))["data"]
    gone = (await workspace_api.ask("DELETE", f"/links/{made['id']}")).json
    assert "data" not in gone
    assert [effect["operation"] for effect in gone["diff"]["effects"]] == ["delete"]
    assert await workspace_api.links() == []
    undone = (await workspace_api.ask("POST", f"/audit/{gone['audit_id']}/undo")).json
    assert undone["data"] == made | {"updated_at": undone["data"]["updated_at"]}
    assert [effect["operation"] for effect in undone["diff"]["effects"]] == ["put"]
    assert await workspace_api.links() == [undone["data"]]


async def test_undo_is_refused_and_changes_nothing_when_the_slug_is_taken(workspace_api):
    made = (await workspace_api.link(slug="spring"))["data"]
    gone = (await workspace_api.ask("DELETE", f"/links/{made['id']}", {"dry_run": False})).json
    taken = (await workspace_api.link(slug="spring"))["data"]
    for body in ({"dry_run": True}, None):
        refused = await workspace_api.ask("POST", f"/audit/{gone['audit_id']}/undo", body)
        assert refused.refusal == (409, "slug_taken", "link.slug")
    assert await workspace_api.links() == [taken]
    await workspace_api.ask("DELETE", f"/links/{taken['id']}")
    assert (await workspace_api.ask("POST", f"/audit/{gone['audit_id']}/undo")).status == 200


@pytest.mark.parametrize("sent", [{"body": {"dry_run": True}}, {"query": "?dry_run=true"}])
async def test_delete_dry_run_is_set_by_body_or_query(workspace_api, sent):
    made = (await workspace_api.link())["data"]
    target = f"/links/{made['id']}{sent.get('query', '')}"
    tried = (await workspace_api.ask("DELETE", target, sent.get("body"))).json
    assert (tried["dry_run"], tried["applied"], tried["diff"]["prior_state"]["id"]) == (
        True,
        False,
        made["id"],
    )
    assert len(await workspace_api.links()) == 1


async def test_slugs_are_unique_on_the_domain_across_workspaces(workspace_api):
    await workspace_api.link(slug="spring")
    body = {"link": {"name": "x", "destination_url": DESTINATION, "slug": "spring"}}
    for key in ("shop", "other"):
        assert (await workspace_api.ask("POST", "/links", body, key=key)).refusal == (
            409,
            "slug_taken",
            "link.slug",
        )
    assert (await workspace_api.ask("POST", "/links", {**body, "dry_run": True})).status == 409


BAD_URLS = [
    "", "example.com", "/a", "ftp://example.com", "javascript:alert(1)", "https://", "https://u@example.com",
    "https://u:p@example.com/", "http://localhost/", "http://127.0.0.1", "http://2130706433/", "http://0x7f.1/",
    "http://10.0.0.8/", "http://192.168.1.1", "http://169.254.169.254/", "http://[::1]/", "http://intranet/",
    "http://[::ffff:10.0.0.1]/", "http://db.internal/", "http://localhost./", "https://example.com:x/",
    "https://example.com/a b", "https://example.com\\@evil.example/", "https://e.com/" + "a" * 2048,
]  # fmt: skip


@pytest.mark.parametrize("url", BAD_URLS)
async def test_link_leads_to_public_addresses_only(workspace_api, url):
    refused = await workspace_api.ask("POST", "/links", {"link": {"name": "x", "destination_url": url}})
    code = "invalid_field" if url == "" else "invalid_url"
    assert refused.refusal == (422, code, "link.destination_url")


@pytest.mark.parametrize("slug", ["a b", "ä", "a" * 65, "share", "v1", "t.js", ".well-known", "Health"])
async def test_invalid_and_reserved_slugs_are_refused(workspace_api, slug):
    body = {"link": {"name": "x", "destination_url": DESTINATION, "slug": slug}}
    assert (await workspace_api.ask("POST", "/links", body)).refusal == (422, "invalid_slug", "link.slug")


@pytest.mark.parametrize("field", ["tracking_identifier", "slug", "domain_id", "target"])
async def test_patch_of_immutable_fields_is_refused(workspace_api, field):
    link = (await workspace_api.link(slug="spring"))["data"]
    refused = await workspace_api.ask("PATCH", f"/links/{link['id']}", {"link": {field: link[field]}})
    assert refused.refusal == (422, "immutable_field", f"link.{field}")


async def test_app_link_needs_a_store(workspace_api):
    body = {"link": {"name": "x", "destination_url": DESTINATION, "target": "app"}}
    assert (await workspace_api.ask("POST", "/links", body)).refusal == (422, "invalid_field", "link.target")
    link = (await workspace_api.link(target="app", ios_url="itms-apps://apps.apple.com/app/id1"))["data"]
    refused = await workspace_api.ask("PATCH", f"/links/{link['id']}", {"link": {"ios_url": ""}})
    assert refused.refusal == (422, "invalid_field", "link.target")


async def test_unknown_domain_is_refused(workspace_api, api_without_link_domain):
    body = {"link": {"name": "x", "destination_url": DESTINATION, "slug": "a"}}
    body["link"]["domain_id"] = "01890000-0000-7000-8000-000000000000"
    for api in (workspace_api, api_without_link_domain):
        assert (await api.ask("POST", "/links", body)).refusal == (422, "unknown_domain", "link.domain_id")


async def test_without_a_link_domain_a_link_redirects_under_a_path_of_the_ingest_host(
    api_without_link_domain,
):
    made = await api_without_link_domain.link(slug="spring")
    assert made["data"]["url"] == "http://127.0.0.1:8081/l/spring"
    (effect,) = made["diff"]["effects"]
    assert (effect["key"], effect["path"]) == ("127.0.0.1:8081/l/spring", "/l/spring")
    again = await api_without_link_domain.link(domain_id=made["data"]["domain_id"])
    assert again["data"]["url"] == f"http://127.0.0.1:8081/l/{again['data']['slug']}"


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"link": {"name": "x"}}, "missing_field", "link.destination_url"),
        ({"link": {"name": "x", "destination_url": DESTINATION, "x": 1}}, "unknown_field", "link.x"),
        ({"link": {"name": 1, "destination_url": DESTINATION}}, "invalid_parameter", "link.name"),
        ({}, "missing_field", "link"),
    ],
)
async def test_unknown_body_fields_are_refused(workspace_api, body, code, field):
    assert (await workspace_api.ask("POST", "/links", body)).refusal == (400, code, field)


async def test_unknown_links_and_links_of_others_are_not_found(workspace_api):
    link = (await workspace_api.link())["data"]
    for method, body in (("PATCH", {"link": {"name": "y"}}), ("DELETE", None)):
        theirs = await workspace_api.ask(method, f"/links/{link['id']}", body, key="other")
        random = await workspace_api.ask(
            method, "/links/01890000-0000-7000-8000-000000000000", body, key="other"
        )
        assert theirs.status == 404
        assert theirs.bytes == random.bytes
    assert (await workspace_api.ask("GET", "/links", key="other")).json == {"links": []}


async def add_event_with_tag(workspace_api, tag):
    """Somebody came with a tag."""
    story = EventBuilder(workspace_api.workspaces["shop"].id)
    came = {"lyr": tag, "attribution_source": "instagram"}
    await workspace_api.service.ports.events.append(
        [story.add_event("page_view", at=workspace_api.now, visitor="v", **came)]
    )


async def test_tag_finds_its_link_after_deletion(workspace_api):
    link = (await workspace_api.link(slug="spring"))["data"]
    await add_event_with_tag(workspace_api, link["tracking_identifier"])
    days = "start_date=2026-07-01&end_date=2026-07-09"
    (row,) = (await workspace_api.ask("GET", f"/tags?{days}")).json["data"]
    named = {"tag": link["tracking_identifier"], "link_id": link["id"], "link_name": "Spring reel"}
    assert row == named | {"count": 1, "percentage": 100, "source": "instagram"}
    await workspace_api.ask("DELETE", f"/links/{link['id']}")
    (row,) = (await workspace_api.ask("GET", f"/tags?{days}")).json["data"]
    assert (row["link_id"], row["link_name"]) == (link["id"], "Spring reel")


@pytest.mark.parametrize("by", ["name", "tracking_identifier", "slug"])
async def test_link_search_result_is_a_filter_on_its_tag(workspace_api, by):
    link = (await workspace_api.link(slug="reel-7", name="Spring film"))["data"]
    await workspace_api.link(name="Autumn")
    found = (await workspace_api.ask("GET", f"/search?q={link[by][:6].replace(' ', '%20')}&types=link")).json[
        "results"
    ]
    assert found == [
        {
            "type": "link",
            "dimension": "lyr",
            "value": link["tracking_identifier"],
            "label": "Spring film",
            "id": link["id"],
            "platform": None,
            "count": None,
        }
    ]
    assert (await workspace_api.ask("GET", "/search?q=Spring&types=link", key="other")).json["results"] == []


async def test_search_finds_tags_of_events(workspace_api):
    await add_event_with_tag(workspace_api, "k7m2q9xa")
    (found,) = (await workspace_api.ask("GET", "/search?q=k7m2&types=tag,link")).json["results"]
    assert (found["type"], found["dimension"], found["value"], found["count"]) == (
        "tag",
        "lyr",
        "k7m2q9xa",
        1,
    )
