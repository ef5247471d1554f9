"""Saved reports: what may be saved, and how it changes."""

import pytest

WEEK = {"from": "2026-07-01", "to": "2026-07-07"}
UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"
PLAN = {"metrics": ["visitors"]}


KINDS = [
    ({"source": "catalog", "metric_id": "visitors", "chart": "line"}, "metric"),
    ({"source": "catalog", "metric_id": "revenue", "chart": "number"}, "metric"),
    ({"source": "catalog", "metric_id": "sessions", "dimension": "country"}, "breakdown"),
    ({"source": "query", "plan": PLAN}, "metric"),
    ({"source": "query", "plan": PLAN | {"interval": "day"}}, "timeseries"),
    ({"source": "query", "plan": PLAN | {"interval": "day", "dimensions": ["os"]}}, "timeseries"),
    ({"source": "query", "plan": PLAN | {"dimensions": ["os"]}}, "breakdown"),
    ({"source": "query", "plan": PLAN | {"dimensions": ["os", "country"]}}, "table"),
    ({"source": "query", "steps": ["signup", "purchase"]}, "funnel"),
]


async def test_kind_follows_from_the_definition(api_client):
    for fields, kind in KINDS:
        assert (await api_client.save("report", name="R", **fields))["kind"] == kind
        assert (await api_client.save("report", name="R", kind=kind, **fields))["kind"] == kind
        other = {"name": "R", "kind": "table" if kind != "table" else "metric", **fields}
        refused = await api_client.refused("POST", "/reports", {"report": other})
        assert refused == (422, "kind_mismatch", "report.kind", True)


async def test_report_is_returned_completely(api_client):
    made = await api_client.save("report", name="Funnel", source="query", steps=[" signup ", "purchase"])
    assert made == {
        "id": made["id"], "workspace_id": made["workspace_id"], "name": "Funnel", "description": None,
        "kind": "funnel", "source": "query", "metric_id": None, "chart": None, "dimension": None, "plan": None,
        "steps": ["signup", "purchase"], "window_days": 14, "order": "ordered", "unit": "person",
        "default_range": {"preset": "last_30_days"}, "created_via": "api", "created_at": made["created_at"],
        "updated_at": made["updated_at"], "created_by": made["created_by"], "deleted_at": None,
    }  # fmt: skip
    assert made["created_by"]["type"] == "key"
    assert (await api_client.ask("GET", f"/reports/{made['id']}")).json == made


async def test_plan_is_stored_unchanged(api_client):
    plan = {"metrics": ["visitors"], "filters": [{"dimension": "country", "op": "eq", "value": "DE"}]}
    made = await api_client.save("report", name="R", source="query", plan={**plan, "limit": 5000})
    assert made["plan"] == {**plan, "limit": 1000}
    (listed,) = (await api_client.ask("GET", "/reports")).json["reports"]
    assert listed == made


DEFINITIONS = [
    ({"source": "catalog", "metric_id": "visitors"}, "invalid_definition", "dimension"),
    ({"source": "catalog", "chart": "line"}, "invalid_definition", "metric_id"),
    ({"source": "catalog", "metric_id": "visitors", "chart": "pie", "dimension": "os"}, "invalid_definition", "dimension"),
    ({"source": "catalog", "metric_id": "visitors", "chart": "pie", "plan": PLAN}, "invalid_definition", "plan"),
    ({"source": "catalog", "metric_id": "visitors", "chart": "pie", "order": "any"}, "invalid_definition", "order"),
    ({"source": "catalog", "metric_id": "revenue", "dimension": "os"}, "invalid_definition", "metric_id"),
    ({"source": "catalog", "metric_id": "visitorz", "chart": "pie"}, "unknown_metric", "metric_id"),
    ({"source": "query"}, "invalid_definition", "steps"),
    ({"source": "query", "plan": PLAN, "steps": ["a", "b"]}, "invalid_definition", "steps"),
    ({"source": "query", "plan": PLAN, "metric_id": "visitors"}, "invalid_definition", "metric_id"),
    ({"source": "query", "plan": PLAN, "window_days": 3}, "invalid_definition", "window_days"),
    ({"source": "query", "steps": ["a"]}, "invalid_steps", "steps"),
    ({"source": "query", "steps": ["a", " "]}, "invalid_steps", "steps"),
    ({"source": "query", "steps": ["a", "b", "c", "d", "e", "f"]}, "invalid_steps", "steps"),
    ({"source": "query", "plan": {"metrics": ["visitorz"]}}, "unknown_metric", "plan.metrics[0]"),
    ({"source": "query", "plan": {"metrics": []}}, "invalid_plan", "plan.metrics"),
    ({"source": "query", "plan": {"metrics": ["visitors"] * 11}}, "invalid_plan", "plan.metrics"),
    ({"source": "query", "plan": PLAN | {"dimensions": ["product"]}}, "invalid_plan", "plan.dimensions[0]"),
    ({"source": "query", "plan": PLAN | {"dimensions": ["nope"]}}, "invalid_plan", "plan.dimensions[0]"),
    ({"source": "query", "plan": PLAN | {"dimensions": ["os"] * 4}}, "invalid_plan", "plan.dimensions"),
    ({"source": "query", "plan": PLAN | {"interval": "minute"}}, "invalid_plan", "plan.interval"),
    ({"source": "query", "plan": PLAN | {"order_by": [{"field": "os"}]}}, "invalid_plan", "plan.order_by[0].field"),
    ({"source": "query", "plan": PLAN | {"filters": [{"dimension": "os", "op": "~", "value": "x"}]}}, "invalid_plan", "plan.filters[0].op"),
    ({"source": "query", "plan": PLAN | {"filters": [{"dimension": "os", "value": "x"}] * 11}}, "invalid_plan", "plan.filters"),
    ({"source": "query", "plan": {"metrics": ["attributed_revenue"], "attribution": {"model": "magic"}}}, "invalid_plan", "plan.attribution.model"),
]  # fmt: skip


