"""Segments: saved filters, and the reads that name them."""

from datetime import timedelta

import pytest

from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Scope
from service_core.testing.event_builder import EventBuilder, campaign_columns

GERMANY = {"name": "Germany", "filters": [{"dimension": "country", "value": "DE"}]}
DAYS = "start_date=2026-07-01&end_date=2026-07-07"
RANGE = {"from": "2026-07-01", "to": "2026-07-07"}


@pytest.fixture
async def shop(workspace_api):
    """Two visitors from Germany, one of whom buys on a page without a country, and one from France."""
    story = EventBuilder(workspace_api.workspaces["shop"].id)
    page = {"page_path": "/", "page_url": "https://shop.example/"}
    story.add_event("page_view", at="2026-07-01T10:00", visitor="A", country="DE", **page)
    story.add_event("purchase", at="2026-07-01T10:05", visitor="A", revenue=500, order_id="1")
    story.add_event("page_view", at="2026-07-02T10:00", visitor="B", country="DE", **page)
    story.add_event("page_view", at="2026-07-03T10:00", visitor="C", country="FR", **page)
    story.add_event("purchase", at="2026-07-03T10:05", visitor="C", revenue=500, order_id="2")
    await workspace_api.service.ports.events.append(story.events)
    workspace_api.story = story
    return workspace_api


@pytest.fixture
async def second_writer(shop):
    """The name of another key of the shop that may write reports and segments."""
    minted = await create_named_key_clamping_rate_limit_to_plan(
        shop.service.ports.workspace.credentials,
        shop.workspaces["shop"],
        shop.now,
        name="Second writer",
        scopes=[Scope.READ, Scope.WRITE_REPORTS],
    )
    shop.keys["second writer"] = minted.secret
    return "second writer"


async def save_segment(api, key="shop", **fields):
    saved = await api.ask("POST", "/segments", {"segment": GERMANY | fields}, key=key)
    assert saved.status == 200, saved.json
    return saved.json["data"]["id"]


async def query(api, segment_id, key="shop", **plan):
    body = {"metrics": ["visitors"], "date_range": RANGE, "segment_id": segment_id, **plan}
    return await api.ask("POST", "/query", body, key=key)


async def test_segment_is_written_like_every_resource(shop):
    planned = await shop.ask("POST", "/segments", {"segment": GERMANY, "dry_run": True})
    assert (planned.status, planned.json["applied"], planned.json["data"]["id"]) == (200, False, None)
    assert (await shop.ask("GET", "/segments")).json == {"segments": [], "next_cursor": None}
    made = (await shop.ask("POST", "/segments", {"segment": GERMANY}, once="a")).json
    assert (await shop.ask("POST", "/segments", {"segment": GERMANY}, once="a")).json == made
    assert made["data"]["filters"] == [{"dimension": "country", "op": "eq", "value": "DE"}]
    assert made["data"]["visibility"] == "workspace"
    id_ = made["data"]["id"]
    patched = await shop.ask("PATCH", f"/segments/{id_}", {"segment": {"name": "Berlin and so on"}})
    assert patched.json["diff"]["changes"] == [{"field": "name", "from": "Germany", "to": "Berlin and so on"}]
    assert (await shop.ask("GET", f"/segments/{id_}")).json == patched.json["data"]
    stale = {"segment": {"name": "X", "expected_updated_at": made["data"]["updated_at"]}}
    assert (await shop.ask("PATCH", f"/segments/{id_}", stale)).refusal[:2] == (409, "stale_update")
    audit = (await shop.ask("GET", "/audit")).json["entries"]
    assert [entry["action"] for entry in audit] == ["update", "create"]
    assert (await shop.ask("POST", "/segments", {"segment": GERMANY}, key="shop reader")).status == 403


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"name": " "}, "invalid_field", "segment.name"),
        ({"filters": []}, "invalid_filter", "segment.filters"),
        ({"filters": [{"dimension": "mood", "value": "x"}]}, "invalid_filter", "segment.filters[0]"),
        ({"filters": GERMANY["filters"] * 11}, "invalid_filter", "segment.filters"),
    ],
)
async def test_segment_that_no_read_accepts_is_refused(shop, fields, code, field):
    refused = await shop.ask("POST", "/segments", {"segment": GERMANY | fields})
    assert refused.refusal == (422, code, field)


