"""Asking for consent: exact addresses, PKCE always, a person who sees who asks (O1-O4)."""

import re
from urllib.parse import urlencode

import pytest

from tests.oauth.oauth_client import (
    LINKS,
    READ,
    REDIRECT,
    REPORTS,
    parse_location,
    register_client,
    request_authorization,
)

REGISTERED = "https://app.example/callback"
ELSEWHERE = [
    "https://app.example/callback/", "https://app.example/callback/more", "https://app.example/callbac",
    "https://app.example/callback?x=1", "https://app.example/callback#x", "https://app.example:444/callback",
    "https://app.example:443/callback", "https://APP.example/callback", "https://app.example/Callback",
    "https://app.example/callback%2f", "https://user@app.example/callback", "https://evil.example/callback",
    "https://app.example.evil.example/callback", "https://evil.example/?https://app.example/callback",
    "http://app.example/callback", "https://app.example/../callback", "https://app.example//callback",
    "javascript:alert(1)", "data:text/html,x", "https://app.example\\@evil.example/callback", "", None,
    "http://127.0.0.1:1/callback", "https://app.example/callback\r\nX: y", "//app.example/callback",
]  # fmt: skip


@pytest.mark.parametrize("uri", ELSEWHERE, ids=range(len(ELSEWHERE)))
async def test_unregistered_redirect_uri_gets_no_redirect(deployment, uri):
    helper = await register_client(deployment, REGISTERED)
    assert (await helper.authorize(redirect_uri=uri)) == (400, None)


@pytest.mark.parametrize(
    ("uri", "status"),
    [
        ("http://127.0.0.1:1/callback", 302),
        ("http://127.0.0.1/callback", 302),
        ("http://127.0.0.1:65000/callback", 302),
        ("http://127.0.0.1:1/other", 400),
        ("http://127.0.0.1:1/callback?x=1", 400),
        ("http://localhost:1/callback", 400),
        ("https://127.0.0.1:1/callback", 400),
        ("http://127.0.0.1:1@evil.example/callback", 400),
        ("http://127.0.0.1:1.evil.example/callback", 400),
    ],
)
async def test_loopback_redirect_uri_matches_any_port(deployment, uri, status):
    helper = await register_client(deployment)
    assert (await helper.authorize(redirect_uri=uri))[0] == status


async def test_unknown_client_gets_an_error_page_without_a_redirect(deployment):
    helper = await register_client(deployment)
    for client_id in (None, "", "x", "01a1fc5c-0972-78a1-8385-e3ed624276e5", helper.client_id.upper()):
        assert (await helper.authorize(client_id=client_id)) == (400, None)
    answer = await deployment.person().get("/oauth/authorize?client_id=x", Accept="text/html")
    assert answer.status == 400
    assert "not registered" in answer.text
    repeated = await deployment.person().get(
        f"/oauth/authorize?{urlencode(helper.request())}&redirect_uri={REDIRECT}"
    )
    assert repeated.status == 400


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge": "x" * 44}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"scope": "service:admin"}, "invalid_scope"),
        ({"scope": "service:read openid"}, "invalid_scope"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": "http://127.0.0.1:8080/v1"}, "invalid_target"),
    ],
)
async def test_other_errors_are_returned_to_the_client(deployment, changed, error):
    helper = await register_client(deployment)
    status, location = await helper.authorize(**changed)
    assert status == 302
    assert location.startswith(f"{REDIRECT}?")
    result = parse_location(location)
    assert result["error"] == error
    assert result["state"] == "st\u00e4te & more"
    assert result["iss"] == "http://127.0.0.1:8080"
    assert "code" not in result


async def test_consent_carries_code_state_and_issuer_back(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    result = await helper.code(person)
    assert set(result) == {"code", "state", "iss"}
    assert result["code"].startswith("oac_")
    assert result["iss"] == "http://127.0.0.1:8080"


async def test_query_parameters_of_the_redirect_uri_are_kept(deployment):
    uri = "https://app.example/callback?tenant=a%26b"
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment, uri)
    result = await helper.code(person, redirect_uri=uri)
    assert result["tenant"] == "a&b"


