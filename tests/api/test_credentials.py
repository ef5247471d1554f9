"""What each credential may spend, what it gets, and that no secret is kept."""

import logging
import re
from datetime import timedelta
from uuid import UUID

import pytest

from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    revoke_key_if_active,
)
from service_core.access.members.models import Member
from service_core.access.members.sign_in import SignIn
from service_core.access.ports import RateLimiterUnavailable
from service_core.access.roles import Role
from service_core.access.signup.payment_page import PaymentPage
from service_core.access.signup.payments import SignupPayments
from service_core.kernel.ids import new_agent_token, new_id, sha256_hex
from service_core.kernel.operations import Scope
from tests.fixtures.credentials_deployment import CredentialsDeployment, status_and_error


@pytest.fixture
async def deployment(tmp_path):
    made = CredentialsDeployment(tmp_path)
    async with made.service:
        yield await made.open()


async def test_token_is_exchanged_for_a_key_with_at_most_its_scopes(deployment):
    token = await deployment.token(scopes=frozenset({Scope.READ, Scope.WRITE_LINKS}))
    minted = await deployment.exchange(token, scopes=["service:read", "service:write:links"], rate_limit=5000)
    assert minted.status == 200
    assert list(minted.json) == ["id", "key", "key_hint", "name", "scopes", "rate_limit", "created_at"]
    assert (minted.json["rate_limit"], minted.json["name"]) == (300, "Bot")
    assert (await deployment.ask("GET", "/v1/workspace", minted.json["key"])).headers[
        "X-RateLimit-Limit"
    ] == "300"
    missing = await deployment.exchange(token, scopes=["service:write:rules"])
    assert status_and_error(missing) == (403, "insufficient_scope")
    assert missing.json["required_scope"] == "service:write:rules"


async def test_every_exchange_makes_another_key_whatever_the_idempotency_key(deployment):
    token = await deployment.token()
    body = {"name": "Bot", "scopes": ["service:read"]}
    keys = {
        (await deployment.ask("POST", "/v1/keys", token, body, idempotency_key="k")).json["key"]
        for _ in range(2)
    }
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("role", "body", "code"),
    [
        (Role.MEMBER, {}, "role_required"),
        (Role.VIEWER, {}, "role_required"),
        (Role.ADMIN, {"scopes": ["service:write:reports"]}, "owner_required"),
        (Role.ADMIN, {"scopes": ["service:write:links"]}, "insufficient_scope"),
        (Role.ADMIN, {"rate_limit": 200}, "owner_required"),
        (Role.ADMIN, {"rate_limit": 100}, None),
        (Role.ADMIN, {}, None),
        (Role.OWNER, {"scopes": [scope.value for scope in Scope]}, None),
    ],
)
async def test_scopes_that_each_role_can_exchange(deployment, role, body, code):
    answer = await deployment.exchange(await deployment.token(role), **body)
    assert status_and_error(answer) == ((200, None) if code is None else (403, code))


async def test_key_cannot_make_a_key(deployment):
    owner = await create_named_key_clamping_rate_limit_to_plan(
        deployment.store.credentials, deployment.workspace, deployment.now, name="All", scopes=Scope
    )
    for key in (deployment.agent, owner.secret):
        assert status_and_error(await deployment.exchange(key)) == (403, "oauth_required")
    assert (await deployment.exchange(new_agent_token())).status == 401


async def test_access_token_expires_after_15_minutes(deployment):
    token = await deployment.token()
    deployment.now += timedelta(minutes=14, seconds=59)
    assert (await deployment.exchange(token)).status == 200
    deployment.now += timedelta(seconds=1)
    assert (await deployment.exchange(token)).status == 401


async def test_role_change_narrows_a_grant_and_removal_revokes_it_immediately(deployment):
    await deployment.person(Role.OWNER)
    account = await deployment.person(Role.OWNER)
    token = await deployment.token(account=account)
    await deployment.store.members.save_member_unless_no_owner_left(
        Member(deployment.workspace.id, account.id, Role.ADMIN, deployment.now), deployment.now
    )
    assert status_and_error(await deployment.exchange(token, scopes=["service:write:links"])) == (
        403,
        "insufficient_scope",
    )
    await deployment.store.members.remove_member_unless_last_owner(
        deployment.workspace.id, account.id, deployment.now
    )
    assert (await deployment.exchange(token)).status == 401


async def test_revoked_grant_stays_revoked(deployment):
    token = await deployment.token()
    (grant,) = await deployment.store.oauth_grants.list_active_grants(deployment.workspace.id)
    await deployment.store.one_time_tokens.end_grant(grant.id, deployment.now)
    assert (await deployment.exchange(token)).status == 401
    assert await deployment.store.oauth_grants.list_active_grants(deployment.workspace.id) == []


async def test_grants_and_signup_secrets_have_a_budget_of_100_each(deployment):
    signup = (await deployment.ask("POST", "/v1/signup", body={"email": "a@example.com"})).json[
        "signup_secret"
    ]
    token = await deployment.token()
    path = f"/v1/keys/requests/{new_id()}"
    for credential in (signup, token):
        statuses = [(await deployment.ask("GET", path, credential)).status for _ in range(101)]
        assert statuses == [404] * 100 + [429]
    assert (await deployment.ask("GET", path, deployment.agent)).status == 404