async def test_unrunnable_report_is_refused(api_client):
    for fields, code, field in DEFINITIONS:
        body = {"report": {"name": "R", **fields}}
        refused = await api_client.refused("POST", "/reports", body)
        assert refused == (422, code, f"report.{field}", True), fields
        assert await api_client.refused("POST", "/reports", {**body, "dry_run": True}) == refused
    assert (await api_client.ask("GET", "/reports")).json["reports"] == []


async def test_stored_plan_contains_no_caller(api_client):
    for name in ("date_range", "compare", "cursor", "format"):
        plan = {"source": "query", "plan": PLAN | {name: None}}
        refused = await api_client.refused("POST", "/reports", {"report": {"name": "R", **plan}})
        assert refused == (422, "invalid_plan", f"report.plan.{name}", True)


async def test_stored_plan_names_no_workspace(api_client):
    body = {"report": {"name": "R", "source": "query", "plan": PLAN | {"workspace_id": "x"}}}
    refused = await api_client.refused("POST", "/reports", body)
    assert refused[:3] == (400, "workspace_id_not_allowed", "report.plan.workspace_id")


MALFORMED = [
    ({"name": "R"}, "missing_field", "report.source"),
    ({"source": "query", "plan": PLAN}, "missing_field", "report.name"),
    ({"name": "R", "source": "sql"}, "invalid_parameter", "report.source"),
    ({"name": "R", "source": "query", "plan": {}}, "missing_field", "report.plan.metrics"),
    ({"name": "R", "source": "query", "plan": PLAN | {"x": 1}}, "unknown_field", "report.plan.x"),
    (
        {"name": "R", "source": "query", "plan": PLAN | {"limit": "9"}},
        "invalid_parameter",
        "report.plan.limit",
    ),
    (
        {"name": "R", "source": "query", "plan": PLAN, "default_range": {}},
        "invalid_date_range",
        "report.default_range",
    ),
    (
        {"name": "R", "source": "query", "plan": PLAN, "default_range": {"preset": "x"}},
        "invalid_date_range",
        "report.default_range",
    ),
]


async def test_unknown_body_fields_are_refused(api_client):
    for fields, code, field in MALFORMED:
        refused = await api_client.refused("POST", "/reports", {"report": fields})
        assert refused[:3] == (400, code, field), fields


async def test_name_has_1_to_120_characters(api_client):
    made = await api_client.save("report", name="x" * 120, source="query", plan=PLAN)
    for name in ("", "  ", "x" * 121):
        body = {"report": {"name": name, "source": "query", "plan": PLAN}}
        assert (await api_client.refused("POST", "/reports", body))[:3] == (
            422,
            "invalid_field",
            "report.name",
        )
        refused = await api_client.refused(
            "PATCH", f"/reports/{made['id']}", {"report": {"name": name or None}}
        )
        assert refused[:3] == (422, "invalid_field", "report.name")


async def test_patch_changes_sent_fields_and_updates_the_kind(api_client):
    made = await api_client.plan()
    patch = {"report": {"plan": PLAN | {"interval": "day"}}}
    changed = (await api_client.ask("PATCH", f"/reports/{made['id']}", patch)).json
    assert [change["field"] for change in changed["diff"]["changes"]] == [
        "kind", "plan.dimensions", "plan.interval",
    ]  # fmt: skip
    assert changed["data"] == made | {
        "kind": "timeseries", "plan": PLAN | {"interval": "day"}, "updated_at": changed["data"]["updated_at"],
    }  # fmt: skip


