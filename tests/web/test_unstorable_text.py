"""Text that JSON and forms allow and a database refuses is made harmless at the door, on each database."""

import json

import pytest

from tests.fixtures.composed_deployment import query, running_deployment

POISON = "Re\0el"
HARMLESS = "Re\ufffdel"


@pytest.fixture
async def deployment(workspace_url, tmp_path):
    async with running_deployment(
        tmp_path, {"storage": {"events": "memory://", "workspace": workspace_url}}
    ) as made:
        yield made


async def test_a_body_is_kept_with_a_replacement_character(deployment):
    await deployment.enrol("ann", "owner")
    path, request_id = await deployment.asked(name=POISON, reason=POISON)
    page = await (await deployment.person().sign_in("ann@example.com")).get(f"/app{path}")
    assert HARMLESS in page.text
    status, said = await deployment.api(
        "GET", f"/v1/keys/requests/{request_id}", deployment.initialized_deployment.agent_key.secret
    )
    assert (status, said["status"]) == (200, "pending")


async def test_forms_with_nul_are_answered_like_any_other(deployment):
    ann = await deployment.signed_in("ann", "owner")
    refused = await deployment.person().send(
        "/app/sign-in", "/app/sign-in", email=f"{POISON}@example.com", password=POISON
    )
    assert refused.status in {400, 401, 403}
    made = await ann.send(
        f"{deployment.settings}/keys", f"{deployment.settings}/keys", name=POISON, scope="service:read"
    )
    assert made.status == 200
    assert HARMLESS in made.text


async def test_queries_with_nul_find_nothing_and_break_nothing(deployment):
    ann = await deployment.signed_in("ann", "owner")
    sought = query(
        client_id=POISON, redirect_uri=f"https://example.com/{POISON}", state=POISON, request=POISON
    )
    for path in ("/oauth/authorize", "/app/consent", "/app/approve", f"{deployment.settings}/audit"):
        assert (await ann.get(f"{path}?{sought}")).status < 500
    key = deployment.initialized_deployment.agent_key.secret
    for path in ("/v1/audit?cursor=%00&resource_type=%00", "/v1/links?cursor=%00", "/v1/links/%00"):
        assert (await deployment.api("GET", path, key))[0] < 500


async def register(deployment, name, address):
    return await deployment.app.test_client().post(
        "/oauth/register",
        data=json.dumps({"client_name": name, "redirect_uris": [address]}),
        headers={"content-type": "application/json"},
    )


async def test_a_program_registers_without_what_nobody_sees_in_its_name(deployment):
    said = await register(deployment, POISON, "https://example.com/back")
    assert (said.status_code, (await said.get_json())["client_name"]) == (201, "Reel")
    assert (await register(deployment, "Reel", f"https://example.com/{POISON}")).status_code == 400
