"""Forms of people come from our own pages, made for that browser, and nothing frames or feeds them."""

import re

import pytest

from hosts.web.page_security import safe_redirect_path_or_root
from hosts.web.pages import PAGES

PUBLIC_FORMS = {
    "/email/confirm": "the signed link of the e-mail is the authority",
    "/email/unsubscribe": "likewise; mail programs send it without a page (RFC 8058)",
    "/share/<token>": "the address and the password are the authority",
}
"""Forms that read no session, so that another site gains nothing by sending them."""
FORMS = [
    page.route.partition(" ")[2]
    for page in PAGES
    if page.route.startswith("POST") and page.route.partition(" ")[2] not in PUBLIC_FORMS
]
SHOWN = [page.route.partition(" ")[2] for page in PAGES if page.route.startswith("GET")]


def form_values(path, deployment):
    path = path.replace("<public_id>", deployment.workspace.public_id).replace("<kind>", "agent")
    return "/app" + re.sub(r"<\w+>", "01a1fc5c-0972-78a1-8385-e3ed624276e5", path)


FOREIGN = {
    "another site": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    "another origin alone": {"Origin": "https://evil.example"},
    "no origin to speak of": {"Origin": "null"},
    "a neighbour": {"Origin": "http://sub.localhost", "Sec-Fetch-Site": "same-site"},
    "another site without an origin": {"Sec-Fetch-Site": "cross-site"},
    "a neighbour with our origin": {"Origin": "http://localhost", "Sec-Fetch-Site": "same-site"},
    "no page with our origin": {"Origin": "http://localhost", "Sec-Fetch-Site": "none"},
    "another port": {"Origin": "http://localhost:9999"},
}


@pytest.mark.parametrize("path", FORMS)
async def test_cross_site_form_is_refused(deployment, path):
    person = await deployment.signed_in("ann", "owner")
    token = await person.token("/app/workspaces")
    target = form_values(path, deployment)
    for headers in FOREIGN.values():
        answer = await person.post(target, {"csrf": token}, **headers)
        assert answer.status == 403, headers


def test_forms_without_a_session_are_the_listed_ones():
    public = {page.route for page in PAGES if page.is_public and page.route.startswith("POST")}
    assert {route.partition(" ")[2] for route in public} == PUBLIC_FORMS.keys()


@pytest.mark.parametrize("path", FORMS)
async def test_form_without_csrf_token_is_refused(deployment, path):
    person, other = await deployment.signed_in("ann", "owner"), deployment.person()
    foreign = await other.token("/app/sign-in")
    target = form_values(path, deployment)
    for fields in ({}, {"csrf": ""}, {"csrf": foreign}, {"csrf": "\u00e9\ud7ff"}):
        assert (await person.post(target, fields)).status == 403
    assert (await deployment.person().post(target, {"csrf": foreign})).status == 403