async def test_report_can_change_its_kind(api_client):
    target = f"/reports/{(await api_client.plan())['id']}"
    steps = {"plan": None, "steps": ["a", "b"], "order": "any"}
    funnel = (await api_client.ask("PATCH", target, {"report": steps})).json["data"]
    assert (funnel["kind"], funnel["order"], funnel["window_days"]) == ("funnel", "any", 14)
    chart = {"source": "catalog", "steps": None, "metric_id": "visitors", "chart": "bar"}
    metric = (await api_client.ask("PATCH", target, {"report": chart})).json["data"]
    assert (metric["kind"], metric["order"], metric["window_days"]) == ("metric", None, None)
    refused = await api_client.refused("PATCH", target, {"report": {"source": None}})
    assert refused == (422, "invalid_definition", "report.source", True)


async def test_patch_of_an_old_version_is_stale(api_client):
    made = await api_client.plan()
    target, seen = f"/reports/{made['id']}", made["updated_at"]
    first = (
        await api_client.ask("PATCH", target, {"report": {"name": "One", "expected_updated_at": seen}})
    ).json
    patch = {"report": {"name": "Two", "expected_updated_at": seen}}
    late = await api_client.ask("PATCH", target, patch)
    assert late.refusal == (409, "stale_update", None)
    assert late.json["current_updated_at"] == first["data"]["updated_at"]
    assert (await api_client.ask("PATCH", target, {**patch, "dry_run": True})).status == 409
    patch["report"]["expected_updated_at"] = first["data"]["updated_at"].replace("Z", "+00:00")
    assert (await api_client.ask("PATCH", target, patch)).json["applied"] is True


async def test_two_changes_in_one_instant_have_different_versions(api_client):
    made = await api_client.plan()
    target = f"/reports/{made['id']}"
    changed = [
        (await api_client.send("PATCH", target, {"report": {"name": name}})).json for name in ("One", "Two")
    ]
    dates = [made["updated_at"], *(one["data"]["updated_at"] for one in changed)]
    assert len(set(dates)) == 3
    assert dates == sorted(dates)


async def test_update_is_undone_unless_it_changed_again(api_client):
    made = await api_client.plan()
    target = f"/reports/{made['id']}"
    changed = (await api_client.ask("PATCH", target, {"report": {"name": "Other"}})).json
    undone = (await api_client.ask("POST", f"/audit/{changed['audit_id']}/undo")).json
    assert undone["diff"]["action"] == "undo"
    assert undone["data"] == made | {"updated_at": undone["data"]["updated_at"]}
    changed = (await api_client.ask("PATCH", target, {"report": {"name": "Other"}})).json
    await api_client.ask("PATCH", target, {"report": {"name": "Third"}})
    refused = await api_client.refused("POST", f"/audit/{changed['audit_id']}/undo", None)
    assert refused[:2] == (409, "resource_changed")


@pytest.mark.parametrize(
    ("definition", "unseen"),
    [
        ({"steps": ["page_view", "purchas"]}, ["purchas"]),
        ({"plan": {**PLAN, "filters": [{"dimension": "event_name", "value": "purchas"}]}}, ["purchas"]),
        (
            {
                "plan": {
                    **PLAN,
                    "filters": [{"dimension": "event_name", "op": "in", "value": ["a1", "purchase"]}],
                }
            },
            ["a1"],
        ),
        ({"plan": {**PLAN, "filters": [{"dimension": "event_name", "op": "neq", "value": "a1"}]}}, []),
        ({"plan": PLAN}, []),
    ],
)
async def test_effects_name_events_of_a_report_that_were_never_seen(api_client, definition, unseen):
    report = {"name": "Sales", "source": "query", **definition}
    for dry_run in (True, False):
        answer = await api_client.ask("POST", "/reports", {"report": report, "dry_run": dry_run})
        assert answer.status == 200, answer.json
        found = [each for each in answer.json["diff"]["effects"] if each["type"] == "never_seen"]
        assert [each["event_name"] for each in found] == unseen
        assert all(
            "Did you mean purchase?" in each["summary"] for each in found if each["event_name"] == "purchas"
        )


