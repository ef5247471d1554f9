"""The page of a write that waits: who sees it, what it shows, and one decision by a person."""

import asyncio
import re

import pytest

from tests.web.test_audit import create_api_key, list_audit_entries

LINK = {"link": {"name": "Spring <b>", "destination_url": "https://shop.example/spring", "slug": "spring"}}

ALERT = {
    "name": "Few visitors",
    "metric_id": "visitors",
    "condition": "below",
    "value": 10,
    "webhook_url": "https://hooks.example.com/touchpoint",
}


async def demand_approvals(deployment, person, **chosen):
    """Saves the settings form of a person with these choices."""
    page = f"{deployment.settings}/settings/general"
    shown = await person.get(page)
    fields = dict(re.findall(r'<input name="([a-z_]+)" value="([^"]*)"', shown.body))
    fields |= {
        "timezone": "UTC",
        "currency": "USD",
        "any_revenue": "1",
        "expected_updated_at": re.search(r'name="expected_updated_at" value="([^"]*)"', shown.body)[1],
    }
    fields.pop("channel_id", None)
    answer = await person.send(page, page, **{**fields, **chosen})
    assert answer.status == 303, answer.text


@pytest.fixture
async def waiting(deployment):
    """An owner, and the path of the page of a link that a key wants to create."""
    owner = await deployment.signed_in("ann", "owner")
    await demand_approvals(deployment, owner, **{"approval:key:service:write:links": "all"})
    status, answer = await deployment.api("POST", "/v1/links", await create_api_key(deployment), LINK)
    assert status == 202, answer
    return owner, "/app" + answer["approval_url"].split("/app", 1)[1]


async def decide(person, path, decision="approve"):
    nonce = re.search(r'name="nonce" value="([^"]+)"', (await person.get(path)).body)[1]
    return await person.send(path, path, decision=decision, nonce=nonce)


async def link_names(deployment):
    key = deployment.initialized_deployment.agent_key.secret
    return [link["name"] for link in (await deployment.api("GET", "/v1/links", key))[1]["links"]]


async def test_page_shows_program_plan_effects_and_expiry(waiting):
    owner, path = waiting
    page = await owner.get(path)
    for part in (
        "Robot",
        "Example Shop",
        "Create tracking link “Spring <b>”",
        "Expires",
        "Approve",
        "Decline",
    ):
        assert part in page.text, part
    assert "what it does outside this workspace cannot be taken back" in page.text
    assert "<b>" not in page.body


async def test_page_shows_long_values_whole(deployment):
    owner = await deployment.signed_in("ann", "owner")
    await demand_approvals(deployment, owner, **{"approval:key:service:propose:scripts": "all"})
    proposal = {"name": "Chat", "type": "inline", "content": f"{'x' * 2000}; last()"}
    key = await create_api_key(deployment)
    answer = (await deployment.api("POST", "/v1/scripts/proposals", key, {"proposal": proposal}))[1]
    page = await owner.get("/app" + answer["approval_url"].split("/app", 1)[1])
    assert "x; last()" in page.text


async def test_replaced_signing_secret_is_shown_to_the_person_who_approved_it(deployment):
    owner, key = await deployment.signed_in("ann", "owner"), await create_api_key(deployment)
    status, made = await deployment.api("POST", "/v1/alerts", key, {"alert": ALERT})
    assert status == 200, made
    await demand_approvals(deployment, owner, **{"approval:key:service:write:reports": "all"})
    path = f"/v1/alerts/{made['data']['id']}/webhook-secret"
    answer = (await deployment.api("POST", path, key, {"dry_run": False}))[1]
    decided = await decide(owner, "/app" + answer["approval_url"].split("/app", 1)[1])
    assert "Signing secret of the webhooks, shown only now" in decided.text


async def test_approval_applies_the_change_once_and_is_in_the_audit_log(deployment, waiting):
    owner, path = waiting
    decided = (await decide(owner, path)).text
    assert ("The change was made" in decided, "shown only now" in decided) == (True, False)
    assert await link_names(deployment) == ["Spring <b>"]
    assert 'name="nonce"' not in (await owner.get(path)).body
    newest = (await list_audit_entries(deployment, deployment.initialized_deployment.agent_key.secret))[0]
    assert (newest["actor"]["name"], newest["approved_by"]["name"]) == ("Robot", "ann@example.com")


async def test_one_of_ten_concurrent_approvals_succeeds(deployment, waiting):
    owner, path = waiting
    body = (await owner.get(path)).body
    fields = {name: re.search(rf'name="{name}" value="([^"]+)"', body)[1] for name in ("csrf", "nonce")}
    answers = await asyncio.gather(*(owner.post(path, {**fields, "decision": "approve"}) for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 9
    assert await link_names(deployment) == ["Spring <b>"]


async def test_declined_change_is_not_made(deployment, waiting):
    owner, path = waiting
    assert "Nothing was changed" in (await decide(owner, path, "decline")).text
    assert await link_names(deployment) == []


async def test_member_sees_the_change_but_only_a_role_with_the_scope_decides(deployment, waiting):
    _, path = waiting
    member = await deployment.signed_in("ben", "member")
    page = await member.get(path)
    assert ("Your role cannot approve this" in page.text, 'value="approve"' in page.body) == (True, False)
    assert (await member.send(path, path, decision="approve", nonce="x")).status == 403
    assert (await decide(await deployment.signed_in("cho", "admin"), path)).status == 200


async def test_strangers_find_no_page(deployment, waiting):
    _, path = waiting
    await deployment.enrol("eve", "owner", deployment.other)
    stranger = await deployment.person().sign_in("eve@example.com")
    assert (await stranger.get(path)).status == 404
    assert (await deployment.person().get(path)).status == 303