async def test_every_read_counts_the_sessions_of_the_segment(shop):
    id_ = await save_segment(shop)
    assert (await query(shop, id_)).json["totals"] == {"visitors": 2}
    own = [{"dimension": "page_path", "value": "/"}, {"dimension": "country", "value": "FR"}]
    assert (await query(shop, id_, filters=own)).json["totals"] == {"visitors": 0}
    by_day = (await query(shop, id_, interval="day")).json["rows"]
    assert [row["visitors"] for row in by_day] == [1, 1, 0, 0, 0, 0, 0]
    body = {"metrics": ["visitors", "conversions"], "date_range": RANGE, "segment_id": id_}
    values = (await shop.ask("POST", "/metrics", body)).json["metrics"]
    assert [value["value"] for value in values] == [2, 1]

    async def get(path):
        answer = await shop.ask("GET", f"{path}{'&' if '?' in path else '?'}{DAYS}&segment_id={id_}")
        assert answer.status == 200, answer.json
        return answer.json

    overview = await get("/overview")
    assert (overview["visitors_total"], overview["custom_event_counts"]) == (2, {"purchase": 1})
    assert [(row["code"], row["count"]) for row in (await get("/locations"))["data"]] == [("DE", 2)]
    assert (await get("/traffic?type=page"))["total"] == 2
    assert (await get("/devices"))["total"] == 2
    events = (await get("/events"))["events"]
    assert [(event["visitor_id"], event["event_name"]) for event in events] == [
        ("B", "page_view"), ("A", "purchase"), ("A", "page_view"),
    ]  # fmt: skip
    funnel = await get("/funnel?steps=page_view,purchase")
    assert [step["count"] for step in funnel["steps"]] == [2, 1]


async def test_report_follows_the_segment_that_its_plan_names(shop):
    id_ = await save_segment(shop)
    plan = {"metrics": ["visitors"], "segment_id": id_}
    report = {"name": "Visitors", "source": "query", "plan": plan, "default_range": RANGE}
    saved = (await shop.ask("POST", "/reports", {"report": report})).json["data"]
    assert saved["plan"] == plan

    async def run():
        return await shop.ask("POST", f"/reports/{saved['id']}/run", {})

    assert (await run()).json["data"]["totals"] == {"visitors": 2}
    filters = [{"dimension": "country", "op": "in", "value": ["FR"]}]
    await shop.ask("PATCH", f"/segments/{id_}", {"segment": {"filters": filters}})
    assert (await run()).json["data"]["totals"] == {"visitors": 1}


async def test_deleted_segment_is_refused_until_it_is_restored(shop):
    id_ = await save_segment(shop)
    deleted = (await shop.ask("DELETE", f"/segments/{id_}")).json
    for answer in (
        await query(shop, id_),
        await shop.ask("GET", f"/overview?{DAYS}&segment_id={id_}"),
        await shop.ask("GET", f"/events?{DAYS}&segment_id={id_}"),
        await shop.ask("GET", f"/funnel?{DAYS}&steps=a,b&segment_id={id_}"),
    ):
        assert (answer.status, answer.json["code"], answer.json["field"]) == (
            400, "unknown_segment", "segment_id",
        )  # fmt: skip
    await shop.ask("POST", f"/audit/{deleted['audit_id']}/undo")
    assert (await query(shop, id_)).json["totals"] == {"visitors": 2}


async def test_segment_of_another_workspace_is_unknown(shop):
    theirs = await save_segment(shop, key="other")
    assert (await query(shop, theirs)).json["code"] == "unknown_segment"
    malformed = await query(shop, "not-an-id")
    assert (malformed.status, malformed.json["code"]) == (400, "invalid_parameter")


async def test_private_segment_is_known_to_its_creator_only(shop):
    id_ = await save_segment(shop, visibility="private")
    assert (await query(shop, id_)).json["totals"] == {"visitors": 2}
    assert [one["id"] for one in (await shop.ask("GET", "/segments")).json["segments"]] == [id_]
    reader = "shop reader"
    assert (await query(shop, id_, key=reader)).json["code"] == "unknown_segment"
    assert (await shop.ask("GET", "/segments", key=reader)).json["segments"] == []
    assert (await shop.ask("GET", f"/segments/{id_}", key=reader)).status == 404
    published = {"segment": {"visibility": "workspace"}}
    assert (await shop.ask("PATCH", f"/segments/{id_}", published)).status == 200
    assert (await query(shop, id_, key=reader)).json["totals"] == {"visitors": 2}


