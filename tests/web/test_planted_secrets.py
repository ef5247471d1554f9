"""Secrets are told once; afterwards no store, log or answer holds one (S4)."""

import io
import logging

import pytest

from hosts.logs import configure_redacted_json_logging
from tests.fixtures.composed_deployment import running_deployment
from tests.oauth.oauth_client import LINKS, READ, REPORTS, register_client

REPORT = {"name": "Visitors", "source": "catalog", "metric_id": "visitors", "chart": "number"}
LISTS = (
    "audit",
    "share-links",
    "reports",
    "links",
    "rules",
    "context",
    "workspace",
    "usage",
    "search?q=visitors",
)
PAGES = ("", "/keys", "/members", "/audit")


@pytest.fixture
def logs():
    """Every line of the process from here on, formatted as the service writes them."""
    root = logging.getLogger()
    handlers, level, kept = root.handlers[:], root.level, io.StringIO()
    configure_redacted_json_logging(kept)
    yield kept
    logging.basicConfig(level=level, handlers=handlers, force=True)


async def visit_every_page(deployment):
    """Every secret the service hands out, by name."""
    ann = await deployment.signed_in("ann", "owner")
    helper = await register_client(deployment)
    code = (await helper.code(ann, scope=f"{READ} {REPORTS} {LINKS}"))["code"]
    _, tokens = await helper.redeem(code)
    named = (
        await deployment.api(
            "POST", "/v1/keys", tokens["access_token"], {"name": "Bot", "scopes": [READ, REPORTS]}
        )
    )[1]
    _, report = await deployment.api("POST", "/v1/reports", named["key"], {"report": REPORT})
    shared = {"object_type": "report", "object_id": report["data"]["id"]}
    _, link = await deployment.api("POST", "/v1/share-links", named["key"], {"share_link": shared})
    _, signup = await deployment.api("POST", "/v1/signup", None, {"email": "new@example.com"})
    [session] = [cookie.value for cookie in ann.client.cookie_jar]
    secrets = {
        "Agent key": deployment.initialized_deployment.agent_key.secret,
        "write key": deployment.initialized_deployment.write_key.secret,
        "named key": named["key"],
        "signup secret": signup["signup_secret"],
        "share token": link["data"]["url"].rsplit("/", 1)[1],
        "session": session,
        "code": code,
        "access token": tokens["access_token"],
        "refresh token": tokens["refresh_token"],
    }
    return ann, secrets


async def use_secrets_everywhere(deployment, secrets):
    """Show every secret where it belongs and where it does not, and break things with it."""
    for secret in secrets.values():
        for path in ("/v1/context", "/v1/nothing", f"/v1/signup/{secret}", "/v1/keys/requests/x"):
            await deployment.api("GET", path, secret)
        await deployment.api("POST", "/v1/query", secret, {"metrics": [secret]})
        await deployment.api("POST", "/v1/keys", secret, {"name": "x", "scopes": [READ]})
        await deployment.person().get(f"/app/share/{secret}")
        await deployment.person().get(f"/share/{secret}")
    logging.getLogger("touchpoint").warning("failed", extra={"sent": "Bearer " + secrets["Agent key"]})


async def test_secrets_are_absent_from_stores_logs_and_responses_after_first_display(tmp_path, logs):
    async with running_deployment(tmp_path, {"storage": {"events": "memory://"}}) as deployment:
        ann, secrets = await visit_every_page(deployment)
        await use_secrets_everywhere(deployment, secrets)
        answers = [(await deployment.api("GET", f"/v1/{path}", secrets["named key"])) for path in LISTS]
        answers += [(await ann.get(deployment.settings + page)).body for page in PAGES]
    kept = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert any(name.startswith("workspace.db") for name in kept)
    assert '"sent": "Bearer [redacted]' in logs.getvalue()
    for name, secret in secrets.items():
        assert [file for file, found in kept.items() if secret.encode() in found] == [], name
        assert secret not in logs.getvalue(), name
        assert [answer for answer in answers if secret in str(answer)] == [], name
