"""A deployment that names no public address gives out the one it really listens on."""

import json
import re
import urllib.parse
import urllib.request
from datetime import UTC, datetime, timedelta
from http.cookiejar import CookieJar

from tests.e2e.conftest import GUARD_SECONDS, run_touchpoint, wait_until

RECENT = {
    "start_date": (datetime.now(UTC) - timedelta(days=1)).date().isoformat(),
    "end_date": datetime.now(UTC).date().isoformat(),
}


def urls_in_value(value, name=""):
    """Every address in an answer, with the field it stands in."""
    if isinstance(value, dict):
        return [found for key, each in value.items() for found in urls_in_value(each, key)]
    if isinstance(value, list):
        return [found for each in value for found in urls_in_value(each, name)]
    return [(name, value)] if isinstance(value, str) and value.startswith("http") else []


def post_json(deployment, path, body, key=None):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    sent = urllib.request.Request(deployment.running.api + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(sent, timeout=GUARD_SECONDS) as answer:
        return json.load(answer)


def run_export(deployment):
    """A finished export, with the address it is asked at and that of its file."""
    wanted = {"type": "events", "format": "csv", **RECENT}
    queued = post_json(deployment, "/v1/exports", wanted, deployment.agent_key)
    path = urllib.parse.urlsplit(queued["poll_url"]).path

    def done():
        _, job = deployment.get(path)
        return job if job["status"] == "completed" else None

    return [queued, wait_until(done)]


def test_every_url_in_a_response_reaches_its_listener(deployment):
    asks = {"name": "Reports", "scopes": ["service:read"]}
    answers = [
        post_json(deployment, "/v1/keys/requests", asks, deployment.agent_key),
        post_json(deployment, "/v1/signup", {"email": "ann@example.com"}),
        *run_export(deployment),
        deployment.get("/v1/docs/search", q="export")[1],
        deployment.get("/openapi.json")[1]["servers"],
        deployment.get("/.well-known/oauth-protected-resource")[1],
        deployment.get("/.well-known/oauth-authorization-server")[1],
    ]
    found = urls_in_value(answers)
    assert {"approval_url", "poll_url", "checkout_url", "url", "issuer", "token_endpoint"} <= dict(
        found
    ).keys()
    own = deployment.running.api
    assert [link for link in found if link[1] != own and not link[1].startswith(f"{own}/")] == []


def test_printed_links_and_the_snippet_name_where_the_service_listens(deployment):
    config = ("--config", str(deployment.config))
    added = run_touchpoint("member", "add", "ann@example.com", "--role", "owner", *config)
    [link] = re.findall(r"http\S+", added)
    assert link.startswith(f"{deployment.running.api}/app/password?token=")
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    page = browser.open(link, timeout=GUARD_SECONDS).read().decode()
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    form = urllib.parse.urlencode(hidden | {"password": "correct horse battery staple"}).encode()
    browser.addheaders.append(("Origin", deployment.running.api))
    answer = browser.open(link.partition("?")[0], form, timeout=GUARD_SECONDS)
    [workspace] = {*re.findall(r"/app/w/(\w+)", answer.read().decode())}
    snippet = browser.open(f"{deployment.running.api}/app/w/{workspace}/tracking", timeout=GUARD_SECONDS)
    assert deployment.running.ingest in snippet.read().decode()


def test_addresses_of_a_service_that_ended_are_not_printed(tmp_path):
    folder = tmp_path / "site"
    run_touchpoint("init", str(folder))
    ended = {"process": 2**22 + 1, "api": "127.0.0.1:1", "ingest": "127.0.0.1:2"}
    (folder / "serving.json").write_text(json.dumps(ended))
    config = ("--config", str(folder / "touchpoint.toml"))
    added = run_touchpoint("member", "add", "ann@example.com", "--role", "owner", *config)
    assert "http://127.0.0.1:8080/app/password?token=" in added
