"""Search of a workspace: what it finds, where each result leads, and what it says when nothing can be read."""

import html
import re

import orjson
import pytest

from hosts.composition.compose import Service
from service_core.api.http_messages import ApiResponse
from tests.fixtures.standard_shop import visible_words

RESULT = re.compile(r'<li><a href="([^"]+)">([^<]+)</a></li>')


async def search(shop, words, role="viewer"):
    person = await shop.sign_in(role)
    page = await person.get(f"{shop.pages}/search?part=list&q={words}")
    assert page.status == 200
    return (
        person,
        page,
        {html.unescape(label): html.unescape(path) for path, label in RESULT.findall(page.body)},
    )


async def test_search_finds_saved_objects_and_each_result_can_be_opened(shop):
    report = await shop.gallery.report("Weekly visitors")
    dashboard = await shop.gallery.dashboard([report], "Weekly board")
    person, _, found = await search(shop, "Weekly")
    assert found["Weekly visitors"].endswith(f"/reports/{report}")
    assert found["Weekly board"].endswith(f"/dashboards/{dashboard}")
    for path in found.values():
        assert (await person.get(path)).status == 200, path


async def test_search_lists_pages_that_the_role_may_open(shop):
    _, _, found = await search(shop, "keys")
    assert "API keys" not in found
    _, _, found = await search(shop, "FUNN")
    assert found["Funnels"] == f"{shop.pages}/funnels"


async def test_search_finds_people_and_values_of_events(shop):
    person, _, found = await search(shop, "google")
    values = {label: path for label, path in found.items() if "attribution_source" in path}
    assert values
    for path in values.values():
        assert 'class="chip' in (await person.get(path)).body
    _, _, found = await search(shop, "U-ada")
    assert any(path.endswith("/people/U-ada") for path in found.values())


async def test_search_without_a_match_offers_the_documentation(shop):
    _, page, found = await search(shop, "zzzz")
    assert found == {}
    assert "Nothing matches “zzzz”" in visible_words(page)
    assert "/docs/search?q=zzzz" in page.body


LED_TO = {
    ("product", "product", None): "/explore?metrics=revenue&range=last_90_days&f=product%3Ais%3AX",
    ("campaign", "campaign_id", "meta"): "/ads?range=last_90_days&level=group&campaign_id=X",
    ("ad_group", "ad_group_id", "meta"): "/ads?range=last_90_days&level=ad&group_id=X",
    ("ad", "ad_id", "meta"): "/ads?range=last_90_days&level=ad",
    ("campaign", "utm_campaign", None): "?range=last_90_days&f=utm_campaign%3Ais%3AX",
    ("event", "event_name", None): "?range=last_90_days&f=event_name%3Ais%3AX",
    ("page", "page_path", None): "?range=last_90_days&f=page_path%3Ais%3AX",
    ("tag", "lyr", None): "?range=last_90_days&f=lyr%3Ais%3AX",
}
"""Type, dimension and platform of a result -> the page that shows it."""


async def test_each_type_of_result_leads_to_a_page_about_it(shop, monkeypatch):
    results = [
        {
            "type": type_,
            "dimension": dimension,
            "value": "X",
            "label": f"{type_} {dimension}",
            "id": platform and "X",
            "platform": platform,
        }
        for type_, dimension, platform in LED_TO
    ]
    dispatch = Service.dispatch

    async def answer_search(self, request):
        if request.path.endswith("/search"):
            return ApiResponse(200, {}, orjson.dumps({"query": "x", "results": results}))
        return await dispatch(self, request)

    monkeypatch.setattr(Service, "dispatch", answer_search)
    person, page, _ = await search(shop, "xx")
    paths = {html.unescape(path) for path, _ in RESULT.findall(page.body)}
    assert paths == {f"{shop.pages}{path}" for path in LED_TO.values()}
    for path in paths:
        assert (await person.get(path)).status == 200, path


@pytest.mark.parametrize("words", ["", "a"])
async def test_search_with_too_few_letters_reads_nothing(shop, words, monkeypatch):
    person = await shop.sign_in()
    dispatch, asked = Service.dispatch, []

    async def record_paths(self, request):
        asked.append(request.path)
        return await dispatch(self, request)

    monkeypatch.setattr(Service, "dispatch", record_paths)
    page = await person.get(f"{shop.pages}/search?q={words}")
    assert (page.status, asked) == (200, [])
    assert "Realtime" in page.body


async def test_search_that_cannot_be_read_says_so_and_still_lists_pages(shop, monkeypatch):
    dispatch = Service.dispatch

    async def refuse_search(self, request):
        if request.path.endswith("/search"):
            return ApiResponse(503, {}, b'{"error": "The event store is not available"}')
        return await dispatch(self, request)

    monkeypatch.setattr(Service, "dispatch", refuse_search)
    _, page, found = await search(shop, "fun")
    assert 'role="alert"' in page.body
    assert "Funnels" in found
    _, page, found = await search(shop, "zzzz")
    assert found == {}
    assert "Nothing matches" not in page.body


async def test_search_for_one_letter_asks_for_more_instead_of_finding_nothing(shop):
    _, page, _ = await search(shop, "%C3%9F")
    assert "Type at least two characters." in page.body
    assert "Nothing matches" not in page.body
