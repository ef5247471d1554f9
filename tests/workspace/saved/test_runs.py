"""Running reports and dashboards: the same answers as the reads, filters, rows, budget."""

import json
from uuid import UUID

import pytest

from service_core.analytics.query.schemas import FilterBody
from service_core.analytics.query.sources import EventSource
from service_core.analytics.query.unmeasured_platforms import NoUnmeasuredPlatforms
from service_core.analytics.reads.query.schemas import SavedQuery
from service_core.workspace.dashboards.models import Dashboard
from service_core.workspace.reports.models import Report
from service_core.workspace.reports.run_report import ReportRunner
from tests.fixtures.state_reads import count_state_reads
from tests.workspace.saved.conftest import DATES, WEEK

GERMANY = {"dimension": "country", "op": "eq", "value": "DE"}
UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"


def without_timestamps(answer):
    """An answer to `/query` without when it was asked and how long it took."""
    timed = ("data_through", "query_ms")
    return {**answer, "meta": {name: value for name, value in answer["meta"].items() if name not in timed}}


def unavailable_reasons(found):
    return [(skipped["dimension"], skipped["reason"]) for skipped in found["filters_skipped"]]


async def test_chart_returns_metric_values_and_series(api_client):
    ran = await api_client.run(f"/reports/{(await api_client.chart(chart='line'))['id']}")
    request = (await api_client.ask("POST", "/metrics", {"metrics": ["visitors"], "date_range": WEEK})).json
    overview = (await api_client.ask("GET", f"/overview?{DATES}")).json
    assert ran["data"]["metric"] == request["metrics"][0]
    assert ran["data"]["metric"]["value"] == 4
    assert ran["data"]["series"] == [
        {name: bucket[name] for name in ("timestamp", "date", "partial")} | {"value": bucket["visitors"]}
        for bucket in overview["time_series"]
    ]
    assert (ran["range"], ran["complete"]) == (request["range"], request["complete"])
    assert ran["report"]["kind"] == "metric"


async def test_number_card_has_no_series(api_client):
    for chart in ("number", "pie"):
        ran = await api_client.run(f"/reports/{(await api_client.chart(chart=chart))['id']}")
        assert ran["data"]["series"] is None


async def test_series_of_a_range_in_progress_ends_now(api_client):
    report = await api_client.chart(chart="area", default_range={"preset": "today"})
    ran = await api_client.run(f"/reports/{report['id']}")
    assert [point["partial"] for point in ran["data"]["series"]] == [False] * 15 + [True]
    ahead = {"date_range": {"from": "2026-08-01", "to": "2026-08-02"}}
    assert (await api_client.run(f"/reports/{report['id']}", ahead))["data"]["series"] == []


async def test_unmeasured_metric_is_null_with_its_reason(api_client):
    ran = await api_client.run(f"/reports/{(await api_client.chart(metric='mrr', chart='line'))['id']}")
    assert (ran["data"]["metric"]["value"], ran["data"]["metric"]["unavailable_reason"]) == (
        None,
        "no_revenue_provider",
    )
    assert {point["value"] for point in ran["data"]["series"]} == {None}


GROUPINGS = {
    "referrer": "traffic",
    "page": "traffic",
    "device": "devices",
    "country": "locations",
    "city": "locations",
}


@pytest.mark.parametrize("metric", ["visitors", "pageviews"])
async def test_grouped_report_returns_the_response_of_its_endpoint(api_client, metric):
    for dimension, path in GROUPINGS.items():
        report = await api_client.chart(metric=metric, chart=None, dimension=dimension)
        ran = await api_client.run(f"/reports/{report['id']}")
        request = f"/{path}?type={dimension}&metric={metric}&{DATES}"
        assert ran["data"] == (await api_client.ask("GET", request)).json
        (row,) = (await api_client.run(f"/reports/{report['id']}", {"limit": 1}))["data"]["data"]
        assert row == ran["data"]["data"][0]


async def test_plan_report_returns_the_query_response(api_client):
    plan = {
        "metrics": ["visitors", "conversions"],
        "dimensions": ["country"],
        "order_by": [{"field": "country", "direction": "asc"}],
    }
    report = await api_client.plan(**plan)
    ran = await api_client.run(f"/reports/{report['id']}", {"compare": "previous_period"})
    body = {**plan, "date_range": WEEK, "compare": "previous_period"}
    assert without_timestamps(ran["data"]) == without_timestamps(
        (await api_client.ask("POST", "/query", body)).json
    )
    assert ran["data"]["rows"][1] == {"country": "DE", "visitors": 2, "conversions": 1}


