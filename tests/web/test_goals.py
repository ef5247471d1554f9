"""Goals in the web application: conversions, rate, visitors and value of each, with links to events and funnel."""

import pytest

from hosts.web import goals
from hosts.web.api_client import ApiResult
from service_core.analytics.ports import StoreUnavailable
from tests.fixtures.standard_shop import visible_words

DATES = {"from": "2026-03-02", "to": "2026-03-12"}


async def goals_of_api(shop):
    key = await shop.gallery.key()
    plan = {"metrics": ["conversions", "visitors"], "dimensions": ["event_name"], "date_range": DATES}
    _, rows = await shop.deployment.api("POST", "/v1/query", key, plan)
    _, total = await shop.deployment.api(
        "POST", "/v1/query", key, {"metrics": ["visitors"], "date_range": DATES}
    )
    return [row for row in rows["rows"] if row["conversions"]], total["totals"]["visitors"]


async def test_each_goal_has_the_numbers_of_the_api_and_leads_to_its_events(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/goals?{shop.dates}")
    words = visible_words(page)
    goals, visitors = await goals_of_api(shop)
    assert goals
    for goal in goals:
        name = goal["event_name"]
        label = name.replace("_", " ").capitalize()
        assert f"{label} {goal['conversions']} {100 * goal['conversions'] / visitors:.1f}" in words
        assert f"event_name={name}" in page.body
        assert f"step2={name}" in page.body


async def test_numbers_of_a_goal_lead_to_pages_that_exist(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/goals?{shop.dates}")
    name = (await goals_of_api(shop))[0][0]["event_name"]
    for path in (
        f"/events?{shop.dates}&event_name={name}",
        f"/funnels?{shop.dates}&step1=page_view&step2={name}",
    ):
        assert (await person.get(f"{shop.pages}{path}")).status == 200
    assert f'href="{shop.pages}/settings/general"' in page.body


@pytest.mark.parametrize("is_refused", [True, False])
async def test_unknown_value_of_a_goal_is_a_dash_and_not_no_value(shop, monkeypatch, is_refused):
    query = goals._query_with_page_filters

    async def query_without_values(view, state, metrics, **plan):
        result = await query(view, state, metrics, **plan)
        if metrics != ["attributed_revenue"]:
            return result
        if is_refused:
            return ApiResult(503, {"error": "No", "code": "source_unavailable"})
        rows = [row | {"attributed_revenue": None} for row in result.body["rows"]]
        return ApiResult(200, result.body | {"rows": rows})

    person = await shop.sign_in()
    monkeypatch.setattr(goals, "_query_with_page_filters", query_without_values)
    words = visible_words(await person.get(f"{shop.pages}/goals?{shop.dates}"))
    shown = words.partition("Purchase ")[2].partition("Funnel")[0]
    assert ("No value" in shown, "\N{EN DASH}" in shown or "\N{EM DASH}" in shown) == (False, True)


async def test_goals_follow_the_filters_of_the_page(shop):
    person = await shop.sign_in()
    page = await person.get(f"{shop.pages}/goals?{shop.dates}&f=country:is:XX")
    assert "No conversions in this range" in visible_words(page)


async def test_workspace_without_conversions_is_told_what_counts(shop):
    person, own = await shop.open_empty_workspace()
    assert "No conversions in this range" in visible_words(await person.get(f"{own}/goals"))


async def test_unreadable_store_is_said_and_no_zeros_are_shown(shop, monkeypatch):
    person = await shop.sign_in()

    async def fail(*_, **__):
        raise StoreUnavailable

    monkeypatch.setattr(shop.deployment.service.ports.events, "aggregate", fail)
    page = await person.get(f"{shop.pages}/goals?{shop.dates}")
    assert (page.status, "Goals are not available" in visible_words(page)) == (200, True)


@pytest.mark.parametrize("path", ["/goals", "/crawlers", "/imports"])
async def test_new_pages_need_a_signed_in_member(shop, path):
    stranger = shop.deployment.person()
    assert (await stranger.get(f"{shop.pages}{path}")).status == 303


async def stored_goals(shop):
    return (await shop.read("/workspace/settings"))["conversions"]


async def test_goal_is_previewed_added_and_removed(shop):
    ann = await shop.sign_in("admin")
    page = f"{shop.pages}/goals"
    preview = await ann.send(page, page, add="newsletter", action="preview")
    assert "newsletter" in visible_words(preview)
    assert await stored_goals(shop) is None
    saved = await ann.send(page, page, add="newsletter", action="save")
    assert saved.status == 303
    assert await stored_goals(shop) == ["newsletter"]
    shown = visible_words(await ann.follow(saved))
    assert "Goals of this workspace: newsletter." in shown
    assert "Newsletter 0 0" in visible_words(await ann.get(f"{page}?{shop.dates}"))
    await ann.send(page, page, add="signup", action="save")
    assert sorted(await stored_goals(shop)) == ["newsletter", "signup"]
    await ann.send(page, page, remove="newsletter", action="save")
    assert await stored_goals(shop) == ["signup"]


async def test_goals_are_changed_by_owners_and_admins_alone(shop):
    viewer = await shop.sign_in("viewer")
    page = f"{shop.pages}/goals"
    assert "Add a goal" not in visible_words(await viewer.get(page))
    refused = await viewer.post(page, {"csrf": await viewer.token(page), "add": "x", "action": "save"})
    assert refused.status == 403
    assert await stored_goals(shop) is None
