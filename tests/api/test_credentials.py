"""Contract 2.2, 7, 12 and 14 through the api_client: what each credential may spend, and what it gets."""

import asyncio
import logging
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson
import pytest

from hosts.composition.compose import compose
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
    revoke_key_if_active,
)
from service_core.access.fixed_window import FixedWindowCounter
from service_core.access.key_requests.approvals import Approvals
from service_core.access.members.models import Account, Member
from service_core.access.members.sign_in import SignIn
from service_core.access.models import OAuthGrant
from service_core.access.ports import RateLimiterUnavailable
from service_core.access.roles import Role
from service_core.access.signup.payment_page import PaymentPage
from service_core.access.signup.payments import SignupPayments
from service_core.api.http_messages import ApiRequest
from service_core.kernel.ids import new_agent_token, new_id, sha256_hex
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings
from service_core.testing.oauth_grants import issue_access_token
from tests.fixtures.api_response import ApiResponse

CHALLENGE = 'Bearer realm="Service Read API"'


class CredentialsDeployment:
    """A composed service on SQLite, one shop, and a clock that is moved by hand."""

    def __init__(self, folder):
        self.now = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
        settings = Settings.model_validate({"storage": {"events": "memory://"}})
        self.service = compose(settings, folder, clock=lambda: self.now)

    async def open(self, plan="growth"):
        self.store = self.service.ports.workspace
        windows = FixedWindowCounter(lambda: self.now)

        async def consume(key, limit, seconds):
            return windows.consume(key, limit, seconds)

        self.service.ports.limits.consume = consume  # the adapter counts by the clock of the machine
        self.initialized_deployment = await create_workspace_with_keys(
            self.store.credentials, self.now, name="Example Shop", plan=plan
        )
        self.workspace, self.agent = (
            self.initialized_deployment.workspace,
            self.initialized_deployment.agent_key.secret,
        )
        return self

    async def person(self, role):
        account = Account(new_id(), f"{role.value}-{new_id().hex}@example.com", None, self.now)
        await self.store.accounts.save_account_unless_email_taken(account)
        await self.store.members.save_member_unless_no_owner_left(
            Member(self.workspace.id, account.id, role, self.now)
        )
        return account

    async def token(self, role=Role.OWNER, scopes=frozenset(Scope), account=None, minutes=15):
        account = account or await self.person(role)
        grant = OAuthGrant(new_id(), account.id, "client", "Bot", self.workspace.id, scopes, self.now)
        return await issue_access_token(
            self.store.one_time_tokens, grant, self.now, lifetime=timedelta(minutes=minutes)
        )

    async def ask(self, method, path, token=None, body=None, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        content = b"" if body is None else orjson.dumps(body)
        request = ApiRequest(method, path, "", sent, content, client_ip="203.0.113.7")
        return ApiResponse(await self.service.dispatch(request))

    async def exchange(self, token, **body):
        return await self.ask("POST", "/v1/keys", token, {"name": "Bot", "scopes": ["service:read"], **body})


@pytest.fixture
async def deployment(tmp_path):
    made = CredentialsDeployment(tmp_path)
    async with made.service:
        yield await made.open()


def status_and_error(answer):
    return answer.status, answer.json.get("code")


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


async def test_a_sixth_signup_within_the_hour_is_429(deployment):
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
        for asked in (path, f"/v1/keys/requests/{new_id()}", "/v1/keys/requests/nothing"):
            answer = await deployment.ask("GET", asked, credential)
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


async def test_an_identical_retry_with_an_idempotency_key_is_replayed_byte_for_byte(deployment):
    body = {"name": "x", "scopes": ["service:read"]}
    asked = [
        await deployment.ask("POST", "/v1/keys/requests", deployment.agent, sent, idempotency_key="retry-1")
        for sent in (body, dict(reversed(body.items())), body | {"name": "y"})
    ]
    assert asked[0].json == asked[1].json != asked[2].json
    assert [answer.headers.get("Idempotent-Replay") for answer in asked] == [None, "true", None]
    long = await deployment.ask(
        "POST", "/v1/keys/requests", deployment.agent, body, idempotency_key="k" * 256
    )
    assert status_and_error(long) == (400, "invalid_idempotency_key")


async def test_a_token_is_exchanged_for_a_key_with_at_most_its_scopes(deployment):
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


async def test_a_key_cannot_make_a_key(deployment):
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
        Member(deployment.workspace.id, account.id, Role.ADMIN, deployment.now)
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


async def test_a_revoked_key_can_no_longer_collect(deployment):
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
        ("/v1/overview", "get", [{"key": ["service:read"]}]),
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
        asked = [
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
    said = repr([answer.json for answer in asked]) + caplog.text + written.out + written.err
    for name, secret in secrets.items():
        assert secret.encode() not in kept, name
        assert secret not in said, name