async def test_deleted_report_is_hidden_until_undo(api_client):
    made = await api_client.plan()
    target = f"/reports/{made['id']}"
    tried = (await api_client.ask("DELETE", f"{target}?dry_run=true")).json
    assert (tried["applied"], tried["diff"]["prior_state"]["id"]) == (False, made["id"])
    gone = (await api_client.ask("DELETE", target)).json
    assert "data" not in gone
    assert (await api_client.ask("GET", "/reports")).json["reports"] == []
    for method, path in (("GET", target), ("DELETE", target), ("POST", f"{target}/run")):
        assert (await api_client.ask(method, path)).status == 404
    await api_client.ask("POST", f"/audit/{gone['audit_id']}/undo")
    back = (await api_client.ask("GET", target)).json
    assert back == made | {"updated_at": back["updated_at"]}


async def test_deleted_report_names_the_dashboards_that_hide_its_card(api_client):
    made, other = await api_client.chart(), await api_client.plan()
    boards = [await api_client.board(made, other, name=name) for name in ("A", "B")]
    await api_client.board(other, name="C")
    target = f"/reports/{made['id']}"
    assert (await api_client.ask("PATCH", target, {"report": {"name": "N"}})).json["diff"]["effects"] == []
    gone = (await api_client.ask("DELETE", target, {"dry_run": True})).json
    assert gone["diff"]["effects"] == [
        {
            "type": "card_hidden",
            "summary": f"'N' no longer shows on the dashboard '{board['name']}'",
            "key": board["id"],
        }
        for board in reversed(boards)
    ]


async def test_reports_are_paged_newest_first_and_filtered_by_kind(api_client):
    made = [await api_client.plan(f"R{number}") for number in range(3)]
    await api_client.chart()
    page = (await api_client.ask("GET", "/reports?kind=breakdown&limit=2")).json
    walked = [report["id"] for report in page["reports"]]
    await api_client.plan("Late")
    page = (await api_client.ask("GET", f"/reports?kind=breakdown&limit=2&cursor={page['next_cursor']}")).json
    assert walked + [report["id"] for report in page["reports"]] == [one["id"] for one in reversed(made)]
    assert page["next_cursor"] is None
    assert (await api_client.ask("GET", "/reports?kind=gauge")).json["code"] == "invalid_parameter"


async def test_cursor_is_bound_to_its_list(api_client):
    for _ in range(2):
        await api_client.plan()
    cursor = (await api_client.ask("GET", "/reports?limit=1")).json["next_cursor"]
    for target in (
        f"/reports?limit=2&cursor={cursor}",
        f"/dashboards?limit=1&cursor={cursor}",
        "/reports?cursor=x",
    ):
        assert (await api_client.ask("GET", target)).json["code"] == "invalid_cursor"


async def test_reports_of_another_workspace_are_not_found(api_client):
    made = await api_client.plan()
    for method, end, body in (
        ("GET", "", None),
        ("PATCH", "", {"report": {}}),
        ("DELETE", "", None),
        ("POST", "/run", None),
    ):
        theirs = await api_client.ask(method, f"/reports/{made['id']}{end}", body, key="other")
        nobody = await api_client.ask(method, f"/reports/{UNKNOWN_ID}{end}", body, key="other")
        assert (theirs.status, theirs.bytes) == (404, nobody.bytes)
    assert (await api_client.ask("GET", "/reports", key="other")).json["reports"] == []


async def test_writing_reports_needs_its_scope(api_client):
    for body in ({"report": {"name": "R", "source": "query", "plan": PLAN}},):
        refused = await api_client.ask("POST", "/reports", body, key="shop links")
        assert refused.json["required_scope"] == "service:write:reports"
    made = await api_client.plan()
    assert (await api_client.ask("POST", f"/reports/{made['id']}/run", key="shop reader")).status == 200


async def test_retry_with_idempotency_key_saves_once(api_client):
    body = {"report": {"name": "R", "source": "query", "plan": PLAN}}
    first = await api_client.ask("POST", "/reports", body, once="k")
    again = await api_client.ask("POST", "/reports", body, once="k")
    assert (again.bytes, again.headers["Idempotent-Replay"]) == (first.bytes, "true")


async def test_saved_objects_are_found_by_name_until_deleted(api_client):
    report = await api_client.plan("Spring visitors")
    made = {
        "report": report,
        "dashboard": await api_client.board(report, name="Spring board"),
        "analysis": await api_client.save("analysis", title="Spring story", body_md="x"),
    }
    found = (await api_client.ask("GET", "/search?q=spring&types=report,dashboard,analysis")).json["results"]
    assert {one["type"]: one["id"] for one in found} == {type_: one["id"] for type_, one in made.items()}
    await api_client.ask("DELETE", f"/analyses/{made['analysis']['id']}")
    assert (await api_client.ask("GET", "/search?q=story&types=analysis")).json["results"] == []