async def test_changes_of_a_private_segment_are_undone_by_its_creator_only(shop, second_writer):
    id_ = await save_segment(shop, visibility="private")
    updated = (await shop.ask("PATCH", f"/segments/{id_}", {"segment": {"name": "DE"}})).json["audit_id"]
    assert (await shop.ask("POST", f"/audit/{updated}/undo", key=second_writer)).status == 404
    assert (await shop.ask("GET", f"/segments/{id_}")).json["name"] == "DE"
    assert (await shop.ask("POST", f"/audit/{updated}/undo")).status == 200
    deleted = (await shop.ask("DELETE", f"/segments/{id_}")).json["audit_id"]
    for body in ({}, {"dry_run": True}):
        assert (await shop.ask("POST", f"/audit/{deleted}/undo", body, key=second_writer)).status == 404
    assert (await shop.ask("GET", f"/segments/{id_}")).status == 404
    assert (await shop.ask("POST", f"/audit/{deleted}/undo")).status == 200
    assert (await shop.ask("GET", f"/segments/{id_}")).json["name"] == "Germany"


async def test_audit_log_shows_changes_of_a_private_segment_to_its_creator_only(shop, second_writer):
    async def actions(key):
        return [entry["action"] for entry in (await shop.ask("GET", "/audit", key=key)).json["entries"]]

    public = await save_segment(shop)
    id_ = await save_segment(shop, visibility="private")
    await shop.ask("PATCH", f"/segments/{id_}", {"segment": {"name": "DE"}})
    assert await actions("shop") == ["update", "create", "create"]
    assert await actions(second_writer) == ["create"]
    await shop.ask("DELETE", f"/segments/{id_}")
    assert await actions("shop") == ["delete", "update", "create", "create"]
    page = (await shop.ask("GET", "/audit?limit=4", key=second_writer)).json
    assert [entry["resource"]["id"] for entry in page["entries"]] == [public]
    first = (await shop.ask("GET", "/audit?limit=1", key=second_writer)).json
    assert first["entries"] == []
    assert first["next_cursor"]
    await shop.ask("DELETE", f"/segments/{public}")
    assert await actions(second_writer) == ["delete", "create"]


async def test_segment_is_made_private_by_its_creator_only(shop, second_writer):
    id_ = await save_segment(shop)
    private = {"segment": {"visibility": "private"}}
    refused = await shop.ask("PATCH", f"/segments/{id_}", private, key=second_writer)
    assert refused.refusal == (422, "invalid_field", "segment.visibility")
    renamed = await shop.ask("PATCH", f"/segments/{id_}", {"segment": {"name": "DE"}}, key=second_writer)
    assert renamed.status == 200
    assert (await shop.ask("PATCH", f"/segments/{id_}", private)).status == 200


async def test_filter_that_a_metric_or_an_event_does_not_have_is_refused(shop):
    filters = [{"dimension": "hostname", "value": "shop.example"}]
    by_host = await save_segment(shop, filters=filters)
    refused = await query(shop, by_host, metrics=["visitors", "revenue"])
    assert (refused.status, refused.json["code"], refused.json["field"]) == (
        400, "incompatible_dimension", "segment_id",
    )  # fmt: skip
    assert (await query(shop, by_host)).json["totals"] == {"visitors": 3}
    new = await save_segment(shop, filters=[{"dimension": "new_vs_returning", "value": "new"}])
    assert (await query(shop, new)).json["totals"] == {"visitors": 3}
    refused = await shop.ask("GET", f"/events?{DAYS}&segment_id={new}")
    assert (refused.status, refused.json["code"]) == (400, "incompatible_dimension")


async def test_people_and_cohorts_are_those_of_the_segment(shop):
    id_ = await save_segment(shop)
    days = f"{DAYS}&segment_id={id_}"
    users = (await shop.ask("GET", f"/users?{days}")).json
    assert users["total_count"] == 2
    assert [(user["visitor_id"], user["events"]) for user in users["users"]] == [("B", 1), ("A", 2)]
    retention = (await shop.ask("GET", f"/retention?{days}&granularity=week&periods=0")).json
    assert sum(row["cohort_size"] for row in retention["rows"]) == 2
    assert sum(row["active_persons"] for row in retention["rows"]) == 2
    ltv = (await shop.ask("GET", f"/ltv?{days}&granularity=week&periods=0")).json
    assert [(row["cohort_size"], row["revenue"]) for row in ltv["rows"]] == [(2, 5)]
    buyers = f"{days}&granularity=week&periods=0&cohort_by=first_conversion"
    assert [row["cohort_size"] for row in (await shop.ask("GET", f"/ltv?{buyers}")).json["rows"]] == [1]