async def open_consent_page(deployment, person, helper, **changed):
    _, location = await helper.authorize(**changed)
    return await person.get("/app" + location.split("/app", 1)[1])


async def test_consent_page_names_client_host_person_and_workspace(deployment):
    person = await deployment.signed_in("ann", "owner")
    helper = await register_client(deployment, REGISTERED, name="Good helper")
    answer = await open_consent_page(
        deployment, person, helper, redirect_uri=REGISTERED, scope=f"{READ} {LINKS}"
    )
    for part in ("Good helper", "app.example", "ann@example.com", "Example Shop", READ, LINKS):
        assert part in answer.text
    assert "form-action 'self' https://app.example;" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("role", "given", "left"),
    [
        ("owner", {READ, REPORTS, LINKS}, set()),
        ("admin", {READ, REPORTS}, {LINKS}),
        ("member", {READ, REPORTS}, {LINKS}),
        ("viewer", {READ}, {REPORTS, LINKS}),
    ],
)
async def test_scopes_beyond_the_role_are_omitted(deployment, role, given, left):
    person, helper = await deployment.signed_in("bob", role), await register_client(deployment)
    scope = f"{READ} {REPORTS} {LINKS}"
    answer = await open_consent_page(deployment, person, helper, scope=scope)
    assert ("Not included" in answer.text) is bool(left)
    tokens = await helper.tokens(person, scope=scope)
    assert set(tokens["scope"].split()) == given


@pytest.mark.parametrize(("scope", "is_offered"), [(f"{READ} {LINKS}", True), (READ, False)])
async def test_person_is_offered_to_demand_plans_of_a_client_that_can_write(deployment, scope, is_offered):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    page = (await open_consent_page(deployment, person, helper, scope=scope)).body
    box = '<input type="checkbox" name="requires_plan" value="1">'
    assert (box in page) is is_offered
    await helper.tokens(person, scope=scope, requires_plan=is_offered)
    [grant] = await deployment.store.oauth_grants.list_active_grants(deployment.workspace.id)
    assert grant.requires_plan is is_offered


async def test_consent_without_permitted_scopes_is_denied(deployment):
    person, helper = await deployment.signed_in("bob", "viewer"), await register_client(deployment)
    assert 'value="allow"' not in (await open_consent_page(deployment, person, helper, scope=LINKS)).body
    denied = await helper.code(person, scope=LINKS)
    assert (denied["error"], denied["state"]) == ("access_denied", helper.request()["state"])


TOTALS = "service:read:aggregates"


@pytest.mark.parametrize(
    ("asked", "chosen", "granted"),
    [
        (f"{READ} {REPORTS} {LINKS}", [READ, LINKS], {READ, LINKS}),
        (READ, [TOTALS], {TOTALS}),
        (READ, [READ, TOTALS], {READ}),
        (TOTALS, [TOTALS], {TOTALS}),
        (f"{TOTALS} {REPORTS}", [TOTALS, READ, LINKS], {TOTALS}),
    ],
)
async def test_person_grants_fewer_scopes_than_asked(deployment, asked, chosen, granted):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    tokens = await helper.tokens(person, scope=asked, chosen_scopes=chosen)
    assert set(tokens["scope"].split()) == granted
    [grant] = await deployment.store.oauth_grants.list_active_grants(deployment.workspace.id)
    assert {scope.value for scope in grant.scopes} == granted


