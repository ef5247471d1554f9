"""Dashboards (specification, Dashboard; contract 5.5): cards, filters, order, undo."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workspace.saved.conftest import WEEK

NOBODY = "01890000-0000-7000-8000-000000000000"
CARDS = "dashboard.layout.cards"


def layout(*reports, **first):
    return {"v": 1, "cards": [{"report_id": report["id"], **first} for report in reports]}


def order(dashboard):
    return [card["report_id"] for card in dashboard["layout"]["cards"]]


async def test_a_name_is_enough(desk):
    made = await desk.save("dashboard", name="Empty")
    assert made == {
        "id": made["id"], "workspace_id": made["workspace_id"], "name": "Empty",
        "layout": {"v": 1, "cards": []}, "date_range": {"preset": "last_30_days"}, "filters": [], "cards": [],
        "created_via": "api", "created_at": made["created_at"], "updated_at": made["updated_at"],
        "created_by": made["created_by"], "deleted_at": None,
    }  # fmt: skip
    assert (await desk.ask("GET", f"/dashboards/{made['id']}")).json == made
    assert (await desk.ask("GET", "/dashboards")).json == {"dashboards": [made], "next_cursor": None}


async def test_cards_are_resolved_and_sized_by_the_kind_of_their_report(desk):
    reports = [
        await desk.chart(),
        await desk.funnel("a", "b"),
        await desk.plan(),
        await desk.plan(interval="day"),
    ]
    body = {"dashboard": {"name": "D", "layout": layout(*reports)}, "dry_run": True}
    tried = (await desk.ask("POST", "/dashboards", body)).json["data"]
    assert tried["cards"] == [
        {"report_id": report["id"], "size": size, "report": {key: report[key] for key in ("id", "name", "kind", "source")}}
        for report, size in zip(reports, ("sm", "lg", "md", "md"), strict=True)
    ]  # fmt: skip
    assert (tried["id"], tried["updated_at"]) == (None, None)
    made = await desk.save("dashboard", name="D", layout=layout(*reports, size="lg"))
    assert {card["size"] for card in made["layout"]["cards"]} == {"lg"}


async def test_a_dashboard_copies_nothing_of_its_reports(desk):
    report = await desk.chart()
    board = await desk.board(report)
    await desk.ask("PATCH", f"/reports/{report['id']}", {"report": {"name": "Other", "kind": "metric"}})
    (card,) = (await desk.ask("GET", f"/dashboards/{board['id']}")).json["cards"]
    assert card["report"]["name"] == "Other"


async def test_the_card_of_a_deleted_report_stays_and_comes_back(desk):
    report = await desk.chart()
    target = f"/dashboards/{(await desk.board(report))['id']}"
    gone = (await desk.ask("DELETE", f"/reports/{report['id']}")).json
    hidden = (await desk.ask("GET", target)).json
    assert (hidden["cards"][0]["report"], order(hidden)) == (None, [report["id"]])
    renamed = await desk.ask("PATCH", target, {"dashboard": {"name": "Still"}})
    assert renamed.json["data"]["cards"][0]["report"] is None
    refused = await desk.refused("PATCH", target, {"dashboard": {"layout": layout(report)}})
    assert refused == (422, "unknown_report", f"{CARDS}[0].report_id", True)
    await desk.ask("POST", f"/audit/{gone['audit_id']}/undo")
    assert (await desk.ask("GET", target)).json["cards"][0]["report"]["id"] == report["id"]


async def test_a_report_of_another_workspace_is_unknown(desk):
    theirs = await desk.plan(key="other")
    for report_id in (theirs["id"], NOBODY):
        body = {"dashboard": {"name": "D", "layout": layout({"id": report_id})}}
        assert await desk.refused("POST", "/dashboards", body) == (
            422, "unknown_report", f"{CARDS}[0].report_id", True,
        )  # fmt: skip


async def test_layouts_have_rules(desk):
    report = await desk.chart()
    wrong = [
        ({"v": 2, "cards": []}, "invalid_layout", "dashboard.layout.v"),
        (layout(report, report), "duplicate_report", f"{CARDS}[1].report_id"),
        (layout(*[{"id": NOBODY}] * 25), "too_many_cards", CARDS),
    ]
    for sent, code, field in wrong:
        refused = await desk.refused("POST", "/dashboards", {"dashboard": {"name": "D", "layout": sent}})
        assert refused[:3] == (422, code, field)
    for sent, field in (
        (layout(report, size="xl"), f"{CARDS}[0].size"),
        (layout({"id": "x"}), f"{CARDS}[0].report_id"),
    ):
        refused = await desk.refused("POST", "/dashboards", {"dashboard": {"name": "D", "layout": sent}})
        assert refused[:3] == (400, "invalid_parameter", field)


UNUSABLE = [
    ([{"dimension": "country", "op": "neq", "value": "DE"}], "dashboard.filters[0].op"),
    ([{"dimension": "country", "op": "in", "value": ["DE"]}], "dashboard.filters[0].op"),
    ([{"dimension": "country", "op": "like", "value": "DE"}], "dashboard.filters[0].op"),
    ([{"dimension": "country"}], "dashboard.filters[0].value"),
    ([{"dimension": "nope", "value": "DE"}], "dashboard.filters[0]"),
    ([{"dimension": "country", "value": "DE"}] * 11, "dashboard.filters"),
]


async def test_filters_are_those_of_queries_for_equality_at_most_10(desk):
    for filters, field in UNUSABLE:
        body = {"dashboard": {"name": "D", "filters": filters}}
        assert await desk.refused("POST", "/dashboards", body) == (422, "invalid_filter", field, True)
    made = await desk.save("dashboard", name="D", filters=[{"dimension": "country", "value": "DE"}] * 10)
    assert made["filters"][0] == {"dimension": "country", "op": "eq", "value": "DE"}


async def test_a_range_means_something(desk):
    for date_range in ({}, {"preset": "x"}, {**WEEK, "preset": "mtd"}, {"from": "2026-07-01"}):
        body = {"dashboard": {"name": "D", "date_range": date_range}}
        refused = await desk.refused("POST", "/dashboards", body)
        assert refused[:3] == (400, "invalid_date_range", "dashboard.date_range")


async def test_a_patch_changes_what_is_sent_and_null_brings_the_default_back(desk):
    board = await desk.board(await desk.chart(), filters=[{"dimension": "country", "value": "DE"}])
    target = f"/dashboards/{board['id']}"
    named = (await desk.ask("PATCH", target, {"dashboard": {"name": "Other"}})).json
    assert [change["field"] for change in named["diff"]["changes"]] == ["name"]
    empty = {"dashboard": {"date_range": None, "filters": None, "layout": None}}
    cleared = (await desk.ask("PATCH", target, empty)).json["data"]
    assert (cleared["date_range"], cleared["filters"], cleared["cards"]) == (
        {"preset": "last_30_days"},
        [],
        [],
    )
    same = (await desk.ask("PATCH", target, empty)).json
    assert (same["applied"], same["diff"]["changes"]) == (False, [])
    refused = await desk.refused("PATCH", target, {"dashboard": {"name": ""}})
    assert refused[:3] == (422, "invalid_field", "dashboard.name")


async def test_patch_and_reorder_by_somebody_who_has_not_seen_the_latest_are_stale(desk):
    board = await desk.board(await desk.chart(), await desk.plan())
    target, seen = f"/dashboards/{board['id']}", {"expected_updated_at": board["updated_at"]}
    swapped = order(board)[::-1]
    fresh = await desk.ask("POST", f"{target}/reorder", {"report_ids": swapped, **seen})
    assert fresh.json["applied"] is True
    for method, path, body in (
        ("PATCH", target, {"dashboard": {"name": "X", **seen}}),
        ("POST", f"{target}/reorder", {"report_ids": order(board), **seen}),
    ):
        late = await desk.ask(method, path, body)
        assert late.refusal == (409, "stale_update", None)
        assert late.json["current_updated_at"] == fresh.json["data"]["updated_at"]
    body = {"dashboard": {"name": "N", **seen}}
    assert (await desk.ask("POST", "/dashboards", body)).json["applied"] is True


async def test_a_reorder_names_each_card_once(desk):
    reports = [await desk.chart(), await desk.plan(), await desk.funnel("a", "b")]
    target = f"/dashboards/{(await desk.board(*reports))['id']}/reorder"
    ids = [report["id"] for report in reports]
    for wrong in (ids[:2], [*ids, NOBODY], [ids[0], ids[0], ids[1]], [*ids[:2], NOBODY], []):
        refused = await desk.refused("POST", target, {"report_ids": wrong})
        assert refused == (422, "invalid_layout", "report_ids", True)
    await desk.ask("DELETE", f"/reports/{ids[0]}")
    moved = (await desk.ask("POST", target, {"report_ids": ids[::-1]})).json
    assert (moved["diff"]["action"], order(moved["data"])) == ("reorder", ids[::-1])
    assert [card["size"] for card in moved["data"]["cards"]] == ["lg", "md", "sm"]
    same = (await desk.ask("POST", target, {"report_ids": ids[::-1]})).json
    assert same["applied"] is False


async def test_a_deleted_dashboard_comes_back_with_its_cards(desk):
    board = await desk.board(await desk.chart(), await desk.plan())
    target = f"/dashboards/{board['id']}"
    gone = (await desk.ask("DELETE", target)).json
    assert (await desk.ask("GET", "/dashboards")).json["dashboards"] == []
    for method, path, body in (
        ("GET", target, None),
        ("PATCH", target, {"dashboard": {"name": "x"}}),
        ("POST", f"{target}/run", None),
        ("POST", f"{target}/reorder", {"report_ids": []}),
        ("DELETE", target, None),
    ):
        assert (await desk.ask(method, path, body)).status == 404
    undone = (await desk.ask("POST", f"/audit/{gone['audit_id']}/undo")).json["data"]
    assert undone == board | {"updated_at": undone["updated_at"]}
    assert (await desk.ask("GET", target)).json == undone


async def test_dashboards_of_others_are_not_found(desk):
    board = await desk.board(await desk.chart())
    for method, end, body in (
        ("GET", "", None),
        ("PATCH", "", {"dashboard": {}}),
        ("DELETE", "", None),
        ("POST", "/run", None),
        ("POST", "/reorder", {"report_ids": []}),
    ):
        theirs = await desk.ask(method, f"/dashboards/{board['id']}{end}", body, key="other")
        nobody = await desk.ask(method, f"/dashboards/{NOBODY}{end}", body, key="other")
        assert (theirs.status, theirs.bytes) == (404, nobody.bytes)


@settings(max_examples=8)
@given(moves=st.lists(st.one_of(st.permutations(range(4)), st.just("undo")), min_size=1, max_size=6))
async def test_reorders_and_undos_keep_the_cards(desk, moves):
    board = await desk.board(*[await desk.plan(f"R{number}") for number in range(4)])
    target = f"/dashboards/{board['id']}"
    first, done, expected = order(board), [], [order(board)]
    for move in moves:
        if move != "undo":
            wanted = [first[position] for position in move]
            answer = (await desk.ask("POST", f"{target}/reorder", {"report_ids": wanted})).json
            if answer["applied"]:
                done.append(answer["audit_id"])
                expected.append(wanted)
        elif done:
            await desk.ask("POST", f"/audit/{done.pop()}/undo")
            expected.pop()
        found = (await desk.ask("GET", target)).json
        assert order(found) == expected[-1]
        assert sorted(order(found)) == sorted(first)
        assert [card["report_id"] for card in found["cards"]] == order(found)