async def test_key_creation_spends_both_quotas_and_polling_only_requests(deployment):
    body = {"name": "x", "scopes": ["service:read"]}
    statuses = [
        (await deployment.ask("POST", "/v1/keys/requests", deployment.agent, body)).status for _ in range(21)
    ]
    assert statuses == [202] * 20 + [429]
    answer = await deployment.ask("GET", f"/v1/keys/requests/{new_id()}", deployment.agent)
    assert (answer.status, answer.headers["X-RateLimit-Remaining"]) == (404, "78")


async def test_key_routes_and_signup_fail_closed_and_signup_polling_continues(deployment, monkeypatch):
    taken = (await deployment.ask("POST", "/v1/signup", body={"email": "a@example.com"})).json

    async def down(*_):
        raise RateLimiterUnavailable

    monkeypatch.setattr(deployment.service.ports.limits, "consume", down)
    body = {"name": "x", "scopes": ["service:read"]}
    closed = [
        await deployment.ask("POST", "/v1/keys/requests", deployment.agent, body),
        await deployment.ask("GET", f"/v1/keys/requests/{new_id()}", deployment.agent),
        await deployment.exchange(await deployment.token()),
        await deployment.ask("POST", "/v1/signup", body={"email": "b@example.com"}),
    ]
    assert [status_and_error(answer) for answer in closed] == [(503, "limiter_unavailable")] * 4
    followed = await deployment.ask("GET", f"/v1/signup/{taken['signup_id']}", taken["signup_secret"])
    assert (followed.status, followed.headers["X-RateLimit-Degraded"]) == (200, "1")


async def test_revoked_key_can_no_longer_collect(deployment):
    named = await create_named_key_clamping_rate_limit_to_plan(
        deployment.store.credentials, deployment.workspace, deployment.now, name="Reader"
    )
    body = {"name": "x", "scopes": ["service:read"]}
    filed = await deployment.ask("POST", "/v1/keys/requests", named.secret, body)
    await revoke_key_if_active(
        deployment.store.credentials, deployment.workspace, named.credential.id, deployment.now
    )
    path = f"/v1/keys/requests/{filed.json['request_id']}"
    assert (await deployment.ask("GET", path, named.secret)).status == 401


async def test_unsigned_payment_notice_is_refused(deployment):
    answer = await deployment.ask("POST", "/checkout/notices", body={"paid": True})
    assert status_and_error(answer) == (403, "invalid_signature")


@pytest.mark.parametrize(
    ("path", "method", "schemes"),
    [
        ("/v1/overview", "get", [{"key": []}]),
        ("/v1/keys", "post", [{"oauth": []}]),
        ("/v1/keys/requests", "post", [{"key": []}, {"oauth": []}]),
        ("/v1/keys/requests/{requestId}", "get", [{"key": []}, {"oauth": []}, {"signup": []}]),
        ("/v1/signup/{signupId}", "get", [{"signup": []}]),
        ("/v1/signup", "post", None),
    ],
)
async def test_openapi_names_the_credentials_of_each_route(deployment, path, method, schemes):
    document = (await deployment.ask("GET", "/openapi.json")).json
    assert document["paths"][path][method].get("security") == schemes


async def secrets_shown_once(deployment, capfd):
    """Every kind of secret, each from the one place that shows it."""
    taken = (
        await deployment.ask(
            "POST", "/v1/signup", body={"email": "a@example.com", "key_request": {"name": "R"}}
        )
    ).json
    signup_id = UUID(taken["signup_id"])
    await deployment.service.component(SignupPayments).verify_and_record_webhook(
        deployment.service.ports.checkout.confirm_payment(signup_id, deployment.now)
    )
    welcome = await deployment.service.component(PaymentPage).create_link(signup_id)
    await deployment.service.component(PaymentPage).decide_key_request(welcome, approve=True)
    path = f"/v1/keys/requests/{taken['key_request']['request_id']}"
    collected = (await deployment.ask("GET", path, taken["signup_secret"])).json["key"]
    link = re.search(r"token=([\w-]{43})", capfd.readouterr().err).group(1)
    session = await deployment.service.component(SignIn).set_password_and_replace_sessions(
        link, "planted password"
    )
    token = await deployment.token()
    body = {"name": "x", "scopes": ["service:read"]}
    filed = await deployment.ask(
        "POST", "/v1/keys/requests", token, body, idempotency_key="planted-idempotency-key"
    )
    approval = filed.json["approval_url"].rpartition("=")[2]
    exchanged = (await deployment.exchange(token)).json["key"]
    keys = {"agent": deployment.agent, "write": deployment.initialized_deployment.write_key.secret}
    return keys | {
        "signup": taken["signup_secret"], "welcome": welcome, "collected": collected, "link": link,
        "password": "planted password", "session": session.secret, "token": token, "approval": approval,
        "exchanged": exchanged, "idempotency": "planted-idempotency-key",
    }  # fmt: skip


async def test_secrets_are_absent_from_store_log_and_later_responses(deployment, tmp_path, capfd, caplog):
    with caplog.at_level(logging.DEBUG):
        secrets = await secrets_shown_once(deployment, capfd)
        requests = [
            await deployment.ask("GET", path, token)
            for path in (
                "/v1/workspace",
                "/v1/usage",
                "/openapi.json",
                f"/v1/keys/requests/{new_id()}",
                "/v1/nothing",
            )
            for token in (
                secrets["agent"],
                secrets["collected"],
                secrets["signup"],
                secrets["token"],
                "wrong",
                None,
            )
        ]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert sha256_hex(secrets["collected"]).encode() in kept
    written = capfd.readouterr()
    result = repr([answer.json for answer in requests]) + caplog.text + written.out + written.err
    for name, secret in secrets.items():
        assert secret.encode() not in kept, name
        assert secret not in result, name