async def test_boxes_of_the_scopes_asked_for_are_checked(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    page = await open_consent_page(deployment, person, helper, scope=f"{READ} {LINKS}")
    boxes = dict(re.findall(r'name="scope:([^"]+)" value="1"( checked)?', page.body))
    assert boxes == {READ: " checked", TOTALS: "", LINKS: " checked"}


async def test_consent_without_a_checked_box_asks_again(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    query = urlencode(helper.request())
    fields = {"query": query, "workspace": deployment.workspace.public_id, "decision": "allow"}
    answer = await person.send(f"/app/consent?{query}", "/app/consent", **fields)
    assert (answer.status, "Choose at least one" in answer.text) == (200, True)
    assert not await deployment.store.oauth_grants.list_active_grants(deployment.workspace.id)


async def test_denied_consent_is_returned_to_the_client(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    page = "/app/consent?" + urlencode(helper.request())
    answer = await person.send(page, "/app/consent", query=urlencode(helper.request()), decision="deny")
    denied = parse_location(answer.location)
    assert (denied["error"], denied["state"]) == ("access_denied", helper.request()["state"])
    assert not await deployment.store.oauth_grants.list_active_grants(deployment.workspace.id)


async def test_consent_is_asked_on_every_authorization(deployment):
    person = await deployment.signed_in("ann", "owner")
    first, second = (
        await register_client(deployment, name="First"),
        await register_client(deployment, name="Second"),
    )
    await first.tokens(person)
    for helper in (first, second):
        answer = await open_consent_page(deployment, person, helper)
        assert answer.status == 200
        assert 'value="allow"' in answer.body


async def test_consent_needs_the_csrf_token_of_the_browser(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    fields = {"query": urlencode(helper.request()), "decision": "allow"}
    assert (await person.post("/app/consent", fields)).status == 403
    csrf = await person.token("/app/workspaces")
    cross = {"Origin": "https://evil.example"}
    assert (await person.post("/app/consent", {**fields, "csrf": csrf}, **cross)).status == 403
    assert not await deployment.store.oauth_grants.list_active_grants(deployment.workspace.id)


async def test_consent_form_is_validated_like_the_request(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    csrf = await person.token("/app/workspaces")
    for changed in ({"redirect_uri": "https://evil.example/"}, {"client_id": "x"}):
        fields = {"csrf": csrf, "query": urlencode(helper.request(**changed)), "decision": "allow"}
        answer = await person.post("/app/consent", fields)
        assert (answer.status, answer.location) == (400, None)


async def test_person_with_several_workspaces_selects_one(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    await deployment.enrol("ann", "viewer", deployment.other)
    answer = await open_consent_page(deployment, person, helper, scope=f"{READ} {LINKS}")
    assert "Which workspace" in answer.text
    tokens = await helper.tokens(
        person, workspace=deployment.other.workspace.public_id, scope=f"{READ} {LINKS}"
    )
    assert tokens["scope"] == READ
    [grant] = await deployment.store.oauth_grants.list_active_grants(deployment.other.workspace.id)
    assert grant.client_id == helper.client_id


async def test_workspace_of_others_cannot_be_selected(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    csrf = await person.token("/app/workspaces")
    fields = {"query": urlencode(helper.request()), "decision": "allow", "csrf": csrf}
    answer = await person.post("/app/consent", {**fields, "workspace": deployment.other.workspace.public_id})
    assert answer.status == 200
    assert not await deployment.store.oauth_grants.list_active_grants(deployment.other.workspace.id)


async def test_sign_in_returns_to_the_consent_page(deployment):
    await deployment.enrol("ann", "owner")
    person, helper = deployment.person(), await register_client(deployment)
    _, location = await helper.authorize()
    to_sign_in = await person.get("/app" + location.split("/app", 1)[1])
    assert to_sign_in.status == 303
    wanted = parse_location(to_sign_in.location)["next"]
    signed = await person.send(
        to_sign_in.location,
        "/app/sign-in",
        email="ann@example.com",
        password="a good long password",
        next=wanted,
    )
    assert 'value="allow"' in (await person.get(signed.location)).body


async def test_missing_scope_defaults_to_read(deployment):
    person, helper = await deployment.signed_in("ann", "owner"), await register_client(deployment)
    assert (await helper.tokens(person, scope=None))["scope"] == READ


async def test_empty_request_is_refused(deployment):
    assert await request_authorization(deployment, {}) == (400, None)
