"""Signups and key requests through the API: what is asked, approved, collected and refused."""

import asyncio
from uuid import UUID

import pytest

from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
)
from service_core.access.key_requests.approvals import Approvals
from service_core.access.roles import Role
from service_core.access.signup.payment_page import PaymentPage
from service_core.access.signup.payments import SignupPayments
from service_core.kernel.ids import new_id
from tests.fixtures.credentials_deployment import CHALLENGE, CredentialsDeployment, status_and_error


@pytest.fixture
async def deployment(tmp_path):
    made = CredentialsDeployment(tmp_path)
    async with made.service:
        yield await made.open()


async def test_signup_secret_is_enough_to_collect_the_key(deployment):
    taken = await deployment.ask(
        "POST", "/v1/signup", body={"email": "Ann@Example.com", "key_request": {"name": "Reader"}}
    )
    assert taken.status == 202
    assert list(taken.json) == [
        "signup_id", "status", "checkout_url", "signup_secret", "poll_url", "expires_at", "key_request",
    ]  # fmt: skip
    secret, signup_id = taken.json["signup_secret"], taken.json["signup_id"]
    assert taken.json["poll_url"] == f"http://127.0.0.1:8080/v1/signup/{signup_id}"
    assert taken.json["checkout_url"] == f"http://127.0.0.1:8080/app/checkout/{signup_id}"
    pending = await deployment.ask("GET", f"/v1/signup/{signup_id}", secret)
    assert (pending.json["status"], pending.json["workspace"]) == ("pending", None)
    assert pending.headers["X-RateLimit-Limit"] == "100"

    settlement, welcome = (
        deployment.service.component(SignupPayments),
        deployment.service.component(PaymentPage),
    )
    notice = deployment.service.ports.checkout.confirm_payment(UUID(signup_id), deployment.now)
    assert await settlement.verify_and_record_webhook(notice)
    paid = (await deployment.ask("GET", f"/v1/signup/{signup_id}", secret)).json
    assert (paid["status"], paid["workspace"]["name"]) == ("paid", "My workspace")

    await welcome.decide_key_request(await welcome.create_link(UUID(signup_id)), approve=True)
    request_id = taken.json["key_request"]["request_id"]
    polls = await asyncio.gather(
        *(deployment.ask("GET", f"/v1/keys/requests/{request_id}", secret) for _ in range(20))
    )
    (key,) = [poll.json["key"] for poll in polls if "key" in poll.json]
    read = await deployment.ask("GET", "/v1/workspace", key)
    assert read.json["id"] == paid["workspace"]["id"]


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "missing_field", "email"),
        ({"email": "nobody"}, "invalid_email", "email"),
        ({"email": "ann@example.com", "admin": True}, "unknown_field", "admin"),
        ({"email": "ann@example.com", "domain": "not a host"}, "invalid_parameter", "domain"),
        ({"email": "ann@example.com", "name": "Ann\u202e"}, "invalid_parameter", "name"),
        ({"email": "ann@example.com", "timezone": "Mars"}, "invalid_parameter", "timezone"),
        (
            {"email": "ann@example.com", "key_request": {"name": "x", "scopes": ["service:write:links"]}},
            "invalid_parameter",
            "key_request.scopes",
        ),
    ],
)
async def test_invalid_signup_body_returns_400(deployment, body, code, field):
    answer = await deployment.ask("POST", "/v1/signup", body=body)
    assert (*status_and_error(answer), answer.json["field"]) == (400, code, field)


async def test_sixth_signup_within_the_hour_is_429(deployment):
    for number in range(5):
        assert (
            await deployment.ask("POST", "/v1/signup", body={"email": f"{number}@example.com"})
        ).status == 202
    answer = await deployment.ask("POST", "/v1/signup", body={"email": "6@example.com"})
    assert (*status_and_error(answer), answer.headers["Retry-After"]) == (429, "signup_rate_limited", "3600")


async def test_secret_of_another_signup_and_a_wrong_secret_return_the_same_401(deployment):
    taken = [
        (await deployment.ask("POST", "/v1/signup", body={"email": f"{n}@example.com"})).json for n in (1, 2)
    ]
    path = f"/v1/signup/{taken[0]['signup_id']}"
    for secret in (taken[1]["signup_secret"], taken[0]["signup_secret"][:-1] + "~", deployment.agent, None):
        answer = await deployment.ask("GET", path, secret)
        assert (answer.status, answer.json) == (401, {"error": "Invalid or missing API key"})
        assert answer.headers["WWW-Authenticate"] == CHALLENGE


