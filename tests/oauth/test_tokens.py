"""Codes and tokens: once, in time, for one program; what leaks ends (O2, O3)."""

import asyncio

import pytest

from service_core.analytics.ports import StoreUnavailable
from tests.oauth.oauth_client import LINKS, READ, REDIRECT, REPORTS, VERIFIER, register_client


@pytest.fixture
async def owner(deployment):
    return await deployment.signed_in("ann", "owner")


async def list_live_grants(deployment):
    return await deployment.store.oauth_grants.list_active_grants(deployment.workspace.id)


async def test_code_exchange_returns_specified_tokens(deployment, owner):
    helper = await register_client(deployment)
    tokens = await helper.tokens(owner, scope=f"{REPORTS} {READ}")
    assert tokens["access_token"].startswith("oat_")
    assert tokens["refresh_token"].startswith("ort_")
    assert tokens["token_type"] == "Bearer"
    assert tokens["expires_in"] == 900
    assert tokens["scope"] == f"{READ} {REPORTS}"
    assert await helper.works(tokens["access_token"])


async def test_one_of_twenty_code_exchanges_succeeds(deployment, owner):
    helper = await register_client(deployment)
    code = (await helper.code(owner))["code"]
    answers = await asyncio.gather(*(helper.redeem(code) for _ in range(20)))
    assert sorted(status for status, _ in answers) == [200] + [400] * 19
    assert {result["error"] for status, result in answers if status == 400} == {"invalid_grant"}
    [tokens] = [result for status, result in answers if status == 200]
    assert not await helper.works(tokens["access_token"])
    assert not await list_live_grants(deployment)


async def test_reused_code_revokes_its_tokens(deployment, owner):
    helper = await register_client(deployment)
    code = (await helper.code(owner))["code"]
    _, tokens = await helper.redeem(code)
    deployment.clock.advance(minutes=5)
    assert (await helper.redeem(code))[1]["error"] == "invalid_grant"
    assert not await helper.works(tokens["access_token"])
    assert (await helper.refresh(tokens["refresh_token"]))[0] == 400


async def test_code_expires_after_sixty_seconds(deployment, owner):
    helper = await register_client(deployment)
    early, late = (await helper.code(owner))["code"], (await helper.code(owner))["code"]
    deployment.clock.advance(seconds=59)
    assert (await helper.redeem(early))[0] == 200
    deployment.clock.advance(seconds=1)
    assert (await helper.redeem(late))[1]["error"] == "invalid_grant"


@pytest.mark.parametrize(
    "changed",
    [
        {"code_verifier": None},
        {"code_verifier": "w" * 43},
        {"code_verifier": "v" * 42},
        {"code_verifier": "v" * 129},
        {"redirect_uri": "http://127.0.0.1:33419/callback"},
        {"redirect_uri": None},
        {"client_id": "01a1fc5c-0972-78a1-8385-e3ed624276e5"},
    ],
)
async def test_code_with_a_wrong_verifier_is_consumed(deployment, owner, changed):
    helper = await register_client(deployment)
    code = (await helper.code(owner))["code"]
    assert (await helper.redeem(code, **changed))[1]["error"] == "invalid_grant"
    assert (await helper.redeem(code))[1]["error"] == "invalid_grant"
    assert not await list_live_grants(deployment)


