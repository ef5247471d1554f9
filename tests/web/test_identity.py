"""Identity links that a person takes back: found by the event that made them, parted for good, written down."""

from urllib.parse import quote

import pytest

from hosts.composition.ports import start_adapters
from hosts.web.identity import MAX_LISTED
from service_core.analytics.people.ports import MAX_CONFLICTING_PERSONS
from service_core.analytics.ports import QueryTimeout, StoreUnavailable
from service_core.testing.event_builder import EventBuilder
from tests.fixtures.composed_deployment import running_deployment

STORES = ["memory://", "duckdb:///events.duckdb"]


@pytest.fixture(params=STORES[:1])
async def deployment(request, tmp_path):
    async with running_deployment(tmp_path, {"storage": {"events": request.param}}) as deployment:
        events = deployment.service.ports.events
        async with start_adapters([events]):
            deployment.story = EventBuilder(deployment.workspace.id)
            happens = deployment.story.add_event
            for visitor, user in (("A1", "U1"), ("A2", "U2")):
                happens("page_view", at="2026-07-02T05:00", visitor=visitor, strong_id=user)
            joined = {"previous_id": "U1"}
            deployment.alias = happens(
                "$alias", at="2026-07-02T06:00", visitor="U2", strong_id="U2", event_data=joined
            ).event_id
            deployment.page = f"{deployment.settings}/identity"
            await events.append(deployment.story.events)
            yield deployment


def visible_words(answer):
    return " ".join(answer.text.split())


async def find_person(deployment, any_id):
    return await deployment.service.ports.events.find_person_of_any_id(deployment.workspace.id, any_id)


async def list_audit_entries(deployment):
    status, result = await deployment.api(
        "GET", "/v1/audit?resource_type=identity_link", deployment.initialized_deployment.agent_key.secret
    )
    assert status == 200, result
    return result["entries"]


@pytest.mark.parametrize("deployment", STORES, indirect=True)
async def test_wrong_alias_is_found_and_revoked(deployment):
    ann = await deployment.signed_in("ann", "admin")
    assert await find_person(deployment, "U1") == "u:U2"
    shown = visible_words(await ann.get(f"{deployment.page}?event={deployment.alias}"))
    for result in ("$alias 2 July 2026, 06:00 UTC", "User ID U2", "Previous user ID U1"):
        assert result in shown
    answer = await ann.send(
        f"{deployment.page}?event={deployment.alias}", deployment.page, event=deployment.alias
    )
    assert answer.location == f"{deployment.page}?event={deployment.alias}&done=unlinked"
    assert (await find_person(deployment, "U1"), await find_person(deployment, "U2")) == ("u:U1", "u:U2")
    assert "revoked on 8 July 2026" in visible_words(await ann.get(answer.location))
    (entry,) = await list_audit_entries(deployment)
    assert (entry["action"], entry["resource"]["label"]) == ("revoke", deployment.alias)
    assert (entry["actor"]["type"], entry["actor"]["name"]) == ("user", "ann@example.com")
    assert (entry["new_state"]["event_name"], entry["undoable"]) == ("$alias", False)
    assert deployment.alias in (await ann.get(f"{deployment.settings}/audit")).text


async def test_repeated_revocation_writes_no_audit_entry(deployment):
    ann = await deployment.signed_in("ann", "owner")
    fields = {"csrf": await ann.token(f"{deployment.settings}/keys"), "event": deployment.alias}
    for _ in range(2):
        assert (await ann.post(deployment.page, fields)).status == 303
    assert len(await list_audit_entries(deployment)) == 1


async def test_failed_revocation_is_recorded_and_completed_on_retry(deployment, monkeypatch):
    ann = await deployment.signed_in("ann", "owner")
    fields = {"csrf": await ann.token(f"{deployment.settings}/keys"), "event": deployment.alias}

    async def away(*_):
        raise StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(deployment.service.ports.events, "revoke_identity_link", away)
        assert (await ann.post(deployment.page, fields)).status >= 500
    assert await find_person(deployment, "U1") == "u:U2"
    assert (await ann.post(deployment.page, fields)).status == 303
    assert await find_person(deployment, "U1") == "u:U1"
    assert len(await list_audit_entries(deployment)) == 1


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (
            {"visitor": "A9", "strong_id": "U9", "sent_visitor_id": "V9"},
            ("User ID U9", "Device A9", "Device V9"),
        ),
        ({"visitor": "A9", "external_ids": {"crm": "c1"}}, ("External ID crm:c1",)),
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
async def test_every_identity_link_is_listed_and_can_be_revoked(deployment, columns, shown):
    ann = await deployment.signed_in("ann", "owner")
    name = columns.get("name", "login")
    event = deployment.story.add_event(
        name, at="2026-07-03", **{k: v for k, v in columns.items() if k != "name"}
    )
    await deployment.service.ports.events.append([event])
    page = await ann.get(f"{deployment.page}?event={event.event_id}")
    assert all(one in visible_words(page) for one in shown), visible_words(page)
    assert "can't be undone" in page.text