async def test_key_request_is_created_approved_and_collected(deployment):
    body = {"name": "Campaign bot", "scopes": ["service:write:links", "service:read"], "reason": "links"}
    filed = await deployment.ask("POST", "/v1/keys/requests", deployment.agent, body)
    assert filed.status == 202
    assert list(filed.json) == [
        "request_id", "status", "name", "scopes", "approval_url", "poll_url", "expires_at",
        "poll_interval_seconds",
    ]  # fmt: skip
    assert filed.json["scopes"] == ["service:read", "service:write:links"]
    assert filed.headers["X-RateLimit-Mutation-Remaining"] == "19"
    path = f"/v1/keys/requests/{filed.json['request_id']}"
    assert (await deployment.ask("GET", path, deployment.agent)).json == {
        "request_id": filed.json["request_id"],
        "status": "pending",
        "name": "Campaign bot",
        "scopes": ["service:read", "service:write:links"],
        "expires_at": "2026-07-09T15:00:00.000Z",
        "decided_at": None,
    }
    token = filed.json["approval_url"].removeprefix("http://127.0.0.1:8080/app/approve?request=")
    owner = await deployment.person(Role.OWNER)
    await deployment.service.component(Approvals).decide_pending_request(token, owner.id, approve=True)
    collected = (await deployment.ask("GET", path, deployment.agent)).json
    assert (collected["status"], collected["key_hint"]) == ("collected", "…" + collected["key"][-4:])
    again = (await deployment.ask("GET", path, deployment.agent)).json
    assert again["status"] == "collected"
    assert "key" not in again


async def test_key_request_of_another_credential_is_not_found(deployment):
    filed = await deployment.ask(
        "POST", "/v1/keys/requests", deployment.agent, {"name": "x", "scopes": ["service:read"]}
    )
    path = f"/v1/keys/requests/{filed.json['request_id']}"
    other = (
        await create_named_key_clamping_rate_limit_to_plan(
            deployment.store.credentials, deployment.workspace, deployment.now, name="Other"
        )
    ).secret
    signup = (await deployment.ask("POST", "/v1/signup", body={"email": "a@example.com"})).json[
        "signup_secret"
    ]
    for credential in (other, await deployment.token(), signup):
        for request in (path, f"/v1/keys/requests/{new_id()}", "/v1/keys/requests/nothing"):
            answer = await deployment.ask("GET", request, credential)
            assert (answer.status, answer.json) == (404, {"error": "Not found"})
    assert (await deployment.ask("GET", path)).status == 401


async def test_key_request_over_oauth_survives_a_token_refresh(deployment):
    account = await deployment.person(Role.MEMBER)
    token = await deployment.token(account=account)
    filed = await deployment.ask(
        "POST", "/v1/keys/requests", token, {"name": "x", "scopes": ["service:read"]}
    )
    path = f"/v1/keys/requests/{filed.json['request_id']}"
    assert (await deployment.ask("GET", path, token)).json["status"] == "pending"
    assert (await deployment.ask("GET", path, await deployment.token(account=account))).status == 404


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": "x", "scopes": ["service:everything"]}, "unknown_scope"),
        ({"name": "x", "scopes": []}, "missing_field"),
        ({"scopes": ["service:read"]}, "missing_field"),
        ({"name": " ", "scopes": ["service:read"]}, "invalid_parameter"),
        ({"name": "x\ny", "scopes": ["service:read"]}, "invalid_parameter"),
        ({"name": "x" * 201, "scopes": ["service:read"]}, "invalid_parameter"),
        ({"name": "x", "scopes": ["service:read"], "workspace_id": "y"}, "unknown_field"),
    ],
)
async def test_invalid_key_request_returns_400_without_dry_run_fields(deployment, body, code):
    answer = await deployment.ask("POST", "/v1/keys/requests", deployment.agent, body)
    assert status_and_error(answer) == (400, code)
    assert "dry_run" not in answer.json


async def test_identical_retry_with_an_idempotency_key_is_replayed_byte_for_byte(deployment):
    body = {"name": "x", "scopes": ["service:read"]}
    requests = [
        await deployment.ask("POST", "/v1/keys/requests", deployment.agent, sent, idempotency_key="retry-1")
        for sent in (body, dict(reversed(body.items())), body | {"name": "y"})
    ]
    assert requests[0].json == requests[1].json != requests[2].json
    assert [answer.headers.get("Idempotent-Replay") for answer in requests] == [None, "true", None]
    long = await deployment.ask(
        "POST", "/v1/keys/requests", deployment.agent, body, idempotency_key="k" * 256
    )
    assert status_and_error(long) == (400, "invalid_idempotency_key")