async def test_refused_form_changes_nothing(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, poll = await deployment.asked()
    token = page.partition("=")[2]
    fields = {"csrf": await person.token("/app/workspaces"), "request": token, "decision": "approve"}
    assert (await person.post("/app/approve", fields, Origin="null")).status == 403
    _, result = await deployment.api(
        "GET", f"/v1/keys/requests/{poll}", deployment.initialized_deployment.agent_key.secret
    )
    assert result["status"] == "pending"


async def test_decisions_need_a_form_post(deployment):
    person = await deployment.signed_in("ann", "owner")
    page, poll = await deployment.asked()
    await person.get(f"/app{page}&decision=approve")
    token = await person.token(f"/app{page}")
    await person.get(
        f"/app{page}&decision=approve&csrf={token}", **{"X-HTTP-Method-Override": "POST", "X-Method": "POST"}
    )
    json = await person.client.post(
        "/app/approve", json={"csrf": token, "request": page.partition("=")[2], "decision": "approve"}
    )
    assert json.status_code == 403
    _, result = await deployment.api(
        "GET", f"/v1/keys/requests/{poll}", deployment.initialized_deployment.agent_key.secret
    )
    assert result["status"] == "pending"


async def test_same_site_form_passes_with_browser_headers(deployment):
    person = await deployment.signed_in("ann", "owner")
    token = await person.token("/app/workspaces")
    answer = await person.post(
        "/app/sign-out", {"csrf": token}, **{"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    )
    assert answer.status == 303


@pytest.mark.parametrize("path", [*SHOWN, "/static/style.css", "/static/none.css", "/none"])
async def test_pages_forbid_framing_and_foreign_resources(deployment, path):
    person = await deployment.signed_in("ann", "owner")
    answer = await person.get(form_values(path, deployment))
    if answer.headers["Content-Type"] == "application/json":
        return  # claimed by no page: the API answers
    policy = answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in answer.headers
    foreign = re.findall(r'<[^>]*(?:src|href|action)="(?:https?:)?//[^>]*>', answer.body)
    assert all(tag.startswith("<a ") and 'rel="' in tag for tag in foreign), foreign  # links of providers


async def test_signed_in_pages_are_not_cacheable(deployment):
    person = await deployment.signed_in("ann", "owner")
    for path in SHOWN:
        assert (await person.get(form_values(path, deployment))).headers["Cache-Control"] == "no-store"


async def test_session_cookie_is_http_only(deployment):
    answer = await deployment.person().get("/app/sign-in")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


async def test_form_without_a_cookie_sets_no_session(deployment):
    answer = await deployment.person().post("/app/approve", {"request": "x"})
    assert answer.status == 403
    assert "Set-Cookie" not in answer.headers


async def test_form_that_is_too_large_is_refused(deployment):
    person = deployment.person()
    answer = await person.send("/app/sign-in", "/app/sign-in", email="x" * 200_000, password="x")
    assert answer.status == 413
    many = {f"f{number}": "x" for number in range(1_001)}
    assert (await person.post("/app/sign-in", many)).status == 400


ESCAPES = [
    "https://evil.example", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example",
    "/\t/evil.example", "/\n/evil.example", "/%09/evil.example", "/%2f%2fevil.example", "/..//evil.example",
    "/../../v1/x", "/a/../..//evil.example", "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x",
    "http:evil.example", "https:/evil.example", "https:/\\evil.example", "/%5cevil.example", "//evil.example/%2e%2e",
    "//evil%E3%80%82example", "\u2028//evil.example", "/\u2029/evil.example", "\u2215\u2215evil.example",
    "/ /evil.example", " //evil.example", "\r\nLocation: //evil.example", "/x\r\nSet-Cookie: a=b", "@evil.example",
    "evil.example", ".evil.example", "/#//evil.example", "/.//evil.example/..", "?next=//evil.example", "",
    "ftp://evil.example", "blob:https://evil.example/x", "//[::1]", "//127.0.0.1:1", "///\\;@evil.example",
    "http://localhost@evil.example", "https://localhost.evil.example", "/" + "x" * 5000, "x" * 10_000,
    *(f"{scheme}:{slashes}evil.example" for scheme in ("http", "https", "ws", "file", "vbscript", "view-source")
      for slashes in ("", "/", "//", "///", "\\", "\\\\", "/\\", "\\/")),
    *(f"{start}{char}{rest}" for start in ("/", "//") for char in "\x00\x01\x07\x08\x0b\x0c\x1b\x7f\xa0\u200b\ufeff"
      for rest in ("/evil.example", "evil.example", "\\evil.example")),
    *(f"/{dots}/{rest}" for dots in ("..", "%2e%2e", ".%2e", "%2E.") for rest in ("", "/evil.example", "\\evil", "@x")),
]  # fmt: skip


def test_xss_payload_list_is_long():
    assert len(set(ESCAPES)) >= 150


@pytest.mark.parametrize("target", ESCAPES, ids=range(len(ESCAPES)))
def test_sign_in_redirects_to_no_other_host(target):
    led = safe_redirect_path_or_root(target)
    assert led.startswith("/")
    assert not led.startswith(("//", "/\\"))
    assert ".." not in led.split("/")
    assert led.isascii()
    assert led.isprintable()


@pytest.mark.parametrize(
    "target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
async def test_sign_in_redirects_within_the_application(deployment, target):
    await deployment.enrol("ann", "owner")
    person = deployment.person()
    answer = await person.send(
        "/app/sign-in", "/app/sign-in", email="ann@example.com", password="a good long password", next=target
    )
    assert answer.location == "/app/workspaces"
    assert (await person.get(f"/app/sign-in?next={target}")).location == "/app/workspaces"


async def test_sign_in_returns_to_the_requested_page(deployment):
    await deployment.enrol("ann", "owner")
    person = deployment.person()
    request = await person.get(f"{deployment.settings}/keys")
    assert request.status == 303
    answer = await person.send(
        request.location,
        "/app/sign-in",
        email="ann@example.com",
        password="a good long password",
        next=f"/w/{deployment.workspace.public_id}/keys",
    )
    assert answer.location == f"{deployment.settings}/keys"
    assert (await person.get(answer.location)).status == 200


async def test_form_with_as_many_fields_as_the_settings_may_have_is_read(deployment):
    person = await deployment.signed_in("ann", "owner")
    page = form_values("/w/<public_id>/goals", deployment)
    fields = {f"field{number}": "" for number in range(900)}
    sent = await person.send(page, page, **fields, add="newsletter", action="preview")
    assert (sent.status, "newsletter" in sent.text) == (200, True)
    refused = await person.send(page, page, **fields, **{f"more{number}": "" for number in range(100)})
    assert refused.status == 400