async def test_plan_pages_keep_their_range_over_midnight(api_client):
    report = await api_client.plan()
    await api_client.ask(
        "PATCH", f"/reports/{report['id']}", {"report": {"default_range": {"preset": "last_7_days"}}}
    )
    page = await api_client.run(f"/reports/{report['id']}", {"limit": 1})
    walked = page["data"]["rows"]
    api_client.later(days=3)
    while page["data"]["meta"]["next_cursor"]:
        body = {"limit": 1, "cursor": page["data"]["meta"]["next_cursor"]}
        page = await api_client.run(f"/reports/{report['id']}", body)
        walked += page["data"]["rows"]
    assert [row["country"] for row in walked] == ["(not set)", "DE", "FR"]
    assert await api_client.unwritten(f"/reports/{report['id']}", {"limit": 2, "cursor": body["cursor"]}) == (
        "invalid_cursor",
        "cursor",
    )
    chart = await api_client.chart()
    assert await api_client.unwritten(f"/reports/{chart['id']}", {"cursor": "x"}) == (
        "invalid_cursor",
        "cursor",
    )


async def test_funnel_report_returns_the_funnel_response(api_client):
    report = await api_client.funnel("page_view", "purchase", window_days=3, order="strict", unit="session")
    ran = await api_client.run(f"/reports/{report['id']}")
    request = f"/funnel?steps=page_view,purchase&window_days=3&order=strict&unit=session&{DATES}"
    assert ran["data"] == (await api_client.ask("GET", request)).json
    assert [step["count"] for step in ran["data"]["steps"]] == [4, 1]


async def test_step_may_have_a_comma_in_its_name(api_client):
    report = await api_client.funnel("page_view", "bought, then left")
    ran = await api_client.run(f"/reports/{report['id']}")
    assert [step["event_name"] for step in ran["data"]["steps"]] == ["page_view", "bought, then left"]


async def test_dashboard_filters_combine_with_plan_filters_and_skip_other_reports(api_client):
    plan = await api_client.plan(dimensions=[], filters=[{"dimension": "device_type", "value": "desktop"}])
    subscriptions = await api_client.plan(metrics=["active_subscriptions"], dimensions=[])
    chart, funnel = await api_client.chart(), await api_client.funnel("a", "b")
    body = {"filters": [GERMANY, {"dimension": "channel", "op": "neq", "value": "x"}]}
    ran = await api_client.run(f"/reports/{plan['id']}", body)
    assert (ran["data"]["totals"], unavailable_reasons(ran)) == ({"visitors": 2}, [])
    assert unavailable_reasons(await api_client.run(f"/reports/{subscriptions['id']}", body)) == [
        ("country", "dimension_not_accepted"), ("channel", "dimension_not_accepted"),
    ]  # fmt: skip
    assert {
        reason for _, reason in unavailable_reasons(await api_client.run(f"/reports/{chart['id']}", body))
    } == {"catalog_report"}
    assert {
        reason for _, reason in unavailable_reasons(await api_client.run(f"/reports/{funnel['id']}", body))
    } == {"funnel_report"}


async def test_ten_filters_fit_beside_the_ten_of_a_plan(api_client):
    report = await api_client.plan(filters=[GERMANY] * 10)
    ran = await api_client.run(f"/reports/{report['id']}", {"filters": [GERMANY] * 10})
    assert ran["data"]["totals"] == {"visitors": 2}


UNUSABLE = [
    ({"filters": [GERMANY] * 11}, "too_many_filters", "filters"),
    ({"filters": [{"dimension": "nope", "value": "x"}]}, "unknown_dimension", "filters[0]"),
    ({"filters": [{"dimension": "country", "op": "~", "value": "x"}]}, "invalid_filter", "filters[0].op"),
    ({"date_range": {}}, "invalid_date_range", "date_range"),
    ({"limit": "9"}, "invalid_parameter", "limit"),
    ({"format": "compact"}, "unknown_field", "format"),
]


async def test_invalid_run_is_refused_for_every_report(api_client):
    for report in (await api_client.plan(), await api_client.chart()):
        for body, code, field in UNUSABLE:
            assert await api_client.unwritten(f"/reports/{report['id']}", body) == (code, field)


