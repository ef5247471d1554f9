"""The overview: golden numbers of the standard world, for members and for whoever holds a key."""

import json
import re

import pytest

from hosts.web.pages import create_root_redirect_blueprint
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from tests.fixtures.composed_deployment import Deployment, ManualClock, compose_deployment, create_application
from tests.fixtures.shared_objects import AFTER_WEEK, SharedObjects
from tests.screenshot import HEADINGS, PICTURE, ROOT


@pytest.fixture
async def deployment(tmp_path):
    clock = ManualClock()
    clock.now = AFTER_WEEK
    service, letters = compose_deployment(
        tmp_path, clock=clock, settings={"storage": {"events": "memory://"}}
    )
    async with service:
        gallery = await SharedObjects(service).open(clock.now)
        deployment = Deployment(service, create_application(service), clock, letters, None, None)
        deployment.gallery = gallery
        yield deployment


async def sign_in_member(deployment, role="viewer"):
    account = await deployment.enrol("ann", role, deployment.gallery)
    assert account is not None
    return await deployment.person().sign_in("ann@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def test_a_member_sees_the_numbers_of_the_workspace(deployment):
    ann = await sign_in_member(deployment)
    answer = await ann.get("/app/w/k3Jx9QmZ2aPr?days=30")
    assert answer.status == 200
    _, overview = await deployment.api(
        "GET", "/v1/overview?start_date=2026-02-11&end_date=2026-03-12", await deployment.gallery.key()
    )
    for number in ("visitors_total", "pageviews_total", "sessions_total", "custom_events_total"):
        assert f"{overview[number]:,}" in visible_words(answer)
    assert "Germany" in visible_words(answer)
    assert 'aria-current="true">30 days' in answer.body


async def test_readme_picture_shows_the_headings_of_the_page(deployment):
    ann = await sign_in_member(deployment)
    page = (await ann.get("/app/w/k3Jx9QmZ2aPr?days=30")).body
    _, *recorded = HEADINGS.read_text().splitlines()
    headings = [
        re.sub("<[^>]+>", "", heading).strip() for heading in re.findall(r"<h2.*?</h2>", page, re.DOTALL)
    ]
    assert headings == recorded, "take it again: nox -s screenshot -- --write"


def test_readme_shows_a_small_picture():
    picture = PICTURE.read_bytes()
    assert (picture[:4], picture[8:12]) == (b"RIFF", b"WEBP")
    assert len(picture) < 200_000
    assert f"]({PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text()


async def test_unknown_range_falls_back_to_the_default(deployment):
    ann = await sign_in_member(deployment)
    assert (await ann.get("/app/w/k3Jx9QmZ2aPr?days=4000")).body == (
        await ann.get("/app/w/k3Jx9QmZ2aPr?days=30")
    ).body


async def test_front_page_redirects_members_and_asks_others_for_a_key(deployment):
    assert "Agent key" in visible_words(await deployment.person().get("/app/"))
    ann = await sign_in_member(deployment)
    assert (await ann.get("/app/")).location == "/app/w/k3Jx9QmZ2aPr"


async def test_front_page_leads_strangers_to_sign_in_and_names_what_needs_javascript(deployment):
    page = await deployment.person().get("/app/")
    assert "Sign in to Touchpoint" in visible_words(page)
    assert '<a class="button primary" href="/app/sign-in">' in page.body
    assert re.search(
        r"<noscript>.*needs JavaScript.*</noscript>\s*<form id=\"key-form\"[^>]* hidden>", page.body
    )


async def test_overview_is_not_found_for_non_members(deployment):
    answer = await deployment.person().get("/app/w/k3Jx9QmZ2aPr")
    assert (answer.status, answer.location.partition("?")[0]) == (303, "/app/sign-in")
    ann = await sign_in_member(deployment)
    await deployment.store.members.remove_member_unless_last_owner(
        deployment.gallery.workspace.id,
        (await deployment.store.accounts.find_account_by_email("ann@example.com")).id,
        deployment.clock(),
    )
    assert (await ann.get("/app/w/k3Jx9QmZ2aPr")).status == 404


async def test_key_holder_sees_the_overview_of_a_member(deployment):
    ann = await sign_in_member(deployment)
    shown = await ann.get("/app/w/k3Jx9QmZ2aPr?days=7")
    seen = await deployment.person().get(
        "/app/look?days=7", Authorization=f"Bearer {await deployment.gallery.key()}"
    )
    assert (seen.status, seen.headers["Cache-Control"]) == (200, "no-store")
    board = '<div class="board">'
    assert seen.body.split(board)[1].strip() == shown.body.split(board)[1].split("</main>")[0].strip()
    assert "Set-Cookie" not in seen.headers


async def test_invalid_key_shows_the_error_of_the_api(deployment):
    for headers in ({}, {"Authorization": "Bearer dk_agent_" + "x" * 43}):
        refused = await deployment.person().get("/app/look", **headers)
        assert (refused.status, json.loads(refused.body)["error"]) == (401, "Invalid or missing API key")


async def test_overview_spends_the_quota_of_the_key(deployment):
    minted = await create_named_key_clamping_rate_limit_to_plan(
        deployment.store.credentials,
        deployment.gallery.workspace,
        deployment.clock(),
        name="Poor",
        requested_rate_limit=8,
    )
    looks = [
        await deployment.person().get("/app/look", Authorization=f"Bearer {minted.secret}") for _ in range(2)
    ]
    assert [look.status for look in looks] == [200, 429]


async def test_root_url_redirects_to_the_application(deployment):
    deployment.app.register_blueprint(create_root_redirect_blueprint(deployment.service))
    assert (await deployment.person().get("/")).location == "/app/"


async def test_unknown_page_shows_a_not_found_page(deployment):
    answer = await deployment.person().get("/app/none/such")
    assert (answer.status, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "Go to the home page" in visible_words(answer)