async def test_code_is_bound_to_its_client(deployment, owner):
    helper, other = await register_client(deployment), await register_client(deployment)
    code = (await helper.code(owner))["code"]
    assert (await other.redeem(code))[1]["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("form", "status", "error"),
    [
        ({}, 400, "unsupported_grant_type"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": "client_credentials", "client_id": "x"}, 400, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, 401, "invalid_client"),
        ({"grant_type": "authorization_code", "client_id": "x"}, 400, "invalid_request"),
        ({"grant_type": "authorization_code", "client_id": "x", "code": "oac_x"}, 400, "invalid_grant"),
        ({"grant_type": "refresh_token", "client_id": "x"}, 400, "invalid_request"),
        ({"grant_type": "refresh_token", "client_id": "x", "refresh_token": "ort_" + "A" * 43}, 400, "invalid_grant"),
        ({"grant_type": "refresh_token", "client_id": "x", "refresh_token": "x", "resource": "https://o.example"}, 400,
         "invalid_target"),
    ],
)  # fmt: skip
async def test_errors_have_the_codes_of_the_rfc(deployment, form, status, error):
    helper = await register_client(deployment)
    assert (await helper.token(**form))[0] == status
    result = (await helper.token(**form))[1]
    assert set(result) == {"error", "error_description"}
    assert result["error"] == error


async def test_token_request_is_a_form_without_repetitions(deployment, owner):
    helper, client = await register_client(deployment), deployment.app.test_client()
    code = (await helper.code(owner))["code"]
    fields = f"grant_type=authorization_code&client_id={helper.client_id}&redirect_uri={REDIRECT}&code_verifier={VERIFIER}"
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    twice = await client.post("/oauth/token", data=f"{fields}&code={code}&code={code}", headers=kind)
    assert (await twice.get_json())["error"] == "invalid_request"
    json = await client.post("/oauth/token", json={"grant_type": "authorization_code", "code": code})
    assert json.status_code == 400
    large = await client.post("/oauth/token", data="x" * 200_000, headers=kind)
    assert large.status_code == 413
    assert (await helper.redeem(code))[0] == 200


async def test_refresh_token_is_rotated(deployment, owner):
    helper = await register_client(deployment)
    first = await helper.tokens(owner)
    for _ in range(3):
        status, second = await helper.refresh(first["refresh_token"])
        assert status == 200
        assert second["refresh_token"] != first["refresh_token"]
        assert await helper.works(second["access_token"])
        first = second


async def test_reused_refresh_token_revokes_its_grant(deployment, owner):
    helper = await register_client(deployment)
    first = await helper.tokens(owner)
    _, second = await helper.refresh(first["refresh_token"])
    assert (await helper.refresh(first["refresh_token"]))[1]["error"] == "invalid_grant"
    assert (await helper.refresh(second["refresh_token"]))[1]["error"] == "invalid_grant"
    for tokens in (first, second):
        assert not await helper.works(tokens["access_token"])


async def test_one_of_twenty_concurrent_refreshes_succeeds(deployment, owner):
    helper = await register_client(deployment)
    tokens = await helper.tokens(owner)
    answers = await asyncio.gather(*(helper.refresh(tokens["refresh_token"]) for _ in range(20)))
    assert sorted(status for status, _ in answers) == [200] + [400] * 19
    assert not await list_live_grants(deployment)


async def test_refresh_token_expires_after_thirty_days(deployment, owner):
    helper = await register_client(deployment)
    tokens = await helper.tokens(owner)
    deployment.clock.advance(days=29, hours=23)
    status, tokens = await helper.refresh(tokens["refresh_token"])
    assert status == 200
    deployment.clock.advance(days=30)
    assert (await helper.refresh(tokens["refresh_token"]))[1]["error"] == "invalid_grant"


async def test_refresh_token_used_by_another_client_is_revoked(deployment, owner):
    helper, other = await register_client(deployment), await register_client(deployment)
    tokens = await helper.tokens(owner)
    assert (await other.refresh(tokens["refresh_token"]))[1]["error"] == "invalid_grant"
    assert not await list_live_grants(deployment)


async def test_refresh_cannot_widen_the_scope(deployment, owner):
    helper = await register_client(deployment)
    tokens = await helper.tokens(owner)
    assert (await helper.refresh(tokens["refresh_token"], scope=LINKS))[1]["error"] == "invalid_scope"
    assert (await helper.refresh(tokens["refresh_token"], scope=READ))[0] == 200


async def test_access_token_expires_after_fifteen_minutes(deployment, owner):
    helper = await register_client(deployment)
    tokens = await helper.tokens(owner)
    deployment.clock.advance(minutes=14, seconds=59)
    assert await helper.works(tokens["access_token"])
    deployment.clock.advance(seconds=1)
    assert not await helper.works(tokens["access_token"])


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
async def test_revoking_either_token_ends_the_grant(deployment, owner, which):
    helper = await register_client(deployment)
    tokens = await helper.tokens(owner)
    client = deployment.app.test_client()
    answer = await client.post("/oauth/revoke", form={"token": tokens[which]})
    assert answer.status_code == 200
    assert not await helper.works(tokens["access_token"])
    assert (await helper.refresh(tokens["refresh_token"]))[0] == 400


async def test_revoking_an_unknown_token_succeeds_without_effect(deployment, owner):
    helper = await register_client(deployment)
    tokens = await helper.tokens(owner)
    client = deployment.app.test_client()
    for form in (
        {},
        {"token": ""},
        {"token": "x"},
        {"token": "oat_" + "A" * 43},
        {"token": "ort_" + "A" * 43},
    ):
        assert (await client.post("/oauth/revoke", form=form)).status_code == 200
    assert await helper.works(tokens["access_token"])


async def test_smaller_role_narrows_the_grant_at_once_and_a_larger_one_widens_it_no_further(
    deployment, owner
):
    bob, helper = await deployment.signed_in("bob", "member"), await register_client(deployment)
    tokens = await helper.tokens(bob, scope=f"{READ} {REPORTS}")
    page = f"{deployment.settings}/members"
    account = (await deployment.store.accounts.find_account_by_email("bob@example.com")).id
    await owner.send(page, f"{page}/{account}", action="role", role="viewer")
    status, tokens = await helper.refresh(tokens["refresh_token"])
    assert (status, tokens["scope"]) == (200, READ)
    await owner.send(page, f"{page}/{account}", action="role", role="owner")
    _, tokens = await helper.refresh(tokens["refresh_token"])
    assert tokens["scope"] == f"{READ} {REPORTS}"


async def test_leaving_the_workspace_revokes_the_grant_permanently(deployment, owner):
    bob, helper = await deployment.signed_in("bob", "member"), await register_client(deployment)
    tokens = await helper.tokens(bob)
    page = f"{deployment.settings}/members"
    account = (await deployment.store.accounts.find_account_by_email("bob@example.com")).id
    await owner.send(page, f"{page}/{account}", action="remove")
    assert not await helper.works(tokens["access_token"])
    await deployment.enrol("bob", "member")
    assert not await helper.works(tokens["access_token"])
    assert (await helper.refresh(tokens["refresh_token"]))[0] == 400


async def test_person_can_disconnect_a_client(deployment, owner):
    helper = await register_client(deployment, name="Chatty helper")
    tokens = await helper.tokens(owner)
    page = f"{deployment.settings}/connections"
    assert "Chatty helper" in (await owner.get(page)).text
    [grant] = await list_live_grants(deployment)
    assert (await owner.send(page, f"{page}/{grant.id}")).status == 303
    assert not await helper.works(tokens["access_token"])
    assert "Chatty helper" not in (await owner.get(page)).text


async def test_member_lists_and_revokes_only_own_grants(deployment, owner):
    bob, helper = (
        await deployment.signed_in("bob", "member"),
        await register_client(deployment, name="Chatty helper"),
    )
    tokens = await helper.tokens(owner)
    [grant] = await list_live_grants(deployment)
    page = f"{deployment.settings}/connections"
    assert "Chatty helper" not in (await bob.get(page)).text
    csrf = await bob.token("/app/workspaces")
    assert (await bob.post(f"{page}/{grant.id}", {"csrf": csrf})).status == 404
    assert await helper.works(tokens["access_token"])


async def test_oauth_token_is_accepted_only_by_declared_routes(deployment, owner):
    helper = await register_client(deployment)
    tokens = await helper.tokens(owner)
    for path in ("/v1/workspace", "/v1/overview", "/v1/exports"):
        assert (await deployment.api("GET", path, tokens["access_token"]))[0] == 401
    status, result = await deployment.api(
        "POST", "/v1/keys", tokens["access_token"], {"name": "From a token", "scopes": [READ]}
    )
    assert status == 200
    assert result["key"].startswith("dk_agent_")


async def test_only_token_digests_are_stored(deployment, owner, tmp_path):
    helper = await register_client(deployment)
    code = (await helper.code(owner))["code"]
    _, tokens = await helper.redeem(code)
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    cookie = next(iter(owner.client.cookie_jar)).value
    for secret in (code, tokens["access_token"], tokens["refresh_token"], cookie, VERIFIER):
        assert secret.encode() not in kept


async def test_expired_grant_is_not_listed(deployment, owner):
    helper = await register_client(deployment)
    await helper.code(owner)
    assert len(await list_live_grants(deployment)) == 1
    deployment.clock.advance(minutes=2)
    await helper.code(owner)
    assert len(await list_live_grants(deployment)) == 1


async def test_unavailable_store_returns_503_to_the_client(deployment, owner, monkeypatch):
    helper = await register_client(deployment)
    code = (await helper.code(owner))["code"]

    async def away(_):
        raise StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(deployment.store.one_time_tokens, "find_token_even_if_used", away)
        status, result = await helper.redeem(code)
    assert (status, result["error"]) == (503, "temporarily_unavailable")
    assert (await helper.redeem(code))[0] == 200
