"""Contract 2.2, 2.3 and 12 as one table: every route x every kind of credential (S2).

A new route fails here until it has a line: who may ask is decided, not left over.
"""

import re
from collections.abc import Mapping
from datetime import timedelta

import orjson
import pytest

from hosts.composition.compose import compose, load_installed_registry_once
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
)
from service_core.access.members.models import Account, Member
from service_core.access.models import OAuthGrant
from service_core.access.roles import Role
from service_core.api.http_messages import ApiRequest
from service_core.kernel.ids import new_id
from service_core.kernel.operations import RoutePrefix, Scope
from service_core.kernel.settings import Settings
from service_core.testing.oauth_grants import issue_access_token
from tests.fixtures.port_stubs import ManualClock

PUBLIC, SIGNUP, POLL, FILE, EXCHANGE, WRITE_KEY, ANY_KEY, INTERNAL = (
    "public", "signup", "poll", "file", "exchange", "write key", "any key", "internal",
)  # fmt: skip
READ, RULES, LINKS, REPORTS, SCRIPTS = (
    "service:read", "service:write:rules", "service:write:links", "service:write:reports",
    "service:propose:scripts",
)  # fmt: skip

TOTALS = "service:read, or for totals only service:read:aggregates"

TABLE: Mapping[str, str] = {
    "GET /health": PUBLIC,
    "GET /ready": PUBLIC,
    "GET /openapi.json": PUBLIC,
    "POST /checkout/notices": PUBLIC,
    "GET /exports/download/{exportId}": PUBLIC,
    "POST /v1/signup": PUBLIC,
    "GET /v1/signup/{signupId}": SIGNUP,
    "POST /v1/keys/requests": FILE,
    "GET /v1/keys/requests/{requestId}": POLL,
    "POST /v1/keys": EXCHANGE,
    "GET /v1/ledger": TOTALS,
    "GET /v1/overview": TOTALS,
    "GET /v1/traffic": TOTALS,
    "GET /v1/devices": TOTALS,
    "GET /v1/locations": TOTALS,
    "GET /v1/tags": TOTALS,
    "GET /v1/realtime": READ,
    "GET /v1/events": READ,
    "GET /v1/event-names": TOTALS,
    "GET /v1/events/properties": READ,
    "GET /v1/workspace": TOTALS,
    "GET /v1/workspace/settings": TOTALS,
    "GET /v1/usage": TOTALS,
    "GET /v1/context": TOTALS,
    "POST /v1/metrics": TOTALS,
    "GET /v1/metrics/catalog": TOTALS,
    "POST /v1/query": TOTALS,
    "POST /v1/explain-change": TOTALS,
    "POST /v1/receipts": READ,
    "GET /v1/receipts/{receiptId}": READ,
    "GET /v1/receipts/{receiptId}/records": READ,
    "GET /v1/dimension-values": TOTALS,
    "GET /v1/search": READ,
    "GET /v1/users": READ,
    "GET /v1/users/{userId}": READ,
    "GET /v1/retention": TOTALS,
    "GET /v1/ltv": TOTALS,
    "GET /v1/funnel": TOTALS,
    "GET /v1/funnel/persons": READ,
    "GET /v1/paths": TOTALS,
    "GET /v1/paths/sessions": READ,
    "GET /v1/experiments": READ,
    "GET /v1/experiments/results": READ,
    "GET /v1/attribution/journeys": READ,
    "GET /v1/attribution": TOTALS,
    "POST /v1/exports": READ,
    "GET /v1/exports": READ,
    "GET /v1/exports/{exportId}": READ,
    "POST /v1/imports": RULES,
    "GET /v1/imports": READ,
    "GET /v1/imports/{importId}": READ,
    "POST /v1/imports/{importId}/start": RULES,
    "POST /v1/imports/{importId}/cancel": RULES,
    "POST /v1/imports/{importId}/remove": RULES,
    "GET /v1/onboarding": TOTALS,
    "GET /v1/docs/search": TOTALS,
    "GET /v1/revenue": TOTALS,
    "GET /v1/ads": TOTALS,
    "GET /v1/commerce-metrics": TOTALS,
    "POST /v1/shopify/economics/cost-imports/validate": INTERNAL,
    "POST /v1/shopify/economics/cost-imports/apply": INTERNAL,
    "GET /v1/subscriptions": READ,
    "GET /v1/rules": TOTALS,
    "GET /v1/rules/deliveries": READ,
    "GET /v1/links": TOTALS,
    "GET /v1/scripts/proposals": TOTALS,
    "GET /v1/scripts/proposals/{proposalId}": TOTALS,
    "GET /v1/audit": READ,
    "GET /v1/dashboards": TOTALS,
    "GET /v1/dashboards/{dashboardId}": TOTALS,
    "POST /v1/dashboards/{dashboardId}/run": TOTALS,
    "GET /v1/reports": TOTALS,
    "GET /v1/reports/{reportId}": TOTALS,
    "POST /v1/reports/{reportId}/run": TOTALS,
    "GET /v1/analyses": TOTALS,
    "GET /v1/analyses/{analysisId}": TOTALS,
    "GET /v1/share-links": TOTALS,
    "GET /v1/segments": TOTALS,
    "GET /v1/segments/{segmentId}": TOTALS,
    "GET /v1/email-reports": READ,
    "GET /v1/email-reports/{emailReportId}": READ,
    "GET /v1/email-reports/{emailReportId}/deliveries": READ,
    "GET /v1/alerts": READ,
    "GET /v1/alerts/{alertId}": READ,
    "GET /v1/alerts/{alertId}/deliveries": READ,
    "GET /v1/webhooks": READ,
    "GET /v1/webhooks/{webhookId}": READ,
    "GET /v1/webhooks/{webhookId}/deliveries": READ,
    "GET /v1/annotations": TOTALS,
    "GET /v1/annotations/{annotationId}": TOTALS,
    "GET /v1/providers": TOTALS,
    "GET /v1/connections": TOTALS,
    "POST /v1/connections": RULES,
    "PATCH /v1/connections/{connectionId}": RULES,
    "DELETE /v1/connections/{connectionId}": RULES,
    "POST /v1/connections/{connectionId}/test": RULES,
    "PATCH /v1/workspace": RULES,
    "POST /v1/rules": RULES,
    "PATCH /v1/rules/{ruleId}": RULES,
    "DELETE /v1/rules/{ruleId}": RULES,
    "POST /v1/links": LINKS,
    "PATCH /v1/links/{linkId}": LINKS,
    "DELETE /v1/links/{linkId}": LINKS,
    "POST /v1/scripts/proposals": SCRIPTS,
    "POST /v1/audit/{auditId}/undo": ANY_KEY,
    "POST /v1/audit/rollback": ANY_KEY,
    "POST /v1/change-sets": ANY_KEY,
    "GET /v1/approvals/{approvalId}": ANY_KEY,
    "POST /v1/change-sets/{changeSetId}/apply": ANY_KEY,
    "POST /v1/change-sets/{changeSetId}/undo": ANY_KEY,
    "POST /v1/dashboards": REPORTS,
    "PATCH /v1/dashboards/{dashboardId}": REPORTS,
    "DELETE /v1/dashboards/{dashboardId}": REPORTS,
    "POST /v1/dashboards/{dashboardId}/reorder": REPORTS,
    "POST /v1/reports": REPORTS,
    "PATCH /v1/reports/{reportId}": REPORTS,
    "DELETE /v1/reports/{reportId}": REPORTS,
    "POST /v1/analyses": REPORTS,
    "PATCH /v1/analyses/{analysisId}": REPORTS,
    "DELETE /v1/analyses/{analysisId}": REPORTS,
    "POST /v1/segments": REPORTS,
    "PATCH /v1/segments/{segmentId}": REPORTS,
    "DELETE /v1/segments/{segmentId}": REPORTS,
    "POST /v1/email-reports": REPORTS,
    "PATCH /v1/email-reports/{emailReportId}": REPORTS,
    "DELETE /v1/email-reports/{emailReportId}": REPORTS,
    "POST /v1/email-reports/{emailReportId}/test": REPORTS,
    "POST /v1/alerts": REPORTS,
    "PATCH /v1/alerts/{alertId}": REPORTS,
    "DELETE /v1/alerts/{alertId}": REPORTS,
    "POST /v1/alerts/{alertId}/webhook-secret": REPORTS,
    "POST /v1/webhooks": RULES,
    "PATCH /v1/webhooks/{webhookId}": RULES,
    "DELETE /v1/webhooks/{webhookId}": RULES,
    "POST /v1/webhooks/{webhookId}/secret": RULES,
    "POST /v1/webhooks/{webhookId}/test": RULES,
    "POST /v1/annotations": REPORTS,
    "PATCH /v1/annotations/{annotationId}": REPORTS,
    "DELETE /v1/annotations/{annotationId}": REPORTS,
    "POST /v1/share-links": REPORTS,
    "PATCH /v1/share-links/{shareLinkId}": REPORTS,
    "DELETE /v1/share-links/{shareLinkId}": REPORTS,
    "POST /attribution/lookup": WRITE_KEY,
    "POST /attribution/deferred-lookup": WRITE_KEY,
}
"""Route -> the scope it needs, or who else may ask. Lines of routes that are still to come may stand here."""

