"""Why did it change: the answer of `POST /explain-change` as a page, opened from the change of a tile."""

import re
from html import unescape

import pytest

ADDRESS = "/app/w/k3Jx9QmZ2aPr"
MINUS = "\N{MINUS SIGN}"
WEEK = "from=2026-03-05&to=2026-03-08"


def visible_words(answer):
    return " ".join(answer.text.split())


@pytest.fixture
async def ann(shop_deployment):
    account = await shop_deployment.enrol("ann", "viewer", shop_deployment.gallery)
    assert account is not None
    return await shop_deployment.person().sign_in("ann@example.com")


async def explanation(shop_deployment, **body):
    parameters = {"date_range": {"from": "2026-03-05", "to": "2026-03-08"}, "limit": 6, **body}
    key = await shop_deployment.gallery.key()
    status, answer = await shop_deployment.api("POST", "/v1/explain-change", key, parameters)
    assert status == 200, answer
    return answer


async def test_change_of_a_tile_leads_to_the_groups_that_drive_it(shop_deployment, ann):
    overview = await ann.get(f"{ADDRESS}?{WEEK}")
    link = re.search(r'href="([^"]*/explain\?[^"]*metric=pageviews[^"]*)"', overview.body)
    page = await ann.get(unescape(link[1]))
    assert page.status == 200
    answer = await explanation(shop_deployment, metric="pageviews", dimensions=["country"])
    words = visible_words(page)
    for value, days in ((answer["to"], "5 to 8 Mar 2026"), (answer["from"], "1 to 4 Mar 2026")):
        assert f"{value:,} in {days}" in words
    table = re.search(r"By Country</h2>.*?</table>", page.body, re.DOTALL)[0]
    shown = re.findall(rf'<td class="value">([+{MINUS}][\d,]+)</td>', table)
    expected = [
        f"{'+' if one['contribution'] > 0 else MINUS}{abs(one['contribution']):,}"
        for one in answer["drivers"]
    ]
    assert shown == expected
    assert shown


async def test_group_of_the_page_filters_the_overview_and_ratios_say_rate_and_mix(ann):
    page = await ann.get(f"{ADDRESS}/explain?metric=bounce_rate&{WEEK}")
    assert "from shifts between groups" in visible_words(page)
    link = re.search(r'<th scope="row"><a href="([^"]*)"', page.body)
    filtered = await ann.get(unescape(link[1]))
    assert filtered.status == 200
    assert "Remove" in filtered.body


@pytest.mark.parametrize("metric", ["nothing", "", "mrr", "roas"])
async def test_unknown_metrics_and_values_are_explained_in_words(ann, metric):
    page = await ann.get(f"{ADDRESS}/explain?metric={metric}&{WEEK}")
    assert page.status == 200
    known = metric not in {"mrr", "roas"}
    assert ("The change is unknown" in page.body) is not known


async def test_group_of_a_dimension_that_the_overview_cannot_filter_by_has_no_link(ann):
    page = await ann.get(f"{ADDRESS}/explain?metric=net_revenue&{WEEK}")
    tables = {
        title: re.findall(r'<tr><th scope="row">(<a )?', rows)
        for title, rows in re.findall(r"By ([^<]+)</h2>(.*?)</table>", page.body, re.DOTALL)
    }
    linked = {title for title, rows in tables.items() if "<a " in rows}
    assert {"New or returning", "Source"} <= linked
    assert tables.keys() - linked == {"Plan", "Product", "Provider"}
