"""Explore in the web application: any query from the address, as chart, table, request and file."""

import json
import re
from html import unescape

import pytest

PAGE = "/app/w/k3Jx9QmZ2aPr/explore"
WEEK = "from=2026-03-02&to=2026-03-08"


async def sign_in_member(shop_deployment, role="viewer"):
    await shop_deployment.enrol("ann", role, shop_deployment.gallery)
    return await shop_deployment.person().sign_in("ann@example.com")


def visible_words(answer):
    return " ".join(answer.text.split())


async def query_rows(shop_deployment, **body):
    wanted = {"date_range": {"from": "2026-03-02", "to": "2026-03-08"}, **body}
    return (await shop_deployment.gallery.send("POST", "/query", wanted))["rows"]


async def test_table_shows_the_rows_of_the_api(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    page = await ann.get(f"{PAGE}?metrics=visitors&dimensions=country&dimensions=browser&chart=table&{WEEK}")
    rows = await query_rows(shop_deployment, metrics=["visitors"], dimensions=["country", "browser"])
    shown = re.findall(
        r'<td class="value"><a href="[^"]*/receipt[^"]*" data-number>(\d+)</a></td></tr>', page.body
    )
    assert shown[: len(rows)] == [str(row["visitors"]) for row in rows]
    assert "Visitors by Country and Browser" in visible_words(page)


@pytest.mark.parametrize("chart", ["line", "area", "bar", "list", "table", "number"])
async def test_each_chart_kind_is_drawn(shop_deployment, chart):
    ann = await sign_in_member(shop_deployment)
    page = await ann.get(f"{PAGE}?metrics=visitors&dimensions=browser&chart={chart}&{WEEK}")
    assert page.status == 200
    assert ("canvas" in page.body) is (chart in ("line", "area", "bar"))
    assert f'value="{chart}" selected' in page.body


async def test_refused_combination_is_a_card_that_says_why(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    page = await ann.get(f"{PAGE}?metrics=mrr&dimensions=page_path&{WEEK}")
    assert page.status == 200
    assert "mrr does not accept the dimension page_path" in visible_words(page)
    assert "Download CSV" not in page.text


async def test_unknown_ids_in_the_address_count_as_not_given(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    page = await ann.get(f"{PAGE}?metrics=none,%00&dimensions=%3Cscript%3E&chart=pie&{WEEK}")
    assert "Visitors and Page views" in visible_words(page)


async def test_request_example_is_what_the_page_asked(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    page = await ann.get(f"{PAGE}?metrics=visitors&dimensions=country&chart=table&compare=none&{WEEK}")
    [sent] = re.findall(r"-d '(.*?)'</code>", unescape(page.body).replace("&#39;", "'"), re.DOTALL)
    answer = await shop_deployment.gallery.send("POST", "/query", json.loads(sent))
    assert answer["rows"] == await query_rows(shop_deployment, metrics=["visitors"], dimensions=["country"])
    assert "dk_agent_" not in page.body
    assert "TOUCHPOINT_KEY" in page.text


async def test_rows_are_downloaded_as_csv_and_ndjson(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    query = f"?metrics=visitors&dimensions=country&chart=table&{WEEK}"
    rows = await query_rows(shop_deployment, metrics=["visitors"], dimensions=["country"])
    csv = await ann.get(f"{PAGE}/rows/csv{query}")
    assert csv.headers["Content-Type"].startswith("text/csv")
    assert csv.headers["Content-Disposition"] == 'attachment; filename="touchpoint-query.csv"'
    assert csv.body.split("\r\n" if "\r\n" in csv.body else "\n")[0] == "country,visitors"
    lines = (await ann.get(f"{PAGE}/rows/ndjson{query}")).body.splitlines()
    assert [json.loads(line) for line in lines[: len(rows)]] == rows
    assert (await ann.get(f"{PAGE}/rows/xlsx{query}")).status == 404
    refused = await ann.get(f"{PAGE}/rows/csv?metrics=mrr&dimensions=page_path")
    assert refused.status == 400
    assert "does not accept" in refused.text


async def test_report_of_a_query_opens_in_explore(shop_deployment):
    plan = {
        "metrics": ["visitors"],
        "dimensions": ["country"],
        "filters": [{"dimension": "browser", "op": "in", "value": ["Chrome", "Safari"]}],
    }
    report = await shop_deployment.gallery.report("By country", source="query", plan=plan)
    ann = await sign_in_member(shop_deployment)
    page = await ann.get(f"/app/w/k3Jx9QmZ2aPr/reports/{report}")
    link = unescape(re.search(r'href="(/app/[^"]+/explore\?[^"]+)"', page.body).group(1))
    explored = await ann.get(link)
    assert "Visitors by Country" in visible_words(explored)
    assert "Browser is Chrome or Safari" in visible_words(explored)


async def test_row_of_a_list_leads_to_the_number_it_shows(shop_deployment):
    report = await shop_deployment.gallery.report(
        "By browser", source="query", plan={"metrics": ["visitors"], "dimensions": ["browser"]}
    )
    ann = await sign_in_member(shop_deployment)
    for address in (
        f"{PAGE}?metrics=visitors&dimensions=browser&chart=list&{WEEK}",
        f"/app/w/k3Jx9QmZ2aPr/reports/{report}",
    ):
        page = await ann.get(address)
        rows = re.findall(
            r'class="name"><a href="([^"]+)">[^<]*</a></span><span class="amount">(?:<a[^>]*>)?([^<]+)',
            page.body,
        )
        assert len(rows) > 1
        for link, number in rows:
            filtered = await ann.get(address.partition("?")[0] + unescape(link))
            assert re.findall(r'<span class="amount">(?:<a[^>]*>)?([^<]+)', filtered.body) == [number]


async def test_one_metric_is_drawn_with_the_line_of_the_compared_period(shop_deployment):
    ann = await sign_in_member(shop_deployment)
    page = await ann.get(f"{PAGE}?metrics=visitors&chart=line&compare=previous&{WEEK}")
    assert "Compared with" in visible_words(page)
    assert "Comparison" in visible_words(page)
    alone = await ann.get(f"{PAGE}?metrics=visitors&chart=line&compare=none&{WEEK}")
    assert "Compared with" not in visible_words(alone)
