"""Approving a key: the person sees who asks for what, decides once, within the role."""

import asyncio

import pytest

READ, LINKS = "service:read", "service:write:links"


async def test_page_shows_requester_workspace_and_every_scope(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, _ = await deployment.asked(
        READ, LINKS, name="Link keeper", reason="For the spring sale", client_name="Campaign Helper"
    )
    text = (await person.get(f"/app{page}")).text
    for part in (
        "Link keeper",
        "Agent key",
        "Campaign Helper",
        "For the spring sale",
        "Example Shop",
        READ,
        LINKS,
    ):
        assert part in text


async def test_approving_gives_the_requester_the_key_once_with_the_chosen_limit(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, poll = await deployment.asked(READ, LINKS)
    token = page.partition("=")[2]
    fields = {"request": token, "decision": "approve", "rate_limit": "250"}
    answer = await person.send(f"/app{page}", "/app/approve", **fields)
    assert "approved" in answer.text
    agent = deployment.initialized_deployment.agent_key.secret
    polls = await asyncio.gather(
        *(deployment.api("GET", f"/v1/keys/requests/{poll}", agent) for _ in range(20))
    )
    assert sum("key" in result for _, result in polls) == 1
    [key] = [result["key"] for _, result in polls if "key" in result]
    identity = next(
        one
        for one in await deployment.store.credentials.list_keys(deployment.workspace.id)
        if one.name == "Helper key"
    )
    assert identity.rate_limit == 250
    assert key not in (await person.get(f"/app{page}")).body


async def test_one_of_twenty_concurrent_decisions_succeeds(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, _ = await deployment.asked()
    token = page.partition("=")[2]
    csrf = await person.token(f"/app{page}")
    fields = {"csrf": csrf, "request": token, "decision": "approve"}
    answers = await asyncio.gather(*(person.post("/app/approve", fields) for _ in range(20)))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 19


async def test_denied_request_creates_no_key_and_cannot_be_approved(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, poll = await deployment.asked()
    token = page.partition("=")[2]
    csrf = await person.token(f"/app{page}")
    denied = await person.post("/app/approve", {"csrf": csrf, "request": token, "decision": "deny"})
    assert "denied" in denied.text
    again = await person.post("/app/approve", {"csrf": csrf, "request": token, "decision": "approve"})
    assert again.status == 409
    _, result = await deployment.api(
        "GET", f"/v1/keys/requests/{poll}", deployment.initialized_deployment.agent_key.secret
    )
    assert result["status"] == "denied"
    assert "key" not in result


async def test_approval_link_expires_after_24_hours(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, _ = await deployment.asked()
    csrf = await person.token(f"/app{page}")
    deployment.clock.advance(hours=24)
    fields = {"csrf": csrf, "request": page.partition("=")[2], "decision": "approve"}
    assert (await person.post("/app/approve", fields)).status == 409
    assert "expired" in (await person.get(f"/app{page}")).text


@pytest.mark.parametrize(
    ("role", "scopes", "approve", "deny"),
    [
        ("owner", [READ, LINKS], True, True),
        ("admin", [READ], True, True),
        ("admin", [READ, LINKS], False, True),
        ("member", [READ], False, False),
        ("viewer", [READ], False, False),
    ],
)
async def test_roles_that_may_decide(deployment, role, scopes, approve, deny):
    person = await deployment.signed_in("bob", role)
    page, _ = await deployment.asked(*scopes)
    shown = await person.get(f"/app{page}")
    assert ('value="approve"' in shown.body) is approve
    assert ('value="deny"' in shown.body) is deny
    csrf = await person.token("/app/workspaces")
    fields = {"csrf": csrf, "request": page.partition("=")[2], "decision": "approve"}
    answer = await person.post("/app/approve", fields)
    assert answer.status == (200 if approve else 403)


async def test_admin_cannot_choose_the_limit(deployment):
    person = await deployment.signed_in("bob", "admin")
    page, _ = await deployment.asked()
    assert "rate_limit" not in (await person.get(f"/app{page}")).body
    fields = {"request": page.partition("=")[2], "decision": "approve", "rate_limit": "9999"}
    assert (await person.send(f"/app{page}", "/app/approve", **fields)).status == 403


async def test_approval_link_is_not_found_for_non_members(deployment):
    await deployment.enrol("eve", "owner", deployment.other)
    person = await deployment.person().sign_in("eve@example.com")
    page, _ = await deployment.asked()
    theirs, madeup = await person.get(f"/app{page}"), await person.get(f"/app/approve?request={'A' * 43}")
    assert theirs.status == madeup.status == 404
    assert theirs.body == madeup.body


async def test_sign_in_returns_to_the_approval_page(deployment):
    await deployment.enrol("ann", "owner")
    person = deployment.person()
    page, _ = await deployment.asked()
    request = await person.get(f"/app{page}")
    assert request.status == 303
    signed = await person.send(
        request.location, "/app/sign-in", email="ann@example.com", password="a good long password", next=page
    )
    assert signed.location == f"/app{page}"


async def test_requester_texts_are_cut_and_have_no_bidi_controls(deployment):
    agent = deployment.initialized_deployment.agent_key.secret
    for name in ("x" * 201, "two\nlines", "right\u202eleft", "hidden\u200bhere", ""):
        status, _ = await deployment.api(
            "POST", "/v1/keys/requests", agent, {"name": name, "scopes": ["service:read"]}
        )
        assert status == 400, name