async def test_cards_share_one_range_and_the_filters_they_accept(api_client):
    chart, plan, funnel = (
        await api_client.chart(),
        await api_client.plan(),
        await api_client.funnel("page_view", "purchase"),
    )
    board = await api_client.board(chart, plan, funnel, filters=[GERMANY])
    ran = await api_client.run(f"/dashboards/{board['id']}")
    cards = ran["cards"]
    assert [(card["status"], card["size"], card["truncated"]) for card in cards] == [
        ("ok", "sm", False), ("ok", "md", False), ("ok", "lg", False),
    ]  # fmt: skip
    assert {json.dumps(card["result"]["range"]) for card in cards} == {json.dumps(ran["range"])}
    assert [unavailable_reasons(card) for card in cards] == [
        [("country", "catalog_report")],
        [],
        [("country", "funnel_report")],
    ]
    assert cards[1]["result"]["data"]["rows"] == [{"country": "DE", "visitors": 2}]
    assert (ran["partial"], ran["filters"], ran["name"], ran["dashboard_id"]) == (
        False, [GERMANY], "Weekly", board["id"],
    )  # fmt: skip
    alone = await api_client.run(f"/reports/{chart['id']}", {"filters": [GERMANY]})
    assert cards[0]["result"] == alone


async def test_all_cards_of_a_run_use_one_snapshot_of_the_sources(api_client, monkeypatch):
    cards = [
        await api_client.chart(chart="line"),
        await api_client.chart(chart="number", metric="revenue"),
        await api_client.chart(chart="number", metric="mrr"),
        await api_client.plan(),
        await api_client.plan(name="By device", dimensions=["device_type"]),
        await api_client.funnel("page_view", "purchase"),
    ]
    board = await api_client.board(*cards)
    state_reads = count_state_reads(monkeypatch)
    queue_reads = count_queue_reads(api_client, monkeypatch)
    ran = await api_client.run(f"/dashboards/{board['id']}")
    assert [card["status"] for card in ran["cards"]] == ["ok"] * len(cards)
    assert set(state_reads.values()) == {1}
    assert len(queue_reads) <= 2  # once for all metrics, once for all funnels


async def test_report_with_a_series_uses_one_snapshot_of_the_sources(api_client, monkeypatch):
    report = await api_client.chart(chart="line")
    state_reads = count_state_reads(monkeypatch)
    await api_client.run(f"/reports/{report['id']}")
    assert state_reads == {EventSource: 1}


def test_reads_of_a_report_know_the_platforms_whose_spend_is_unknown(api_client):
    runner = api_client.service.component(ReportRunner)
    assert runner.for_one_request().queries.unmeasured_platforms is runner.queries.unmeasured_platforms
    assert not isinstance(runner.queries.unmeasured_platforms, NoUnmeasuredPlatforms)


def count_queue_reads(api_client, monkeypatch):
    queue, reads = api_client.service.ports.queue, []
    read = queue.state

    async def counted():
        reads.append(1)
        return await read()

    monkeypatch.setattr(queue, "state", counted)
    return reads


async def test_overrides_apply_to_one_run(api_client):
    chart, plan = await api_client.chart(), await api_client.plan()
    path = f"/dashboards/{(await api_client.board(chart, plan, filters=[GERMANY]))['id']}"
    day = {"from": "2026-07-03", "to": "2026-07-03"}
    body = {"overrides": {"date_range": day, "filters": [], "card_ids": [plan["id"]]}}
    ran = await api_client.run(path, body)
    (card,) = ran["cards"]
    assert card["result"]["data"]["rows"] == [{"country": "FR", "visitors": 1}]
    assert (ran["filters"], ran["range"]["from"]) == ([], "2026-07-03T00:00:00.000Z")
    assert len((await api_client.run(path, {}))["cards"]) == 2


async def test_rows_are_cut_to_the_limit(api_client):
    plan, short, places = (
        await api_client.plan(),
        await api_client.plan(limit=1),
        await api_client.chart(chart=None, dimension="country"),
    )
    path = f"/dashboards/{(await api_client.board(plan, short, places))['id']}"
    cards = (await api_client.run(path, {"overrides": {"row_limit": 0}}))["cards"]
    assert [card["truncated"] for card in cards] == [True, False, True]
    assert [len(card["result"]["data"].get("rows") or card["result"]["data"]["data"]) for card in cards] == [
        1,
        1,
        1,
    ]
    assert cards[0]["result"]["data"]["totals"] == {"visitors": 4}
    assert cards[2]["result"]["data"]["total"] == 4
    cards = (await api_client.run(path, {"overrides": {"row_limit": 9999}}))["cards"]
    assert [card["truncated"] for card in cards] == [False, False, False]