@pytest.mark.parametrize("columns", [{"visitor": "A9"}, {"visitor": "A9", "strong_id": "U9", "is_bot": True}])
async def test_event_without_identity_links_cannot_be_revoked(deployment, columns):
    ann = await deployment.signed_in("ann", "owner")
    event = deployment.story.add_event("page_view", at="2026-07-03", **columns)
    await deployment.service.ports.events.append([event])
    page = await ann.get(f"{deployment.page}?event={event.event_id}")
    assert "This event doesn't link any IDs." in page.text
    assert "can't be undone" not in page.text
    fields = {"csrf": await ann.token(f"{deployment.settings}/keys"), "event": event.event_id}
    refused = await ann.post(deployment.page, fields)
    assert (refused.status, "This event doesn't link any IDs." in visible_words(refused)) == (409, True)
    assert await list_audit_entries(deployment) == []


async def test_unknown_event_or_event_of_another_workspace_is_not_found(deployment):
    await deployment.enrol("eve", "owner", deployment.other)
    eve = await deployment.person().sign_in("eve@example.com")
    theirs = f"/app/w/{deployment.other.workspace.public_id}/identity"
    fields = {"csrf": await eve.token("/app/workspaces"), "event": deployment.alias}
    for event in (deployment.alias, "none", "é' OR 1=1 --", "x" * 300):
        shown = await eve.get(f"{theirs}?event={quote(event)}")
        assert "No event in this workspace has this ID." in visible_words(shown)
        assert (await eve.post(theirs, fields | {"event": event})).status == 404
    assert (await eve.post(deployment.page, fields)).status == 404
    assert await find_person(deployment, "U1") == "u:U2"


async def list_external_ids(deployment, *carrying):
    """Events that carry one external id, of these users or devices."""
    ids = {"external_ids": {"crm": "c<1>"}}
    events = [
        deployment.story.add_event(
            "login", at=f"2026-07-03T0{hour}:00", visitor=f"B{one}", strong_id=user, **ids
        )
        for hour, (one, user) in enumerate(carrying)
    ]
    await deployment.service.ports.events.append(events)
    return events


@pytest.mark.parametrize("deployment", STORES, indirect=True)
async def test_id_conflict_is_listed_until_links_are_revoked(deployment):
    ann = await deployment.signed_in("ann", "owner")
    assert "link nobody" not in (await ann.get(deployment.page)).text
    mistaken, *_, device = await list_external_ids(deployment, (1, "U8"), (2, "U9"), (2, None), (3, None))
    page = await ann.get(deployment.page)
    for result in (
        "External IDs in conflict",
        "crm:c<1> User ID U8 One event , 3 July 2026, 00:00 UTC",
        "User ID U9 The latest of 2 events , 3 July 2026, 02:00 UTC",
        "Device B3 One event",
    ):
        assert result in visible_words(page), visible_words(page)
    assert f'href="{deployment.page}?event={mistaken.event_id}"' in page.body
    assert await find_person(deployment, "B3") == "v:B3"
    answer = await ann.send(
        f"{deployment.page}?event={mistaken.event_id}", deployment.page, event=mistaken.event_id
    )
    assert "link nobody" not in (await ann.get(answer.location)).text
    assert (await find_person(deployment, "B3"), device.visitor_id) == ("u:U9", "B3")


async def test_id_conflict_list_is_limited(deployment):
    ann = await deployment.signed_in("ann", "owner")
    events = [
        deployment.story.add_event(
            "login",
            at=f"2026-07-03T{number:02}:00",
            visitor=f"B{user}",
            strong_id=f"P{user}",
            external_ids={"crm": f"c{number}"},
        )
        for number in range(MAX_LISTED + 2)
        for user in range(2 if number else MAX_CONFLICTING_PERSONS + 3)
    ]
    await deployment.service.ports.events.append(events)
    shown = visible_words(await ann.get(deployment.page))
    many = shown.index(f"{MAX_CONFLICTING_PERSONS + 3} people have this ID")
    assert shown.index("crm:c0 ") < many < shown.index(f"crm:c{MAX_LISTED + 1} ")
    assert "crm:c2 " not in shown
    assert f"Showing {MAX_LISTED} of {MAX_LISTED + 2} conflicts" in shown


async def test_failed_lookup_is_not_shown_as_empty(deployment, monkeypatch):
    ann = await deployment.signed_in("ann", "owner")

    async def away(*_):
        raise QueryTimeout

    monkeypatch.setattr(deployment.service.ports.events, "list_external_id_conflicts_and_total", away)
    shown = await ann.get(f"{deployment.page}?event={deployment.alias}")
    assert shown.status == 200
    assert "can't be checked right now" in visible_words(shown)
    assert "Previous user ID U1" in visible_words(shown)


@pytest.mark.parametrize("role", ["member", "viewer"])
async def test_other_roles_cannot_revoke_identity_links(deployment, role):
    person = await deployment.signed_in("cid", role)
    fields = {"csrf": await person.token("/app/workspaces"), "event": deployment.alias}
    assert "/identity" not in (await person.get(f"{deployment.settings}/members")).body
    assert (await person.get(deployment.page)).status == 403
    assert (await person.post(deployment.page, fields)).status == 403
    assert await find_person(deployment, "U1") == "u:U2"