KEYS = ("agent", *(scope.value for scope in Scope))
BEARERS = ("nothing", *KEYS, "oauth", "signup", "write")
ACCESS_BY_CREDENTIAL: Mapping[str, frozenset[str]] = {
    PUBLIC: frozenset(BEARERS),
    SIGNUP: frozenset({"signup"}),
    POLL: frozenset({*KEYS, "oauth", "signup"}),
    FILE: frozenset({*KEYS, "oauth"}),
    EXCHANGE: frozenset({"oauth"}),
    WRITE_KEY: frozenset(),
    ANY_KEY: frozenset(KEYS),
    TOTALS: frozenset({"agent", READ, "service:read:aggregates"}),
}
"""Who may ask where no single scope decides; a write key goes in a header of its own."""


def route_of_operation(operation):
    prefix = "/v1" if operation.prefix is RoutePrefix.V1 else ""
    return f"{operation.method} {prefix}{operation.path}"


def expected_status(access, kind):
    """What the contract says of a kind of credential at a route."""
    holds = READ if kind == "agent" else kind
    if access == holds or kind in ACCESS_BY_CREDENTIAL.get(access, ()):
        return "open"
    if kind not in KEYS or access in {SIGNUP, WRITE_KEY}:
        return "401"
    if access == INTERNAL:
        return "403 internal_credential_required"
    needed = READ if access == TOTALS else access
    return "403 oauth_required" if access == EXCHANGE else f"403 insufficient_scope {needed}"