async def test_series_by_dimension_is_whole_on_reports_and_dashboards(api_client):
    report = await api_client.plan(interval="hour", limit=1)
    path = f"/reports/{report['id']}"
    alone = (await api_client.run(path, {}))["data"]
    (card,) = (
        await api_client.run(
            f"/dashboards/{(await api_client.board(report))['id']}", {"overrides": {"row_limit": 1}}
        )
    )["cards"]
    on_board = card["result"]["data"]
    for data in (alone, on_board):
        groups = {row["country"] for row in data["rows"]}
        assert data["meta"]["resolved"]["top"] == {"limit": 5, "other": True}
        assert (len(groups) > 1, data["meta"]["truncated"], card["truncated"]) == (True, False, False)
        starts = {row["bucket"] for row in data["rows"]}
        assert len(starts) >= 24
        assert len(data["rows"]) == len(groups) * len(starts)
    page = (await api_client.run(path, {"limit": 1}))["data"]
    assert (len(page["rows"]), page["meta"]["truncated"], "top" in page["meta"]["resolved"]) == (
        1,
        True,
        False,
    )


OVERRIDES = [
    ({"filters": [GERMANY] * 11}, "too_many_filters", "overrides.filters"),
    ({"filters": [{"dimension": "nope", "value": "x"}]}, "unknown_dimension", "overrides.filters[0]"),
    ({"card_ids": [UNKNOWN_ID] * 25}, "too_many_cards", "overrides.card_ids"),
    ({"card_ids": [UNKNOWN_ID]}, "unknown_card", "overrides.card_ids[0]"),
    ({"date_range": {"preset": "x"}}, "invalid_date_range", "overrides.date_range"),
    ({"row_limit": "9"}, "invalid_parameter", "overrides.row_limit"),
    ({"limit": 9}, "unknown_field", "overrides.limit"),
]


async def test_invalid_overrides_are_refused(api_client):
    path = f"/dashboards/{(await api_client.board(await api_client.chart()))['id']}"
    for overrides, code, field in OVERRIDES:
        assert await api_client.unwritten(path, {"overrides": overrides}) == (code, field)
    assert await api_client.unwritten(path, {"filters": []}) == ("unknown_field", "filters")


async def test_deleted_report_is_marked_missing_and_others_complete(api_client):
    chart, plan = await api_client.chart(), await api_client.plan()
    path = f"/dashboards/{(await api_client.board(chart, plan))['id']}"
    await api_client.ask("DELETE", f"/reports/{chart['id']}")
    ran = await api_client.run(path)
    assert ran["cards"][0] == {
        "report_id": chart["id"], "size": "sm", "status": "missing", "result": None, "error": None,
        "filters_skipped": [], "truncated": False, "duration_ms": 0,
    }  # fmt: skip
    assert (ran["cards"][1]["status"], ran["partial"]) == ("ok", False)


async def test_run_needs_only_the_read_scope(api_client):
    board = await api_client.board(await api_client.chart())
    before = (await api_client.ask("GET", "/audit")).json
    await api_client.run(f"/dashboards/{board['id']}", key="shop reader")
    assert (await api_client.ask("GET", "/audit")).json == before


async def test_uninstalled_metric_is_reported_per_card(api_client):
    plan, gone = await api_client.plan(), await api_client.plan()
    path = f"/dashboards/{(await api_client.board(plan, gone))['id']}"
    async with api_client.service.ports.workspace.transactions.write(
        api_client.workspaces["shop"].id
    ) as unit:
        (board,) = await unit.resources.list_all(Dashboard)
        gone = await unit.resources.get(Report, UUID(gone["id"]))
        unknown = FilterBody(dimension="mood", value="good")
        await unit.resources.save(board.model_copy(update={"filters": (unknown,)}))
        await unit.resources.save(gone.model_copy(update={"plan": SavedQuery(metrics=["smiles"])}))
    first, second = (await api_client.run(path))["cards"]
    assert (first["status"], unavailable_reasons(first)) == ("ok", [("mood", "dimension_not_accepted")])
    assert (second["status"], second["error"]["code"]) == ("error", "unknown_metric")
    assert await api_client.unwritten(f"/reports/{second['report_id']}") == ("unknown_metric", "metrics[0]")
