"""Text that JSON and forms allow and a database refuses is made harmless at the door, on each database."""

import json

import pytest

from tests.fixtures.composed_deployment import query, running_deployment

TEXT_WITH_NUL = "Re\0el"
TEXT_WITH_REPLACEMENT = "Re\ufffdel"


@pytest.fixture
async def deployment(workspace_url, tmp_path):
    async with running_deployment(
        tmp_path, {"storage": {"events": "memory://", "workspace": workspace_url}}
    ) as made:
        yield made


async def test_nul_in_a_body_is_stored_as_replacement_character(deployment):
    await deployment.enrol("ann", "owner")
    path, request_id = await deployment.asked(name=TEXT_WITH_NUL, reason=TEXT_WITH_NUL)
    page = await (await deployment.person().sign_in("ann@example.com")).get(f"/app{path}")
    assert TEXT_WITH_REPLACEMENT in page.text
    status, result = await deployment.api(
        "GET", f"/v1/keys/requests/{request_id}", deployment.initialized_deployment.agent_key.secret
    )
    assert (status, result["status"]) == (200, "pending")


async def test_forms_with_nul_are_answered_like_any_other(deployment):
    ann = await deployment.signed_in("ann", "owner")
    refused = await deployment.person().send(
        "/app/sign-in", "/app/sign-in", email=f"{TEXT_WITH_NUL}@example.com", password=TEXT_WITH_NUL
    )
    assert refused.status in {400, 401, 403}
    made = await ann.send(
        f"{deployment.settings}/keys", f"{deployment.settings}/keys", name=TEXT_WITH_NUL, scope="service:read"
    )
    assert made.status == 303
    assert TEXT_WITH_REPLACEMENT in (await ann.get(made.location)).text


async def test_queries_with_nul_return_nothing(deployment):
    ann = await deployment.signed_in("ann", "owner")
    sought = query(
        client_id=TEXT_WITH_NUL,
        redirect_uri=f"https://example.com/{TEXT_WITH_NUL}",
        state=TEXT_WITH_NUL,
        request=TEXT_WITH_NUL,
    )
    for path in ("/oauth/authorize", "/app/consent", "/app/approve", f"{deployment.settings}/audit"):
        assert (await ann.get(f"{path}?{sought}")).status < 500
    key = deployment.initialized_deployment.agent_key.secret
    for path in (
        "/v1/audit?cursor=%00&resource_type=%00",
        "/v1/audit?client_id=%00",
        "/v1/links?cursor=%00",
        "/v1/links/%00",
    ):
        assert (await deployment.api("GET", path, key))[0] < 500


async def register_named_client(deployment, name, address):
    return await deployment.app.test_client().post(
        "/oauth/register",
        data=json.dumps({"client_name": name, "redirect_uris": [address]}),
        headers={"content-type": "application/json"},
    )


async def test_invisible_characters_are_removed_from_client_names(deployment):
    result = await register_named_client(deployment, TEXT_WITH_NUL, "https://example.com/back")
    assert (result.status_code, (await result.get_json())["client_name"]) == (201, "Reel")
    assert (
        await register_named_client(deployment, "Reel", f"https://example.com/{TEXT_WITH_NUL}")
    ).status_code == 400