def classify_response(response):
    """What an answer says about the credential: 401, 403 with its code, or nothing against it."""
    result = orjson.loads(response.body) if response.status in {401, 403} else {}
    if response.status == 401:
        return "401"
    if result.get("code") in {"insufficient_scope", "oauth_required", "internal_credential_required"}:
        return " ".join(filter(None, ["403", result["code"], result.get("required_scope")]))
    return "open"


class CredentialMatrix:
    def __init__(self, service, clock):
        self.service, self.clock = service, clock
        self.secrets, self.signup_id = {}, ""

    async def open(self):
        store, now = self.service.ports.workspace, self.clock()
        initialized_deployment = await create_workspace_with_keys(store.credentials, now, name="Example Shop")
        self.secrets = {
            "agent": initialized_deployment.agent_key.secret,
            "write": initialized_deployment.write_key.secret,
        }
        for scope in Scope:
            minted = await create_named_key_clamping_rate_limit_to_plan(
                store.credentials, initialized_deployment.workspace, now, name=scope.value, scopes=[scope]
            )
            self.secrets[scope.value] = minted.secret
        self.secrets["oauth"] = await self.token(initialized_deployment.workspace, Role.OWNER)
        taken = await self.ask("POST", "/v1/signup", body=b'{"email":"ann@example.com"}')
        answer = orjson.loads(taken.body)
        self.secrets["signup"], self.signup_id = answer["signup_secret"], answer["signup_id"]
        return self

    async def token(self, workspace, role):
        store, now = self.service.ports.workspace, self.clock()
        account = Account(new_id(), f"{role.value}@example.com", None, now)
        await store.accounts.save_account_unless_email_taken(account)
        await store.members.save_member_unless_no_owner_left(Member(workspace.id, account.id, role, now), now)
        grant = OAuthGrant(new_id(), account.id, "client", "Bot", workspace.id, frozenset(Scope), now)
        return await issue_access_token(store.one_time_tokens, grant, now, lifetime=timedelta(days=1))

    async def ask(self, method, path, *, kind="nothing", body=b"", headers=None):
        self.clock.advance(minutes=1)  # a minute per request: no quota is used up
        sent = dict(headers or {})
        if kind != "nothing":
            sent["authorization"] = f"Bearer {self.secrets[kind]}"
        client = f"203.0.113.{self.clock.now.minute}"
        return await self.service.dispatch(ApiRequest(method, path, "", sent, body, client_ip=client))

    async def verdicts(self, operation):
        method, path = route_of_operation(operation).split(" ")
        path = path.replace("{signupId}", self.signup_id)
        path = re.sub(r"\{\w+\}", lambda _: str(new_id()), path)
        body = b"{}" if operation.body is not None else b""
        return {
            kind: classify_response(await self.ask(method, path, kind=kind, body=body)) for kind in BEARERS
        }