async def test_tags_properties_and_dimension_values_are_those_of_the_segment(shop):
    story = shop.story
    visit = {"page_path": "/", "lyr": "spring"}
    story.add_event("page_view", at="2026-07-04T10:00", visitor="D", country="DE", **visit)
    story.add_event("page_view", at="2026-07-04T10:00", visitor="E", country="FR", **visit)
    story.add_event("click", at="2026-07-04T10:01", visitor="E", event_data={"plan": "pro"})
    await shop.service.ports.events.append(story.events)
    id_ = await save_segment(shop)

    async def get(path, segment=f"&segment_id={id_}"):
        return (await shop.ask("GET", f"{path}{DAYS}{segment}")).json

    assert [(row["tag"], row["count"]) for row in (await get("/tags?"))["data"]] == [("spring", 1)]
    values = "/dimension-values?dimension=country&"
    assert [(v["value"], v["count"]) for v in (await get(values))["values"]] == [("DE", 3)]
    assert len((await get(values, ""))["values"]) == 2
    unset = "/dimension-values?dimension=lyr&q=not&"
    assert [(v["value"], v["count"]) for v in (await get(unset))["values"]] == [("(not set)", 2)]
    assert (await get("/events/properties?"))["events"] == []
    assert len((await get("/events/properties?", ""))["events"]) == 1
    refused = await get("/dimension-values?dimension=campaign_name&")
    assert (refused["code"], refused["field"]) == ("incompatible_dimension", "segment_id")


async def test_realtime_counts_the_visitors_of_the_segment(shop):
    story = shop.story
    for visitor, country in (("X", "DE"), ("Y", "FR")):
        at = (shop.now - timedelta(minutes=1)).isoformat()
        story.add_event("page_view", at=at, visitor=visitor, country=country, page_path="/")
    await shop.service.ports.events.append(story.events)
    id_ = await save_segment(shop)
    everybody = (await shop.ask("GET", "/realtime")).json
    realtime = (await shop.ask("GET", f"/realtime?segment_id={id_}")).json
    assert (everybody["active_visitors"], realtime["active_visitors"], realtime["events"]) == (2, 1, 1)
    assert (everybody["revenue"], everybody["unavailable"]) == (0, [])
    assert realtime["revenue"] is None
    assert realtime["unavailable"] == [{"metric": "revenue", "reason": "insufficient_data"}]
    assert [visitor["visitor_id"] for visitor in realtime["visitors"]] == ["X"]
    assert sum(minute["events"] for minute in realtime["timeline"]) == 1


async def test_attribution_credits_the_touches_of_the_segment(shop):
    story = shop.story
    for visitor, source in (("G", "google"), ("H", "news")):
        story.add_event(
            "page_view", at="2026-07-04T10:00", visitor=visitor, **campaign_columns(source, "cpc")
        )
        story.add_event("purchase", at="2026-07-04T11:00", visitor=visitor, revenue=700, order_id=visitor)
    await shop.service.ports.events.append(story.events)
    filters = [{"dimension": "utm_source", "value": "google"}]
    id_ = await save_segment(shop, filters=filters)
    path = f"/attribution?{DAYS}&segment_id={id_}"
    answer = (await shop.ask("GET", path)).json
    assert [(row["utm_source"], row["conversions"], row["visitors"]) for row in answer["campaigns"]] == [
        ("google", 1, 1)
    ]
    assert (answer["totals"]["conversions"], answer["totals"]["visitors"]) == (1, 1)
    body = {"metrics": ["attributed_conversions"], "date_range": RANGE, "segment_id": id_}
    assert (await shop.ask("POST", "/query", body)).json["totals"] == {"attributed_conversions": 1}
    by_country = await save_segment(shop)
    refused = await shop.ask("GET", f"/attribution?{DAYS}&segment_id={by_country}")
    assert (refused.status, refused.json["code"], refused.json["field"]) == (
        400, "incompatible_dimension", "segment_id",
    )  # fmt: skip
    refused = await shop.ask("GET", f"{path}&model=markov")
    assert (refused.status, refused.json["code"], refused.json["field"]) == (
        400, "invalid_parameter", "segment_id",
    )  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "/users", "/retention", "/ltv", "/attribution", "/tags", "/realtime", "/events/properties",
        "/dimension-values?dimension=country",
    ],
)  # fmt: skip
async def test_every_further_read_refuses_an_unknown_segment(shop, path):
    sign = "&" if "?" in path else "?"
    days = "" if path == "/realtime" else f"{DAYS}&"
    answer = await shop.ask("GET", f"{path}{sign}{days}segment_id={new_id()}")
    assert (answer.status, answer.json["code"], answer.json["field"]) == (
        400, "unknown_segment", "segment_id",
    )  # fmt: skip
