"""Identity links that a person takes back: found by the event that made them, parted for good, written down (semantics 5.9)."""

from urllib.parse import quote

import pytest

from hosts.composition.ports import running
from service_core.insight.ports import StoreUnavailable
from service_core.testing.story import Story
from tests.web.stage import standing

STORES = ["memory://", "duckdb:///events.duckdb"]


@pytest.fixture(params=STORES[:1])
async def shop(request, tmp_path):
    async with standing(tmp_path, {"storage": {"events": request.param}}) as deployment:
        events = deployment.service.ports.events
        async with running([events]):
            deployment.story = Story(deployment.workspace.id)
            happens = deployment.story.happens
            for visitor, user in (("A1", "U1"), ("A2", "U2")):
                happens("page_view", at="2026-07-02T05:00", visitor=visitor, strong_id=user)
            joined = {"previous_id": "U1"}
            deployment.alias = happens(
                "$alias", at="2026-07-02T06:00", visitor="U2", strong_id="U2", event_data=joined
            ).event_id
            deployment.page = f"{deployment.settings}/identity"
            await events.append(deployment.story.events)
            yield deployment


def words(answer):
    return " ".join(answer.text.split())


async def of_whom(shop, any_id):
    return await shop.service.ports.events.resolve(shop.workspace.id, any_id)


async def entries(shop):
    status, said = await shop.api(
        "GET", "/v1/audit?resource_type=identity_link", shop.founded.agent_key.secret
    )
    assert status == 200, said
    return said["entries"]


@pytest.mark.parametrize("shop", STORES, indirect=True)
async def test_an_alias_of_the_wrong_user_is_looked_up_and_taken_back(shop):
    ann = await shop.signed_in("ann", "admin")
    assert await of_whom(shop, "U1") == "u:U2"
    shown = words(await ann.get(f"{shop.page}?event={shop.alias}"))
    for said in ("$alias 2 July 2026, 06:00 UTC", "User id U2", "Former user id U1"):
        assert said in shown
    answer = await ann.send(f"{shop.page}?event={shop.alias}", shop.page, event=shop.alias)
    assert answer.location == f"{shop.page}?event={shop.alias}&done=unlinked"
    assert (await of_whom(shop, "U1"), await of_whom(shop, "U2")) == ("u:U1", "u:U2")
    assert "taken back on 8 July 2026" in words(await ann.get(answer.location))
    (entry,) = await entries(shop)
    assert (entry["action"], entry["resource"]["label"]) == ("revoke", shop.alias)
    assert (entry["actor"]["type"], entry["actor"]["name"]) == ("user", "ann@example.com")
    assert (entry["new_state"]["event_name"], entry["undoable"]) == ("$alias", False)
    assert shop.alias in (await ann.get(f"{shop.settings}/audit")).text


async def test_once_more_changes_nothing_and_is_not_written_down_again(shop):
    ann = await shop.signed_in("ann", "owner")
    fields = {"csrf": await ann.token(f"{shop.settings}/keys"), "event": shop.alias}
    for _ in range(2):
        assert (await ann.post(shop.page, fields)).status == 303
    assert len(await entries(shop)) == 1


async def test_what_the_store_did_not_take_is_written_down_and_done_by_the_next_try(shop, monkeypatch):
    ann = await shop.signed_in("ann", "owner")
    fields = {"csrf": await ann.token(f"{shop.settings}/keys"), "event": shop.alias}

    async def away(*_):
        raise StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(shop.service.ports.events, "revoke_link", away)
        assert (await ann.post(shop.page, fields)).status >= 500
    assert await of_whom(shop, "U1") == "u:U2"
    assert (await ann.post(shop.page, fields)).status == 303
    assert await of_whom(shop, "U1") == "u:U1"
    assert len(await entries(shop)) == 1


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (
            {"visitor": "A9", "strong_id": "U9", "sent_visitor_id": "V9"},
            ("User id U9", "Device A9", "Device V9"),
        ),
        ({"visitor": "A9", "external_ids": {"crm": "c1"}}, ("External id crm:c1",)),
        (
            {
                "name": "$web_attribution_matched",
                "visitor": "A9",
                "event_data": {"match_method": "email", "web_visitor_id": "W9"},
            },
            ("Device A9", "Device W9"),
        ),
    ],
)
async def test_whatever_joins_ids_is_told_and_can_be_taken_back(shop, columns, shown):
    ann = await shop.signed_in("ann", "owner")
    name = columns.get("name", "login")
    event = shop.story.happens(name, at="2026-07-03", **{k: v for k, v in columns.items() if k != "name"})
    await shop.service.ports.events.append([event])
    page = await ann.get(f"{shop.page}?event={event.event_id}")
    assert all(one in words(page) for one in shown), words(page)
    assert "cannot be undone" in page.text


@pytest.mark.parametrize("columns", [{"visitor": "A9"}, {"visitor": "A9", "strong_id": "U9", "is_bot": True}])
async def test_an_event_that_joins_nobody_is_left_alone(shop, columns):
    ann = await shop.signed_in("ann", "owner")
    event = shop.story.happens("page_view", at="2026-07-03", **columns)
    await shop.service.ports.events.append([event])
    page = await ann.get(f"{shop.page}?event={event.event_id}")
    assert "It joins no ids." in page.text
    assert "cannot be undone" not in page.text
    fields = {"csrf": await ann.token(f"{shop.settings}/keys"), "event": event.event_id}
    refused = await ann.post(shop.page, fields)
    assert (refused.status, "This event joins no ids." in words(refused)) == (409, True)
    assert await entries(shop) == []


async def test_an_event_of_nobody_or_of_another_workspace_is_not_there(shop):
    await shop.enrol("eve", "owner", shop.other)
    eve = await shop.person().sign_in("eve@example.com")
    theirs = f"/app/w/{shop.other.workspace.public_id}/identity"
    fields = {"csrf": await eve.token("/app/workspaces"), "event": shop.alias}
    for event in (shop.alias, "none", "é' OR 1=1 --", "x" * 300):
        shown = await eve.get(f"{theirs}?event={quote(event)}")
        assert "No event of this workspace has this id." in words(shown)
        assert (await eve.post(theirs, fields | {"event": event})).status == 404
    assert (await eve.post(shop.page, fields)).status == 404
    assert await of_whom(shop, "U1") == "u:U2"


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_others_take_nothing_back(shop, role):
    person = await shop.signed_in("cid", role)
    fields = {"csrf": await person.token("/app/workspaces"), "event": shop.alias}
    assert "/identity" not in (await person.get(f"{shop.settings}/members")).body
    assert (await person.get(shop.page)).status == 403
    assert (await person.post(shop.page, fields)).status == 403
    assert await of_whom(shop, "U1") == "u:U2"