@pytest.fixture
async def matrix(tmp_path):
    clock = ManualClock()
    settings = Settings.model_validate({"storage": {"events": "memory://"}})
    async with compose(settings, tmp_path, clock=clock) as service:
        yield await CredentialMatrix(service, clock).open()


def test_every_route_has_a_row_in_the_matrix():
    assert [
        route_of_operation(operation)
        for operation in load_installed_registry_once().operations
        if route_of_operation(operation) not in TABLE
    ] == []


async def test_every_credential_gets_the_expected_status_at_every_route(matrix):
    wrong = []
    for operation in load_installed_registry_once().operations:
        access = TABLE[route_of_operation(operation)]
        for kind, found in (await matrix.verdicts(operation)).items():
            if found != expected_status(access, kind):
                wrong.append(
                    f"{route_of_operation(operation)} with {kind}: {found}, not {expected_status(access, kind)}"
                )
    assert wrong == []


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/overview/", "/v1", "/v1/oauth/token"])
async def test_unknown_path_returns_401_without_an_api_key(matrix, path):
    for kind in BEARERS:
        response = await matrix.ask("GET", path, kind=kind)
        assert response.status == (404 if kind in KEYS else 401), kind


async def test_write_key_is_accepted_by_lookups_only_in_either_header(matrix):
    lookups = [
        op for op in load_installed_registry_once().operations if TABLE[route_of_operation(op)] == WRITE_KEY
    ]
    for operation in lookups:
        for header in ("x-service-api-key", "x-api-key"):
            sent = {header: matrix.secrets["write"]}
            response = await matrix.ask(operation.method, operation.path, headers=sent, body=b"{}")
            assert classify_response(response) == "open"
            sent = {header: matrix.secrets["agent"]}
            response = await matrix.ask(operation.method, operation.path, headers=sent, body=b"{}")
            assert (response.status, orjson.loads(response.body)) == (401, {"error": "Invalid API key"})
