"""The overview: golden numbers of the standard world, for members and for whoever holds a key."""

import gzip
import json
import re
from html import unescape

import pytest

from hosts.composition.compose import Service
from hosts.web.charts.number_format import ValueFormat
from hosts.web.overview_tabs import list_tab_groups
from hosts.web.pages import create_root_redirect_blueprint
from hosts.web.value_labels import label_dimension_value
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.analytics.query.catalog import Catalog
from service_core.api.http_messages import ApiResponse

ADDRESS = "/app/w/k3Jx9QmZ2aPr"
WEEK = "?from=2026-03-02&to=2026-03-08"


@pytest.fixture
def deployment(shop_deployment):
    return shop_deployment


async def sign_in_member(deployment, role="viewer"):
    account = await deployment.enrol("ann", role, deployment.gallery)
    assert account is not None
    return await deployment.person().sign_in("ann@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def query(deployment, **body):
    given = {"metrics": ["visitors"], "date_range": {"from": "2026-03-02", "to": "2026-03-08"}}
    status, answer = await deployment.api("POST", "/v1/query", await deployment.gallery.key(), given | body)
    assert status == 200, answer
    return answer


def tile(answer, label):
    """The words of a tile, without its label."""
    found = re.search(rf'<li class="tile[^>]*>\s*<(?:a|span)[^>]*>{label}</.*?</li>', answer.body, re.DOTALL)
    return " ".join(re.sub("<[^>]+>", " ", found[0]).split()).removeprefix(label).strip()


async def test_member_sees_the_numbers_of_the_workspace(deployment):
    ann = await sign_in_member(deployment)
    answer = await ann.get(ADDRESS + WEEK)
    assert answer.status == 200
    totals = (await query(deployment, metrics=["visitors", "sessions", "pageviews", "conversions"]))["totals"]
    for label, metric in (("Visitors", "visitors"), ("Sessions", "sessions"), ("Page views", "pageviews")):
        assert tile(answer, label).startswith(f"{totals[metric]:,} "), label
    assert "Germany" in visible_words(answer)
    assert "2 to 8 Mar 2026 · America/New York time" in visible_words(answer)


async def test_tile_shows_the_change_against_the_chosen_comparison(deployment):
    ann = await sign_in_member(deployment)
    days = "?from=2026-03-03&to=2026-03-03"
    compared = await query(
        deployment,
        metrics=["pageviews"],
        date_range={"from": "2026-03-03", "to": "2026-03-03"},
        compare="previous_period",
    )
    now, before = compared["totals"]["pageviews"], compared["comparison"]["totals"]["pageviews"]
    assert now != before
    percent = f"{(now - before) / before * 100:+,.1f} %".replace("-", "\N{MINUS SIGN}")
    answer = await ann.get(ADDRESS + days)
    assert tile(answer, "Page views") == f"{now} {percent} , from {before}"
    assert "compared with 2 Mar 2026" in visible_words(answer)
    alone = await ann.get(f"{ADDRESS}{days}&compare=none")
    assert tile(alone, "Visitors") == str(now)
    assert "compared" not in alone.body.split('<div class="board">')[0].split("</nav>")[-1].replace(
        "aria", ""
    )


async def test_click_on_a_tile_chooses_the_metric_of_chart_and_cards(deployment):
    ann = await sign_in_member(deployment)
    first = await ann.get(ADDRESS + WEEK)
    (link,) = re.findall(r'<a href="([^"]+)">Page views</a>', first.body)
    answer = await ann.get(ADDRESS + unescape(link))
    assert 'aria-label="Page views by day"' in answer.body
    channels = await query(deployment, metrics=["pageviews"], dimensions=["channel"])
    assert re.search(
        rf'<span class="amount"><a [^>]*data-number>{channels["rows"][0]["pageviews"]:,}</a></span>',
        answer.body,
    )


async def test_click_on_a_row_filters_every_number(deployment):
    ann = await sign_in_member(deployment)
    first = await ann.get(ADDRESS + WEEK)
    (link,) = re.findall(r'<a href="([^"]+)">Germany</a>', first.body)
    answer = await ann.get(ADDRESS + unescape(link))
    german = {"dimension": "country", "op": "eq", "value": "DE"}
    metrics = ["visitors", "sessions", "revenue"]
    totals = (await query(deployment, filters=[german], metrics=metrics))["totals"]
    assert tile(answer, "Visitors").startswith(f"{totals['visitors']} ")
    assert tile(answer, "Sessions").startswith(f"{totals['sessions']} ")
    assert "Country is Germany" in visible_words(answer)
    revenue = ValueFormat("currency", "USD").format_for_tile(totals["revenue"])
    assert tile(answer, "Revenue").startswith(f"{revenue} ")
    (without,) = re.findall(r'<a class="remove" href="([^"]+)"', answer.body)
    assert tile(await ann.get(ADDRESS + unescape(without)), "Visitors") == tile(first, "Visitors")


async def test_each_tab_shows_the_ranking_of_its_dimension(deployment):
    ann = await sign_in_member(deployment)
    for group in list_tab_groups(deployment.service.component(Catalog)):
        for tab in group.tabs:
            part = await ann.get(f"{ADDRESS}{WEEK}&{group.id}={tab.id}&part={group.id}")
            whole = await ann.get(f"{ADDRESS}{WEEK}&{group.id}={tab.id}") if tab is group.tabs[-1] else None
            filters = [{"dimension": tab.dimension, "op": "is_set"}] if tab.only_set else []
            answer = await query(
                deployment, metrics=[tab.metric or "visitors"], dimensions=[tab.dimension], filters=filters
            )
            labels = [label_dimension_value(tab.dimension, row[tab.dimension]) for row in answer["rows"][:8]]
            shown = re.findall(r'<span class="name"><a [^>]+>([^<]*)</a>', part.body)
            if labels not in ([], ["Unknown"]):
                assert [unescape(label) for label in shown] == labels, tab.label
            assert f">{tab.label}</" in part.body
            assert whole is None or part.body.strip() in whole.body


async def test_tabs_of_every_card_are_in_the_catalog_or_not_offered(deployment):
    known = deployment.service.component(Catalog).dimensions
    offered = [tab for group in list_tab_groups(deployment.service.component(Catalog)) for tab in group.tabs]
    assert all(tab.dimension in known for tab in offered)
    assert {"channel", "page_path", "country", "device_type", "event_name"} <= {
        tab.dimension for tab in offered
    }


async def test_chart_is_broken_down_by_the_largest_groups_and_the_rest(deployment):
    ann = await sign_in_member(deployment)
    answer = await ann.get(f"{ADDRESS}{WEEK}&by=channel")
    top = await query(deployment, dimensions=["channel"], interval="auto", top={"limit": 5, "other": True})
    chart = answer.body.split("<figcaption>")[1].split("</figcaption>")[0]
    names = {label_dimension_value("channel", row["channel"]) for row in top["rows"]}
    assert {name for name in names if f"</svg>{name}</span>" in chart} == names
    assert "By channel" in visible_words(answer)


async def test_chart_opens_in_explore_with_its_state(deployment):
    ann = await sign_in_member(deployment)
    answer = await ann.get(f"{ADDRESS}{WEEK}&f=country:is:DE&metric=sessions&by=browser")
    (link,) = re.findall(r'href="([^"]+)">Open in Explore', answer.body)
    explore = await ann.get(unescape(link))
    assert explore.status == 200
    assert "Country is Germany" in visible_words(explore)
    assert re.search(r'name="metrics" value="sessions" checked', explore.body)
    assert re.search(r'<option value="browser" selected>', explore.body)


async def test_overview_spends_nine_requests_of_the_account_and_a_tab_one(deployment, monkeypatch):
    ann = await sign_in_member(deployment)
    await ann.get(ADDRESS)
    sent = []
    dispatch = Service.dispatch
    monkeypatch.setattr(
        Service, "dispatch", lambda self, request: sent.append(request.path) or dispatch(self, request)
    )
    await ann.get(ADDRESS)
    assert sorted(sent) == ["/v1/annotations", *["/v1/query"] * 6, "/v1/realtime", "/v1/segments"]
    sent.clear()
    await ann.get(f"{ADDRESS}?places=cities&part=places")
    assert sent == ["/v1/query"]
    sent.clear()
    await ann.get(f"{ADDRESS}?by=channel")
    assert len(sent) == 10


async def test_card_that_fails_says_so_and_the_others_show_their_numbers(deployment, monkeypatch):
    ann = await sign_in_member(deployment)
    dispatch = Service.dispatch

    async def fail_countries(self, request):
        if b'"dimensions":["country"]' in request.body:
            return ApiResponse(503, {}, b'{"error": "The event store is unavailable"}')
        return await dispatch(self, request)

    monkeypatch.setattr(Service, "dispatch", fail_countries)
    answer = await ann.get(ADDRESS + WEEK)
    assert answer.status == 200
    assert "The data could not be read just now. Reload the page in a minute." in visible_words(answer)
    totals = (await query(deployment))["totals"]
    assert tile(answer, "Visitors").startswith(f"{totals['visitors']} ")
    assert "Chrome" in (await ann.get(f"{ADDRESS}{WEEK}&devices=browsers")).body


async def test_spent_request_limit_is_explained_and_shows_no_zeros(deployment, monkeypatch):
    ann = await sign_in_member(deployment)

    async def refuse(*_):
        return ApiResponse(429, {}, b'{"error": "Too many requests"}')

    monkeypatch.setattr(Service, "dispatch", refuse)
    answer = await ann.get(ADDRESS)
    assert answer.status == 200
    assert "Too many requests in the last minute." in visible_words(answer)
    assert tile(answer, "Visitors") == "—"


@pytest.mark.parametrize(
    "state", ["", "?range=last_12_months&interval=day", "?range=last_90_days&by=country"]
)
async def test_overview_stays_within_its_size(deployment, state):
    ann = await sign_in_member(deployment)
    page = (await ann.get(ADDRESS + state)).body
    assert len(gzip.compress(page.encode(), 6)) < 25_000
    loaded = set(re.findall(r'src="([^"]+\.js[^"]*)"', page))
    assert len(loaded) >= 3
    scripts = [(await ann.get(address)).body for address in loaded]
    assert sum(len(gzip.compress(text.encode(), 6)) for text in scripts) < 60_000


async def test_range_without_events_says_so_and_leads_on(deployment):
    ann = await sign_in_member(deployment)
    answer = await ann.get(f"{ADDRESS}?from=2024-01-01&to=2024-01-31")
    assert "Nothing was recorded in this range." in visible_words(answer)
    assert tile(answer, "Visitors").startswith("0")
    assert '<div class="board">' not in answer.body


async def test_unknown_range_falls_back_to_the_default(deployment):
    ann = await sign_in_member(deployment)
    assert (await ann.get(f"{ADDRESS}?range=4000")).body == (await ann.get(ADDRESS)).body


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


async def test_application_address_without_a_slash_leads_to_the_front_page(deployment):
    assert (await deployment.person().get("/app")).location == "/app/"


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
    shown = await ann.get(f"{ADDRESS}?range=last_7_days")
    seen = await deployment.person().get(
        "/app/look?range=last_7_days", Authorization=f"Bearer {await deployment.gallery.key()}"
    )
    assert (seen.status, seen.headers["Cache-Control"]) == (200, "no-store")
    members_only = r'\s*<p class="card-foot">.*?</p>|<a class="button" href="[^"]+">(?:Open in Explore|How is this number made\?)</a>'
    explanation = r'<a href="[^"]*/explain\?[^"]*"[^>]*>(.*?)</a>'
    records = r'<a href="[^"]*" data-number>(.*?)</a>'
    without_details = re.sub(members_only, "", shown.body)
    for link in (explanation, records):
        without_details = re.sub(link, r"\1", without_details)
    assert seen.body.count('<section class="card') == 6
    for card in re.findall('<section class="card.*?</section>', seen.body, re.DOTALL):
        assert " ".join(card.split()) in " ".join(without_details.split())
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


@pytest.mark.parametrize(("visitors", "is_empty"), [(0, True), (None, False)])
async def test_range_of_unknown_totals_is_not_called_empty(deployment, monkeypatch, visitors, is_empty):
    ann = await sign_in_member(deployment)
    dispatch = Service.dispatch

    async def clear_totals(self, request):
        answer = await dispatch(self, request)
        if request.path != "/v1/query" or b'"dimensions"' in request.body:
            return answer
        body = json.loads(answer.body)
        body["totals"] = dict.fromkeys(body["totals"]) | {"visitors": visitors}
        return ApiResponse(answer.status, answer.headers, json.dumps(body).encode())

    monkeypatch.setattr(Service, "dispatch", clear_totals)
    words = visible_words(await ann.get(ADDRESS + WEEK))
    assert ("Nothing was recorded in this range." in words) is is_empty
