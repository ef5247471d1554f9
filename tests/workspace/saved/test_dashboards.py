"""Dashboards: cards, filters, order, undo."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workspace.saved.conftest import WEEK

UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"
CARDS = "dashboard.layout.cards"


def make_layout(*reports, **first):
    return {"v": 1, "cards": [{"report_id": report["id"], **first} for report in reports]}


def card_order(dashboard):
    return [card["report_id"] for card in dashboard["layout"]["cards"]]


async def test_dashboard_needs_only_a_name(api_client):
    made = await api_client.save("dashboard", name="Empty")
    assert made == {
        "id": made["id"], "workspace_id": made["workspace_id"], "name": "Empty",
        "layout": {"v": 1, "cards": []}, "date_range": {"preset": "last_30_days"}, "filters": [], "cards": [],
        "created_via": "api", "created_at": made["created_at"], "updated_at": made["updated_at"],
        "created_by": made["created_by"], "deleted_at": None,
    }  # fmt: skip
    assert (await api_client.ask("GET", f"/dashboards/{made['id']}")).json == made
    assert (await api_client.ask("GET", "/dashboards")).json == {"dashboards": [made], "next_cursor": None}


async def test_cards_have_default_sizes_by_report_kind(api_client):
    reports = [
        await api_client.chart(),
        await api_client.funnel("a", "b"),
        await api_client.plan(),
        await api_client.plan(interval="day"),
    ]
    body = {"dashboard": {"name": "D", "layout": make_layout(*reports)}, "dry_run": True}
    tried = (await api_client.ask("POST", "/dashboards", body)).json["data"]
    assert tried["cards"] == [
        {"report_id": report["id"], "size": size, "report": {key: report[key] for key in ("id", "name", "kind", "source")}}
        for report, size in zip(reports, ("sm", "lg", "md", "md"), strict=True)
    ]  # fmt: skip
    assert (tried["id"], tried["updated_at"]) == (None, None)
    made = await api_client.save("dashboard", name="D", layout=make_layout(*reports, size="lg"))
    assert {card["size"] for card in made["layout"]["cards"]} == {"lg"}


async def test_dashboard_reflects_later_report_changes(api_client):
    report = await api_client.chart()
    board = await api_client.board(report)
    await api_client.ask("PATCH", f"/reports/{report['id']}", {"report": {"name": "Other", "kind": "metric"}})
    (card,) = (await api_client.ask("GET", f"/dashboards/{board['id']}")).json["cards"]
    assert card["report"]["name"] == "Other"


async def test_card_of_a_deleted_report_is_hidden_until_restored(api_client):
    report = await api_client.chart()
    target = f"/dashboards/{(await api_client.board(report))['id']}"
    gone = (await api_client.ask("DELETE", f"/reports/{report['id']}")).json
    hidden = (await api_client.ask("GET", target)).json
    assert (hidden["cards"][0]["report"], card_order(hidden)) == (None, [report["id"]])
    renamed = await api_client.ask("PATCH", target, {"dashboard": {"name": "Still"}})
    assert renamed.json["data"]["cards"][0]["report"] is None
    refused = await api_client.refused("PATCH", target, {"dashboard": {"layout": make_layout(report)}})
    assert refused == (422, "unknown_report", f"{CARDS}[0].report_id", True)
    await api_client.ask("POST", f"/audit/{gone['audit_id']}/undo")
    assert (await api_client.ask("GET", target)).json["cards"][0]["report"]["id"] == report["id"]


async def test_report_of_another_workspace_is_unknown(api_client):
    theirs = await api_client.plan(key="other")
    for report_id in (theirs["id"], UNKNOWN_ID):
        body = {"dashboard": {"name": "D", "layout": make_layout({"id": report_id})}}
        assert await api_client.refused("POST", "/dashboards", body) == (
            422, "unknown_report", f"{CARDS}[0].report_id", True,
        )  # fmt: skip


async def test_invalid_layouts_are_refused(api_client):
    report = await api_client.chart()
    wrong = [
        ({"v": 2, "cards": []}, "invalid_layout", "dashboard.layout.v"),
        (make_layout(report, report), "duplicate_report", f"{CARDS}[1].report_id"),
        (make_layout(*[{"id": UNKNOWN_ID}] * 25), "too_many_cards", CARDS),
    ]
    for sent, code, field in wrong:
        refused = await api_client.refused(
            "POST", "/dashboards", {"dashboard": {"name": "D", "layout": sent}}
        )
        assert refused[:3] == (422, code, field)
    for sent, field in (
        (make_layout(report, size="xl"), f"{CARDS}[0].size"),
        (make_layout({"id": "x"}), f"{CARDS}[0].report_id"),
    ):
        refused = await api_client.refused(
            "POST", "/dashboards", {"dashboard": {"name": "D", "layout": sent}}
        )
        assert refused[:3] == (400, "invalid_parameter", field)


UNUSABLE = [
    ([{"dimension": "country", "op": "neq", "value": "DE"}], "dashboard.filters[0].op"),
    ([{"dimension": "country", "op": "in", "value": ["DE"]}], "dashboard.filters[0].op"),
    ([{"dimension": "country", "op": "like", "value": "DE"}], "dashboard.filters[0].op"),
    ([{"dimension": "country"}], "dashboard.filters[0].value"),
    ([{"dimension": "nope", "value": "DE"}], "dashboard.filters[0]"),
    ([{"dimension": "country", "value": "DE"}] * 11, "dashboard.filters"),
]


async def test_filters_are_at_most_10_equality_filters(api_client):
    for filters, field in UNUSABLE:
        body = {"dashboard": {"name": "D", "filters": filters}}
        assert await api_client.refused("POST", "/dashboards", body) == (422, "invalid_filter", field, True)
    made = await api_client.save(
        "dashboard", name="D", filters=[{"dimension": "country", "value": "DE"}] * 10
    )
    assert made["filters"][0] == {"dimension": "country", "op": "eq", "value": "DE"}


async def test_invalid_date_range_is_refused(api_client):
    for date_range in ({}, {"preset": "x"}, {**WEEK, "preset": "mtd"}, {"from": "2026-07-01"}):
        body = {"dashboard": {"name": "D", "date_range": date_range}}
        refused = await api_client.refused("POST", "/dashboards", body)
        assert refused[:3] == (400, "invalid_date_range", "dashboard.date_range")


async def test_patch_changes_sent_fields_and_null_restores_defaults(api_client):
    board = await api_client.board(
        await api_client.chart(), filters=[{"dimension": "country", "value": "DE"}]
    )
    target = f"/dashboards/{board['id']}"
    named = (await api_client.ask("PATCH", target, {"dashboard": {"name": "Other"}})).json
    assert [change["field"] for change in named["diff"]["changes"]] == ["name"]
    empty = {"dashboard": {"date_range": None, "filters": None, "layout": None}}
    cleared = (await api_client.ask("PATCH", target, empty)).json["data"]
    assert (cleared["date_range"], cleared["filters"], cleared["cards"]) == (
        {"preset": "last_30_days"},
        [],
        [],
    )
    same = (await api_client.ask("PATCH", target, empty)).json
    assert (same["applied"], same["diff"]["changes"]) == (False, [])
    refused = await api_client.refused("PATCH", target, {"dashboard": {"name": ""}})
    assert refused[:3] == (422, "invalid_field", "dashboard.name")


async def test_patch_and_reorder_of_an_old_version_are_stale(api_client):
    board = await api_client.board(await api_client.chart(), await api_client.plan())
    target, seen = f"/dashboards/{board['id']}", {"expected_updated_at": board["updated_at"]}
    swapped = card_order(board)[::-1]
    fresh = await api_client.ask("POST", f"{target}/reorder", {"report_ids": swapped, **seen})
    assert fresh.json["applied"] is True
    for method, path, body in (
        ("PATCH", target, {"dashboard": {"name": "X", **seen}}),
        ("POST", f"{target}/reorder", {"report_ids": card_order(board), **seen}),
    ):
        late = await api_client.ask(method, path, body)
        assert late.refusal == (409, "stale_update", None)
        assert late.json["current_updated_at"] == fresh.json["data"]["updated_at"]
    body = {"dashboard": {"name": "N", **seen}}
    assert (await api_client.ask("POST", "/dashboards", body)).json["applied"] is True


async def test_reorder_must_name_each_card_once(api_client):
    reports = [await api_client.chart(), await api_client.plan(), await api_client.funnel("a", "b")]
    target = f"/dashboards/{(await api_client.board(*reports))['id']}/reorder"
    ids = [report["id"] for report in reports]
    for wrong in (ids[:2], [*ids, UNKNOWN_ID], [ids[0], ids[0], ids[1]], [*ids[:2], UNKNOWN_ID], []):
        refused = await api_client.refused("POST", target, {"report_ids": wrong})
        assert refused == (422, "invalid_layout", "report_ids", True)
    await api_client.ask("DELETE", f"/reports/{ids[0]}")
    moved = (await api_client.ask("POST", target, {"report_ids": ids[::-1]})).json
    assert (moved["diff"]["action"], card_order(moved["data"])) == ("reorder", ids[::-1])
    assert [card["size"] for card in moved["data"]["cards"]] == ["lg", "md", "sm"]
    same = (await api_client.ask("POST", target, {"report_ids": ids[::-1]})).json
    assert same["applied"] is False


async def test_deleted_dashboard_is_restored_with_its_cards(api_client):
    board = await api_client.board(await api_client.chart(), await api_client.plan())
    target = f"/dashboards/{board['id']}"
    gone = (await api_client.ask("DELETE", target)).json
    assert (await api_client.ask("GET", "/dashboards")).json["dashboards"] == []
    for method, path, body in (
        ("GET", target, None),
        ("PATCH", target, {"dashboard": {"name": "x"}}),
        ("POST", f"{target}/run", None),
        ("POST", f"{target}/reorder", {"report_ids": []}),
        ("DELETE", target, None),
    ):
        assert (await api_client.ask(method, path, body)).status == 404
    undone = (await api_client.ask("POST", f"/audit/{gone['audit_id']}/undo")).json["data"]
    assert undone == board | {"updated_at": undone["updated_at"]}
    assert (await api_client.ask("GET", target)).json == undone


async def test_dashboards_of_another_workspace_are_not_found(api_client):
    board = await api_client.board(await api_client.chart())
    for method, end, body in (
        ("GET", "", None),
        ("PATCH", "", {"dashboard": {}}),
        ("DELETE", "", None),
        ("POST", "/run", None),
        ("POST", "/reorder", {"report_ids": []}),
    ):
        theirs = await api_client.ask(method, f"/dashboards/{board['id']}{end}", body, key="other")
        nobody = await api_client.ask(method, f"/dashboards/{UNKNOWN_ID}{end}", body, key="other")
        assert (theirs.status, theirs.bytes) == (404, nobody.bytes)


@settings(max_examples=8)
@given(moves=st.lists(st.one_of(st.permutations(range(4)), st.just("undo")), min_size=1, max_size=6))
async def test_reorders_and_undos_keep_the_cards(api_client, moves):
    board = await api_client.board(*[await api_client.plan(f"R{number}") for number in range(4)])
    target = f"/dashboards/{board['id']}"
    first, done, expected = card_order(board), [], [card_order(board)]
    for move in moves:
        if move != "undo":
            wanted = [first[position] for position in move]
            answer = (await api_client.ask("POST", f"{target}/reorder", {"report_ids": wanted})).json
            if answer["applied"]:
                done.append(answer["audit_id"])
                expected.append(wanted)
        elif done:
            await api_client.ask("POST", f"/audit/{done.pop()}/undo")
            expected.pop()
        found = (await api_client.ask("GET", target)).json
        assert card_order(found) == expected[-1]
        assert sorted(card_order(found)) == sorted(first)
        assert [card["report_id"] for card in found["cards"]] == card_order(found)
